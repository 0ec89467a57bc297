// linnet in a page of headless Chromium and of headless Firefox, unbundled: isolated with threads, and not isolated with
// one. A browser that is not there skips its tests.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { InferenceSession, Tensor } from 'linnet';
import { serve } from '../../demo/serve.mjs';
import { which } from '../../tools/lib/paths.mjs';
import { root } from '../support/models.mjs';

const find = (...files) => files.find((file) => file && existsSync(file));
const BROWSERS = {
  chromium: {
    executablePath: find(process.env.CHROME_PATH, ...['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'].map(which)),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  },
  firefox: { browser: 'firefox', executablePath: find(process.env.FIREFOX_PATH, ...['firefox', 'firefox-esr'].map(which)) },
};
const unready = !existsSync(join(root, 'node_modules', 'puppeteer-core')) ? 'puppeteer-core is not installed' : !existsSync(join(root, 'dist', 'linnet.simd.threads.wasm')) && 'dist/ is not built';

for (const [name, launch] of Object.entries(BROWSERS)) describe(name, { skip: launch.executablePath ? unready : `there is no ${name}` }, () => {
  let browser;
  let expected;
  const servers = {};
  before(async () => {
    const { default: puppeteer } = await import('puppeteer-core');
    browser = await puppeteer.launch({ headless: true, ...launch });
    servers.isolated = await serve({ isIsolated: true });
    servers.plain = await serve({ isIsolated: false });
    const session = await InferenceSession.create(join(root, 'demo', 'digits.onnx'), { artifact: 'simd' });
    const image = new Tensor('float32', Float32Array.from({ length: 784 }, (_, i) => (i % 7) / 7), [1, 1, 28, 28]);
    expected = [...(await session.run({ image })).probabilities.data];
    await session.release();
  });
  after(async () => {
    await browser?.close();
    for (const { close } of Object.values(servers)) close();
  });

  /** Opens the test page, calls a function in it and resolves to its answer; errors in the page fail the test. */
  async function call(server, does, ...args) {
    const page = await browser.newPage();
    const problems = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    await page.goto(`${servers[server].url}/tests/browser/page.html`);
    await page.waitForFunction('globalThis.ready', { timeout: 10_000 }).catch(() => problems.push('the page did not get ready'));
    const answer = problems.length ? {} : await page.evaluate((f, list) => globalThis[f](...list), does, args);
    await page.close();
    assert.deepEqual(problems, []);
    return answer;
  }

  const near = (data) => data.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-5, `[${i}] is ${value}, expected ${expected[i]}`));

  test('an isolated page computes on several threads', async () => {
    const { isolated, data, same, info, phases, message } = await call('isolated', 'classify', { threads: 2 });
    assert.equal(message, undefined);
    assert.deepEqual([isolated, same, info.threads, info.artifact], [true, true, 2, 'relaxed.threads']);
    assert.deepEqual(phases, ['runtime', 'model', 'compile', 'ready']);
    near(data);
  });

  test('the same bits on 1, 2 and 4 threads', async () => {
    const results = [];
    for (const threads of [1, 2, 4]) results.push((await call('isolated', 'classify', { artifact: 'simd.threads', threads })).data);
    assert.deepEqual(results[1], results[0]);
    assert.deepEqual(results[2], results[0]);
    assert.deepEqual(results[0], expected);
  });

  test('a page that is not isolated computes on one', async () => {
    const { isolated, data, info, message } = await call('plain', 'classify');
    assert.equal(message, undefined);
    assert.deepEqual([isolated, info.threads, info.artifact], [false, 1, 'relaxed']);
    assert.match(info.threadsReason, /not cross-origin isolated/);
    near(data);
    const refused = await call('plain', 'classify', { artifact: 'simd.threads' });
    assert.equal(refused.code, 'UNSUPPORTED');
  });

  test('a session in a worker', async () => {
    const { data, info, message } = await call('plain', 'classify', { worker: true, artifact: 'simd' });
    assert.equal(message, undefined);
    assert.equal(info.worker, true);
    assert.deepEqual(data, expected);
  });

  test('a wrong path says what came back', async () => {
    const { code, message } = await call('plain', 'classify', {}, '/demo/nothing.onnx');
    assert.equal(code, 'LOAD_FAILED');
    assert.match(message, /nothing\.onnx answered 404/);
    const wasm = await call('plain', 'classify', { wasm: '/tests/browser/page.html' });
    assert.equal(wasm.code, 'WASM_FAILED');
    assert.match(wasm.message, /text\/html/);
  });

  test('a large model takes little more memory than its weights', async () => {
    const { wasmBytes, weightBytes, tensorBytes } = await call('plain', 'loadLarge');
    assert.ok(wasmBytes < 1.15 * weightBytes + tensorBytes + 4e6, `${wasmBytes} bytes for ${weightBytes}`);
  });

  test('a service worker isolates a page', async () => {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    await page.goto(`${servers.plain.url}/tests/browser/page.html`);
    await page.waitForFunction('globalThis.ready');
    const reloaded = page.waitForNavigation({ timeout: 10_000 });
    await page.evaluate(() => void globalThis.isolate({ worker: '/web/isolation-worker.js', scope: '/' }));
    await reloaded;
    await page.waitForFunction('globalThis.ready');
    assert.equal(await page.evaluate(() => globalThis.isolate()), true);
    const { info } = await page.evaluate(() => globalThis.classify({ threads: 2 }));
    assert.equal(info.threads, 2);
    await context.close();
  });

  test('the demo page knows its samples', async () => {
    const page = await browser.newPage();
    await page.goto(`${servers.isolated.url}/demo/`);
    await page.waitForSelector('#paper[data-ready]', { timeout: 10_000 });
    await page.click('#sample');
    await page.waitForFunction("/sure/.test(document.getElementById('guess').textContent)", { timeout: 5000 });
    assert.match(await page.$eval('#guess', (each) => each.textContent), /^\d, (9\d|100) % sure$/);
    await page.screenshot({ path: process.env.LINNET_SCREENSHOT }).catch(() => {});
    await page.close();
  });

  test('images and tensors', async () => {
    assert.deepEqual(await call('plain', 'image'), { dims: [1, 3, 2, 2], pixels: [255, 128, 0, 255], url: 'data:image/png;base64,' });
  });
});
