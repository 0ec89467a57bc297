// Debian packages as a source of tools, without installing any: apt resolves and downloads them with lists, cache and
// status of our own, dpkg unpacks them into a folder, and the programs in it are told to load the libraries of that
// folder. The system's package database is only read, so none of this needs root.
//
// The mirror is the one that the machine's apt is configured with. The suite is newer than the machine's own (it is
// where a new enough Emscripten is), which is why the programs bring their whole C library along.

import { existsSync, mkdirSync, openSync, readSync, closeSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run, tryRun, ToolError } from './terminal.mjs';

const SUITE = 'forky';
const KEYRINGS = ['debian-archive-keyring.pgp', 'debian-archive-keyring.gpg'].map((f) => `/usr/share/keyrings/${f}`);
const TRIPLES = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
const LOADERS = { amd64: 'ld-linux-x86-64.so.2', arm64: 'ld-linux-aarch64.so.1' };

/** The address of the Debian mirror that this machine uses, from apt's own configuration. */
async function mirror() {
  const targets = await tryRun('apt-get', ['indextargets', '--format', '$(REPO_URI) $(CODENAME) $(COMPONENT)', 'Created-By: Packages']);
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const codename = /^VERSION_CODENAME=(.*)$/m.exec(release)?.[1] ?? '';
  const rows = (targets ?? '').split('\n').map((line) => line.split(' '));
  // Before the first `apt-get update` the codename is not known to apt; the address alone then tells Debian's archive.
  const isArchive = (uri) => /\/debian\/?$/.test(uri ?? '');
  const row =
    rows.find(([uri, name, component]) => name === codename && component === 'main' && isArchive(uri)) ??
    rows.find(([uri]) => isArchive(uri));
  if (!row) throw new ToolError("apt's configuration names no Debian mirror");
  return row[0];
}

/** A view of the suite with its own lists, cache and package status under `dir`. */
export class Suite {
  constructor(dir) {
    this.dir = dir;
    this.archives = join(dir, 'cache', 'archives');
    this.env = { APT_CONFIG: join(dir, 'apt.conf'), LC_ALL: 'C' };
  }

  async update() {
    const { dir } = this;
    for (const folder of ['lists/partial', 'cache/archives/partial', 'parts']) mkdirSync(join(dir, folder), { recursive: true });
    const address = await mirror();
    const keyring = KEYRINGS.find((file) => existsSync(file));
    const options = keyring ? `[signed-by=${keyring}] ` : '';
    writeFileSync(join(dir, 'sources.list'), `deb ${options}${address} ${SUITE} main\ndeb-src ${options}${address} ${SUITE} main\n`);
    writeFileSync(join(dir, 'status'), '');
    const settings = {
      'Dir::Etc::sourcelist': 'sources.list',
      'Dir::Etc::sourceparts': 'parts',
      'Dir::Etc::preferencesparts': 'parts',
      'Dir::State': '.',
      'Dir::State::lists': 'lists',
      'Dir::State::status': 'status',
      'Dir::Cache': 'cache',
      'Dir::Cache::archives': 'cache/archives',
    };
    const lines = Object.entries(settings).map(([key, value]) => `${key} "${join(dir, value)}";`);
    const user = process.getuid?.() === 0 ? ['APT::Sandbox::User "root";'] : [];
    const rest = ['Acquire::Languages "none";', 'Acquire::PDiffs "false";', 'Acquire::Retries "3";', 'APT::Install-Recommends "false";'];
    writeFileSync(this.env.APT_CONFIG, [...lines, ...user, ...rest, ''].join('\n'));
    await run('apt-get', ['update', '-q'], { env: this.env });
  }

  /** The record of a package's newest version, as text, or null. */
  show(name) {
    return tryRun('apt-cache', ['show', '--no-all-versions', name], { env: this.env });
  }

  /**
   * Tells apt that these packages are installed, so that it does not fetch them: they are provided by the machine, or
   * nothing that we run needs them.
   */
  async assumeInstalled(names) {
    const stanzas = [];
    for (const name of names) {
      const text = await this.show(name);
      if (!text) continue;
      const kept = text.split('\n').filter((line) => /^(Package|Version|Architecture|Multi-Arch|Provides|Maintainer):/.test(line));
      stanzas.push([kept[0], 'Status: install ok installed', ...kept.slice(1), 'Description: assumed', '', ''].join('\n'));
    }
    writeFileSync(join(this.dir, 'status'), stanzas.join(''));
  }

