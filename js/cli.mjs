#!/usr/bin/env node
// The command line: linnet run | inspect | bench. Bad arguments get one line and exit code 2, anything else that goes
// wrong one line and exit code 1.

import { parseArgs } from 'node:util';
import { benchModel } from './cli/bench.mjs';
import { inspectModel } from './cli/inspect.mjs';
import { runModel } from './cli/run.mjs';
import { UsageError } from './cli/terminal.mjs';

const text = /** @type {const} */ ('string');
const list = /** @type {const} */ ({ type: text, multiple: true });
const flag = /** @type {const} */ ({ type: 'boolean' });

const value = { type: text };
const COMMON = {
  threads: value, artifact: value, wasm: value, optimize: value, input: list, dim: list, shape: list, json: flag, help: { ...flag, short: 'h' },
};

const COMMANDS = /** @type {Record<string, { run: (model: string, options: any) => Promise<void>, options: any, help: string }>} */ ({
  run: {
    run: runModel,
    options: { ...COMMON, output: value },
    help: 'run MODEL [--input name=FILE.npy|FILE.json|JSON|random]... [--dim name=N]... [--shape input=N,N]... [--output FOLDER] [--json]',
  },
  inspect: {
    run: inspectModel,
    options: { ...COMMON, optimized: flag, profile: flag, runs: value },
    help: 'inspect MODEL [--optimized] [--profile] [--runs N] [--dim ...] [--shape ...] [--input ...] [--json]',
  },
  bench: {
    run: benchModel,
    options: { ...COMMON, runs: value, seconds: value },
    help: 'bench MODEL [--runs N] [--seconds N] [--dim ...] [--shape ...] [--input ...] [--json]',
  },
});

const HELP = `linnet runs ONNX models.

${Object.values(COMMANDS).map(({ help }) => `  linnet ${help}`).join('\n')}

An input that is not given is random; --dim sets the size of a symbolic dimension (1 by
default), --shape all dimensions of an input.
All take --threads N, --artifact simd|relaxed|simd.threads|relaxed.threads, --optimize 0|1|2 and
--wasm FILE.`;

/** @param {string[]} args */
async function main([name, ...args]) {
  if (!name || name === '--help' || name === '-h') return void console.log(HELP);
  const command = COMMANDS[name];
  if (!command) throw new UsageError(`there is no command '${name}': it is one of ${Object.keys(COMMANDS).join(', ')}`);
  const { values, positionals } = parse(args, command.options);
  if (values.help) return void console.log(`linnet ${command.help}`);
  if (positionals.length !== 1) throw new UsageError(`usage: linnet ${command.help}`);
  await command.run(positionals[0], values);
}

/** @param {string[]} args @param {any} options */
function parse(args, options) {
  try {
    return /** @type {{ values: any, positionals: string[] }} */ (parseArgs({ args, options, allowPositionals: true }));
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message.split(/\n|\. To specify/)[0] : String(error));
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const { code, message, node, op } = /** @type {any} */ (error);
  const place = op && !String(message).includes(op) ? ` (node '${node}', operator ${op})` : '';
  process.stderr.write(`linnet: ${message}${place}\n`);
  if (!(error instanceof UsageError) && !code) process.stderr.write(`${/** @type {any} */ (error).stack}\n`);
  process.exitCode = error instanceof UsageError || code === 'INVALID_ARGUMENT' ? 2 : 1;
}
