// The model bench in browsers: linnet and onnxruntime-web take turns in an isolated page of headless Chromium and, when it
// is installed, Firefox, on one thread and on more.
//
//   node bench/browser.mjs [--json FILE] [--zoo DIR] [--models a,b*] [--skip a,b*] [--threads 1,2] [--seconds S] [--browsers chromium,firefox]
//
// CHROME_PATH and FIREFOX_PATH name browsers that are not on PATH. A thread count gets a browser of its own, since
// onnxruntime-web keeps its count.

import { existsSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { serve } from '../demo/serve.mjs';
import { which } from '../tools/lib/paths.mjs';
import { COLUMNS, engineVersions } from './lib/engines.mjs';
import { listModels, loadFeeds } from './lib/models.mjs';
import { geometricMeans, ratio } from './lib/stats.mjs';

const { values: args } = parseArgs({
  options: {
    json: { type: 'string' }, zoo: { type: 'string' }, models: { type: 'string' }, skip: { type: 'string' }, threads: { type: 'string', default: '1,2' },
    seconds: { type: 'string', default: '0.5' }, browsers: { type: 'string', default: 'chromium,firefox' },
  },
});
const PROGRAMS = {
  chromium: { browser: 'chrome', names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'], path: process.env.CHROME_PATH, args: ['--no-sandbox', '--disable-dev-shm-usage'] },
  firefox: { browser: 'firefox', names: ['firefox', 'firefox-esr'], path: process.env.FIREFOX_PATH, args: [] },
};
const SHOWN = COLUMNS.filter((column) => column !== 'ort_node_ms');
/** A page may take this long to measure one model. */
const PATIENCE_MS = 600_000;

const models = listModels({ zoo: args.zoo, only: args.models, skip: args.skip });
const ortFolder = dirname(createRequire(import.meta.url).resolve('onnxruntime-web'));
/** The feeds of the model that is measured, as JSON by case. */
const feeds = new Map();
const server = await serve({ extra: fileOf });
const report = { date: new Date().toISOString(), cpu: `${cpus()[0]?.model ?? 'unknown'}, ${cpus().length} cores`, versions: engineVersions(), runs: [] };
for (const name of args.browsers.split(',')) {
  const program = PROGRAMS[name];
  const executablePath = [program.path, ...program.names.map(which)].find((file) => file && existsSync(file));
  if (executablePath) await measureBrowser(name, executablePath);
  else console.log(`NOT MEASURED: ${name} is not installed`);
}
server.close();
if (args.json) writeFileSync(args.json, `${JSON.stringify(report, null, 1)}\n`);

/** What the pages ask for beside the project's own files. */
function fileOf(path) {
  const [, room, ...rest] = path.split('/');
  if (room === 'ort') return join(ortFolder, rest.join('/'));
  if (room === 'bench') return join(import.meta.dirname, ...rest);
  if (room === 'model') return models.find(({ name }) => name === rest[0])?.file;
  return room === 'feeds' ? feeds.get(rest[0]) : undefined;
}

async function measureBrowser(name, executablePath) {
  const { browser: kind, args: flags } = PROGRAMS[name];
  const { default: puppeteer } = await import('puppeteer-core');
  for (const threads of args.threads.split(',').map(Number)) {
    const browser = await puppeteer.launch({ browser: kind, executablePath, headless: true, args: flags, protocolTimeout: PATIENCE_MS });
    const page = await browser.newPage();
    await page.goto(`${server.url}/bench/browser.html`);
    await page.waitForFunction('globalThis.ready', { timeout: 20_000 });
    const engine = await browser.version();
    console.log(`${engine}; ${threads} thread${threads > 1 ? 's' : ''}; milliseconds, medians`);
    console.log(line('model', [...SHOWN.map((each) => each.replace('_ms', '')), 'web/relaxed', 'web/simd']));
    const rows = [];
    for (const model of models) rows.push(...(await measureModel(page, model, threads)));
    const geomean = geometricMeans(rows);
    console.log(Object.entries(geomean).map(([key, value]) => `${key} ${value?.toFixed(3) ?? '-'}`).join('   '));
    report.runs.push({ browser: name, engine, threads, models: rows, geomean });
    await browser.close();
  }
}

async function measureModel(page, model, threads) {
  feeds.clear();
  const cases = [...loadFeeds(model)].filter(([name]) => model.cases.includes(name)).map(([name, values]) => {
    feeds.set(name, asJson(values));
    return { name, url: `/feeds/${encodeURIComponent(name)}` };
  });
  const options = { threads, seconds: Number(args.seconds) };
  const { results, refusals } = await page.evaluate((...given) => globalThis.measure(...given), `/model/${model.name}/model.onnx`, cases, options)
    .catch((error) => ({ results: {}, refusals: { page: error.message } }));
  for (const [who, why] of Object.entries(refusals)) console.log(`  ${who.replace('_ms', '')} refuses ${model.name}: ${why.split('\n')[0].slice(0, 150)}`);
  return cases.map(({ name }) => {
    const row = { name, group: model.group, ...Object.fromEntries(COLUMNS.map((column) => [column, results[name]?.[column]?.ms ?? null])) };
    console.log(line(name, [...SHOWN.map((column) => row[column]?.toFixed(3)), ratio(row, 'relaxed_over_ort_web')?.toFixed(2), ratio(row, 'simd_over_ort_web')?.toFixed(2)]));
    return row;
  });
}

/** Feeds as JSON, their bytes in base64. Only tensors travel: a model that wants other values is not measured here. */
function asJson(values) {
  const encode = ({ type, data, dims }) => ({ type, dims, base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') });
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(values).filter(([, value]) => value?.data?.buffer).map(([name, value]) => [name, encode(value)]))));
}

function line(name, cells) {
  return name.padEnd(28) + cells.map((cell) => (cell ?? '-').padStart(15)).join('');
}
