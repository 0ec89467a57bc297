// What the core needs from the platform it runs on. One object of this shape per platform lives beside this file; the
// core itself uses ECMAScript and WebAssembly only.

/**
 * @typedef {object} Source an opened file or download
 * @property {string} name for messages: the URL or path
 * @property {number} [size] in bytes, when it is known
 * @property {AsyncIterable<Uint8Array>} chunks
 * @property {string} [contentType]
 * @property {Response} [response] of a download: its body is what chunks reads
 *
 * @typedef {object} Thread a worker thread or a worker that holds a session
 * @property {(message: any, transfer?: any[]) => void} post
 * @property {() => void} stop
 * @property {(isBusy: boolean) => void} [keepAlive] whether the process should wait for it
 *
 * @typedef {object} Platform
 * @property {string} name
 * @property {(file: string) => string | URL | undefined} artifactUrl where a wasm file lies; undefined when the caller has to hand it in
 * @property {(location: string | URL) => Promise<Source>} open opens a path or URL
 * @property {(model: string | URL, location: string) => string | URL | undefined} sibling
 *   the file that external data of a model is found in by itself; throws when the location leads elsewhere
 * @property {() => number} now milliseconds
 * @property {() => Promise<void>} pause lets the event loop take a turn
 * @property {() => number} cores
 * @property {() => string | undefined} threadObstacle why shared memory and workers cannot be used
 * @property {(kind: 'thread' | 'session', onMessage: (message: any) => void, onDeath: (reason: string) => void) => Thread} startWorker
 */

export {};
