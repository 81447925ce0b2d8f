/** The figures of all threads together, as GET /healthz answers them. */
import type { Supervisor } from '#actors/runtime/supervisor.ts';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import type { ThreadSnapshot } from '#src/telemetry/metrics.ts';
import { healthReply, type HealthReply } from '#src/telemetry/health-reply.ts';
import type { Base, Release } from './base.ts';

/** A thread that takes longer to say how it is doing counts as missing. */
export const METRICS_MILLIS = 900;

export type AskHealth = (accept: string | undefined) => Promise<HealthReply>;

/** The figures of all threads, merged, as GET /healthz answers them. */
export function makeHealth(
  { config, placement, metrics }: Base,
  { startedAt, version }: Release,
  supervisor: Supervisor,
): AskHealth {
  const ledger = new MetricLedger();
  const installation = { version, protocolMin: config.protocolMin, startedAt };
  const numbers = Array.from({ length: placement.shards }, (_, shard) => shard);
  const expected = ['main', ...numbers.map((shard) => `shard-${shard}`)];
  return async (accept) => {
    const asked = numbers.map((shard) => supervisor.askShard(shard, '@figures', null, METRICS_MILLIS));
    const answers = (await Promise.all(asked)).flatMap((answer) => (answer.ok ? [answer.value as ThreadSnapshot] : []));
    return await healthReply(ledger.settle([metrics.snapshot(), ...answers], expected), installation, accept);
  };
}
