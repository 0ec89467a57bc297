// The statistics of the bench. Times are milliseconds; a missing measurement is null.

/** The value at a fraction of the sorted list, interpolated. */
export function quantile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = fraction * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

export const median = (values) => quantile(values, 0.5);

/** Geometric mean of the numbers that are there, or null. */
export function geometricMean(values) {
  const logs = values.filter(Boolean).map(Math.log);
  return logs.length ? Math.exp(logs.reduce((sum, each) => sum + each, 0) / logs.length) : null;
}

/** The ratios that the tables show: name to the columns above and below the line. */
export const RATIOS = {
  relaxed_over_ort_web: ['ort_web_ms', 'linnet_relaxed_ms'],
  simd_over_ort_web: ['ort_web_ms', 'linnet_simd_ms'],
  relaxed_over_ort_node: ['ort_node_ms', 'linnet_relaxed_ms'],
};

/** A ratio of a row, or null where one of the two did not run. */
export function ratio(row, name) {
  const [over, under] = RATIOS[name];
  return row[over] && row[under] ? row[over] / row[under] : null;
}

/** Every ratio's geometric mean over the rows. */
export const geometricMeans = (rows) => Object.fromEntries(Object.keys(RATIOS).map((name) => [name, geometricMean(rows.map((row) => ratio(row, name)))]));
