// onnxruntime-web on models of one node, for the cases of the kernel bench that are an operator of the standard.
//
// A run of onnxruntime-web copies its inputs and outputs between JavaScript and its memory, which our kernels' times do not
// contain. Where the operator may follow itself, the time is that of a chain of nine less that of one, over eight. Elsewhere
// the cost of the copies, fitted from Identity and Slice models in the same run, is taken off; where it is most of the
// time, the rest would say nothing, and there is no result.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { buildModel } from '../../tests/support/onnx.mjs';

const ELEMENTS = 98304;
const ROW = 512;
const SLOT_MS = 60;
const CHAIN = 9;
const MOST = 0.8;
const OPSET = 17;

const ints = (name, ...data) => ({ name, type: 'ints', data });
const int = (name, data) => ({ name, type: 'int', data });
const float = (name, data) => ({ name, type: 'float', data });
const text = (name, data) => ({ name, type: 'string', data });
const random = (dims) => ({ type: 'float32', dims, data: Float32Array.from({ length: dims.reduce((a, b) => a * b, 1) }, () => 2 * Math.random() - 1 || 0.5) });
const int64s = (...data) => ({ type: 'int64', dims: [data.length], data: BigInt64Array.from(data.map(BigInt)) });
const of = (type, Class) => (dims) => ({ type, dims, data: new Class(dims.reduce((a, b) => a * b, 1)) });
const bytes = of('uint8', Uint8Array);
const matrix = [ELEMENTS / ROW, ROW];

/** Operators that would leave the range of numbers that models know when they follow themselves. */
const ALONE = new Set(['Exp', 'Log', 'Pow', 'Less', 'Where', 'Gemm']);

