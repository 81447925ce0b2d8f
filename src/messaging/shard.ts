/**
 * A shard's thread: puts together its lanes, its actors, its sockets and its links, and serves until it is told to
 * drain. Started by the supervisor; nothing imports it.
 */
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { App, us_listen_socket_close, type us_listen_socket } from 'uWebSockets.js';
import { callActor } from '#actors/call/call.ts';
import { makeConversationActor } from '#actors/conversation/conversation.ts';
import { makePersonActor } from '#actors/person/person.ts';
import { refused, type Answer } from '#actors/runtime/actor.ts';
import { MAIN, Node, type ServiceName } from '#actors/runtime/node.ts';
import { Placement } from '#actors/runtime/placement.ts';
import { PortLink } from '#actors/runtime/port-link.ts';
import type { ShardOrder } from '#actors/runtime/supervisor.ts';
import { ActorSystem } from '#actors/runtime/system.ts';
import { Revocations, type Revocation } from '#src/auth/revocations.ts';
import { SessionTokens } from '#src/auth/session-tokens.ts';
import { systemClock, unixSeconds } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import { encodeEvent } from '#src/protocol/events.ts';
import { Log } from '#src/telemetry/log.ts';
import { ThreadFigures } from '#src/telemetry/thread-figures.ts';
import { AccountsReader } from '#storage/accounts.ts';
import { readPeers, readPurges } from '#storage/inbox-reader.ts';
import { laneOf, Lanes } from '#storage/lanes.ts';
import { Authentication } from './authentication.ts';
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

const log = new Log({ level: config.logLevel, thread: `shard-${shard}`, clock: systemClock });
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
const revocations = new Revocations();
for (const revocation of accounts.revocations()) revocations.add(revocation);
const authentication = new Authentication(new SessionTokens(data.sessionKey), revocations);

const system = new ActorSystem({
  actors: [
    makeConversationActor({ epoch: data.epoch, lane: (conversation) => lanes.write(conversation) }),
    makePersonActor({ peers: (user) => readPeers(lanes.environments, user) }),
    callActor,
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
const hub = new SocketHub(app, figures);
const node = new Node({ shard, placement, system, services: { ask: serve, tell: hear, timedOut, dropped } });
node.serve(hub);
const service: Service = { node, lanes, accounts, config, epoch: data.epoch, idKey: data.idKey, now };
const surface = new HttpSurface({
  service,
  authentication,
  figures,
  log,
  origins: new Set(data.origins),
  health: makeShardHealth({ node, figures, config, startedAt: data.startedAt, version: data.version }),
});
const sockets = new Sockets({ service, authentication, figures, hub });
let listening: us_listen_socket | undefined;

figures.supply(() => {
  const { active, mailboxes } = system.figures;
  let asksPending = 0;
  for (const link of node.links.values()) asksPending += link.pending;
  return { activeActors: active, mailboxes, asksPending, droppedLogLines: log.droppedLines };
});

/** What other threads may ask of this one. */
async function serve(name: ServiceName, body: unknown): Promise<Answer> {
  if (name === '@figures') return { ok: true, value: figures.snapshot() };
  if (name === '@revoked') return { ok: true, value: revoke(body as readonly Revocation[]) };
  if (name === '@inspect') return { ok: true, value: system.inspect(INSPECTED_ACTORS) };
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

/** Lets go: no new connections, sockets told to come back elsewhere, requests answered, everything on disk. */
async function drain(): Promise<boolean> {
  if (listening !== undefined) us_listen_socket_close(listening);
  listening = undefined;
  await hub.drain();
  const deadline = performance.now() + config.drainSeconds * 1000;
  while (surface.inFlight > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
  const finished = surface.inFlight === 0;
  for (const lane of lanes.owned) await lane.settle();
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
