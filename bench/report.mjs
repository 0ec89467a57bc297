// Writes the measured part of docs/performance.md, between its two marks, from what the benches saved.
//
//   node bench/report.mjs RUN.json ... [--browser BROWSER.json] [--doc FILE]
//
// Several runs of one machine are joined: models of the corpora and of the zoo may be measured apart. Of a case that was measured
// again, because the machine was disturbed, the run counts in which onnxruntime-web was faster.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../tools/lib/paths.mjs';
import { geometricMean, ratio } from './lib/stats.mjs';

const { values: args, positionals } = parseArgs({
  allowPositionals: true,
  options: { browser: { type: 'string' }, doc: { type: 'string', default: join(root, 'docs', 'performance.md') } },
});
const runs = positionals.map((file) => JSON.parse(readFileSync(file, 'utf8')));
const bandwidth = Math.max(...runs.map((each) => each.bandwidth_gb_s));
const run = { ...runs[0], models: quietest(runs.flatMap(({ models }) => models)), decode: lastOf(runs.flatMap(decodeOf)), bandwidth_gb_s: bandwidth };
const browser = args.browser && JSON.parse(readFileSync(args.browser, 'utf8'));
const MARKS = ['<!-- measured -->', '<!-- end of what was measured -->'];

const rows = run.models;
const real = rows.filter(({ group }) => group === 'models');
const zoo = rows.filter(({ group }) => group === 'zoo');
const more = run.thread_counts.slice(1);
const COLUMNS = { linnet_relaxed_ms: 'linnet', linnet_simd_ms: 'simd128', ort_web_ms: 'web', ort_node_ms: 'node' };

/** Groups of the zoo by the names of their models. */
const KINDS = {
  'transformer encoders': /^(bert|distilbert|minilm|roberta|deberta)/,
  'convolutional nets': /^(resnet|mobilenet|efficientnet|convnext|yolo)/,
};

