/**
 * A shard's thread: puts together its lanes, its actors, its sockets and its links, and serves until it is told to
 * drain. Started by the supervisor; nothing imports it.
 */
import { randomUUID } from 'node:crypto';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { CallBoard } from '#actors/call/call-board.ts';
import type { Tell } from '#actors/runtime/actor.ts';
import type { ShardListening, ShardOrder } from '#actors/runtime/supervisor.ts';
import { Limiter } from '#src/limits/limiter.ts';
import { VendorTokenWatch } from './access/vendor-token-watch.ts';
import { makePolicies } from '#src/limits/policies.ts';
import { Revocations } from '#src/identity/credentials/revocations.ts';
import { SignatureKeys } from '#src/identity/credentials/signature-keys.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { TrustedProxies } from '#src/limits/trusted-proxies.ts';
import { AccessChecks } from './access/access-checks.ts';
import { AccountRights } from './access/account-rights.ts';
import { Authentication } from './access/authentication.ts';
import { makeRightsWatch } from './access/rights-watch.ts';
import { QuotaChecks } from './access/quota-checks.ts';
import { Participation } from './access/participation.ts';
import { ActivityNotifier } from './activity-notifier.ts';
import { BotAccess } from './bots/bot-access.ts';
import { BotAuditBuffer } from './bots/bot-audit-buffer.ts';
import { makeLinkPreviews } from './conversations/link-previews.ts';
import { RoomPresence } from './conversations/room-presence.ts';
import { RetentionSweep } from './conversations/retention-sweep.ts';
import type { Service } from './http/caller.ts';
import { ClientAddresses } from './http/client-addresses.ts';
import { HttpSurface } from './http/http-surface.ts';
import { Listener } from './listener.ts';
import { PushDispatch } from './push/push-dispatch.ts';
import { keepIndex } from './search/search-upkeep.ts';
import { SearchQueue } from './search/search-queue.ts';
import { makeActorSystem } from './shard-actors.ts';
import { openShardBase } from './shard-base.ts';
import type { ShardData } from './shard-data.ts';
import { makeShardHealth } from './shard-health.ts';
import { ShardLifecycle } from './shard-lifecycle.ts';
import { makeShardServices } from './shard-services.ts';
import { makeLocalSockets } from './sockets/local-sockets.ts';
import { SocketHub } from './sockets/socket-hub.ts';
import { Sockets } from './sockets/sockets.ts';

/** How often tokens of revoked sessions that could no longer be valid are forgotten. */
const REVOCATIONS_SWEEP_MILLIS = 60_000;
/** How long the main thread may take for a batch of what bots did, before it is handed over again. */
const BOT_AUDIT_MILLIS = 10_000;
/** How often calls are looked at whose actor was set aside or lost its alarm: nothing may ring for ever. */
const CALLS_CHECK_MILLIS = 5_000;
/** How long the bug that tests plant waits for a commit. */
const BUG_MILLIS = 50;
/** How often attachments are looked for that lost their last message. */
const RELEASE_MILLIS = 1_000;

const data = workerData as ShardData;
const port = parentPort as MessagePort;
const base = await openShardBase(data);
const { accounts, attachments, config, lanes, log, metrics, now, placement, quotas, runtime } = base;

// Who may what.
const revocations = new Revocations();
for (const revocation of accounts.revocations()) revocations.add(revocation);
const tokens = new SessionTokens(data.signingKeys.session_keys);
const authentication = new Authentication(tokens, revocations, ({ sub, dev, sid }) => {
  accounts.refresh();
  return accounts.liveSession(sub, dev, sid);
});
const linkKeys = new SignatureKeys(data.signingKeys.link_keys);
const isPerson = (user: string) => {
  accounts.refresh();
  return accounts.isActive(user);
};
const access = new AccessChecks({ snapshot: data.policies, lanes, now, isPerson });
const rights = new AccountRights({
  access,
  isSearched: config.search === 'on',
  keepsContents: () => attachments.vault.keepsContents,
});
const participation = new Participation(lanes);
const botAuditBuffer = new BotAuditBuffer({
  source: randomUUID(),
  handOver: async (batch) => await runtime.askMain('audit.writeBotFacts', batch, BOT_AUDIT_MILLIS),
  now,
});
const limiter = new Limiter(data.limits, makePolicies(config));
const bots = new BotAccess({ bots: data.bots, limiter, trail: botAuditBuffer, now });

// Calls, pushes and the actors behind them. Main hears what changed about a call, so that it is not lost with this thread.
const board = new CallBoard((change) => runtime.tellMain('calls.changed', change));
for (const record of data.calls) board.follow({ scope: record.scope, call: record.call, record });
const callsOf = (user: string) => board.attemptsFor(user, (scope) => participation.takesPart(scope, user));
const pushes = new PushDispatch({ ...base, credentials: data.push, access });
const system = makeActorSystem(base, { access, board, participation, pushes });
const leaveCalls = (sids: ReadonlySet<string>): void => {
  for (const scope of board.scopesBy(sids)) {
    system.deliver(`call:${scope}`, { kind: 'sessionsEnded', sessions: [...sids] } as Tell);
  }
};