/** { op, x: the fed inputs, w: the constant ones, attributes, out: type of the output } of each case. */
const CASES = {
  ...unaries({ ABS: 'Abs', NEG: 'Neg', SIGN: 'Sign', FLOOR: 'Floor', CEIL: 'Ceil', ROUND: 'Round', EXP: 'Exp', SIN: 'Sin', COS: 'Cos', TANH: 'Tanh', ERF: 'Erf', SIGMOID: 'Sigmoid', SOFTPLUS: 'Softplus', ELU: 'Elu', SELU: 'Selu', CELU: 'Celu', HARDSWISH: 'HardSwish', HARDSIGMOID: 'HardSigmoid', LEAKY_RELU: 'LeakyRelu', RELU: 'Relu', THRESHOLDED_RELU: 'ThresholdedRelu', SOFTSIGN: 'Softsign', LOG: 'Log', SQRT: 'Sqrt', RECIPROCAL: 'Reciprocal' }),
  'unary gelu': { op: 'Gelu', domain: 'com.microsoft', x: [random([ELEMENTS])] },
  'unary gelu_quick': { op: 'QuickGelu', domain: 'com.microsoft', x: [random([ELEMENTS])] },
  ...Object.fromEntries(Object.entries({ add: 'Add', sub: 'Sub', mul: 'Mul', div: 'Div', max: 'Max', min: 'Min', pow: 'Pow', prelu: 'PRelu' }).map(([name, op]) => [`binary ${name}`, { op, x: [random([ELEMENTS]), random([ELEMENTS])] }])),
  'binary add one number': { op: 'Add', x: [random([ELEMENTS])], w: [random([1])] },
  'binary pow one number': { op: 'Pow', x: [random([ELEMENTS])], w: [{ type: 'float32', dims: [1], data: Float32Array.of(1.7) }] },
  'compare lt': { op: 'Less', x: [random([ELEMENTS]), random([ELEMENTS])], out: 'bool' },
  where: { op: 'Where', x: [of('bool', Uint8Array)([ELEMENTS]), random([ELEMENTS]), random([ELEMENTS])] },
  ...reductions({ sum: 'ReduceSum', mean: 'ReduceMean', max: 'ReduceMax', min: 'ReduceMin', prod: 'ReduceProd', sumsq: 'ReduceSumSquare', l1: 'ReduceL1', l2: 'ReduceL2', logsum: 'ReduceLogSum', logsumexp: 'ReduceLogSumExp' }),
  'argmax rows 512': { op: 'ArgMax', x: [random(matrix)], attributes: [int('axis', 1)], out: 'int64' },
  'argmax columns 192': { op: 'ArgMax', x: [random(matrix)], attributes: [int('axis', 0)], out: 'int64' },
  'softmax rows 512': { op: 'Softmax', x: [random(matrix)], attributes: [int('axis', 1)] },
  'softmax rows 21': { op: 'Softmax', x: [random([4681, 21])], attributes: [int('axis', 1)] },
  'log softmax rows 512': { op: 'LogSoftmax', x: [random(matrix)], attributes: [int('axis', 1)] },
  'softmax columns 512': { op: 'Softmax', x: [random([512, 192])], attributes: [int('axis', 0)] },
  'softmax columns 2': { op: 'Softmax', x: [random([2, 49152])], attributes: [int('axis', 0)] },
  'log softmax columns 512': { op: 'LogSoftmax', x: [random([512, 192])], attributes: [int('axis', 0)] },
  'layer norm 512': { op: 'LayerNormalization', x: [random(matrix)], w: [random([512]), random([512])] },
  'layer norm 96': { op: 'LayerNormalization', x: [random([1024, 96])], w: [random([96]), random([96])] },
  'rms norm 512': { op: 'SimplifiedLayerNormalization', x: [random(matrix)], w: [random([512])] },
  'skip layer norm 512': { op: 'SkipLayerNormalization', domain: 'com.microsoft', x: [random([1, ...matrix]), random([1, ...matrix])], w: [random([512]), random([512])] },
  'transpose 0,2,1': transpose([3, 64, 512], 0, 2, 1),
  'transpose 1,0,2 runs of 2 KB': transpose([16, 12, 512], 1, 0, 2),
  'transpose 0,2,1,3 runs of 256 B': transpose([1, 128, 12, 64], 0, 2, 1, 3),
  'transpose 0,2,1,3 runs of 32 B': transpose([32, 48, 8, 8], 0, 2, 1, 3),
  'transpose 3,2,1,0': transpose([16, 12, 32, 16], 3, 2, 1, 0),
  'transpose bytes': { ...transpose([256, 384], 1, 0), x: [bytes([256, 384])], out: 'uint8' },
  'transpose pixels to planes': transpose([128, 256, 3], 2, 0, 1),
  'transpose planes to pixels': transpose([3, 128, 256], 1, 2, 0),
  'maxpool 3x3s2 7@112': pool('MaxPool', 3, 2, 1),
  'maxpool 2x2s2 7@112': pool('MaxPool', 2, 2, 0),
  'maxpool 3x3s1 7@112': pool('MaxPool', 3, 1, 1),
  'maxpool 5x5s1 7@112': pool('MaxPool', 5, 1, 2),
  'avgpool 3x3s2 7@112': pool('AveragePool', 3, 2, 1),
  'avgpool 2x2s2 7@112': pool('AveragePool', 2, 2, 0),
  'avgpool 3x3s1 7@112': pool('AveragePool', 3, 1, 1),
  'resize linear 2x 7@56': resize('linear', 'half_pixel'),
  'resize nearest 2x 7@56': resize('nearest', 'asymmetric'),
  'resize cubic tables 7@56': resize('cubic', 'half_pixel'),
  f32_to_f16: cast(random([ELEMENTS]), 10, 'float16'),
  f16_to_f32: cast(of('float16', Uint16Array)([ELEMENTS]), 1, 'float32'),
  f32_to_i32: cast(random([ELEMENTS]), 6, 'int32'),
  f32_to_i64: cast(random([ELEMENTS]), 7, 'int64'),
  i32_to_f32: cast(of('int32', Int32Array)([ELEMENTS]), 1, 'float32'),
  i64_to_f32: cast(of('int64', BigInt64Array)([ELEMENTS]), 1, 'float32'),
  u8_to_f32: cast(bytes([ELEMENTS]), 1, 'float32'),
  'quantize u8': { op: 'QuantizeLinear', x: [random([ELEMENTS])], w: [{ type: 'float32', dims: [], data: Float32Array.of(0.01) }, bytes([])], out: 'uint8' },
  'dequantize u8': { op: 'DequantizeLinear', x: [bytes([ELEMENTS])], w: [{ type: 'float32', dims: [], data: Float32Array.of(0.01) }, bytes([])] },
};