const number = (value, digits = 2) => (value == null || Number.isNaN(value) ? '–' : value.toFixed(digits));
const ms = (value) => (value == null ? '–' : value < 10 ? value.toPrecision(3) : value < 1000 ? value.toFixed(1) : value.toFixed(0));
const megabytes = (bytes) => (bytes == null ? '–' : (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0));
const table = (head, body) => [`| ${head.join(' | ')} |`, `|${head.map((_, i) => (i ? '---:' : '---')).join('|')}|`, ...body.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');

const text = [machine(), targets(), timesOf('Models', real), timesOf("The project's own small models", rows.filter(({ group }) => group === 'data')), timesOf('The zoo', zoo), decoding(), cold(), ...(browser ? browsers() : [])];
const page = readFileSync(args.doc, 'utf8');
const [before, rest] = page.split(MARKS[0]);
const after = rest?.split(MARKS[1])[1];
if (after === undefined) throw new Error(`${args.doc} lacks the marks ${MARKS.join(' and ')}`);
writeFileSync(args.doc, `${before}${MARKS[0]}\n\n${text.filter(Boolean).join('\n\n')}\n\n${MARKS[1]}${after}`);

/** Each case once: as of the run in which the machine was least disturbed. */
function quietest(list) {
  const best = new Map();
  for (const row of list) if (!(best.get(row.name)?.ort_web_ms <= row.ort_web_ms)) best.set(row.name, row);
  return [...best.values()];
}

/** Each loop once, as the last run measured it. */
function lastOf(list) {
  return [...new Map(list.map((each) => [`${each.name} ${each.threads}`, each])).values()];
}

/** A run's decoding loops, their shares by the bandwidth of the run that found most: the others were disturbed. */
function decodeOf({ decode = [], bandwidth_gb_s: own }) {
  const rescaled = (columns) => Object.fromEntries(Object.entries(columns).map(([column, { tokens_s, bandwidth: share }]) => [column, { tokens_s, bandwidth: (share * own) / bandwidth }]));
  return decode.map((each) => ({ ...each, columns: rescaled(each.columns) }));
}

function machine() {
  const versions = Object.entries(run.versions).map(([name, version]) => `${name} ${version}`).join(', ');
  return `## Measured on ${run.date.slice(0, 10)}\n\n${run.cpu}, ${(run.memory_bytes / 1e9).toFixed(0)} GB of memory that one thread reads at ${number(run.bandwidth_gb_s, 1)} GB/s; ${run.engine}; ${versions}.`
    + (run.clock === 'cpu' ? ' The machine was busy with other work: times are processor time.' : '');
}

/** What the project wants of itself, and what the run gives. */
function targets() {
  const mean = (list, name) => geometricMean(list.map((row) => ratio(row, name)));
  const lowest = (list, name) => list.map((row) => [ratio(row, name), row.name]).filter(([value]) => value).sort(([a], [b]) => a - b)[0];
  const floats = real.filter(({ name }) => !/int8|qdq|qoperator/.test(name));
  const list = [
    ['models, mean over web', 2.7, mean(floats, 'relaxed_over_ort_web')],
    ['models, mean over web, simd128', 2.2, mean(floats, 'simd_over_ort_web')],
    ['models, mean over node', 0.9, mean(floats, 'relaxed_over_ort_node')],
    withName('models, lowest over web', 1.4, lowest(floats, 'relaxed_over_ort_web')),
  ];
  for (const [[kind, pattern], wanted] of Object.entries(KINDS).map((each, i) => [each, [1.9, 2.5][i]])) {
    const group = zoo.filter(({ name }) => pattern.test(name));
    list.push([`zoo, ${kind}, mean over web`, wanted, mean(group, 'relaxed_over_ort_web')]);
    list.push(withName(`zoo, ${kind}, lowest over web`, wanted, lowest(group, 'relaxed_over_ort_web')));
  }
  for (const { name, threads, columns } of run.decode ?? []) {
    if (threads === run.threads) list.push([`decoding, ${name}, of the memory's bandwidth`, 0.8, columns.linnet_relaxed_ms?.bandwidth]);
  }
  for (const count of more) {
    const gains = [...real, ...zoo].map((row) => row.more_threads?.[count]?.gain).filter(Boolean);
    const long = [...real, ...zoo].filter((row) => row.linnet_relaxed_ms > 5).map((row) => row.more_threads?.[count]?.gain?.median).filter(Boolean).sort((a, b) => a - b);
    list.push([`gain of ${count} threads, best round`, 1.85, Math.max(...gains.map(({ best }) => best))]);
    list.push([`gain of ${count} threads, median of models over 5 ms`, 1.6, long[long.length >> 1]]);
  }
  const firsts = [...real, ...zoo].filter((row) => row.cold?.linnet_relaxed_ms && row.linnet_relaxed_ms > 20).map((row) => [row.cold.linnet_relaxed_ms.first_ms / row.linnet_relaxed_ms, row.name]).sort(([a], [b]) => b - a);
  const body = list.filter(([, , value]) => value != null).map(([what, wanted, value, name]) => [name ? `${what} (${name})` : what, `≥ ${wanted}`, number(value), value >= wanted ? 'met' : '**missed**']);
  if (firsts.length) body.push([`first run over the steady median, highest of models over 20 ms (${firsts[0][1]})`, '≤ 1.5', number(firsts[0][0]), firsts[0][0] <= 1.5 ? 'met' : '**missed**']);
  const creations = [...real, ...zoo].filter((row) => row.cold?.linnet_relaxed_ms && row.cold.ort_web_ms).map((row) => [row.cold.ort_web_ms.create_ms / row.cold.linnet_relaxed_ms.create_ms, row.name]).sort(([a], [b]) => a - b);
  if (creations.length) body.push([`session creation over web, lowest (${creations[0][1]})`, '≥ 1', number(creations[0][0]), creations[0][0] >= 1 ? 'met' : '**missed**']);
  return `### Targets\n\nFloat models; one thread and relaxed SIMD unless said.\n\n${table(['', 'target', 'measured', ''], body)}`;
}

function withName(what, wanted, lowest) {
  return [what, wanted, lowest?.[0], lowest?.[1]];
}

function timesOf(title, list) {
  if (!list.length) return '';
  const head = ['', ...Object.values(COLUMNS), 'web / linnet', 'web / simd128', 'node / linnet', 'p10–p90', ...more.flatMap((count) => [`linnet ×${count}`, `web ×${count}`, `gain ×${count}`])];
  const body = list.map((row) => [
    row.name, ...Object.keys(COLUMNS).map((column) => ms(row[column])), number(ratio(row, 'relaxed_over_ort_web')), number(ratio(row, 'simd_over_ort_web')), number(ratio(row, 'relaxed_over_ort_node')),
    row.spread?.linnet_relaxed_ms?.map(ms).join('–') ?? '–',
    ...more.flatMap((count) => [ms(row.more_threads?.[count]?.linnet_relaxed_ms), ms(row.more_threads?.[count]?.ort_web_ms), number(row.more_threads?.[count]?.gain?.median)]),
  ]);
  const mean = (name) => `**${number(geometricMean(list.map((row) => ratio(row, name))))}**`;
  body.push(['geometric mean', '', '', '', '', mean('relaxed_over_ort_web'), mean('simd_over_ort_web'), mean('relaxed_over_ort_node'), '', ...more.flatMap((count) => ['', '', number(geometricMean(list.map((row) => row.more_threads?.[count]?.gain?.median)))])]);
  return `### ${title}\n\nMilliseconds, medians.\n\n${table(head, body)}`;
}

function decoding() {
  if (!run.decode?.length) return '';
  const body = run.decode.flatMap(({ name, threads, columns }) => Object.entries(columns).map(([column, { tokens_s, bandwidth }]) => [`${name}, ${threads} thread${threads > 1 ? 's' : ''}, ${COLUMNS[column]}`, number(tokens_s, 1), `${number(100 * bandwidth, 0)} %`]));
  return `### Decoding\n\nOne token after the other, caches fed again; the share is of one thread's bandwidth, taking the weights as read once a token.\n\n${table(['', 'tokens/s', 'bandwidth'], body)}`;
}

function cold() {
  const list = rows.filter((row) => row.cold);
  if (!list.length) return '';
  const columns = ['linnet_relaxed_ms', 'ort_web_ms', 'ort_node_ms'];
  const head = ['', ...columns.map((column) => `${COLUMNS[column]} create`), ...columns.map((column) => `${COLUMNS[column]} first run`), ...columns.map((column) => `${COLUMNS[column]} process`), 'linnet wasm', 'web wasm'];
  const body = list.map((row) => [
    row.name.split('@')[0], ...['create_ms', 'first_ms'].flatMap((key) => columns.map((column) => ms(row.cold[column]?.[key]))), ...columns.map((column) => megabytes(row.cold[column]?.rss_bytes)),
    megabytes(row.cold.linnet_relaxed_ms?.wasm_bytes), megabytes(row.cold.ort_web_ms?.wasm_bytes),
  ]);
  return `### Cold start and memory\n\nA process of its own for each cell, the file in the file system's cache: milliseconds to create a session and for the first run; MB that the process grew by at its peak, and MB of wasm memory.\n\n${table(head, body)}`;
}

function browsers() {
  const names = new Map();
  for (const each of browser.runs) for (const row of each.models) names.set(row.name, [...(names.get(row.name) ?? []), row]);
  const label = ({ engine, threads }) => `${engine.replace('/', ' ')}, ${threads} thread${threads > 1 ? 's' : ''}`;
  const head = ['', ...browser.runs.map(label)];
  const cell = (row) => (row && row.linnet_relaxed_ms ? `${ms(row.linnet_relaxed_ms)} / ${ms(row.ort_web_ms)} = ${number(ratio(row, 'relaxed_over_ort_web'))}` : '–');
  const body = [...names.keys()].map((name) => [name, ...browser.runs.map((each) => cell(each.models.find((row) => row.name === name)))]);
  body.push(['geometric mean', ...browser.runs.map(({ geomean }) => `**${number(geomean.relaxed_over_ort_web)}**`)]);
  return [`### Browsers\n\nMeasured on ${browser.date.slice(0, 10)}, ${browser.cpu}: linnet (relaxed SIMD) / onnxruntime-web, milliseconds, and how many times faster. The web engine / linnet.\n\n${table(head, body)}`];
}
