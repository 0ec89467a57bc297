// Compares the outputs of a detector as a set: labels, boxes and scores of what is above a score, in any order. Tied
// candidates may swap places when sums are rounded in another order.

const MIN_SCORE = 0.3;
const BOX_TOLERANCE = 0.5;
const SCORE_TOLERANCE = 1e-3;

function detectionsOf(values) {
  const find = (test) => values.find(([name, value]) => test(name.toLowerCase(), value))?.[1];
  const scores = find((name) => name.includes('score'));
  const labels = find((name) => name.includes('label'));
  const boxes = find((name, value) => name.includes('box') || value.dims.at(-1) === 4);
  return Array.from(scores.data, (score, i) => ({
    score,
    label: Number(labels.data[i]),
    box: Array.from(boxes.data.subarray(i * 4, i * 4 + 4)),
  })).filter(({ score }) => score > MIN_SCORE);
}

export function compareDetections(results, expected) {
  const wanted = detectionsOf(expected);
  const found = detectionsOf(expected.map(([name]) => [name, results[name]]));
  let error = 0;
  for (const each of wanted) {
    const match = found.find((other) => other.label === each.label && Math.abs(other.score - each.score) <= SCORE_TOLERANCE &&
      other.box.every((value, k) => Math.abs(value - each.box[k]) <= BOX_TOLERANCE));
    if (!match) return { error, reason: `no match for label ${each.label} with score ${each.score}` };
    error = Math.max(error, ...match.box.map((value, k) => Math.abs(value - each.box[k])));
  }
  return found.length === wanted.length ? { error } : { error, reason: `${found.length} detections, expected ${wanted.length}` };
}
