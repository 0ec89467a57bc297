// The script of Node's worker threads: a thread of a pool or a session, as workerData says.

import { parentPort, workerData } from 'node:worker_threads';
import { serveSession, serveThread } from './host.js';
import { platform } from './node.js';

const parent = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const port = {
  post: (/** @type {any} */ message, /** @type {any[]} */ moved = []) => parent.postMessage(message, moved),
  listen: (/** @type {(message: any) => void} */ handle) => void parent.on('message', handle),
};

if (workerData === 'session') serveSession(platform, port);
else serveThread(port);
