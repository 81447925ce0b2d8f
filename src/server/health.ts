/** The figures of all threads together, as GET /healthz answers them. */
import { valuesOf } from '#actors/runtime/thread-services.ts';
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import { healthReply, sharedByFormat, type HealthReply } from '#src/telemetry/health-reply.ts';
import type { Base, Release } from './base.ts';

/**
 * A thread that takes longer to say how it is doing counts as missing. With the wait for a shared answer (HEALTH_MILLIS)
 * it is less than a shard waits for this thread.
 */
export const METRICS_MILLIS = 850;

export type AskHealth = (accept: string | undefined) => Promise<HealthReply>;

/** The figures of all threads, merged, as GET /healthz answers them. */
export function makeHealth(
  { config, placement, metrics }: Base,
  { startedAt, version }: Release,
  supervisor: ShardSupervisor,
): AskHealth {
  const ledger = new MetricLedger();
  const installation = { version, protocolMin: config.protocolMin, startedAt };
  const expected = ['main', ...Array.from({ length: placement.shards }, (_, shard) => `shard-${shard}`)];
  return sharedByFormat(async (format) => {
    const shards = valuesOf(await supervisor.askShards('metrics.read', null, METRICS_MILLIS));
    return await healthReply(ledger.settle([metrics.snapshot(), ...shards], expected), installation, format);
  });
}
