/** The figures of the process as a whole, which belong to no thread and are read once, by whoever is scraped. */
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import type { Gathered } from './metric-ledger.ts';
import { type MetricSnapshot, oneSample } from './metrics.ts';
import { mergeMetrics } from './merge.ts';

/** What is running. */
export interface Installation {
  /** The version of the package. */
  readonly version: string;
  /** The oldest client protocol served, which the operator may have raised. */
  readonly protocolMin: number;
  /** When the process started, in milliseconds since the Unix epoch. */
  readonly startedAt: number;
}

/** The gathered figures of the threads with those of the process beside them. */
export function addProcessMetrics(
  gathered: Gathered,
  { version, protocolMin, startedAt }: Installation,
): MetricSnapshot {
  const cpu = process.cpuUsage();
  return mergeMetrics([
    gathered.metrics,
    {
      scalars: {
        parley_process_build_info: [{ labels: [version, String(PROTOCOL_VERSION), String(protocolMin)], value: 1 }],
        parley_process_cpu_seconds_total: [
          { labels: ['user'], value: cpu.user / 1e6 },
          { labels: ['system'], value: cpu.system / 1e6 },
        ],
        parley_process_resident_memory_bytes: oneSample(process.memoryUsage.rss()),
        parley_process_start_time_seconds: oneSample(startedAt / 1000),
        parley_threads_answered: oneSample(gathered.answered.length),
        parley_threads_missing: oneSample(gathered.missing.length),
      },
      histograms: {},
    },
  ]);
}
