// Node.js, and Deno and Bun, which offer the same modules.

import { open } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, isAbsolute, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { LinnetError } from '../errors.js';
import { artifactUrl } from './artifact-urls.js';
import { openUrl } from './fetch.js';

const CHUNK_BYTES = 256 * 1024;

/** @type {import('./platform.js').Platform} */
export const platform = {
  name: 'node',
  artifactUrl,
  now: () => performance.now(),
  pause: () => new Promise((resolve) => setImmediate(resolve)),
  cores: () => availableParallelism(),
  threadObstacle: () => undefined,

  async open(location) {
    const path = localPath(location);
    return path === undefined ? openUrl(location) : openFile(path);
  },

  sibling(model, location) {
    const path = localPath(model);
    if (path === undefined) return undefined;
    const inside = normalize(location);
    if (isAbsolute(location) || inside.split(/[\\/]/).includes('..')) {
      throw new LinnetError('EXTERNAL_DATA', `external data '${location}' lies outside of the model's folder, which is refused`);
    }
    return join(dirname(path), inside);
  },

  startWorker(kind, onMessage, onDeath) {
    // The flag of a script given as text would be taken over, and means nothing to a file.
    const execArgv = process.execArgv.some((each) => each.startsWith('--input-type')) ? { execArgv: [] } : {};
    const worker = new Worker(new URL('./node-worker.js', import.meta.url), { workerData: kind, ...execArgv });
    worker.on('message', onMessage);
    worker.on('error', (error) => onDeath(error.message));
    worker.on('exit', (code) => onDeath(`it ended with exit code ${code}`));
    // A script ends by itself when only idle workers are left. Listening has made the worker count again.
    worker.unref();
    return {
      post: (message, transfer = []) => worker.postMessage(message, transfer),
      stop: () => void worker.terminate(),
      keepAlive: (isBusy) => (isBusy ? worker.ref() : worker.unref()),
    };
  },
};

/**
 * The path of a local file, or undefined for a URL of another scheme.
 * @param {string | URL} location
 */
function localPath(location) {
  const text = String(location);
  if (location instanceof URL || /^file:/i.test(text)) return /^file:/i.test(text) ? fileURLToPath(text) : undefined;
  return /^[a-z][a-z0-9+.-]+:\/\/|^data:/i.test(text) ? undefined : text;
}

/**
 * @param {string} path
 * @returns {Promise<import('./platform.js').Source>}
 */
async function openFile(path) {
  const file = await open(path).catch((error) => {
    throw new LinnetError('LOAD_FAILED', `${path} cannot be read: ${error.message}`, { cause: error });
  });
  const { size } = await file.stat();
  return { name: path, size, chunks: readChunks(file) };
}

/**
 * Yields one buffer over and over: what a chunk holds is gone when the next one is asked for.
 * @param {import('node:fs/promises').FileHandle} file
 */
async function* readChunks(file) {
  try {
    const buffer = new Uint8Array(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      if (!bytesRead) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
