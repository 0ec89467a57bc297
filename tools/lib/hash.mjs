// One short hash of several pieces, for stamps that say whether a thing is up to date.

import { createHash } from 'node:crypto';

export function hash(pieces) {
  const sum = createHash('sha256');
  for (const piece of pieces) sum.update(piece).update('\0');
  return sum.digest('hex').slice(0, 16);
}