  /** The number of packages that `names` amount to with all they depend on, and their bytes. */
  async plan(names) {
    // With a cache of its own that is empty: apt leaves out what an earlier run has downloaded.
    const empty = join(this.dir, 'empty');
    mkdirSync(join(empty, 'partial'), { recursive: true });
    const text = await run('apt-get', ['install', '-y', '--print-uris', '-o', `Dir::Cache::archives=${empty}`, ...names], { env: this.env });
    const rows = text.split('\n').filter((line) => /^'.*\.deb /.test(line)).map((line) => line.split(' '));
    return { files: rows.map((row) => row[1]), bytes: rows.reduce((sum, row) => sum + Number(row[2]), 0) };
  }

  /** Downloads the packages and all they depend on. What is in the cache already is not fetched again. */
  async download(names, onLine) {
    await run('apt-get', ['install', '-y', '--download-only', ...names], { env: this.env, onLine });
  }

  /** Downloads the original tarball of a source package and returns its path. */
  async sourceTarball(name) {
    await run('apt-get', ['source', '--download-only', '--tar-only', name], { env: this.env, cwd: this.dir });
    const file = readdirSync(this.dir).find((entry) => entry.startsWith(`${name}_`) && entry.includes('.orig.tar'));
    if (!file) throw new ToolError(`the source package ${name} brought no tarball`);
    return join(this.dir, file);
  }
}

/** Unpacks package files into `target`, a few at a time. */
export async function unpack(files, target, onCount) {
  mkdirSync(target, { recursive: true });
  let done = 0;
  await eachParallel(files, async (file) => {
    await run('dpkg', ['-x', file, target]);
    onCount(++done, files.length);
  });
  // Programs look for /lib and /lib64, which only the base system's own package makes.
  for (const name of ['lib', 'lib64']) {
    if (!existsSync(join(target, name)) && existsSync(join(target, 'usr', name))) symlinkSync(`usr/${name}`, join(target, name));
  }
  for (const name of ['doc', 'man', 'locale', 'lintian', 'bash-completion']) {
    rmSync(join(target, 'usr', 'share', name), { recursive: true, force: true });
  }
}

/** The folder of the unpacked libraries and the dynamic loader among them. */
export async function unpackedLoader(target) {
  const arch = (await run('dpkg', ['--print-architecture'])).trim();
  if (!TRIPLES[arch]) throw new ToolError(`no known loader for the architecture ${arch}`);
  const libraries = join(target, 'usr', 'lib', TRIPLES[arch]);
  return { triple: TRIPLES[arch], libraries, loader: join(libraries, LOADERS[arch]) };
}

/**
 * Makes the unpacked programs load the unpacked C library and its companions: their interpreter is set to the unpacked
 * loader, and their search path to the unpacked libraries. The path is written as DT_RPATH, which holds for libraries
 * that a library needs in turn, unless that one has a path of its own: these are rewritten too.
 */
export async function relocate(target, onCount) {
  const { libraries, loader } = await unpackedLoader(target);
  const patchelf = (args) => run(loader, ['--library-path', libraries, join(target, 'usr', 'bin', 'patchelf'), ...args]);
  const llvm = readdirSync(join(target, 'usr', 'lib')).filter((name) => /^llvm-\d+$/.test(name));
  const folders = [join(target, 'usr', 'bin'), ...llvm.map((name) => join(target, 'usr', 'lib', name, 'bin'))];
  const programs = folders.flatMap((folder) => elfFiles(folder)).filter((file) => !file.endsWith('/patchelf'));
  const shared = elfFiles(libraries).filter((file) => /lib(LLVM|clang|binaryen|archive|curl)[^/]*\.so/.test(file));
  let done = 0;
  const total = programs.length + shared.length;
  await eachParallel([...programs, ...shared], async (file) => {
    const isProgram = programs.includes(file);
    const interpreter = isProgram ? ['--set-interpreter', loader] : [];
    // Static programs and position-independent libraries without an interpreter are left as they are.
    await patchelf([...interpreter, '--force-rpath', '--set-rpath', libraries, file]).catch((error) => {
      if (!/no section headers|cannot find section|not a dynamic|\.interp/.test(error.message)) throw error;
    });
    onCount(++done, total);
  });
}

function elfFiles(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(folder, entry.name))
    .filter((file) => {
      const head = Buffer.alloc(4);
      const descriptor = openSync(file, 'r');
      readSync(descriptor, head, 0, 4, 0);
      closeSync(descriptor);
      return head.toString('latin1') === '\x7fELF';
    });
}

async function eachParallel(items, work) {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker));
}
