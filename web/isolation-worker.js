// A service worker that isolates a page where its host cannot set headers (see isolate.js): every answer gets the two
// headers that a browser asks for before it grants shared memory. Copy this file to the root of the site, because a
// service worker sees only what lies in its own folder and below.

const scope = /** @type {any} */ (globalThis);

scope.addEventListener('install', () => scope.skipWaiting());
scope.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener('fetch', (/** @type {any} */ event) => {
  const { request } = event;
  if (request.cache === 'only-if-cached' && request.mode !== 'same-origin') return;
  event.respondWith(isolated(request));
});

/** @param {Request} request */
async function isolated(request) {
  // Without credentials, files of other sites need no permission to be embedded.
  const response = await fetch(request.mode === 'no-cors' ? new Request(request, { credentials: 'omit' }) : request);
  if (response.status === 0) return response;
  const headers = new Headers(response.headers);
  headers.set('cross-origin-opener-policy', 'same-origin');
  headers.set('cross-origin-embedder-policy', 'credentialless');
  headers.set('cross-origin-resource-policy', 'cross-origin');
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
