// The command line.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { readNpy, writeNpy } from '../../js/cli/npy.mjs';
import { addModel, root, single } from '../support/models.mjs';

const build = single.wasm ? ['--wasm', single.wasm, '--artifact', single.artifact] : ['--threads', '1'];

describe('linnet', () => {
  let dir;
  let model;
  const linnet = (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'js', 'cli.mjs'), ...args], { encoding: 'utf8', cwd: dir });
    return { status, stdout, stderr };
  };
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'linnet-'));
    model = join(dir, 'add.onnx');
    writeFileSync(model, addModel);
    writeFileSync(join(dir, 'a.npy'), writeNpy('float32', [3], new Float32Array([1, 2, 3])));
    writeFileSync(join(dir, 'b.json'), '[10, 20, 30]');
  });
  after(() => rmSync(dir, { recursive: true }));

  test('run, with .npy and JSON in and .npy out', () => {
    const { status, stdout, stderr } = linnet('run', model, '--input', 'a=a.npy', '--input', 'b=b.json', '--output', 'out', ...build);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /c +float32 \[3\] +11 22 33 +largest at 2/);
    const { type, dims, bytes } = readNpy(readFileSync(join(dir, 'out', 'c.npy')));
    assert.deepEqual([type, dims, [...new Float32Array(bytes.buffer)]], ['float32', [3], [11, 22, 33]]);
  });

  test('run, with a result as JSON and JSON as it stands', () => {
    const { stdout, stderr } = linnet('run', model, '--input', 'a=[1,2]', '--input', 'b=[3,4]', '--json', ...build);
    assert.deepEqual(JSON.parse(stdout || stderr).outputs.c, { type: 'float32', dims: [2], data: [4, 6] });
  });

  test('run, with random inputs of a given size', () => {
    const { stdout } = linnet('run', model, '--dim', 'n=5', ...build);
    assert.match(stdout, /random input: a, b\n.*float32 \[5\]/);
  });

  test('inspect', () => {
    const { status, stdout } = linnet('inspect', model, ...build);
    assert.equal(status, 0);
    for (const line of [/by linnet-tests/, /operator sets ai\.onnx 21/, /a +float32 \[n\]/, /1 +Add/, /workspace/]) assert.match(stdout, line);
    const json = JSON.parse(linnet('inspect', model, '--json', ...build).stdout);
    assert.equal(json.operators[0].op, 'Add');
    assert.ok(json.plan.wasmBytes > 0);
  });

  test('inspect --optimized and --profile', () => {
    const { status, stdout } = linnet('inspect', model, '--optimized', '--profile', '--runs', '3', '--dim', 'n=4', ...build);
    assert.equal(status, 0);
    for (const line of [/rewrites that fired/, /Add +float32 \[4\] +<- +float32 \[4\], float32 \[4\] +sum/, /time by step/, /lower bound/]) assert.match(stdout, line);
    const { plan } = JSON.parse(linnet('inspect', model, '--optimized', '--profile', '--json', ...build).stdout);
    assert.deepEqual(plan.optimized.steps.map(({ op, outputs }) => [op, outputs]), [['Add', ['float32 [1]']]]);
    assert.deepEqual(plan.profile.map(({ node }) => node), ['sum']);
    assert.ok(plan.profile[0].ms >= 0);
  });

  test('bench', () => {
    const { status, stdout, stderr } = linnet('bench', model, '--runs', '5', '--json', ...build);
    assert.equal(status, 0, stderr);
    const { runs, median, operators } = JSON.parse(stdout);
    assert.deepEqual([runs, operators[0].op], [5, 'Add']);
    assert.ok(median > 0);
    assert.match(linnet('bench', model, '--runs', '5', ...build).stdout, /median .*ms[^]*time by operator\n +Add/);
  });

  const mistakes = [
    [[], 0], [['--help'], 0], [['run', '--help'], 0], [['frobnicate'], 2], [['run'], 2], [['run', 'a.onnx', 'b.onnx'], 2], [['run', 'add.onnx', '--frob'], 2],
    [['run', 'add.onnx', '--input', 'z=random'], 2], [['run', 'add.onnx', '--input', 'a'], 2], [['run', 'add.onnx', '--input', 'a=none.npy'], 2],
    [['run', 'add.onnx', '--threads', 'many'], 2], [['run', 'add.onnx', '--dim', 'n=x'], 2], [['run', 'add.onnx', '--artifact', 'gpu'], 2],
    [['bench', 'add.onnx', '--runs', '-3'], 2], [['run', 'none.onnx'], 1], [['run', 'a.npy'], 1],
  ];
  for (const [args, expected] of mistakes) {
    test(`'${args.join(' ')}' ends with ${expected}`, () => {
      const needsBuild = args.includes('--threads') || args.includes('--artifact') || args.length < 2 ? [] : build;
      const { status, stderr } = linnet(...args, ...needsBuild);
      assert.equal(status, expected, stderr);
      if (expected) assert.match(stderr, /^linnet: [^\n]+\n$/);
    });
  }
});
