/** The figures of several threads as one: numbers and buckets of the same metric and labels are added up. */
import type { MetricSnapshot, HistogramSample, Sample } from './metrics.ts';
import { HISTOGRAM_NAMES, type HistogramName, METRICS, SCALAR_NAMES, type ScalarName } from './metric-table.ts';
import { foldVersions } from './version-labels.ts';

/** No label value holds NUL, so joined by it two lists of labels are the same text only if they are the same. */
const keyOf = (labels: readonly string[]) => labels.join('\0');

/**
 * Adds figures up. A gauge that says something of one thread bears that thread as a label and so stands alone.
 * Versions are folded again, since every thread keeps its own first ones.
 */
export function mergeMetrics(all: readonly MetricSnapshot[]): MetricSnapshot {
  const scalars: Partial<Record<ScalarName, Sample[]>> = {};
  for (const name of SCALAR_NAMES) {
    scalars[name] = addScalars(
      boundVersions(
        name,
        all.flatMap((metrics) => metrics.scalars[name] ?? []),
      ),
    );
  }
  const histograms: Partial<Record<HistogramName, HistogramSample[]>> = {};
  for (const name of HISTOGRAM_NAMES) {
    histograms[name] = addHistograms(all.flatMap((metrics) => metrics.histograms[name] ?? []));
  }
  return { scalars, histograms };
}

function boundVersions(name: ScalarName, samples: readonly Sample[]): readonly Sample[] {
  // Only what clients state needs the bound; the build's own version is one.
  const index = (METRICS[name].labels as readonly string[]).indexOf('version');
  if (index === -1 || name === 'parley_process_build_info') return samples;
  const fold = foldVersions(samples.map(({ labels }) => labels[index] as string));
  return samples.map(({ labels, value }) => ({ labels: labels.with(index, fold(labels[index] as string)), value }));
}

function addScalars(samples: readonly Sample[]): Sample[] {
  const sums = new Map<string, Sample>();
  for (const { labels, value } of samples) {
    const key = keyOf(labels);
    sums.set(key, { labels, value: (sums.get(key)?.value ?? 0) + value });
  }
  return [...sums.values()];
}

function addHistograms(samples: readonly HistogramSample[]): HistogramSample[] {
  const sums = new Map<string, HistogramSample>();
  for (const sample of samples) {
    const key = keyOf(sample.labels);
    const before = sums.get(key);
    if (before === undefined) sums.set(key, sample);
    else {
      const counts = sample.counts.map((count, index) => count + (before.counts[index] ?? 0));
      sums.set(key, { labels: sample.labels, counts, sum: before.sum + sample.sum });
    }
  }
  return [...sums.values()];
}
