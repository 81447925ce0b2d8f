/**
 * A shard's thread: puts together its lanes, its actors, its sockets and its links, and serves until it is told to
 * drain. Started by the supervisor; nothing imports it.
 */
import { randomUUID } from 'node:crypto';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { App, us_listen_socket_close, type us_listen_socket } from 'uWebSockets.js';
import { makeCallActor } from '#actors/call/call.ts';
import { CallBoard, CALLS_LISTED_MAX } from '#actors/call/call-board.ts';
import { pairOf, type CallRecord } from '#actors/call/call-record.ts';
import { makeConversationActor } from '#actors/conversation/conversation.ts';
import { makePersonActor } from '#actors/person/person.ts';
import { refused, type Answer, type Told } from '#actors/runtime/actor.ts';
import { MAIN, Node, type LocalSockets, type ServiceName } from '#actors/runtime/node.ts';
import { Placement } from '#actors/runtime/placement.ts';
import { PortLink } from '#actors/runtime/port-link.ts';
import type { ShardOrder } from '#actors/runtime/supervisor.ts';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { ActorSystem } from '#actors/runtime/system.ts';
import { Revocations, type Revocation } from '#src/auth/revocations.ts';
import { SessionTokens } from '#src/auth/session-tokens.ts';
import { systemClock, unixSeconds } from '#src/base/clock.ts';
import { isId } from '#src/base/ids.ts';
import type { Config } from '#src/config.ts';
import { encodeEvent } from '#src/protocol/events.ts';
import type { BotAuditBatch, BotSnapshot } from '#src/protocol/bots.ts';
import type { PolicySnapshot } from '#src/protocol/policy-decision.ts';
import { Log } from '#src/telemetry/log.ts';
import { ThreadFigures } from '#src/telemetry/thread-figures.ts';
import { AccountsReader } from '#storage/accounts.ts';
import { AttachmentReader, openAttachments } from '#storage/attachment-records.ts';
import { readMember } from '#storage/conversation-reader.ts';
import { readPeers, readPurges, shareConversation } from '#storage/inbox-reader.ts';
import { laneOf, Lanes } from '#storage/lanes.ts';
import { AccessChecks } from './access-checks.ts';
import { AttachmentDoor } from './attachment-door.ts';
import { Authentication } from './authentication.ts';
import { BotBudget } from './bot-budget.ts';
import { BotDoor, type Bot } from './bot-door.ts';
import { BotTrail } from './bot-trail.ts';
import type { Service } from './caller.ts';
import { HttpSurface } from './http-surface.ts';
import { makeShardHealth } from './shard-health.ts';
import { SocketHub } from './socket-hub.ts';
import { Sockets } from './sockets.ts';

/** What the thread is started with. */
export interface ShardData {
  readonly shard: number;
  readonly placement: { readonly shards: number; readonly lanes: number };
  readonly folder: string;
  readonly config: Config;
  readonly epoch: string;
  readonly sessionKey: Uint8Array;
  /** The access policies as they stand when the thread is started; changes are pushed. */
  readonly policies: PolicySnapshot;
  /** The bots as they stand when the thread is started; changes are pushed. */
  readonly bots: BotSnapshot;
  /** What all threads count the bots' requests in. */
  readonly botBudget: SharedArrayBuffer;
  /** The calls that were live here when the thread before this one died; none at the first start. */
  readonly calls: readonly CallRecord[];
  readonly idKey: Uint8Array;
  readonly origins: readonly string[];
  readonly startedAt: number;
  readonly version: string;
  readonly debugHooks: boolean;
}

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
const figures = new ThreadFigures(`shard-${shard}`);
const placement = new Placement(data.placement.shards, data.placement.lanes);
const lanes = new Lanes({
  folder,
  lanes: placement.lanes,
  mapBytes: config.laneSize * 2 ** 30,
  owns: (lane) => placement.ownsLane(shard, lane),
  report: (records, nanos, failed) => (failed ? figures.commitFailed() : figures.commit(records, nanos)),
});
const accounts = new AccountsReader(folder);
const attachments = new AttachmentDoor({
  folder,
  shard,
  reader: new AttachmentReader(openAttachments(folder)),
  lanes,
  node: () => node,
});
const revocations = new Revocations();
for (const revocation of accounts.revocations()) revocations.add(revocation);
const access = new AccessChecks(data.policies, lanes.environments, now);
const authentication = new Authentication(new SessionTokens(data.sessionKey), revocations);

