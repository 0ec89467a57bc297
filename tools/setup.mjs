// Brings everything that building and testing needs, and says what it does. Needs Node alone to start; what it adds
// lives in .toolchain and node_modules, except Chromium, which is installed on the system when we are root.
//
// Four parts run side by side: the toolchain (Emscripten, LLVM, protobuf-c, SIMDe; CMake, Ninja and Python only when the
// machine has none), the npm packages, Chromium, and the Python packages of the differential tester. Each knows by a stamp
// whether it is done, so a second run takes a moment, and a run that was interrupted goes on where it stopped.
//
//   node tools/setup.mjs [--quiet] [--force]

import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Suite, relocate, unpack, unpackedLoader } from './lib/debian.mjs';
import { hash } from './lib/hash.mjs';
import { newerNode, pythonDir, pythonEnvironment, root, toolchainDir, toolchainFile, which } from './lib/paths.mjs';
import { ToolError, progress, run, say, seconds, tryRun } from './lib/terminal.mjs';

const isQuiet = process.argv.includes('--quiet');
const isForced = process.argv.includes('--force');
const isRoot = process.getuid?.() === 0;
const bin = join(toolchainDir, 'bin');
const unpacked = join(toolchainDir, 'root');

/** What could not be done, told at the end of every run. */
const missing = [];


// To be raised when what is fetched, or how it is laid out, changes: toolchains of an older revision are made anew.
const REVISION = '1';

// Packages that the ones we ask for depend on, but that nothing here runs: apt is told that they are there.
const UNUSED = [
  'binutils', 'ccache', 'gcc-16-base', 'lib32gcc-s1', 'lib32stdc++6', 'libc-dev-bin', 'libc-gconv-modules-extra',
  'libc6-i386', 'libobjc-16-dev', 'python3-yaml',
];
const MINIMUM = { emcc: [6], cmake: [3, 24], python3: [3, 10], ninja: [1, 8] };

/** The path of a program on PATH that is new enough, or null. */
async function onPath(name) {
  const file = which(name);
  const text = file && (await tryRun(file, ['--version']));
  const found = /(\d+)\.(\d+)/.exec(text ?? '');
  if (!found) return null;
  const [wantedMajor, wantedMinor = 0] = MINIMUM[name];
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor) ? file : null;
}

async function setUpToolchain() {
  const part = 'toolchain';
  // The folder is part of the stamp because the unpacked programs hold absolute paths; so is this Node, which emcc runs.
  const stamp = hash([REVISION, toolchainDir, process.execPath, which('emcc') ?? '']);
  if (isCurrent(toolchainFile, stamp)) return;

  const start = Date.now();
  mkdirSync(bin, { recursive: true });
  const host = {};
  for (const name of Object.keys(MINIMUM)) host[name] = await onPath(name);
  say(part, `found here: ${Object.entries(host).filter(([, file]) => file).map(([name]) => name).join(', ') || 'nothing yet'}`);
  if (!which('apt-get') || !which('dpkg')) {
    throw new ToolError('this machine has no apt-get and dpkg, where the compilers come from. On other systems put emcc 6 or newer, protoc-c, ' +
      'cmake, ninja and clang on PATH and call CMake with the variables that cmake/toolchain.cmake names.');
  }

  const suite = new Suite(join(toolchainDir, 'apt'));
  say(part, "reading Debian's package lists");
  await suite.update();
  const emscripten = (await suite.show('emscripten')) ?? '';
  const llvm = /clang-(\d+)/.exec(emscripten)?.[1];
  if (!llvm) throw new ToolError("Debian's package of Emscripten names no clang");
  const packages = [
    `clang-${llvm}`, `lld-${llvm}`, `llvm-${llvm}`, `clang-format-${llvm}`, `clang-tidy-${llvm}`, `libclang-rt-${llvm}-dev`,
    'libsimde-dev', 'patchelf', 'protobuf-c-compiler',
  ];
  const providers = { emcc: 'emscripten', cmake: 'cmake', ninja: 'ninja-build', python3: 'python3' };
  for (const [name, provider] of Object.entries(providers)) if (!host[name]) packages.push(provider);
  await suite.assumeInstalled([...UNUSED, `clang-tools-${llvm}`, `libclang1-${llvm}`, 'nodejs', ...(host.python3 ? ['python3'] : [])]);

  const plan = await suite.plan(packages);
  const size = `${plan.files.length} packages, ${(plan.bytes / 1e6).toFixed(0)} MB`;
  say(part, `downloading ${size}`);
  const tick = progress(part);
  await suite.download(packages, () => {
    const here = readdirSync(suite.archives).filter((name) => name.endsWith('.deb')).length;
    tick(`downloaded ${here} of ${plan.files.length} packages`);
  });
  const tarball = await suite.sourceTarball('protobuf-c');

  const staging = `${unpacked}.new`;
  rmSync(staging, { recursive: true, force: true });
  rmSync(unpacked, { recursive: true, force: true });
  const archives = plan.files.map((name) => join(suite.archives, name));
  await unpack(archives, staging, (done, total) => tick(`unpacked ${done} of ${total} packages`));
  renameSync(staging, unpacked);
  await relocate(unpacked, (done, total) => tick(`relocated ${done} of ${total} programs`));
  say(part, `unpacked ${size}`);

  const protobufC = join(toolchainDir, 'protobuf-c');
  rmSync(protobufC, { recursive: true, force: true });
  mkdirSync(protobufC);
  await run('tar', ['-xf', tarball, '-C', protobufC, '--strip-components=1']);

  const record = await writeTools({ host, llvm, protobufC });
  say(part, "building Emscripten's system libraries");
  await warmUp(record);
  rmSync(suite.dir, { recursive: true, force: true });
  writeFileSync(toolchainFile, `${JSON.stringify({ stamp, ...record }, null, 2)}\n`);
  say(part, `ready: ${record.versions.emcc}, ${record.versions.clang} (${seconds(start)})`);
}

