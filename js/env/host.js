// What runs inside a worker: a session that is told by messages what to do (remote.js is the other side), or one thread
// of a pool. A port is how the worker talks to whoever started it.

import { makeImports } from '../module.js';
import { packError, pack, unpack } from '../remote.js';
import { InferenceSession as CoreSession } from '../session.js';

/** @typedef {{ post: (message: any, moved?: any[]) => void, listen: (handle: (message: any) => void) => void }} Port */

/**
 * Holds one session and answers messages.
 * @param {import('./platform.js').Platform} platform
 * @param {Port} port
 */
export function serveSession(platform, port) {
  class InferenceSession extends CoreSession {
    static platform = platform;
  }
  /** @type {any} */
  let session;
  /** Controllers of the requests under way. @type {Map<number, AbortController>} */
  const controllers = new Map();

  /** @type {Record<string, (message: any, signal: AbortSignal, moved: any[]) => any>} */
  const handlers = {
    async create({ model, options }, signal) {
      const onProgress = (/** @type {any} */ progress) => port.post({ progress });
      session = await InferenceSession.create(model, { ...options, worker: false, signal, onProgress });
      const { inputNames, outputNames, inputMetadata, outputMetadata, metadata, info } = session;
      return { inputNames, outputNames, inputMetadata, outputMetadata, metadata, info };
    },
    async run({ feeds, names, options }, signal, moved) {
      return pack(await session.run(unpack(feeds), names, { ...options, signal }), moved);
    },
    bind: ({ feeds }) => session.bind(unpack(feeds)),
    call: ({ name }) => session[name](),
    release: () => session?.release(),
  };

  port.listen(async ({ kind, id, ...message }) => {
    if (kind === 'abort') return controllers.get(id)?.abort();
    const controller = new AbortController();
    controllers.set(id, controller);
    /** @type {any[]} */
    const moved = [];
    try {
      const value = await handlers[kind](message, controller.signal, moved);
      port.post({ id, value }, [...new Set(moved)]);
    } catch (error) {
      port.post({ id, error: packError(error) });
    } finally {
      controllers.delete(id);
    }
  });
}

/**
 * One thread of a pool: the same module on the same memory, with a stack and thread-local storage of its own. It
 * computes until the pool is closed; what ends it otherwise is reported, so that no run waits for it.
 * @param {Port} port
 */
export function serveThread(port) {
  port.listen(async ({ module, memory, pool, index, stack, tls }) => {
    try {
      const instance = await WebAssembly.instantiate(/** @type {WebAssembly.Module} */ (module), makeImports(module, memory));
      const core = /** @type {Record<string, any>} */ (instance.exports);
      core.__stack_pointer.value = stack;
      core.__wasm_init_tls?.(tls);
      core.ln_pool_worker(pool, index);
    } catch (error) {
      port.post({ error: String(error) });
    }
  });
}
