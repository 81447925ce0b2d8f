/** The page docs/metrics.md, generated from the table of metrics. */
import { METRIC_NAMES, METRICS } from './metric-table.ts';

const INTRODUCTION = `# Metrics

\`GET /healthz\` on every listener answers the figures of all threads together: as JSON, or as an exposition for
Prometheus when the request accepts \`application/openmetrics-text\` or \`text/plain\`. The path takes no token and says
nothing of persons, so whoever may reach the listener may read it.

\`\`\`yaml
scrape_configs:
  - job_name: parley
    metrics_path: /healthz
    static_configs:
      - targets: ['127.0.0.1:8081']
\`\`\`

One target is enough: each listener answers for the whole process. Counters run on when a thread is started again.
While a thread does not answer, \`parley_threads_missing\` is above 0, its gauges are left out and its counters stand
as they were last known.

Every label is bounded. \`version\` tells apart the protocol versions up to the server's own and the first newer ones,
50 in all; the rest is \`other\`. \`route\` is the name of a route and never a path as requested; what matched no route
is \`unmatched\`.
`;

/** The whole page. A test holds that the file is this. */
export function metricDocument(): string {
  const rows = METRIC_NAMES.map((name) => {
    const { type, help, labels } = METRICS[name];
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`;
  });
  const buckets = METRIC_NAMES.flatMap((name) => {
    const metric = METRICS[name];
    return 'bounds' in metric ? [`- \`${name}\`: ${metric.bounds.join(', ')}`] : [];
  });
  return [
    INTRODUCTION,
    '| Metric | Type | Labels | Meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    'Upper bounds of the buckets:',
    '',
    ...buckets,
    '',
  ].join('\n');
}
