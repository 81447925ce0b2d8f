/** The shards as the main thread has them: what they start with, what they ask of it, and what it does when one dies. */
import type { ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import { CallBoard, type CallChange } from '#actors/call/call-board.ts';
import { refused, type Answer } from '#actors/runtime/actor.ts';
import { Supervisor } from '#actors/runtime/supervisor.ts';
import { systemClock } from '#src/base/clock.ts';
import { readPolicySnapshot } from '#src/directory/access-control.ts';
import { BotAudit } from '#src/integrations/bot-audit.ts';
import { readBotSnapshot } from '#src/integrations/bot-records.ts';
import { auditInfected } from './infected-uploads.ts';
import type { Integrations } from '#src/integrations/integrations.ts';
import type { ShardData } from '#src/messaging/shard-data.ts';
import type { InfectedUpload } from '#src/protocol/attachments/attachments.ts';
import { makeBotBudget, type BotAuditBatch } from '#src/protocol/bots/bots.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import type { IntegrationAsk } from '#src/protocol/bots/integrations.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import { makeRateMemory } from '#src/protocol/rate-limits.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import type { AttachmentSealing } from '#storage/attachments/blob-sealing.ts';
import type { Base, Release } from './base.ts';
import type { AskHealth } from './health.ts';

/** The exit code when shards keep dying. */
const EXIT_SHARDS = 70;

/** What the supervisor's parts ask of the rest of the server. */
export interface SupervisorParts {
  readonly release: Release;
  readonly origins: () => ReadonlySet<string>;
  readonly health: AskHealth;
  /** What pushes are sent with now. */
  readonly push: () => PushCredentials;
  /** The servers that media of calls go over now. */
  readonly mediaServers: () => MediaServers;
  /** How long messages are kept now. */
  readonly retention: () => RetentionRule;
  /** How contents of attachments are kept now. */
  readonly sealing: () => AttachmentSealing;
  readonly integrations: () => Integrations;
  /** A shard refused a request that showed a vendor token. */
  readonly vendorRefused: (shown: ShownVendorToken) => void;
  readonly restarted: (shard: number) => void;
}

/** Answers what shards ask of the main thread, by the name of the service. */
function makeAskServer(
  accounts: Base['accounts'],
  { health, integrations }: Pick<SupervisorParts, 'health' | 'integrations'>,
) {
  const botAudit = new BotAudit(accounts, systemClock);
  return async (to: string, body: unknown): Promise<Answer> => {
    if (to === '@botAudit') return await botAudit.take(body as BotAuditBatch);
    if (to === '@integrations') return await integrations().serve(body as IntegrationAsk);
    if (to === '@infected') return await auditInfected(accounts, systemClock, body as InfectedUpload);
    if (to !== '@health') return refused('internal');
    return { ok: true, value: await health((body as string | null) ?? undefined) };
  };
}

/** The supervisor of the shards: starts them with what they need, and serves what they ask of the main thread. */
export function makeSupervisor(
  { config, folder, manifest, accounts, placement, backups, log, recentLines, metrics }: Base,
  parts: SupervisorParts,
): Supervisor {
  const { integrations, mediaServers, origins, push, release, restarted, retention, sealing, vendorRefused } = parts;
  const botBudget = makeBotBudget();
  const rateMemory = makeRateMemory();
  const calls = new CallBoard();
  const started = new Set<number>();
  const serveShard = makeAskServer(accounts, parts);
  const supervisor: Supervisor = new Supervisor({
    entry: new URL('../messaging/shard.ts', import.meta.url),
    placement,
    host: config.host,
    port: config.messagingPort,
    workerData: (shard): ShardData => ({
      shard,
      isRestart: started.size === started.add(shard).size,
      backups,
      attachmentSealing: sealing(),
      placement: { shards: placement.shards, lanes: placement.lanes },
      folder,
      config: { ...config, masterKey: undefined, turnSecret: undefined },
      epoch: manifest.epoch,
      sessionKey: accounts.secret('session_key'),
      policies: readPolicySnapshot(accounts),
      bots: readBotSnapshot(accounts),
      botBudget,
      rateMemory,
      push: push(),
      mediaServers: mediaServers(),
      retention: retention(),
      calls: calls.list(Infinity).filter(({ scope }) => placement.shardOf(`call:${scope}`) === shard),
      idKey: accounts.secret('installation_key'),
      origins: [...origins()],
      ...release,
      debugHooks: process.env['PARLEY_DEBUG_HOOKS'] === '1',
    }),
    services: {
      ask: (to, body, incoming) => {
        void serveShard(to, body).then((answer) => incoming.settle(answer));
      },
      tell: (name, body) => {
        if (name === '@log') recentLines.add(body as string);
        if (name === '@stirred') integrations().deliveries.noteActivity(body as string[]);
        if (name === '@vendorRefused') vendorRefused(body as ShownVendorToken);
        if (name === '@call') calls.follow(body as CallChange);
      },
      timedOut: () => metrics.askTimedOut(),
      dropped: () => metrics.dropped('link'),
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
  return supervisor;
}
