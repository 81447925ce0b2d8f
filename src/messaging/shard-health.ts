/** GET /healthz on the messaging port: the same answer as everywhere, from main, or from the shards if main is away. */
import { valuesOf } from '#actors/runtime/thread-services.ts';
import type { Config } from '#src/config.ts';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import { HEALTH_CONTENT_TYPES, type HealthFormat } from '#src/telemetry/health-format.ts';
import { healthReply, sharedByFormat, type HealthReply } from '#src/telemetry/health-reply.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import type { ShardRuntime } from './thread-services.ts';

/** A thread that takes longer to say how it is doing counts as missing. */
export const METRICS_MILLIS = 1_000;

export interface ShardHealthOptions {
  readonly runtime: ShardRuntime;
  readonly metrics: ThreadMetrics;
  readonly config: Config;
  readonly startedAt: number;
  readonly version: string;
}

export function makeShardHealth(options: ShardHealthOptions): (accept: string) => Promise<HealthReply> {
  const ledger = new MetricLedger();
  return sharedByFormat(async (format) => {
    const accept = HEALTH_CONTENT_TYPES[format];
    const fromMain = await options.runtime.askMain('health.read', { accept }, METRICS_MILLIS);
    return fromMain.ok ? fromMain.value : await fromShards(options, ledger, format);
  });
}

/** Main is saturated or gone: the shards still know what they do, and main is named as missing. */
async function fromShards(
  options: ShardHealthOptions,
  ledger: MetricLedger,
  format: HealthFormat,
): Promise<HealthReply> {
  const { runtime, metrics, config, startedAt, version } = options;
  const others = valuesOf(await runtime.askOtherShards('metrics.read', null, METRICS_MILLIS));
  const expected = ['main', ...Array.from({ length: runtime.placement.shards }, (_, shard) => `shard-${shard}`)];
  const gathered = ledger.settle([metrics.snapshot(), ...others], expected);
  return await healthReply(gathered, { version, protocolMin: config.protocolMin, startedAt }, format);
}
