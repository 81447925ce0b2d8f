/** What GET /healthz answers on every listener: the same figures, in the form that was asked for (HLT-01, HLT-02). */
import { renderExposition } from './exposition.ts';
import type { Gathered } from './metric-ledger.ts';
import { healthBody } from './health-body.ts';
import { SharedAnswer } from '#src/base/shared-answer.ts';
import { chooseHealthFormat, HEALTH_CONTENT_TYPES, HEALTH_FORMATS, type HealthFormat } from './health-format.ts';
import { addProcessMetrics, type Installation } from './process-metrics.ts';

export interface HealthReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * How often a reply of each format is made at most; whoever asks meanwhile shares the next. Making one takes a thread some
 * 4 ms, and anybody may ask: 64 at once made a sign-in beside them take 315 ms instead of 45.
 */
export const HEALTH_MILLIS = 100;

/** Replies made by `make`, each for all who ask for its format at about the same time, by their Accept headers. */
export function sharedByFormat(
  make: (format: HealthFormat) => Promise<HealthReply>,
): (accept: string | undefined) => Promise<HealthReply> {
  const shared = HEALTH_FORMATS.map((format) => [format, new SharedAnswer(() => make(format), HEALTH_MILLIS)] as const);
  const byFormat = new Map(shared);
  return async (accept) => await (byFormat.get(chooseHealthFormat(accept)) as SharedAnswer<HealthReply>).read();
}

/**
 * The reply to a scrape, to be sent with 200 also when threads are missing: a probe that restarts the process
 * because one thread is busy would turn a delay into an outage. `status` and `parley_threads_missing` say it.
 */
export async function healthReply(
  gathered: Gathered,
  installation: Installation,
  format: HealthFormat,
): Promise<HealthReply> {
  const metrics = addProcessMetrics(gathered, installation);
  return {
    headers: { 'content-type': HEALTH_CONTENT_TYPES[format], 'cache-control': 'no-store', vary: 'accept' },
    body:
      format === 'json'
        ? JSON.stringify(healthBody(metrics, gathered, installation))
        : await renderExposition(metrics, format),
  };
}
