// Downloads, for every platform that has fetch.

import { LinnetError } from '../errors.js';

/**
 * @param {string | URL} location
 * @returns {Promise<import('./platform.js').Source>}
 */
export async function openUrl(location) {
  const name = String(location);
  let response;
  try {
    response = await fetch(name);
  } catch (error) {
    throw new LinnetError('LOAD_FAILED', `${name} cannot be fetched: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  return fromResponse(response, name);
}

/**
 * @param {Response} response
 * @param {string} [name]
 * @returns {import('./platform.js').Source}
 */
export function fromResponse(response, name = response.url || 'the response') {
  const contentType = response.headers.get('content-type') ?? undefined;
  if (!response.ok) throw new LinnetError('LOAD_FAILED', `${name} answered ${response.status} ${response.statusText}`.trimEnd());
  if (!response.body) throw new LinnetError('LOAD_FAILED', `${name} answered without a body`);
  // With a content encoding, content-length counts the bytes on the wire.
  const length = response.headers.get('content-encoding') ? null : response.headers.get('content-length');
  return { name, size: length ? Number(length) : undefined, contentType, response, chunks: streamChunks(response.body) };
}

/**
 * The chunks of a stream; Safari's streams are not iterable by themselves.
 * @param {ReadableStream<Uint8Array>} stream
 */
export async function* streamChunks(stream) {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // A consumer that stops early ends the download.
    await reader.cancel().catch(() => {});
  }
}
