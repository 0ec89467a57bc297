// Where the wasm files lie beside the package, each URL spelled out so that bundlers see it and copy the file.

/** @type {Record<string, () => URL>} */
const URLS = {
  'linnet.simd.wasm': () => new URL('../../dist/linnet.simd.wasm', import.meta.url),
  'linnet.relaxed.wasm': () => new URL('../../dist/linnet.relaxed.wasm', import.meta.url),
  'linnet.simd.threads.wasm': () => new URL('../../dist/linnet.simd.threads.wasm', import.meta.url),
  'linnet.relaxed.threads.wasm': () => new URL('../../dist/linnet.relaxed.threads.wasm', import.meta.url),
};

/** @param {string} file */
export const artifactUrl = (file) => URLS[file]?.();
