// A static server for the demo page and for the browser tests: files of this project, with or without the headers that
// isolate a page, without which it gets no shared memory and so one thread.
//
//   node demo/serve.mjs [--port N] [--no-isolation]

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
/** What may be served. */
const FOLDERS = ['demo', 'js', 'web', 'dist', 'tests'];
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.json': 'application/json',
  '.wasm': 'application/wasm', '.onnx': 'application/octet-stream', '.svg': 'image/svg+xml',
};
const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Starts a server; resolves to { url, close }. `extra` says what else it serves: for a path, a file or the bytes themselves.
 * @param {{ port?: number, isIsolated?: boolean, extra?: (path: string) => string | Buffer | undefined }} [options]
 */
export function serve({ port = 0, isIsolated = true, extra = () => undefined } = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname);
    if (path === '/') return response.writeHead(302, { location: '/demo/' }).end();
    const more = extra(path);
    const file = typeof more === 'string' ? more : join(root, normalize(path.endsWith('/') ? `${path}index.html` : path));
    const isAllowed = more !== undefined || FOLDERS.some((folder) => file.startsWith(join(root, folder) + sep));
    const info = isAllowed && !Buffer.isBuffer(more) && (await stat(file).catch(() => undefined));
    if (!Buffer.isBuffer(more) && (!info || !info.isFile())) return response.writeHead(404, { 'content-type': 'text/plain' }).end('not found');
    response.writeHead(200, {
      'content-type': TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'application/octet-stream',
      'content-length': Buffer.isBuffer(more) ? more.length : info && info.size,
      'cache-control': 'no-cache',
      // A service worker may answer for the whole site though it lies in a folder.
      'service-worker-allowed': '/',
      ...(isIsolated ? ISOLATION : {}),
    });
    if (Buffer.isBuffer(more)) response.end(more);
    else createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const address = /** @type {import('node:net').AddressInfo} */ (server.address());
      resolve({ url: `http://localhost:${address.port}`, close: () => server.close() });
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({ options: { port: { type: 'string' }, 'no-isolation': { type: 'boolean' } } });
  const isIsolated = !values['no-isolation'];
  const open = (/** @type {number} */ port) => serve({ port, isIsolated });
  const { url } = await open(Number(values.port ?? 8080)).catch((error) => {
    if (error.code !== 'EADDRINUSE' || values.port) throw error;
    return open(0);
  });
  console.log(`the demo is at ${url}/demo/ (Ctrl+C ends it)`);
}
