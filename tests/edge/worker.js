// A Worker as a user writes it: the wasm is a static import, the model comes with the request.

import { InferenceSession, Tensor } from 'linnet';
import wasm from 'linnet/linnet.simd.wasm';

export default {
  async fetch(request) {
    try {
      const session = await InferenceSession.create(request.body, { wasm });
      const [name] = session.inputNames;
      const shape = session.inputMetadata[0].shape.map((dim) => (typeof dim === 'number' ? dim : 1));
      const size = shape.reduce((product, dim) => product * dim, 1);
      const input = new Tensor('float32', Float32Array.from({ length: size }, (_, i) => (i % 7) / 7), shape);
      const results = await session.run({ [name]: input });
      const { info } = session;
      await session.release();
      return Response.json({ outputs: Object.fromEntries(Object.entries(results).map(([key, { data }]) => [key, [...data]])), info });
    } catch (error) {
      return Response.json({ error: String(error.stack), code: error.code }, { status: 500 });
    }
  },
};