// What clients reach.
const listener = new Listener({
  certificate: data.certificate,
  folder: data.folder,
  shard: data.shard,
  register: (app) => {
    surface.register(app);
    sockets.register(app);
  },
});
const hub = new SocketHub(listener, metrics, (bot, user) => participation.sharesListed(bot, user));
const presence = new RoomPresence({ hub, lanes, log, now, hidesSomebody: () => access.hidesSomebody() });
const activity = new ActivityNotifier({
  isHere: (conversation) => placement.shardOf(`conversation:${conversation}`) === data.shard,
  tell: (conversations) => runtime.tellMain('conversations.changed', { conversations }),
});
activity.watch(data.bots);
const media = { servers: data.mediaServers };
const proxies = new TrustedProxies(config.trustedProxies, data.hosts);
const service: Service = {
  runtime,
  lanes,
  accounts,
  access,
  addresses: new ClientAddresses(proxies),
  presence,
  pushes,
  previews: makeLinkPreviews({ ...base, version: data.version }),
  rates: limiter,
  quotas: new QuotaChecks({ gate: quotas, lanes: lanes.environments, now }),
  rights,
  searches: new SearchQueue(),
  attachments,
  bots,
  callsOf,
  config,
  mediaServers: () => media.servers,
  epoch: data.epoch,
  idKey: data.idKey,
  linkKeys,
  now,
};
const health = makeShardHealth({ ...base, startedAt: data.startedAt, version: data.version });
const vendorTokens = new VendorTokenWatch((shown) => runtime.tellMain('vendorTokens.refused', shown));
const requests = { service, authentication, vendorTokens, metrics, log };
const surface = new HttpSurface({ ...requests, origins: new Set(data.origins), health });
const sockets = new Sockets({ ...requests, hub });

// What goes on in the background until the thread is to end.
const left = new AbortController();
const isLeaving = (): boolean => left.signal.aborted;
const retention = new RetentionSweep({
  lanes,
  tell: (conversation, message) => system.deliver(`conversation:${conversation}`, message),
  isLeaving,
});

const parts = {
  access,
  activity,
  attachments,
  authentication,
  board,
  botAuditBuffer,
  bots,
  callsOf,
  hub,
  lanes,
  leaveCalls,
  listener,
  media,
  metrics,
};
const rightsWatch = makeRightsWatch({ accounts, hub, now, rights });
const others = {
  linkKeys,
  now,
  presence,
  proxies,
  pushes,
  quotas,
  retention,
  revocations,
  rightsWatch,
  sockets,
  surface,
  system,
};
const lifecycle = new ShardLifecycle(base, { ...parts, ...others }, left);
runtime.begin({
  system,
  sockets: pushes.watch(makeLocalSockets({ activity, board, hub, runtime })),
  push: (delivery) => pushes.push(delivery),
  services: makeShardServices({
    ...parts,
    ...others,
    crash: () => data.debugHooks && plantBug(),
    drain: async () => await lifecycle.drain(),
  }),
  report: {
    timedOut: () => metrics.askTimedOut(),
    dropped: (kind) => metrics.dropped(kind),
    failed: (name, error) => log.error('what another thread asked of a shard failed', { service: name, error }),
  },
});

metrics.supply(() => {
  const { active, mailboxes } = system.metrics;
  return {
    activeActors: active,
    mailboxes,
    asksPending: runtime.asksPending,
    droppedLogLines: log.droppedLines,
    calls: board.metrics,
    attachments: attachments.metrics,
    push: pushes.metrics,
    previews: service.previews?.metrics,
  };
});

/** The bug of the tests strikes at the worst moment, when a commit is on disk and nobody was told; soon where none comes. */
function plantBug(): void {
  metrics.commit = crash;
  setTimeout(crash, BUG_MILLIS);
}

function crash(): never {
  throw new Error('A bug was planted here to see the shard come back.');
}

// The library's handles must be gone before the thread is, or Node aborts the process: a bug must cost one shard.
process.on('exit', () => listener.close());
process.on('uncaughtException', (error) => {
  log.error('the shard failed', { error });
  listener.close();
  process.exit(70);
});

function say(answer: ShardListening): void {
  port.postMessage(answer);
}

port.on('message', (order: ShardOrder) => {
  if (order.kind === 'link') return lifecycle.link(order.thread, order.port);
  if (lifecycle.listen(order.port)) return say({ kind: 'listening' });
  say({ kind: 'refused', error: `The messaging port ${order.port} on ${config.host} is taken.` });
  process.exit(1);
});

metrics.start();
const wakeCalls = () => {
  for (const scope of board.scopes) system.deliver(`call:${scope}`, { kind: 'tick' });
};
wakeCalls();
setInterval(wakeCalls, CALLS_CHECK_MILLIS).unref();
setInterval(() => void attachments.releaseDue().catch(() => undefined), RELEASE_MILLIS).unref();
setInterval(() => revocations.sweep(unixSeconds(now())), REVOCATIONS_SWEEP_MILLIS).unref();
pushes.start(data);
listener.register();
retention.use(data.retention);
retention.start();
keepIndex(lanes, config.search, isLeaving).catch((error: unknown) => {
  log.error('the search index is not whole; the next start goes on with it', { error: error as Error });
});
