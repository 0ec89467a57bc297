// Edge functions (workerd and its like): no files, no workers, and wasm only as a Module that the caller imports.

import { LinnetError } from '../errors.js';
import { openUrl } from './fetch.js';

/** @type {import('./platform.js').Platform} */
export const platform = {
  name: 'edge',
  artifactUrl: () => undefined,
  open: openUrl,
  sibling: () => undefined,
  now: () => performance.now(),
  pause: () => new Promise((resolve) => setTimeout(resolve, 0)),
  cores: () => 1,
  threadObstacle: () => 'this platform has no workers',
  startWorker() {
    throw new LinnetError('UNSUPPORTED', 'this platform has no workers');
  },
};