function unaries(table) {
  return Object.fromEntries(Object.entries(table).map(([name, op]) => [`unary ${name.toLowerCase()}`, { op, x: [random([ELEMENTS])] }]));
}

function reductions(table) {
  const one = (op, axis) => (op === 'ReduceSum' ? { op, x: [random(matrix)], w: [int64s(axis)] } : { op, x: [random(matrix)], attributes: [ints('axes', axis)] });
  return Object.fromEntries(Object.entries(table).flatMap(([name, op]) => [[`inner ${name}`, one(op, 1)], [`outer ${name}`, one(op, 0)]]));
}

function transpose(dims, ...perm) {
  return { op: 'Transpose', x: [random(dims)], attributes: [ints('perm', ...perm)] };
}

function pool(op, kernel, stride, pad) {
  return { op, x: [random([1, 7, 112, 112])], attributes: [ints('kernel_shape', kernel, kernel), ints('strides', stride, stride), ints('pads', pad, pad, pad, pad)] };
}

function resize(mode, coordinates) {
  const scales = { type: 'float32', dims: [4], data: Float32Array.of(1, 1, 2, 2) };
  return { op: 'Resize', x: [random([1, 7, 56, 56])], w: [null, scales], attributes: [text('mode', mode), text('coordinate_transformation_mode', coordinates), text('nearest_mode', 'floor')] };
}

function cast(x, to, out) {
  return { op: 'Cast', x: [x], attributes: [int('to', to)], out };
}

/** Products and convolutions are made from their names: "gemm 128x384x1536", "dw 3x3s2 96 @56", "1x1 96->24 @56". */
function productCase(name) {
  const product = /^(?:gemm|gemv|dynamic \w+) (\d+)x(\d+)x(\d+)( rows| cols)?$/.exec(name);
  if (product) {
    const [m, k, n] = product.slice(1, 4).map(Number);
    if (!name.startsWith('dynamic')) return { op: 'Gemm', x: [random([m, k])], w: [random([k, n]), random([n])] };
    const columns = product[4] === ' cols' || name.includes(' qk ');
    return { op: 'Gemm', x: [random([m, k]), random(columns ? [n, k] : [k, n])], attributes: [int('transB', columns ? 1 : 0), float('alpha', 1)] };
  }
  const conv = /^(dw |winograd |transposed )?(?:(\d+)x\d+(?:s(\d))? )?(\d+)(?:->(\d+))? @(\d+)$/.exec(name);
  if (!conv) return null;
  const [, kind, kernelText, strideText, inText, outText, sizeText] = conv;
  const [kernel, stride, inChannels, size] = [Number(kernelText ?? 3), Number(strideText ?? 1), Number(inText), Number(sizeText)];
  const outChannels = Number(outText ?? inText);
  const groups = kind === 'dw ' ? inChannels : 1;
  const transposed = kind === 'transposed ';
  const pad = transposed ? (kernel - stride) / 2 : Math.floor(kernel / 2);
  const weight = transposed ? [inChannels, outChannels, kernel, kernel] : [outChannels, inChannels / groups, kernel, kernel];
  return {
    op: transposed ? 'ConvTranspose' : 'Conv', x: [random([1, inChannels, size, size])], w: [random(weight), random([outChannels])],
    attributes: [int('group', groups), ints('strides', stride, stride), ints('pads', pad, pad, pad, pad)],
  };
}

