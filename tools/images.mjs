// Builds the images artifact, dist/linnet.images.wasm: the one-thread simd128 artifact with decoders for JPEG, PNG, WebP,
// JPEG 2000 and TIFF, which models with an ImageDecoder need. The decoders are the libraries' own sources, as Debian
// packages them, unpacked into .toolchain/images; nothing of them is committed.
//
//   node tools/images.mjs

import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPreset } from './lib/cmake.mjs';
import { Suite } from './lib/debian.mjs';
import { distDir, toolchainDir } from './lib/paths.mjs';
import { ToolError, run, say } from './lib/terminal.mjs';

/** Debian's name of each library, and its licence files. */
const PACKAGES = {
  'libjpeg-turbo': ['LICENSE.md', 'README.ijg'],
  libwebp: ['COPYING', 'PATENTS'],
  openjpeg2: ['LICENSE'],
  tiff: ['LICENSE.md'],
  zlib: ['LICENSE'],
  libspng: ['LICENSE'],
};
const NAME = 'linnet.images.wasm';
const NOTICES = 'linnet.images.NOTICES';
const sources = join(toolchainDir, 'images');

/** Downloads and unpacks the sources, all or nothing. */
async function fetchSources() {
  const staging = `${sources}.new`;
  rmSync(staging, { recursive: true, force: true });
  const suite = new Suite(join(staging, 'apt'));
  say('images', "reading Debian's package lists");
  await suite.update();
  for (const name of Object.keys(PACKAGES)) {
    say('images', `downloading ${name}`);
    const tarball = await suite.sourceTarball(name);
    mkdirSync(join(staging, name), { recursive: true });
    await run('tar', ['-xf', tarball, '-C', join(staging, name), '--strip-components=1']);
  }
  rmSync(suite.dir, { recursive: true, force: true });
  renameSync(staging, sources);
}

/** The licences of the libraries, in one text. */
function notices() {
  const parts = Object.entries(PACKAGES).flatMap(([name, files]) =>
    files.map((file) => `${name}: ${file}\n\n${readFileSync(join(sources, name, file), 'utf8')}`));
  return `${NAME} contains, beside what the other artifacts contain, parts of the libraries below. This software is based in\n` +
    `part on the work of the Independent JPEG Group.\n\n\n${parts.join('\n\n')}`;
}

try {
  if (!existsSync(sources)) await fetchSources();
  const dir = await buildPreset('wasm', { definitions: [`-DLN_IMAGES_DIR=${sources}`], targets: ['linnet.images'] });
  mkdirSync(distDir, { recursive: true });
  copyFileSync(join(dir, NAME), join(distDir, NAME));
  writeFileSync(join(distDir, NOTICES), notices());
  say('dist', `${NAME}, ${(statSync(join(distDir, NAME)).size / 1000).toFixed(0)} kB`);
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  say('images', error.message);
  process.exitCode = 1;
}
