/** The figures as a Prometheus or OpenMetrics exposition, written by prom-client (HLT-02). */
import {
  Counter,
  Gauge,
  type Metric,
  openMetricsContentType,
  prometheusContentType,
  Registry,
  type RegistryContentType,
} from 'prom-client';
import type { MetricSnapshot, HistogramSample } from './metrics.ts';
import { countOf } from './histogram.ts';
import { HISTOGRAM_NAMES, type HistogramName, METRICS, SCALAR_NAMES } from './metric-table.ts';

export const EXPOSITION_CONTENT_TYPES = {
  prometheus: prometheusContentType,
  openmetrics: openMetricsContentType,
} as const;

export type ExpositionFormat = keyof typeof EXPOSITION_CONTENT_TYPES;

/**
 * The exposition of all metrics of the table. Each rendering takes a registry of its own: two scrapers may come at
 * once, and prom-client renames counters in place for OpenMetrics.
 */
export async function renderExposition(metrics: MetricSnapshot, format: ExpositionFormat): Promise<string> {
  const registry = new Registry<RegistryContentType>();
  registry.setContentType(EXPOSITION_CONTENT_TYPES[format]);
  for (const name of SCALAR_NAMES) {
    const { type, help, labels } = METRICS[name];
    const options = { name, help, labelNames: [...labels], registers: [] };
    const samples = metrics.scalars[name] ?? [];
    if (type === 'counter') {
      const counter = new Counter<string>(options);
      for (const sample of samples) counter.inc(namedLabels(labels, sample.labels), sample.value);
      registry.registerMetric(counter);
    } else {
      const gauge = new Gauge<string>(options);
      for (const sample of samples) gauge.set(namedLabels(labels, sample.labels), sample.value);
      registry.registerMetric(gauge);
    }
  }
  for (const name of HISTOGRAM_NAMES) registry.registerMetric(countedHistogram(name, metrics.histograms[name] ?? []));
  return registry.metrics();
}

/**
 * A histogram that was counted elsewhere. prom-client's own can only be fed one value at a time; its registry asks
 * nothing of a metric but a name and `get()`.
 */
function countedHistogram(name: HistogramName, samples: readonly HistogramSample[]): Metric {
  const { help, labels, bounds } = METRICS[name];
  const values = samples.flatMap((sample) => {
    const named = namedLabels(labels, sample.labels);
    let below = 0;
    const buckets = bounds.map((bound, index) => {
      below += sample.counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { ...named, le: String(bound) }, value: below };
    });
    const count = countOf(sample);
    return [
      ...buckets,
      { metricName: `${name}_bucket`, labels: { ...named, le: '+Inf' }, value: count },
      { metricName: `${name}_sum`, labels: named, value: sample.sum },
      { metricName: `${name}_count`, labels: named, value: count },
    ];
  });
  const get = () => Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values });
  return { name, help, get } as unknown as Metric;
}

function namedLabels(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}
