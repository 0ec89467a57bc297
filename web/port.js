// The messages between a web Worker and whoever started it.

const scope = /** @type {any} */ (globalThis);

/** @type {import('../js/env/host.js').Port} */
export const port = {
  post: (message, moved = []) => scope.postMessage(message, moved),
  listen: (handle) => scope.addEventListener('message', (/** @type {MessageEvent} */ event) => handle(event.data)),
};
