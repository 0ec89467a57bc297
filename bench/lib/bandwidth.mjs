// What one thread can read from memory, in GB/s: a loop over 256 MB, four 16-byte loads at a time, as wasm. That is eight
// times a large cache. The module in text form:
//
//   (memory (export "memory") 4096)
//   (func (export "read") (param $at i32) (param $end i32) (result f32)
//     (local $a v128) ... $d
//     (loop $l  $a |= load $at ... $d |= load 48+$at;  $at += 64;  (br_if $l (i32.lt_u $at $end)))
//     (f32x4.extract_lane 0 ($a | $b | $c | $d)))

const MODULE =
  'AGFzbQEAAAABBwFgAn9/AX0DAgEABQQBAIAgBxECBm1lbW9yeQIABHJlYWQAAApWAVQBBHsDQCACIAD9AAQA/VAhAiADIAD9AAQQ/VAhAyAEIAD9AAQg/VAhBCAFIAD9AAQw/VAhBSABIABBQGsiAEsNAAsgAiAD/VAgBCAF/VD9UP0fAAs=';
const BYTES = 4096 * 65536 - 64;
const PIECE_BYTES = 1 << 20;

/**
 * Every piece of a megabyte is timed by itself, pass after pass, and its shortest time counts: other work on the machine can
 * only lengthen one. No cache keeps a piece from one pass to the next.
 */
export function memoryBandwidth(passes = 12) {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(atob(MODULE), (each) => each.charCodeAt(0))));
  // Pages that nobody wrote are all the same one.
  new Uint8Array(exports.memory.buffer).fill(1);
  const shortest = new Float64Array(Math.floor(BYTES / PIECE_BYTES)).fill(Infinity);
  for (let pass = 0; pass < passes; pass++) {
    for (let piece = 0; piece < shortest.length; piece++) {
      const start = performance.now();
      exports.read(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
      shortest[piece] = Math.min(shortest[piece], performance.now() - start);
    }
  }
  return (shortest.length * PIECE_BYTES) / shortest.reduce((sum, ms) => sum + ms, 0) / 1e6;
}
