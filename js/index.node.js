// The API of linnet for Node.js, Deno and Bun.

import { platform } from './env/node.js';
import { Runtime as CoreRuntime } from './runtime.js';
import { InferenceSession as CoreSession } from './session.js';

export class InferenceSession extends CoreSession {
  static platform = platform;
}

/** A wasm instance that several sessions share by choice: pass it to create() as option `runtime`. */
export const Runtime = {
  /** @param {any} [options] artifact, threads, wasm */
  create: (options = {}) => CoreRuntime.acquire(platform, options),
};

export { LinnetError } from './errors.js';
export { env } from './options.js';
export { Tensor } from './tensor.js';
