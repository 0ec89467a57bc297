// Which of the four wasm files an engine gets. One relaxed-SIMD opcode makes an engine without them reject a whole
// module, so each feature is probed by validating a tiny module that holds the opcodes in question.

import { check, LinnetError } from './errors.js';

/** File name of each artifact. */
export const ARTIFACTS = Object.freeze({
  simd: 'linnet.simd.wasm',
  relaxed: 'linnet.relaxed.wasm',
  'simd.threads': 'linnet.simd.threads.wasm',
  'relaxed.threads': 'linnet.relaxed.threads.wasm',
});

/** Stands for the artifact of wasm that the caller brought without a name, until it says what it is. */
export const UNNAMED = '';

const V128 = 0x7b;
const LOCAL_GET_0 = [0x20, 0x00];
const DROP = 0x1a;

/** Opcodes behind the prefix 0xfd, with the number of vectors each takes. */
const SIMD = [[0xe4, 2], [0x60, 1]]; // f32x4.add, i8x16.abs
const RELAXED = [
  [0x100, 2], [0x101, 1], [0x102, 1], // swizzle, trunc_s, trunc_u
  [0x105, 3], [0x106, 3], [0x107, 3], [0x108, 3], // f32x4 and f64x2 madd, nmadd
  [0x109, 3], [0x10a, 3], [0x10b, 3], [0x10c, 3], // laneselect of each width
  [0x10d, 2], [0x10e, 2], [0x10f, 2], [0x110, 2], // f32x4 and f64x2 min, max
  [0x111, 2], [0x112, 2], [0x113, 3], // q15mulr, dot, dot with accumulation
];

/** @param {number} value below 2^14 */
function leb(value) {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, value >> 7];
}

/** @param {number} id @param {number[]} body */
function section(id, body) {
  return [id, ...leb(body.length), ...body];
}

/**
 * A module of one function that uses the given opcodes, and of a shared memory with an atomic load when asked for.
 * @param {number[][]} opcodes
 * @param {boolean} isShared
 */
function probe(opcodes, isShared) {
  const code = [1, 1, V128];
  for (const [opcode, operands] of opcodes) {
    for (let i = 0; i < operands; i++) code.push(...LOCAL_GET_0);
    code.push(0xfd, ...leb(opcode), DROP);
  }
  if (isShared) code.push(0x41, 0, 0xfe, 0x10, 2, 0, DROP); // i32.atomic.load at 0
  code.push(0x0b);
  return WebAssembly.validate(new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 0, 0]),
    ...section(3, [1, 0]),
    ...(isShared ? section(5, [1, 3, 1, 1]) : []),
    ...section(10, [1, ...leb(code.length), ...code]),
  ]));
}

/** What this engine can run. */
export function probeEngine() {
  return { simd: probe(SIMD, false), relaxed: probe([...SIMD, ...RELAXED], false), threads: probe(SIMD, true) };
}

/**
 * Chooses an artifact and a number of threads, each with its reason.
 * @param {{ artifact?: string, threads?: number }} wanted
 * @param {import('./env/platform.js').Platform} platform
 * @param {{ isShared: boolean }} [given] set when the caller brought the wasm: whether it is built for threads
 */
export function chooseArtifact(wanted, platform, given) {
  const engine = probeEngine();
  if (!engine.simd) throw new LinnetError('UNSUPPORTED', 'this engine has no WebAssembly SIMD, which linnet needs');
  const [kernels, isThreaded] = wanted.artifact?.split('.') ?? [];
  const obstacle = engine.threads ? platform.threadObstacle() : 'the engine has no shared WebAssembly memory';
  if (kernels === 'relaxed' && !engine.relaxed) throw new LinnetError('UNSUPPORTED',
    "artifact 'relaxed' was asked for, but this engine has no relaxed SIMD");
  if ((isThreaded || given?.isShared) && obstacle) throw new LinnetError('UNSUPPORTED',
    `an artifact with threads was asked for, but ${obstacle}`);
  const { threads, reason: threadsReason } = chooseThreads(wanted, platform, obstacle, given);
  if (given) return { artifact: wanted.artifact ?? UNNAMED, reason: 'the wasm was given', threads, threadsReason };
  if (wanted.artifact) return { artifact: wanted.artifact, reason: 'asked for', threads, threadsReason };
  const reason = engine.relaxed ? 'the engine has relaxed SIMD' : 'the engine has no relaxed SIMD';
  return { artifact: (engine.relaxed ? 'relaxed' : 'simd') + (threads > 1 ? '.threads' : ''), reason, threads, threadsReason };
}

/**
 * @param {{ artifact?: string, threads?: number }} wanted
 * @param {import('./env/platform.js').Platform} platform
 * @param {string | undefined} obstacle why threads cannot be had
 * @param {{ isShared: boolean }} [given]
 */
function chooseThreads(wanted, platform, obstacle, given) {
  if (wanted.threads === 1) return { threads: 1, reason: 'asked for' };
  const isSingle = given ? !given.isShared : wanted.artifact && !wanted.artifact.endsWith('.threads');
  const single = isSingle ? (given ? 'the given wasm' : `artifact '${wanted.artifact}'`) : undefined;
  if (single) {
    check(!wanted.threads, 'INVALID_ARGUMENT',
      `${single} is built for one thread, but ${wanted.threads} were asked for: take one for threads`);
    return { threads: 1, reason: `${single} is built for one thread` };
  }
  if (obstacle) return { threads: 1, reason: obstacle };
  if (wanted.threads) return { threads: wanted.threads, reason: 'asked for' };
  const cores = platform.cores();
  return { threads: Math.max(1, Math.min(4, cores >> 1)), reason: `half of ${cores} logical cores, at most 4` };
}
