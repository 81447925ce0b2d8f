/** Percentiles of latencies, from the HDR histogram that Node brings. */
import { createHistogram } from 'node:perf_hooks';

export interface Percentiles {
  count: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

/** Percentiles of samples in nanoseconds: three figures, up to a minute. No samples give zeros. */
export function percentilesOf(samples: Iterable<number>): Percentiles {
  const histogram = createHistogram({ lowest: 1, highest: 60e9, figures: 3 });
  for (const sample of samples) histogram.record(Math.min(60e9, Math.max(1, Math.round(sample))));
  if (histogram.count === 0) return { count: 0, p50: 0, p90: 0, p99: 0, p999: 0, max: 0 };
  return {
    count: histogram.count,
    p50: histogram.percentile(50),
    p90: histogram.percentile(90),
    p99: histogram.percentile(99),
    p999: histogram.percentile(99.9),
    max: histogram.max,
  };
}

/** The sample that so large a share of all are not above: 0.95 for p95. No samples give zero. */
export function percentileOf(samples: Float64Array, share: number): number {
  return samples.toSorted()[Math.max(0, Math.ceil(share * samples.length) - 1)] ?? 0;
}
