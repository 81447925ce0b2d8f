/** What is open on a shard's thread before anything serves: its log and metrics, its lanes, accounts and attachments. */
import { Placement } from '#actors/runtime/placement.ts';
import { ThreadRuntime } from '#actors/runtime/thread-runtime.ts';
import { systemClock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import { logConsole } from '#src/telemetry/console-lines.ts';
import { Log } from '#src/telemetry/log.ts';
import { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import { QuotaGate, type NearQuota } from '#src/limits/quotas.ts';
import { AccountsReader } from '#storage/accounts/accounts.ts';
import { openEnvironment } from '#storage/accounts/accounts-reader.ts';
import { Lanes } from '#storage/engine/lanes.ts';
import { openAttachmentClient, type AttachmentClient } from './attachments/attachment-client.ts';
import { UntoldChanges } from './conversations/untold-changes.ts';
import type { ShardData } from './shard-data.ts';
import type { ShardRuntime } from './thread-services.ts';

export interface ShardBase {
  readonly data: ShardData;
  readonly config: Config;
  readonly placement: Placement;
  /** The way to the other threads, once it has begun. */
  readonly runtime: ShardRuntime;
  readonly metrics: ThreadMetrics;
  readonly log: Log;
  readonly lanes: Lanes;
  /** What the thread before this one may have told nobody. */
  readonly untold: UntoldChanges;
  readonly accounts: AccountsReader;
  readonly attachments: AttachmentClient;
  readonly quotas: QuotaGate;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export async function openShardBase(data: ShardData): Promise<ShardBase> {
  const { config, folder, shard } = data;
  const now = (): number => systemClock.now();
  const placement = new Placement(data.placement.shards, data.placement.lanes);
  const runtime: ShardRuntime = new ThreadRuntime({ shard, placement });
  const metrics = new ThreadMetrics(`shard-${shard}`);
  const log = new Log({
    level: config.logLevel,
    thread: `shard-${shard}`,
    clock: systemClock,
    keep: (line, level) => {
      // What an operator should see is shown in the console too; the main thread keeps the last lines of all threads.
      if (level === 'error' || level === 'warn') runtime.tellMain('log.written', { line });
    },
  });
  logConsole(log);
  const lanes = new Lanes({
    folder,
    lanes: placement.lanes,
    mapBytes: config.laneSize * 2 ** 30,
    setAside: data.setAside,
    owns: (lane) => placement.ownsLane(shard, lane),
    report: (records, nanos, failed) => (failed ? metrics.commitFailed() : metrics.commit(records, nanos)),
    words: data.words,
  });
  const untold = new UntoldChanges(lanes);
  const accounts = new AccountsReader(folder, openEnvironment(folder, 'read', data.words));
  const near = (one: NearQuota) => runtime.tellMain('quota.neared', one);
  const quotas = new QuotaGate({ limits: data.quotas, now, near });
  const hasWriter = shard === placement.attachmentShard;
  const attachments = await openAttachmentClient({ ...data, lanes, hasWriter, now, log, quotas, runtime });
  return { data, config, placement, runtime, metrics, log, lanes, untold, accounts, attachments, quotas, now };
}
