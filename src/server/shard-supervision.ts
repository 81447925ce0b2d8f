/** The shards as the main thread has them: what they start with, what they ask of it, and what it does when one dies. */
import type { ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import { CallBoard } from '#actors/call/call-board.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import { Supervisor } from '#actors/runtime/supervisor.ts';
import { setYoungGeneration } from '#actors/runtime/young-generation.ts';
import { systemClock } from '#src/base/clock.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import type { QuotaWarnings } from '#src/monitoring/quota-warnings.ts';
import type { Retention } from '#src/compliance/retention.ts';
import { readAsking } from '#src/settings/asking-settings.ts';
import { readPolicySnapshot } from '#src/directory/access-control.ts';
import { BotAudit } from '#src/integrations/bot-audit.ts';
import { readBotSnapshot } from '#src/integrations/bot-records.ts';
import { auditInfected } from './infected-uploads.ts';
import type { Integrations } from '#src/integrations/integrations.ts';
import type { ShardData } from '#src/messaging/shard-data.ts';
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import type { AttachmentKeys } from './attachment-keys.ts';
import { ringsOf } from './signing-key-rotation.ts';
import type { Base, Release } from './base.ts';
import type { AskHealth } from './health.ts';

/** The exit code when shards keep dying. */
const EXIT_SHARDS = 70;

/** The shards that `startShards` starts: asked before, they are away. */
export function makeSupervisor({ config, log, metrics, placement }: Base): ShardSupervisor {
  setYoungGeneration(config.youngGeneration);
  return new Supervisor({
    entry: new URL('../messaging/shard.ts', import.meta.url),
    placement,
    host: config.host,
    port: config.messagingPort,
    report: {
      timedOut: () => metrics.askTimedOut(),
      dropped: (kind) => metrics.dropped(kind),
      failed: (service, error) => log.error('what a shard asked of the main thread failed', { service, error }),
    },
  });
}

/** What the shards are started with and ask for, of the rest of the server. */
export interface ShardContext {
  readonly release: Release;
  readonly origins: readonly string[];
  readonly health: AskHealth;
  /** What pushes are sent with now. */
  readonly push: () => PushCredentials;
  /** The servers that media of calls go over now. */
  readonly mediaServers: () => MediaServers;
  /** The object store that contents of attachments may lie in now. */
  readonly objectStore: () => ObjectStoreSettings | null;
  /** What the shards say is wrong with it. */
  readonly objectStoreFault: { readonly note: (fault: string | null) => void };
  readonly retention: Pick<Retention, 'rule'>;
  /** How contents of attachments are kept now. */
  readonly attachmentKeys: Pick<AttachmentKeys, 'sealing'>;
  readonly integrations: Integrations;
  /** What people may use now. */
  readonly quotas: Pick<QuotaGate, 'limits'>;
  readonly quotaWarnings: Pick<QuotaWarnings, 'note'>;
  /** A shard refused a request that showed a vendor token. */
  readonly vendorRefused: (shown: ShownVendorToken) => void;
  readonly restarted: (shard: number) => void;
}

/** Starts the shards with what they need, and serves what they ask of the main thread; resolves with their port. */
export async function startShards(
  supervisor: ShardSupervisor,
  base: Base,
  surroundings: ShardContext,
): Promise<number> {
  const { accounts, config, log, metrics, placement, recentLines } = base;
  const { health, integrations, objectStoreFault, quotaWarnings, restarted, vendorRefused } = surroundings;
  const botAudit = new BotAudit(accounts, systemClock);
  const calls = new CallBoard();
  return await supervisor.start({
    workerData: makeShardData(base, surroundings, (shard) =>
      calls.list(Infinity).filter(({ scope }) => placement.shardOf(`call:${scope}`) === shard),
    ),
    services: {
      ...integrations.services,
      'audit.writeBotFacts': async (batch) => await botAudit.write(batch),
      'audit.writeInfection': async (upload) => await auditInfected(accounts, systemClock, upload),
      'health.read': async ({ accept }) => await health(accept),
      'calls.changed': (change) => calls.follow(change),
      'objectStore.faulted': ({ fault }) => objectStoreFault.note(fault),
      'conversations.changed': ({ conversations }) => integrations.deliveries.noteActivity(conversations),
      'quota.neared': (near) => quotaWarnings.note(near),
      'log.written': ({ line }) => recentLines.add(line),
      'vendorTokens.refused': (shown) => vendorRefused(shown),
    },
    onRestart: (shard, error) => {
      metrics.threadRestarted(`shard-${shard}`);
      log.error('a shard died and is started again', { shard, error });
      restarted(shard);
    },
    onEscalate: (shard) => {
      log.error('a shard dies too often; the server stops', { shard });
      // Every other shard lets go first: a thread that ends with its sockets open would abort the process.
      void supervisor.stop(config.drainSeconds * 1000).finally(() => process.exit(EXIT_SHARDS));
    },
  });
}

/** What a shard is started with, read anew whenever one is; `callsOf` has the calls of the thread before it. */
function makeShardData(
  { accounts, backups, certificate, config, folder, hosts, limits, manifest, placement, setAside, words }: Base,
  { attachmentKeys, mediaServers, objectStore, origins, push, quotas, release, retention }: ShardContext,
  callsOf: (shard: number) => readonly CallRecord[],
): (shard: number) => ShardData {
  const started = new Set<number>();
  return (shard) => ({
    shard,
    isRestart: started.size === started.add(shard).size,
    backups,
    words,
    attachmentSealing: attachmentKeys.sealing,
    objectStore: objectStore(),
    placement: { shards: placement.shards, lanes: placement.lanes },
    folder,
    setAside,
    config: { ...config, masterKey: undefined, turnSecret: undefined },
    certificate: certificate?.current,
    hosts: hosts.hosts,
    epoch: manifest.epoch,
    signingKeys: ringsOf(accounts),
    policies: readPolicySnapshot(accounts, readAsking(accounts, config)),
    bots: readBotSnapshot(accounts),
    limits,
    push: push(),
    mediaServers: mediaServers(),
    retention: retention.rule,
    quotas: quotas.limits,
    calls: callsOf(shard),
    idKey: accounts.secret('installation_key'),
    origins,
    ...release,
    debugHooks: process.env['PARLEY_DEBUG_HOOKS'] === '1',
  });
}
