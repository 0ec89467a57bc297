// What linnet adds to onnxruntime-common's surface.

import { InferenceSession, LinnetError, Runtime, Tensor } from 'linnet';

export async function beyond(response: Response, module: WebAssembly.Module, signal: AbortSignal): Promise<void> {
  const runtime = await Runtime.create({ threads: 2, artifact: 'simd.threads' });
  const session = await InferenceSession.create(response, { wasm: module, worker: false, signal, runtime, onProgress: ({ phase, loaded = 0, total }) => console.log(phase, loaded, total) });
  const sequence = await session.run<{ label: Tensor; scores: Map<bigint, number>[] }>({ x: [new Tensor([true])], y: new Map([[1n, 2]]), z: undefined });
  console.log(sequence.scores[0].get(1n), session.runSync({}, { outputs: 'view' }).y.data);
  await session.bind({ x: new Tensor(new Float32Array(1), [1]), y: null });
  console.log(session.metadata.opsetImports[''], session.info.threadsReason, (await session.memory()).wasmBytes, await session.profile());
  try {
    await session.run({}, { signal });
  } catch (error) {
    if (error instanceof LinnetError && error.code === 'ABORTED') console.log(error.node, error.op, error.opset);
  }
  // @ts-expect-error an option that does not exist
  await InferenceSession.create('model.onnx', { thread: 2 });
}
