// What the tools say and how they run other programs. One line per event, prefixed by the part that speaks; on a
// terminal a line in progress is redrawn in place, elsewhere it is printed at most every five seconds, so that a log
// stays short.

import { spawn } from 'node:child_process';

const isTerminal = Boolean(process.stdout.isTTY);
let progressOpen = false;

/** Prints one line. */
export function say(part, text) {
  if (progressOpen) process.stdout.write('\n');
  progressOpen = false;
  process.stdout.write(`${part.padEnd(10)} ${text}\n`);
}

/** Returns a function that reports progress of one long piece of work. */
export function progress(part) {
  let last = 0;
  return (text) => {
    const now = Date.now();
    if (isTerminal) {
      process.stdout.write(`\r${part.padEnd(10)} ${text}\x1b[K`);
      progressOpen = true;
    } else if (now - last >= 5000) {
      say(part, text);
      last = now;
    }
  };
}

/** Something that a person can mend: told without a stack. `output` is all that a failed program printed. */
export class ToolError extends Error {
  constructor(message, output = message) {
    super(message);
    this.output = output;
  }
}

/**
 * Runs a program and resolves to what it printed. Rejects with a ToolError that ends in the last lines of its output
 * when it fails. `onLine` sees each line as it comes; `inherit` lets the program write to our own output instead.
 */
export function run(command, args, { cwd, env, onLine, inherit = false, input } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = inherit ? ['ignore', 'inherit', 'inherit'] : [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'];
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio });
    let output = '';
    let stdout = '';
    let rest = '';
    const take = (chunk, isStdout) => {
      output += chunk;
      if (isStdout) stdout += chunk;
      if (!onLine) return;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) onLine(line);
    };
    if (!inherit) {
      child.stdout.setEncoding('utf8').on('data', (chunk) => take(chunk, true));
      child.stderr.setEncoding('utf8').on('data', (chunk) => take(chunk, false));
      if (input !== undefined) child.stdin.end(input);
    }
    child.on('error', (error) => reject(new ToolError(`${command}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) return resolve(stdout);
      const tail = output.trim().split('\n').slice(-15).join('\n');
      reject(new ToolError(`${[command, ...args].join(' ').slice(0, 200)} failed (${signal ?? code})\n${tail}`, output));
    });
  });
}

/** Like run, but resolves to null when the program is missing or fails. */
export async function tryRun(command, args, options) {
  try {
    return await run(command, args, options);
  } catch {
    return null;
  }
}

export const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