/** Fills .toolchain/bin and resolves to the record of what is where. */
async function writeTools({ host, llvm, protobufC }) {
  const usr = join(unpacked, 'usr');
  const llvmBin = join(usr, 'lib', `llvm-${llvm}`, 'bin');
  const { triple, libraries, loader } = await unpackedLoader(unpacked);
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin, { recursive: true });

  const link = (name, file) => symlinkSync(file, join(bin, name));
  const script = (name, lines) => {
    writeFileSync(join(bin, name), ['#!/bin/sh', ...lines, ''].join('\n'));
    chmodSync(join(bin, name), 0o755);
  };

  const linked = ['clang-format', 'clang-tidy', 'clang-apply-replacements', 'llvm-ar', 'llvm-ranlib', 'llvm-nm', 'llvm-size', 'llvm-strip',
    'llvm-objdump', 'llvm-symbolizer', 'llvm-profdata', 'llvm-cov', 'wasm-ld'];
  for (const name of linked) if (existsSync(join(llvmBin, name))) link(name, join(llvmBin, name));
  for (const name of ['protoc', 'protoc-c', 'protoc-gen-c', 'wasm-opt', 'wasm-dis', 'wasm-metadce']) {
    if (existsSync(join(usr, 'bin', name))) link(name, join(usr, 'bin', name));
  }
  for (const name of ['cmake', 'ctest', 'ninja', 'python3']) {
    const file = host[name === 'ctest' ? 'cmake' : name] ? which(name) : join(usr, 'bin', name);
    if (file) link(name, file);
  }

  // Native programs are compiled and linked against the unpacked C library too: the same compiler, headers and
  // sanitizer runtimes on every machine, and no compiler needed on it.
  const clangFlags = ['--sysroot', unpacked, '-fuse-ld=lld', `-Wl,--dynamic-linker=${loader}`, `-Wl,-rpath,${libraries}`,
    '-Wno-unused-command-line-argument'];
  const quoted = clangFlags.map((flag) => `'${flag}'`).join(' ');
  script('clang', [`exec '${join(llvmBin, 'clang')}' ${quoted} "$@"`]);
  script('clang++', [`exec '${join(llvmBin, 'clang++')}' ${quoted} "$@"`]);

  // SIMDe alone, for a compiler of the machine, which must not see the headers of the unpacked C library.
  const include = join(toolchainDir, 'include');
  rmSync(include, { recursive: true, force: true });
  mkdirSync(include);
  symlinkSync(join(usr, 'include', 'simde'), join(include, 'simde'));

  const python = join(bin, 'python3');
  let emcc = host.emcc;
  if (!emcc) {
    const share = join(usr, 'share');
    if (!existsSync(join(share, 'node_modules'))) symlinkSync('nodejs', join(share, 'node_modules'));
    const config = join(toolchainDir, 'emscripten.config');
    const settings = {
      LLVM_ROOT: llvmBin,
      BINARYEN_ROOT: usr,
      NODE_JS: process.execPath,
      EMSCRIPTEN_ROOT: join(share, 'emscripten'),
      CACHE: join(toolchainDir, 'emscripten-cache'),
    };
    writeFileSync(config, Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`).join(''));
    for (const name of ['emcc', 'emar', 'emranlib', 'embuilder', 'emnm']) {
      script(name, [`EM_CONFIG='${config}' EMSDK_PYTHON='${python}' exec '${join(share, 'emscripten', name)}' "$@"`]);
    }
    emcc = join(bin, 'emcc');
  }

  const firstLine = async (file) => ((await run(file, ['--version'])).split('\n')[0] ?? '').replace(/\s*\(.*$/, '').trim();
  const record = {
    bin,
    emcc,
    llvm: Number(llvm),
    sysroot: unpacked,
    triple,
    protobufC,
    versions: { emcc: /\d+\.\d+\.\d+/.exec(await run(emcc, ['--version']))?.[0], clang: await firstLine(join(bin, 'clang')) },
  };
  record.versions.emcc = `Emscripten ${record.versions.emcc}`;
  const variables = {
    LN_TOOLCHAIN_BIN: bin,
    LN_EMCC: emcc,
    LN_SYSROOT: unpacked,
    LN_PROTOBUF_C_DIR: protobufC,
    LN_SIMDE_DIR: include,
  };
  writeFileSync(join(toolchainDir, 'toolchain.cmake'), Object.entries(variables).map(([key, value]) => `set(${key} "${value}")\n`).join(''));
  return record;
}

/** Links one small program in each memory model, which makes Emscripten build the libraries that linking needs. */
async function warmUp({ emcc }) {
  const dir = join(toolchainDir, 'warm-up');
  mkdirSync(dir, { recursive: true });
  const source = join(dir, 'warm-up.c');
  writeFileSync(source, '#include <math.h>\n#include <stdlib.h>\n__attribute__((used)) double *f(double x) { double *p = malloc(8); *p = exp(x); return p; }\n');
  // As in cmake/artifacts.cmake: no C++ and no browser libraries, which take minutes to build.
  const common = ['-O3', '-sSTANDALONE_WASM=1', '--no-entry', '-sDEFAULT_TO_CXX=0', '-sAUTO_NATIVE_LIBRARIES=0', '-sALLOW_MEMORY_GROWTH=1',
    '-o', join(dir, 'warm-up.wasm'), source];
  await run(emcc, common);
  await run(emcc, [...common, '-matomics', '-mbulk-memory', '-sSHARED_MEMORY=1', '-sIMPORTED_MEMORY=1']);
  rmSync(dir, { recursive: true, force: true });
}


async function setUpNpm() {
  const part = 'npm';
  const lock = join(root, 'package-lock.json');
  if (!existsSync(lock)) return missing.push('npm packages: there is no package-lock.json');
  const stamp = hash([readFileSync(lock)]);
  const file = join(root, 'node_modules', '.linnet.json');
  if (isCurrent(file, stamp)) return;
  const start = Date.now();
  say(part, 'installing the development packages');
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root });
  writeFileSync(file, `${JSON.stringify({ stamp })}\n`);
  say(part, `ready, with Node ${(await run(newerNode(), ['--version'])).trim()} for relaxed SIMD (${seconds(start)})`);
}

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

async function setUpChromium() {
  const part = 'chromium';
  const find = () => [process.env.CHROME_PATH, ...BROWSERS.map(which)].find((file) => file && existsSync(file));
  if (find()) return;
  if (!isRoot || !which('apt-get')) {
    missing.push('Chromium: none on PATH, and installing it needs root (apt-get install chromium). Browser tests are skipped without it.');
    return;
  }
  const start = Date.now();
  say(part, 'installing it with apt-get');
  const tick = progress(part);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const install = () => run('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'chromium'], { env, onLine: tick });
  try {
    await install().catch(async () => {
      await run('apt-get', ['update', '-q'], { env });
      await install();
    });
    say(part, `ready: ${(await run(find(), ['--version'])).trim()} (${seconds(start)})`);
  } catch (error) {
    missing.push(`Chromium: ${error.message.split('\n').slice(-2).join(' ')}. Browser tests are skipped without it.`);
  }
}


/**
 * The packages of the differential tester, next to each other in a folder that PYTHONPATH names: no virtual environment
 * is needed, and pip is the machine's or comes as a wheel in a Debian package, which Python runs as it is.
 */
async function setUpPython(toolchainReady) {
  const part = 'python';
  const wanted = join(root, 'tools', 'python', 'requirements-differential.txt');
  const own = join(bin, 'python3');
  const python = (await onPath('python3')) ?? (await toolchainReady.then(() => (existsSync(own) ? own : null), () => null));
  if (!python) return missing.push('Python: the differential test runs its recorded cases only.');
  const version = ((await tryRun(python, ['--version'])) ?? '').trim();
  const stamp = hash([readFileSync(wanted), version]);
  const file = join(pythonDir, '.linnet.json');
  // A failure is remembered too, so that not every build asks the registry again; --force does.
  if (isCurrent(file, stamp)) return;
  const start = Date.now();
  say(part, `installing the packages of the differential tester for ${version}`);
  rmSync(pythonDir, { recursive: true, force: true });
  mkdirSync(pythonDir, { recursive: true });
  const install = (pip) => run(python, [...pip, 'install', '--target', pythonDir, '--only-binary', ':all:', '--no-input', '--disable-pip-version-check',
    '--quiet', '--requirement', wanted], { env: { PYTHONNOUSERSITE: '1' } });
  let error;
  try {
    await install((await tryRun(python, ['-m', 'pip', '--version'])) ? ['-m', 'pip'] : [await pipWheel()]);
    await run(python, ['-c', 'import onnx, onnxruntime'], { env: pythonEnvironment() });
    say(part, `ready (${seconds(start)})`);
  } catch (failure) {
    error = failure.message.split('\n').at(-1);
    missing.push(`Python packages: ${error}. The differential test runs its recorded cases only.`);
  }
  writeFileSync(file, `${JSON.stringify({ stamp, error })}\n`);
}

/** The path of pip inside its wheel, which Python can run. */
async function pipWheel() {
  const suite = new Suite(join(toolchainDir, 'apt-pip'));
  await suite.update();
  await suite.download(['python3-pip-whl']);
  const staging = join(toolchainDir, 'pip');
  await unpack(readdirSync(suite.archives).filter((name) => name.endsWith('.deb')).map((name) => join(suite.archives, name)), staging, () => {});
  rmSync(suite.dir, { recursive: true, force: true });
  const wheels = join(staging, 'usr', 'share', 'python-wheels');
  const name = readdirSync(wheels).find((each) => each.startsWith('pip-'));
  if (!name) throw new ToolError('the package python3-pip-whl holds no wheel of pip');
  return join(wheels, name, 'pip');
}


function isCurrent(file, stamp) {
  if (isForced || !existsSync(file)) return false;
  try {
    return JSON.parse(readFileSync(file, 'utf8')).stamp === stamp;
  } catch {
    return false;
  }
}


const begin = Date.now();
const toolchain = setUpToolchain();
const parts = { toolchain, npm: setUpNpm(), chromium: setUpChromium(), python: setUpPython(toolchain) };
const results = await Promise.allSettled(Object.values(parts));
let failures = 0;
results.forEach((result, index) => {
  if (result.status === 'fulfilled') return;
  failures++;
  const error = result.reason;
  say(Object.keys(parts)[index], error instanceof ToolError ? error.message : (error.stack ?? String(error)));
});
for (const line of missing) if (!isQuiet) say('set-up', `could not get ${line}`);
if (failures) say('set-up', 'incomplete; the lines above say why, and running it again goes on from here');
else if (!isQuiet) say('set-up', `everything is in place (${seconds(begin)})`);
process.exitCode = failures ? 1 : 0;
