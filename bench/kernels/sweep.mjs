// All small matrix products: a cliff is a product that takes longer than a larger one. M, K and N go from 1 to 70, one of
// them by ones while the other two take a few values each, both sides of every tile's edge among them.
import { performance } from 'node:perf_hooks';

const LIMIT = 70;
const OTHERS = [1, 2, 3, 5, 6, 7, 8, 9, 16, 17, 31, 33, 48, 64, 70];
const CALLS_NS = 20000;
const SUSPECTS = 60;

/** Nanoseconds of a product, the shortest of `tries` batches. */
function time(exports, [m, k, n], tries) {
  exports.bench_setup_gemm(m, k, n);
  const repeats = Math.max(1, Math.round(CALLS_NS / (40 + (2 * m * k * n) / 40)));
  let best = Infinity;
  for (let i = 0; i < tries; i++) {
    const start = performance.now();
    exports.bench_repeat(repeats);
    best = Math.min(best, ((performance.now() - start) * 1e6) / repeats);
  }
  return best;
}

/**
 * How much longer a product takes than the one with one more in M, K or N, at worst; `text` says so, and `worst` lists the
 * shapes. What looks bad on the first pass is measured again before it counts.
 */
export function sweep(exports) {
  const lines = [];
  for (let axis = 0; axis < 3; axis++) {
    for (const first of OTHERS) {
      for (const second of OTHERS) {
        const shapes = Array.from({ length: LIMIT }, (_, i) => [first, second].toSpliced(axis, 0, i + 1));
        lines.push(shapes.map((shape) => ({ shape, ns: time(exports, shape, 4) })));
      }
    }
  }
  const pairs = lines.flatMap((line) => line.slice(1).map((larger, i) => ({ smaller: line[i], larger })));
  const ratio = ({ smaller, larger }) => smaller.ns / larger.ns;
  const suspects = pairs.sort((a, b) => ratio(b) - ratio(a)).slice(0, SUSPECTS);
  for (const pair of suspects) {
    for (const side of ['smaller', 'larger']) pair[side] = { shape: pair[side].shape, ns: Infinity };
    for (let round = 0; round < 5; round++) {
      for (const side of [pair.smaller, pair.larger]) side.ns = Math.min(side.ns, time(exports, side.shape, 8));
    }
  }
  suspects.sort((a, b) => ratio(b) - ratio(a));
  const [worst] = suspects;
  return {
    ratio: ratio(worst),
    text: `${lines.length * LIMIT} products, the worst takes ${ratio(worst).toFixed(2)} times as long as its larger neighbour`,
    worst: suspects.slice(0, 5).map((pair) => `${pair.smaller.shape.join('x')} ${pair.smaller.ns.toFixed(0)} ns, ${pair.larger.shape.join('x')} ${pair.larger.ns.toFixed(0)} ns: ${ratio(pair).toFixed(2)}`),
  };
}
