/** What GET /healthz answers on every listener: the same figures, in the form that was asked for (HLT-01, HLT-02). */
import { renderExposition } from './exposition.ts';
import type { Gathered } from './metric-ledger.ts';
import { healthBody } from './health-body.ts';
import { chooseHealthFormat, HEALTH_CONTENT_TYPES } from './health-format.ts';
import { addProcessMetrics, type Installation } from './process-metrics.ts';

export interface HealthReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The reply to a scrape, to be sent with 200 also when threads are missing: a probe that restarts the process
 * because one thread is busy would turn a delay into an outage. `status` and `parley_threads_missing` say it.
 * @param accept the request's Accept header.
 */
export async function healthReply(
  gathered: Gathered,
  installation: Installation,
  accept: string | undefined,
): Promise<HealthReply> {
  const metrics = addProcessMetrics(gathered, installation);
  const format = chooseHealthFormat(accept);
  return {
    headers: { 'content-type': HEALTH_CONTENT_TYPES[format], 'cache-control': 'no-store', vary: 'accept' },
    body:
      format === 'json'
        ? JSON.stringify(healthBody(metrics, gathered, installation))
        : await renderExposition(metrics, format),
  };
}
