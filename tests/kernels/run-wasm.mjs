// Runs kernel tests that were compiled to wasm: node tests/kernels/run-wasm.mjs <file.wasm>...
// The tests are the programs of this folder, built by emcc with -sSTANDALONE_WASM=1; their exit codes are passed on.
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

let failed = 0;
for (const file of process.argv.slice(2)) {
  const wasi = new WASI({ version: 'preview1', args: [file], returnOnExit: true });
  const module = new WebAssembly.Module(readFileSync(file));
  const imports = { ...wasi.getImportObject(), env: { emscripten_notify_memory_growth() {} } };
  failed += wasi.start(new WebAssembly.Instance(module, imports));
}
process.exitCode = failed === 0 ? 0 : 1;
