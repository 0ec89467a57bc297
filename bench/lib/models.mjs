// The models that the bench measures: folders with model.onnx and test_data_set_*. A model of the zoo has several sets,
// each a case of its own, named like bert-base@128x1; of other models only the first set is measured.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadFolder } from '../../tests/conformance/cases.mjs';
import { corporaDir } from '../../tests/conformance/corpora.mjs';

const data = fileURLToPath(new URL('../../tests/data', import.meta.url));

/**
 * Lists { name, group, dir, file, cases } with the names of the cases.
 * @param {{ zoo?: string, only?: string, skip?: string }} choice only and skip are lists of names, in which * stands for anything
 */
export function listModels({ zoo, only, skip }) {
  const corpora = corporaDir && join(corporaDir, 'models');
  const all = [...folders(corpora, 'models'), ...folders(data, 'data'), ...folders(zoo, 'zoo')];
  const isWanted = matcher(only ?? '*');
  const isUnwanted = matcher(skip ?? '');
  const chosen = all.map((model) => ({ ...model, cases: caseNames(model).filter((name) => isWanted(name) && !isUnwanted(name)) })).filter(({ cases }) => cases.length);
  const names = chosen.flatMap(({ cases }) => cases);
  for (const pattern of only?.split(',') ?? []) if (!names.some(matcher(pattern))) throw new Error(`no model '${pattern}'`);
  return chosen;
}

/** Feeds by case name. */
export function loadFeeds({ name, group, dir }) {
  const { sets } = loadFolder(dir);
  return new Map(sets.map((set) => [group === 'zoo' ? `${name}@${set.name}` : name, set.feeds]).reverse());
}

function folders(root, group) {
  if (!root || !existsSync(root)) return [];
  const names = readdirSync(root).filter((name) => existsSync(join(root, name, 'model.onnx')));
  return names.sort().map((name) => ({ name, group, dir: join(root, name), file: join(root, name, 'model.onnx') }));
}

/** Cases in the order of their size, as their names have it. */
function caseNames({ name, group, dir }) {
  if (group !== 'zoo') return [name];
  const sets = readdirSync(dir).filter((each) => each.startsWith('test_data_set_')).map((each) => each.slice('test_data_set_'.length));
  return sets.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).map((set) => `${name}@${set}`);
}

function matcher(list) {
  const patterns = list.split(',').map((pattern) => new RegExp(`^${pattern.split('*').map((part) => part.replace(/[.@+]/g, '\\$&')).join('.*')}$`));
  // A model's bare name stands for all of its cases.
  return (name) => patterns.some((pattern) => pattern.test(name) || pattern.test(name.split('@')[0]));
}
