// Pages, workers, service workers, extensions and worklets. An AudioWorklet has neither fetch nor a clock nor timers:
// there, the model and the wasm are handed in as bytes, and nothing here may fail for want of the rest.

import { artifactUrl } from './artifact-urls.js';
import { openUrl } from './fetch.js';

/** As bundlers know them, the workers' addresses stand inside the constructor's call. */
const WORKERS = {
  thread: () => new Worker(new URL('../../web/thread-worker.js', import.meta.url), { type: 'module', name: 'linnet-thread' }),
  session: () => new Worker(new URL('../../web/session-worker.js', import.meta.url), { type: 'module', name: 'linnet-session' }),
};

/** @type {MessageChannel | undefined} */
let channel;

/** @type {import('./platform.js').Platform} */
export const platform = {
  name: 'web',
  artifactUrl,
  open: openUrl,
  sibling: () => undefined,
  now: () => (globalThis.performance ?? Date).now(),
  cores: () => globalThis.navigator?.hardwareConcurrency || 1,

  pause() {
    const { scheduler } = /** @type {any} */ (globalThis);
    if (scheduler?.yield) return scheduler.yield();
    if (typeof MessageChannel === 'undefined') return Promise.resolve();
    // Timers are clamped to 4 ms, messages are not.
    channel ??= new MessageChannel();
    const { port1, port2 } = channel;
    return new Promise((resolve) => {
      port1.addEventListener('message', () => resolve(), { once: true });
      port1.start();
      port2.postMessage(0);
    });
  },

  threadObstacle() {
    if (typeof SharedArrayBuffer === 'undefined' || !globalThis.crossOriginIsolated) return 'the page is not cross-origin isolated';
    return typeof Worker === 'undefined' ? 'this context cannot start workers' : undefined;
  },

  startWorker(kind, onMessage, onDeath) {
    const worker = WORKERS[kind]();
    worker.addEventListener('message', (event) => onMessage(event.data));
    worker.addEventListener('error', (event) => onDeath(event.message || 'its script could not be loaded'));
    return { post: (message, transfer = []) => worker.postMessage(message, transfer), stop: () => worker.terminate() };
  },
};