/** Tells the main thread what changed about a call, so that it is not lost with this thread. */
const board = new CallBoard((change) => node.links.get(MAIN)?.tell('@call', change));
for (const record of data.calls) board.follow([record.scope, record.call, record]);

const system = new ActorSystem({
  actors: [
    makeConversationActor({ epoch: data.epoch, lane: (conversation) => lanes.write(conversation) }),
    makePersonActor({ peers: (user) => access.viewersOf(user, readPeers(lanes.environments, user)) }),
    makeCallActor({
      board,
      ring: config.ringSeconds * 1000,
      lost: config.callLostSeconds * 1000,
      monotonic: monotonicMillis,
      takesPart,
    }),
  ],
  now,
  report: {
    restarted: (actor, address, error) => {
      figures.actorRestarted(actor);
      log.error('an actor failed and was restarted', { actor, address, error });
    },
    quarantined: (actor, address) => {
      figures.actorQuarantined(actor);
      log.error('an actor failed too often and is set aside', { actor, address });
    },
    dropped: (_actor, kind) => figures.dropped(kind),
    storageFailed: (address, error) => log.error('a commit failed', { address, error }),
  },
});

const app = App();
const hub = new SocketHub(app, figures, sharesListed);
/** How long the main thread may take for a batch of what bots did, before it is handed over again. */
const BOT_AUDIT_MILLIS = 10_000;
const botTrail = new BotTrail({
  source: randomUUID(),
  handOver: async (batch: BotAuditBatch) => await node.askService(MAIN, '@botAudit', batch, BOT_AUDIT_MILLIS),
  now,
});
const bots = new BotDoor({ bots: data.bots, budget: new BotBudget(data.botBudget), trail: botTrail, now });
const node = new Node({ shard, placement, system, services: { ask: serve, tell: hear, timedOut, dropped } });
node.serve(watchMemberships(hub));
tellMain = (line) => void node.links.get(MAIN)?.tell('@log', line);
const service: Service = {
  node,
  lanes,
  accounts,
  access,
  attachments,
  bots,
  callsOf,
  config,
  epoch: data.epoch,
  idKey: data.idKey,
  now,
};
const surface = new HttpSurface({
  service,
  authentication,
  figures,
  log,
  origins: new Set(data.origins),
  health: makeShardHealth({ node, figures, config, startedAt: data.startedAt, version: data.version }),
});
const sockets = new Sockets({ service, authentication, figures, hub, log });
let listening: us_listen_socket | undefined;

figures.supply(() => {
  const { active, mailboxes } = system.figures;
  let asksPending = 0;
  for (const link of node.links.values()) asksPending += link.pending;
  return { activeActors: active, mailboxes, asksPending, droppedLogLines: log.droppedLines, calls: board.figures };
});

/** What other threads may ask of this one. */
async function serve(name: ServiceName, body: unknown): Promise<Answer> {
  if (name === '@figures') return { ok: true, value: figures.snapshot() };
  if (name === '@revoked') return { ok: true, value: revoke(body as readonly Revocation[]) };
  if (name === '@policies') return { ok: true, value: access.replace(body as PolicySnapshot) };
  if (name === '@bots') return { ok: true, value: replaceBots(body as BotSnapshot) };
  if (name === '@inspect') return { ok: true, value: system.inspect(INSPECTED_ACTORS) };
  if (name === '@calls') return { ok: true, value: board.list(CALLS_LISTED_MAX) };
  if (name === '@callsOf') return { ok: true, value: callsOf(body as string) };
  if (name === '@drain') return { ok: true, value: await drain() };
  return refused('internal');
}

/** Actors shown to an operator who looks: the busiest. */
const INSPECTED_ACTORS = 20;

/** Refuses these sessions from now on and closes their sockets; answers how many there were. */
function revoke(revoked: readonly Revocation[]): number {
  for (const revocation of revoked) revocations.add(revocation);
  hub.revoke(revoked.map(({ sid }) => sid));
  return revoked.length;
}

/** Decides by these bots from now on; sockets of those that ended, or whose token is void, close. */
function replaceBots(snapshot: BotSnapshot): true {
  bots.replace(snapshot);
  hub.changeBots((id) => bots.bot(id));
  return true;
}