function modelOf({ op, domain = '', x, w = [], attributes = [], out = x[0].type }, length = 1) {
  const rest = [...x.slice(1).map((_, i) => `x${i + 1}`), ...w.map((each, i) => (each ? `w${i}` : ''))];
  const nodes = Array.from({ length }, (_, i) => ({ op, domain, inputs: [i ? `y${i}` : 'x0', ...rest], outputs: [i + 1 < length ? `y${i + 1}` : 'y'], attributes }));
  return buildModel({
    opsets: { '': OPSET, 'com.microsoft': 1 }, irVersion: 8, nodes,
    inputs: x.map(({ type, dims }, i) => ({ name: `x${i}`, type, dims })),
    initializers: w.flatMap((each, i) => (each ? [{ ...each, name: `w${i}` }] : [])),
    outputs: [{ name: 'y', type: out }],
  });
}

/** Resolves to the baseline, or null where onnxruntime-web is not installed. */
export async function openBaseline() {
  let ort;
  try {
    const module = await import('onnxruntime-web');
    ort = module.InferenceSession ? module : module.default;
  } catch {
    return null;
  }
  const require = createRequire(import.meta.url);
  ort.env.wasm.wasmBinary = readFileSync(join(dirname(require.resolve('onnxruntime-web')), 'ort-wasm-simd-threaded.wasm'));
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'fatal';

  async function open(each, length) {
    const session = await ort.InferenceSession.create(modelOf(each, length), { executionProviders: ['wasm'], logSeverityLevel: 4 });
    const feeds = Object.fromEntries(each.x.map(({ type, data, dims }, i) => [`x${i}`, new ort.Tensor(type, data, dims)]));
    const { y } = await session.run(feeds);
    const bytesIn = each.x.reduce((sum, { data }) => sum + data.byteLength, 0);
    const isChainable = !ALONE.has(each.op) && y.type === each.x[0].type && String(y.dims) === String(each.x[0].dims);
    return { session, feeds, bytesIn, bytesOut: y.data.byteLength, isChainable };
  }

  /** The shortest run, in milliseconds, copies included. */
  async function shortest({ session, feeds }, slot = SLOT_MS) {
    let best = Infinity;
    for (const end = performance.now() + slot; performance.now() < end; ) {
      const start = performance.now();
      await session.run(feeds);
      best = Math.min(best, performance.now() - start);
    }
    return best;
  }

  const time = async (each) => {
    const one = await open(each);
    const ms = await shortest(one, 4 * SLOT_MS);
    await one.session.release();
    return ms;
  };
  const call = await time({ op: 'Identity', x: [random([16])] });
  const both = await time({ op: 'Identity', x: [random([10 * ELEMENTS])] });
  const inward = await time({ op: 'Slice', x: [random([10 * ELEMENTS])], w: [int64s(0), int64s(16), int64s(0)] });
  const inPerMb = Math.max(0, inward - call) / (40 * ELEMENTS / 1e6);
  const outPerMb = Math.max(0, both - inward) / (40 * ELEMENTS / 1e6);

  return {
    text: `onnxruntime-web ${ort.env.versions?.web ?? ''}, less ${call.toFixed(4)} ms + ${inPerMb.toFixed(3)} ms/MB in + ${outPerMb.toFixed(3)} ms/MB out`,
    /**
     * Sessions for a case, or null where there is no such operator. round() measures once more, and finish() resolves to
     * the milliseconds without copies, or to null where there is no telling.
     */
    async open(name) {
      const each = CASES[name] ?? productCase(name);
      const one = each && (await open(each).catch(() => null));
      if (!one) return null;
      const chain = one.isChainable ? await open(each, CHAIN) : null;
      let [oneMs, chainMs] = [Infinity, Infinity];
      return {
        async round() {
          oneMs = Math.min(oneMs, await shortest(one));
          if (chain) chainMs = Math.min(chainMs, await shortest(chain));
        },
        async finish() {
          await one.session.release();
          await chain?.session.release();
          if (chain) return Math.max(0, chainMs - oneMs) / (CHAIN - 1) || null;
          const copies = call + (inPerMb * one.bytesIn) / 1e6 + (outPerMb * one.bytesOut) / 1e6;
          return copies < MOST * oneMs ? oneMs - copies : null;
        },
      };
    },
  };
}
