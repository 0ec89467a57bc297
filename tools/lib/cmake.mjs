// Configuring and building the presets of CMakePresets.json, each in build/PRESET.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { buildDir, root, toolchain, which } from './paths.mjs';
import { ToolError, progress, run, say, seconds } from './terminal.mjs';

/** A tool of the build: from the set-up, or from PATH. */
export function tool(name) {
  const record = toolchain();
  const file = record && join(record.bin, name);
  const found = file && existsSync(file) ? file : which(name);
  if (!found) throw new ToolError(`${name} is missing: run npm run setup`);
  return found;
}

/** The environment in which CMake finds Ninja. */
export const toolEnvironment = () => ({ PATH: `${toolchain()?.bin ?? ''}:${process.env.PATH}` });

/**
 * Configures a preset when that is due, and builds it. A folder configured under another toolchain is configured
 * afresh; other definitions than last time only configure it again. Without definitions they stay what they were.
 */
export async function buildPreset(preset, { definitions, targets = [] } = {}) {
  const dir = join(buildDir, preset);
  const env = toolEnvironment();
  const stampFile = join(dir, 'linnet-stamp.json');
  const old = existsSync(stampFile) ? JSON.parse(readFileSync(stampFile, 'utf8')) : null;
  const stamp = { toolchain: toolchain()?.stamp ?? 'path', definitions: definitions ?? old?.definitions ?? [] };
  if (JSON.stringify(stamp) !== JSON.stringify(old)) {
    say(preset, 'configuring');
    const fresh = stamp.toolchain === old?.toolchain ? [] : ['--fresh'];
    await run(tool('cmake'), ['--preset', preset, ...fresh, ...stamp.definitions], { cwd: root, env });
    writeFileSync(stampFile, JSON.stringify(stamp));
  }
  const tick = progress(preset);
  const start = Date.now();
  let steps = 0;
  const onLine = (line) => {
    const step = /^\[(\d+)\/(\d+)\] (Building|Linking)/.exec(line);
    if (!step) return;
    steps++;
    tick(`${step[1]} of ${step[2]}: ${line.split(/[ /]/).at(-1)}`);
  };
  const chosen = targets.flatMap((each) => ['--target', each]);
  await run(tool('cmake'), ['--build', dir, `-j${availableParallelism()}`, ...chosen], { cwd: root, env, onLine });
  if (steps > 0) say(preset, `built (${seconds(start)})`);
  return dir;
}
