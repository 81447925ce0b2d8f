/**
 * A shard's thread: puts together its lanes, its actors, its sockets and its links, and serves until it is told to
 * drain. Started by the supervisor; nothing imports it.
 */
import { randomUUID } from 'node:crypto';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { App, us_listen_socket_close, type us_listen_socket } from 'uWebSockets.js';
import { makeCallActor } from '#actors/call/call.ts';
import { CallBoard, CALLS_LISTED_MAX } from '#actors/call/call-board.ts';
import type { CallRecord } from '#actors/call/call-record.ts';
import { makeConversationActor } from '#actors/conversation/conversation.ts';
import { makePersonActor } from '#actors/person/person.ts';
import { PresenceBudget } from '#actors/person/presence-budget.ts';
import { refused, type Answer, type PushDelivery, type Tell } from '#actors/runtime/actor.ts';
import { MAIN, ThreadRuntime, type LocalSockets, type ServiceName } from '#actors/runtime/thread-runtime.ts';
import { Placement } from '#actors/runtime/placement.ts';
import { PortLink } from '#actors/runtime/port-link.ts';
import type { ShardOrder } from '#actors/runtime/supervisor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { ActorSystem } from '#actors/runtime/system.ts';
import { Revocations, type Revocation } from '#src/identity/credentials/revocations.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { systemClock, unixSeconds } from '#src/base/clock.ts';
import type { BotAuditBatch, BotSnapshot } from '#src/protocol/bots/bots.ts';
import type { MediaServers } from '#src/protocol/calls/calls.ts';
import type { PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import { Log } from '#src/telemetry/log.ts';
import { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import { AccountsReader } from '#storage/accounts/accounts.ts';
import type { AttachmentSealing } from '#storage/attachments/blob-sealing.ts';
import { readPeers } from '#storage/conversations/presence-peers.ts';
import { Lanes } from '#storage/engine/lanes.ts';
import type { RetentionRule } from '#storage/conversations/retention.ts';
import { AccessChecks } from './access/access-checks.ts';
import { openAttachmentClient } from './attachments/attachment-client.ts';
import { Authentication } from './access/authentication.ts';
import { VendorTokenWatch } from './access/vendor-token-watch.ts';
import { BotBudget } from './bots/bot-budget.ts';
import { BotAccess } from './bots/bot-access.ts';
import { BotAuditBuffer } from './bots/bot-audit-buffer.ts';
import type { Service } from './http/caller.ts';
import { ClientAddresses } from './http/client-addresses.ts';
import { makeThreadMessageHandler } from './thread-message-handler.ts';
import { HttpSurface } from './http/http-surface.ts';
import { makeLinkPreviews } from './conversations/link-previews.ts';
import { RetentionSweep } from './conversations/retention-sweep.ts';
import { keepIndex } from './search/search-upkeep.ts';
import type { ShardData } from './shard-data.ts';
import { makeShardHealth } from './shard-health.ts';
import { Participation } from './access/participation.ts';
import { PushDispatch } from './push/push-dispatch.ts';
import { RateLimiter } from './http/rate-limiter.ts';
import { SocketHub } from './sockets/socket-hub.ts';
import { Sockets } from './sockets/sockets.ts';
import { ActivityNotifier } from './activity-notifier.ts';

const data = workerData as ShardData;
const { shard, config, folder } = data;
const port = parentPort as MessagePort;
const now = () => systemClock.now();
/** How often tokens of revoked sessions that could no longer be valid are forgotten. */
const REVOCATIONS_SWEEP_MILLIS = 60_000;

/** Set as soon as there is a way to the main thread. */
let tellMain: (line: string) => void = () => undefined;
const log = new Log({
  level: config.logLevel,
  thread: `shard-${shard}`,
  clock: systemClock,
  keep: (line, level) => {
    // What an operator should see is shown in the console too; the main thread keeps the last lines of all threads.
    if (level === 'error' || level === 'warn') tellMain(line);
  },
});
const metrics = new ThreadMetrics(`shard-${shard}`);
const placement = new Placement(data.placement.shards, data.placement.lanes);
const lanes = new Lanes({
  folder,
  lanes: placement.lanes,
  mapBytes: config.laneSize * 2 ** 30,
  owns: (lane) => placement.ownsLane(shard, lane),
  report: (records, nanos, failed) => (failed ? metrics.commitFailed() : metrics.commit(records, nanos)),
});
const participation = new Participation(lanes);
const accounts = new AccountsReader(folder);
const attachments = await openAttachmentClient({
  ...data,
  lanes,
  hasWriter: shard === placement.attachmentShard,
  now,
  log,
  runtime: () => runtime,
});
const revocations = new Revocations();
for (const revocation of accounts.revocations()) revocations.add(revocation);
const access = new AccessChecks(data.policies, lanes, now);
const authentication = new Authentication(new SessionTokens(data.sessionKey), revocations);

/** Tells the main thread what changed about a call, so that it is not lost with this thread. */
const board = new CallBoard((change) => runtime.links.get(MAIN)?.tell('@call', change));
for (const record of data.calls) board.follow([record.scope, record.call, record]);

const pushes: PushDispatch = new PushDispatch({
  credentials: data.push,
  config,
  lanes,
  accounts,
  access,
  now,
  log,
  runtime: () => runtime,
  system: () => system,
});

const system: ActorSystem = new ActorSystem({
  actors: [
    pushes.actor,
    makeConversationActor({
      epoch: data.epoch,
      lane: (conversation) => lanes.write(conversation),
      search: config.search === 'on',
      purged: ({ messages, bytes }) => metrics.purged(messages, bytes),
    }),
    makePersonActor({
      peers: (user) => access.viewersOf(user, readPeers(lanes.environments, user)),
      budget: new PresenceBudget(),
      attention: pushes.attention,
      hasPushes: (user) => pushes.hasPushes(user),
    }),
    makeCallActor({
      board,
      ring: config.ringSeconds * 1000,
      lost: config.callLostSeconds * 1000,
      monotonic: monotonicMillis,
      takesPart: (scope, user) => participation.takesPart(scope, user),
    }),
  ],
  now,
  report: {
    restarted: (actor, address, error) => {
      metrics.actorRestarted(actor);
      log.error('an actor failed and was restarted', { actor, address, error });
    },
    quarantined: (actor, address) => {
      metrics.actorQuarantined(actor);
      log.error('an actor failed too often and is set aside', { actor, address });
    },
    dropped: (_actor, kind) => metrics.dropped(kind),
    storageFailed: (address, error) => log.error('a commit failed', { address, error }),
  },
});

const app = App();
const activity = new ActivityNotifier((all) => runtime.links.get(MAIN)?.tell('@stirred', all));
const isHere = (conversation: string) => placement.shardOf(`conversation:${conversation}`) === shard;
activity.watch(data.bots, isHere);
const hub = new SocketHub(app, metrics, (bot, user) => participation.sharesListed(bot, user));
/** How long the main thread may take for a batch of what bots did, before it is handed over again. */
const BOT_AUDIT_MILLIS = 10_000;
const botAuditBuffer = new BotAuditBuffer({
  source: randomUUID(),
  handOver: async (batch: BotAuditBatch) => await runtime.askService(MAIN, '@botAudit', batch, BOT_AUDIT_MILLIS),
  now,
});
const bots = new BotAccess({ bots: data.bots, budget: new BotBudget(data.botBudget), trail: botAuditBuffer, now });
const services = {
  ask: serve,
  tell: (name: ServiceName, body: unknown) => hear(name, body),
  timedOut: () => metrics.askTimedOut(),
  dropped: (kind: string) => metrics.dropped(kind),
  push: (delivery: PushDelivery) => pushes.push(delivery),
};
const runtime: ThreadRuntime = new ThreadRuntime({ shard, placement, system, services });
runtime.serve(pushes.watch(watchMemberships(hub)));
tellMain = (line) => void runtime.links.get(MAIN)?.tell('@log', line);
const service: Service = {
  runtime,
  lanes,
  accounts,
  access,
  addresses: new ClientAddresses(config.trustedProxies),
  pushes,
  previews: makeLinkPreviews({ ...data, lanes, now, runtime: () => runtime }),
  rates: new RateLimiter(data.rateMemory, config.rateLimits),
  attachments,
  bots,
  callsOf,
  config,
  mediaServers: () => mediaServers,
  epoch: data.epoch,
  idKey: data.idKey,
  now,
};
let { mediaServers } = data;
const vendorTokens = new VendorTokenWatch((shown) => runtime.links.get(MAIN)?.tell('@vendorRefused', shown));
const surface = new HttpSurface({
  service,
  authentication,
  vendorTokens,
  metrics,
  log,
  origins: new Set(data.origins),
  health: makeShardHealth({ runtime, metrics, config, startedAt: data.startedAt, version: data.version }),
});
const hear = makeThreadMessageHandler({
  hub,
  pushes,
  attachments,
  log,
  now,
  crash: () => data.debugHooks && setImmediate(crash),
});
const sockets = new Sockets({ service, authentication, vendorTokens, metrics, hub, log });
let listening: us_listen_socket | undefined;
/** Set when the thread is to end: what goes on in the background stops by itself. */
const leaving = { isUnderWay: false };
const retention = new RetentionSweep({
  lanes,
  tell: (conversation, message) => system.deliver(`conversation:${conversation}`, message),
  isLeaving: () => leaving.isUnderWay,
});

metrics.supply(() => {
  const { active, mailboxes } = system.metrics;
  let asksPending = 0;
  for (const link of runtime.links.values()) asksPending += link.pending;
  return {
    activeActors: active,
    mailboxes,
    asksPending,
    droppedLogLines: log.droppedLines,
    calls: board.metrics,
    attachments: attachments.metrics,
    push: pushes.metrics,
    previews: service.previews?.metrics,
  };
});

/** What other threads may ask of this one. */
async function serve(name: ServiceName, body: unknown): Promise<Answer> {
  if (name === '@figures') return { ok: true, value: metrics.snapshot() };
  if (name === '@revoked') return { ok: true, value: revoke(body as readonly Revocation[]) };
  if (name === '@policies') return { ok: true, value: access.replace(body as PolicySnapshot) };
  if (name === '@bots') return { ok: true, value: replaceBots(body as BotSnapshot) };
  if (name === '@retention') return { ok: true, value: retention.use(body as RetentionRule) };
  if (name === '@push') return { ok: true, value: pushes.use(body as PushCredentials) };
  if (name === '@mediaServers') return { ok: true, value: (mediaServers = body as MediaServers) };
  if (name === '@inspect') return { ok: true, value: system.inspect(INSPECTED_ACTORS) };
  if (name === '@calls') return { ok: true, value: board.list(CALLS_LISTED_MAX) };
  if (name === '@callsOf') return { ok: true, value: callsOf(body as string) };
  if (name === '@presenceOf') return { ok: true, value: pushes.attention.announced(body as readonly string[]) };
  if (name === '@attachments') return await attachments.serve(body);
  if (name === '@sealing') return { ok: true, value: attachments.keep(body as AttachmentSealing) };
  if (name === '@dropUploads') return { ok: true, value: (await attachments.dropAll()) ?? null };
  if (name === '@drain') return { ok: true, value: await drain() };
  return refused('internal');
}

/** Actors shown to an operator who looks: the busiest. */
const INSPECTED_ACTORS = 20;

/** Refuses these sessions from now on and closes their sockets; answers how many there were. */
function revoke(revoked: readonly Revocation[]): number {
  for (const revocation of revoked) revocations.add(revocation);
  hub.revoke(revoked.map(({ sid }) => sid));
  pushes.sessionsEnded(revoked.map(({ sid }) => sid));
  return revoked.length;
}

/** Decides by these bots from now on; sockets of those that ended, or whose token is void, close. */
function replaceBots(snapshot: BotSnapshot): true {
  bots.replace(snapshot);
  activity.watch(snapshot, isHere);
  hub.changeBots((id) => bots.bot(id));
  return true;
}

function callsOf(user: string): CallRecord[] {
  return board.attemptsFor(user, (conversation) => participation.takesPart(conversation, user));
}

/** The sockets, and the calls of a conversation told at once when somebody no longer takes part in it. */
function watchMemberships(heard: SocketHub): LocalSockets {
  const ended = (conversation: string, users: readonly string[] | null): void => {
    if (board.has(conversation)) system.deliver(`call:${conversation}`, { kind: 'membershipEnded', users } as Tell);
  };
  return {
    publish: (topic, ...all) => {
      activity.note(topic);
      heard.publish(topic, ...all);
    },
    publishTo: (...all) => heard.publishTo(...all),
    displace: (...all) => heard.displace(...all),
    overrun: () => heard.overrun(),
    membership: (conversation, users, joined) => {
      heard.membership(conversation, users, joined);
      if (!joined) ended(conversation, users);
    },
    disband: (conversation) => {
      heard.disband(conversation);
      ended(conversation, null);
    },
  };
}

/** The bug that the tests of supervision plant. */
function crash(): never {
  throw new Error('A bug was planted here to see the shard come back.');
}

/** How long a shard that drains waits until what bots did is in the audit trail. */
const BOT_AUDIT_SETTLE_MILLIS = 2_000;

/** Lets go: no new connections, sockets told to come back elsewhere, requests answered, everything on disk. */
async function drain(): Promise<boolean> {
  if (listening !== undefined) us_listen_socket_close(listening);
  listening = undefined;
  await hub.drain();
  const deadline = performance.now() + config.drainSeconds * 1000;
  while (surface.inFlight > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
  const finished = surface.inFlight === 0;
  for (const lane of lanes.owned) await lane.settle();
  // The closed sockets of bots are told of here, too.
  await botAuditBuffer.settle(performance.now() + BOT_AUDIT_SETTLE_MILLIS);
  return finished;
}

function takeLink(thread: number, linkPort: MessagePort): void {
  const link: PortLink = new PortLink(
    linkPort,
    runtime.handler(thread, () => {
      runtime.unlink(thread, link);
      attachments.shardLost(thread);
      if (thread !== MAIN) pushes.shardLost();
      // Without main there is nobody to serve for: it went first, or it told us to.
      if (thread === MAIN) void leave();
    }),
  );
  runtime.link(thread, link);
  // A shard that is back knows nobody: the people whose actors live there introduce themselves again.
  if (thread === MAIN) return;
  for (const { user, device, id } of hub.connections()) {
    if (placement.shardOf(`person:${user}`) === thread) {
      link.tell(`person:${user}`, { kind: 'connected', device, shard, socket: id });
    }
  }
}

async function leave(): Promise<void> {
  leaving.isUnderWay = true;
  system.stop();
  surface.stop();
  sockets.stop();
  pushes.stop();
  retention.stop();
  metrics.stop();
  app.close();
  await lanes.close();
  await accounts.close();
  await attachments.close();
  process.exit(0);
}

function listen(wanted: number): void {
  app.listen(config.host, wanted, (socket) => {
    if (socket === false) {
      port.postMessage({ kind: 'refused', error: `The messaging port ${wanted} on ${config.host} is taken.` });
      process.exit(1);
    }
    listening = socket;
    // The links to the others came before.
    attachments.start();
    port.postMessage({ kind: 'listening' });
  });
}

// The library's handles must be gone before the thread is, or Node aborts the process: a bug must cost one shard.
process.on('exit', () => app.close());
process.on('uncaughtException', (error) => {
  log.error('the shard failed', { error });
  app.close();
  process.exit(70);
});

port.on('message', (message: ShardOrder) => {
  if (message.kind === 'link') takeLink(message.thread, message.port);
  else listen(message.port);
});

metrics.start();
/** How often calls are looked at whose actor was set aside or lost its alarm: nothing may ring for ever. */
const CALLS_CHECK_MILLIS = 5_000;
const wakeCalls = () => {
  for (const scope of board.scopes) system.deliver(`call:${scope}`, { kind: 'tick' });
};
wakeCalls();
setInterval(wakeCalls, CALLS_CHECK_MILLIS).unref();
/** How often attachments are looked for that lost their last message. */
const RELEASE_MILLIS = 1_000;
setInterval(() => void attachments.releaseDue().catch(() => undefined), RELEASE_MILLIS).unref();
setInterval(() => revocations.sweep(unixSeconds(now())), REVOCATIONS_SWEEP_MILLIS).unref();
pushes.start(data);
surface.register(app);
sockets.register(app);
retention.use(data.retention);
retention.start();
keepIndex(lanes, config.search, () => leaving.isUnderWay).catch((error: unknown) => {
  log.error('the search index is not whole; the next start goes on with it', { error: error as Error });
});
