/** GET /healthz on the messaging port: the same answer as everywhere, from main, or from the shards if main is away. */
import { MAIN, type ThreadRuntime } from '#actors/runtime/thread-runtime.ts';
import type { Config } from '#src/config.ts';
import { MetricLedger } from '#src/telemetry/metric-ledger.ts';
import type { ThreadSnapshot } from '#src/telemetry/metrics.ts';
import { healthReply, type HealthReply } from '#src/telemetry/health-reply.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';

/** A thread that takes longer to say how it is doing counts as missing. */
export const METRICS_MILLIS = 1_000;

export interface ShardHealthOptions {
  readonly runtime: ThreadRuntime;
  readonly metrics: ThreadMetrics;
  readonly config: Config;
  readonly startedAt: number;
  readonly version: string;
}

export function makeShardHealth(options: ShardHealthOptions): (accept: string) => Promise<HealthReply> {
  const ledger = new MetricLedger();
  return async (accept) => {
    const fromMain = await options.runtime.askService(MAIN, '@health', accept, METRICS_MILLIS);
    return fromMain.ok ? (fromMain.value as HealthReply) : await fromShards(options, ledger, accept);
  };
}

/** Main is saturated or gone: the shards still know what they do, and main is named as missing. */
async function fromShards(options: ShardHealthOptions, ledger: MetricLedger, accept: string): Promise<HealthReply> {
  const { runtime, metrics, config, startedAt, version } = options;
  const others = [...runtime.links.keys()].filter((thread) => thread !== MAIN);
  const asked = others.map((thread) => runtime.askService(thread, '@figures', null, METRICS_MILLIS));
  const answers = (await Promise.all(asked)).flatMap((answer) => (answer.ok ? [answer.value as ThreadSnapshot] : []));
  const expected = ['main', ...Array.from({ length: runtime.placement.shards }, (_, shard) => `shard-${shard}`)];
  const gathered = ledger.settle([metrics.snapshot(), ...answers], expected);
  return await healthReply(gathered, { version, protocolMin: config.protocolMin, startedAt }, accept);
}
