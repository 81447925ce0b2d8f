/** Figures as they travel from a thread to whoever is scraped: plain values that survive a structured clone. */
import type { HistogramName, ScalarName } from './metric-table.ts';

/** One number of a metric. Label values stand in the order of the metric's labels in the table. */
export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
}

/** One histogram of a metric. `counts` holds one number a bucket, not summed up, with the unbounded bucket last. */
export interface HistogramSample {
  readonly labels: readonly string[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface MetricSnapshot {
  readonly scalars: Readonly<Partial<Record<ScalarName, readonly Sample[]>>>;
  readonly histograms: Readonly<Partial<Record<HistogramName, readonly HistogramSample[]>>>;
}

/** The figures of one thread at one moment. */
export interface ThreadSnapshot extends MetricSnapshot {
  /** `main`, `shard-0`, …: a thread that was restarted bears the name of the one before it. */
  readonly thread: string;
  /** When its counters began, in microseconds of the machine's steady clock: tells a restarted thread from the old. */
  readonly born: number;
  /** Rises by one with every snapshot of the thread. */
  readonly sequence: number;
}

/** The samples of a metric with one figure. */
export function oneSample(value: number, labels: readonly string[] = []): Sample[] {
  return [{ labels, value }];
}