/** Whether a person takes part in any conversation of a bot's list beside it. */
function sharesListed({ conversations, user: bot }: Bot, user: string): boolean {
  return [...conversations].some((conversation) => {
    const environment = lanes.read(conversation);
    environment.refresh();
    const { tables } = environment;
    return readMember(tables, conversation, bot) !== undefined && readMember(tables, conversation, user) !== undefined;
  });
}

/** Whether somebody still takes part in what a call belongs to: the room, or a conversation with the other of the pair. */
function takesPart(scope: string, user: string): boolean {
  if (isId('c', scope)) {
    const environment = lanes.read(scope);
    environment.refresh();
    return readMember(environment.tables, scope, user) !== undefined;
  }
  for (const environment of lanes.environments) environment.refresh();
  return pairOf(scope).every((other) => other === user || shareConversation(lanes.environments, user, other));
}

function callsOf(user: string): CallRecord[] {
  return board.attemptsFor(user, (conversation) => takesPart(conversation, user));
}

/** The sockets, and the calls of a conversation told at once when somebody no longer takes part in it. */
function watchMemberships(heard: SocketHub): LocalSockets {
  const ended = (conversation: string, users: readonly string[] | null): void => {
    if (board.has(conversation)) system.deliver(`call:${conversation}`, { kind: 'membershipEnded', users } as Told);
  };
  return {
    publish: (...all) => heard.publish(...all),
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

/** What other threads may tell this one. */
function hear(name: ServiceName, body: unknown): void {
  switch (name) {
    case '@renewed':
      return hub.renew(...(body as [string, number]));
    case '@directory': {
      const [user, rev] = body as [string, number];
      const event = encodeEvent({ type: 'directory.changed', ts: unixSeconds(now()) }, JSON.stringify({ user, rev }));
      return hub.publishToAll('directory.changed', event);
    }
    case '@dropUpload':
      return attachments.drop(...(body as [string, string]));
    case '@group': {
      const [group, rev] = body as [string, number];
      const json = JSON.stringify({ group_id: group, rev });
      return hub.publishToAll('group', encodeEvent({ type: 'group', ts: unixSeconds(now()) }, json));
    }
    case '@recovery': {
      // Empty by design: it says that an invited guest cannot sign in, and not who (GST-05).
      const event = encodeEvent({ type: 'guest.recovery.requested', ts: unixSeconds(now()) }, '{}');
      return hub.publishTo([body as string], 'guest.recovery.requested', event, undefined);
    }
    case '@crash':
      if (data.debugHooks) setImmediate(() => crash());
      return undefined;
    default:
      log.warn('an unknown message came from another thread', { name });
  }
}

/** The bug that the tests of supervision plant. */
function crash(): never {
  throw new Error('A bug was planted here to see the shard come back.');
}

function timedOut(): void {
  figures.askTimedOut();
}

function dropped(kind: string): void {
  figures.dropped(kind);
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
  await botTrail.settle(performance.now() + BOT_AUDIT_SETTLE_MILLIS);
  return finished;
}

function takeLink(thread: number, linkPort: MessagePort): void {
  const link: PortLink = new PortLink(
    linkPort,
    node.handler(thread, () => {
      node.unlink(thread, link);
      // Without main there is nobody to serve for: it went first, or it told us to.
      if (thread === MAIN) void leave();
    }),
  );
  node.link(thread, link);
  // A shard that is back knows nobody: the people whose actors live there introduce themselves again.
  if (thread === MAIN) return;
  for (const { user, device, id } of hub.connections()) {
    if (placement.shardOf(`person:${user}`) === thread) {
      link.tell(`person:${user}`, { kind: 'connected', device, shard, socket: id });
    }
  }
}

async function leave(): Promise<void> {
  system.stop();
  surface.stop();
  sockets.stop();
  figures.stop();
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

figures.start();
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
surface.register(app);
sockets.register(app);
for (const [lane, environment] of lanes.environments.entries()) {
  if (!placement.ownsLane(shard, lane)) continue;
  for (const conversation of readPurges(environment.tables)) {
    if (laneOf(conversation, placement.lanes) === lane)
      system.deliver(`conversation:${conversation}`, { kind: 'purge' });
  }
}
