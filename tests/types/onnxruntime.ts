// Code as it is written for onnxruntime-web, with the name of the package changed: it has to compile.

import * as ort from 'linnet';
import { env, InferenceSession, Tensor } from 'linnet';
import type { TypedTensor } from 'linnet';
import * as common from 'onnxruntime-common';

env.wasm.numThreads = 2;
env.wasm.wasmPaths = '/assets/';
env.wasm.wasmPaths = { wasm: new URL('https://example.com/linnet.wasm') };
env.wasm.proxy = false;
env.logLevel = 'error';

const options: InferenceSession.SessionOptions = {
  executionProviders: ['wasm', { name: 'webgpu' }],
  graphOptimizationLevel: 'all',
  enableCpuMemArena: true,
  executionMode: 'sequential',
  externalData: [{ path: 'model.onnx.data', data: new Uint8Array(4) }, './weights.bin'],
  extra: { session: { disable_prepacking: '1' } },
};

export async function classify(buffer: ArrayBuffer): Promise<number> {
  const session: InferenceSession = await InferenceSession.create(buffer, options);
  const sessions: ort.InferenceSession[] = [session, await ort.InferenceSession.create('model.onnx'), await InferenceSession.create(buffer, 0, 16, options)];
  const feeds: Record<string, Tensor> = {};
  feeds[session.inputNames[0]] = new Tensor('float32', new Float32Array(4), [1, 4]);
  const results: InferenceSession.ReturnType = await session.run(feeds);
  const scores = results[session.outputNames[0]].data as Float32Array;
  const outputs = await session.run(feeds, ['scores'], { tag: 'run', logSeverityLevel: 3 });
  const { scores: again } = await session.run(feeds, { scores: null });
  const meta = session.inputMetadata[0];
  if (meta.isTensor) console.log(meta.type, meta.shape.map((dim) => (typeof dim === 'number' ? dim : 1)));
  await Promise.all(sessions.map((each) => each.release()));
  return scores.indexOf(Math.max(...scores)) + outputs.scores.dims.length + again.size;
}

export async function tensors(image: ImageData, element: HTMLImageElement): Promise<void> {
  const float: TypedTensor<'float32'> = new Tensor(new Float32Array(2), [2]);
  const values: Float32Array = float.data;
  const big: ort.TypedTensor<'int64'> = new Tensor('int64', [1n, 2n], [2]);
  const text = new Tensor(['a', 'b'], [2]);
  const flags: Uint8Array = new Tensor('bool', [true, false]).data;
  const fromImage = await Tensor.fromImage(image, { tensorLayout: 'NCHW', norm: { mean: [1, 2, 3], bias: 0 }, dataType: 'float32' });
  const fromElement = await ort.Tensor.fromImage(element);
  const url = fromImage.toDataURL({ format: 'RGB' });
  const pixels: ImageData = fromElement.toImageData({ norm: { mean: 255, bias: 0 } });
  const flat: Tensor = float.reshape([1, 2]);
  const data = await big.getData();
  const type: Tensor.Type = text.type;
  const location: Tensor.DataLocation = flat.location;
  flat.dispose();
  console.log(values, url, pixels, data, type, location, flags);
}

/** Tensors of onnxruntime-common can be fed. */
export async function mixed(session: InferenceSession): Promise<void> {
  const feeds: InferenceSession.FeedsType = { a: new common.Tensor('float32', [1, 2], [2]), b: new Tensor('float32', [1, 2], [2]) };
  await session.run(feeds, { c: new common.Tensor('float32', [0, 0], [2]) });
  const shared: common.InferenceSession.SessionOptions = { graphOptimizationLevel: 'basic', executionProviders: ['wasm'] };
  await InferenceSession.create('model.onnx', shared);
}
