/**
 * The server put together: folder, accounts, shards, coordinator, calendar listener, control socket — started in that
 * order, stopped in the other. Nothing imports this file.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CallBoard, type CallChange } from '#actors/call/call-board.ts';
import { Placement } from '#actors/runtime/placement.ts';
import { refused, type Answer } from '#actors/runtime/actor.ts';
import { Supervisor } from '#actors/runtime/supervisor.ts';
import { SessionTokens } from '#src/auth/session-tokens.ts';
import type { SessionAnnouncer } from '#src/auth/revocations.ts';
import { systemClock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { ConfigError, readConfig, type Config } from '#src/config.ts';
import { BotAudit } from '#src/coordinator/bot-audit.ts';
import { readBotSnapshot } from '#src/coordinator/bots.ts';
import { openAttachmentDesk, type AttachmentDesk } from '#src/coordinator/attachment-desk.ts';
import { readPolicySnapshot } from '#src/coordinator/access-control.ts';
import { addManagementPlane } from '#src/console/console.ts';
import { originsOf } from '#src/coordinator/cors.ts';
import { makeControlHandlers } from '#src/coordinator/control-commands.ts';
import { listenForControl } from '#src/coordinator/control-server.ts';
import { loadConfiguredMasterKey } from '#src/coordinator/configured-master-key.ts';
import { makeConversationAccess } from '#src/coordinator/conversation-access.ts';
import { makeCoordinator, type Coordinator } from '#src/coordinator/coordinator.ts';
import { makeHttpSurface, type HttpTelemetry } from '#src/coordinator/http-surface.ts';
import { closeListener } from '#src/coordinator/listener-closing.ts';
import { portOf, urlOf } from '#src/coordinator/listening-address.ts';
import { makeLiveCalls } from '#src/coordinator/live-calls.ts';
import { makeBotAnnouncer, makeShardAnnouncer } from '#src/coordinator/shard-announcer.ts';
import { Seeder } from '#src/coordinator/seed.ts';
import { makeRooms } from '#src/coordinator/seeded-rooms.ts';
import { printWelcome } from '#src/coordinator/welcome.ts';
import type { ShardData } from '#src/messaging/shard.ts';
import { makeBotBudget, type BotAuditBatch } from '#src/protocol/bots.ts';
import { FigureLedger } from '#src/telemetry/figure-ledger.ts';
import type { ThreadSnapshot } from '#src/telemetry/figures.ts';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import { healthReply, type HealthReply } from '#src/telemetry/health-reply.ts';
import { Log } from '#src/telemetry/log.ts';
import { RecentLines } from '#src/telemetry/recent-lines.ts';
import { ThreadFigures, type Service } from '#src/telemetry/thread-figures.ts';
import { Accounts } from '#storage/accounts.ts';
import { backupFolder } from '#storage/backup.ts';
import { FolderError, lockFolder, openFolder, type Manifest } from '#storage/folder.ts';
import { Lanes } from '#storage/lanes.ts';
import { migrateFolder } from '#storage/migrations.ts';

/** A thread that takes longer to say how it is doing counts as missing. */
const FIGURES_MILLIS = 900;
/** Exit codes beside 0: a setting or the folder is wrong; shards keep dying. */
const EXIT_UNUSABLE = 2;
const EXIT_SHARDS = 70;

// The library reads this when it is loaded: headers up to here are ours to judge, beyond it answers by itself.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = '32768';

const startedAt = systemClock.now();
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** What is open, in the order in which it was opened; closed in the other. */
type Closer = () => Promise<unknown> | undefined;

/** What the parts of the server are made from. */
interface Base {
  readonly config: Config;
  readonly folder: string;
  readonly manifest: Manifest;
  readonly accounts: Accounts;
  readonly tokens: SessionTokens;
  readonly placement: Placement;
  readonly log: Log;
  /** The last lines of all threads, for the console. */
  readonly recentLines: RecentLines;
  readonly figures: ThreadFigures;
}

type AskHealth = (accept: string | undefined) => Promise<HealthReply>;

/** Base URLs of the three services, as clients reach them. */
interface Urls {
  coordinator: string;
  messaging: string;
  calendar: string;
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  // Threads get a copy of the environment, and none of them has a use for the key of the secrets.
  delete process.env['PARLEY_MASTER_KEY'];
  const folder = resolve(config.data);
  const recentLines = new RecentLines();
  const keep = (line: string) => recentLines.add(line);
  const log = new Log({ level: config.logLevel, thread: 'main', clock: systemClock, keep });
  const lock = lockFolder(folder);
  const manifest = await migrateFolder(folder, openFolder(folder, config.lanes, formatInstant(startedAt)));
  const accounts = await Accounts.open(folder);
  const tokens = new SessionTokens(accounts.secret('session_key'));
  const shards = Math.min(config.shards, manifest.lanes);
  if (shards < config.shards) log.warn('there are fewer lanes than shards', { shards, lanes: manifest.lanes });
  const figures = new ThreadFigures('main');
  figures.start();
  const placement = new Placement(shards, manifest.lanes);
  const base: Base = { config, folder, manifest, accounts, tokens, placement, log, recentLines, figures };
  const closers: Closer[] = [
    () => {
      lock.release();
      return undefined;
    },
    () => accounts.close(),
  ];
  try {
    await serve(base, closers);
  } catch (error) {
    await close(closers);
    throw error;
  }
  stopOnSignals(base, closers);
}

/** Opens the listeners and the control socket, and says so. */
async function serve(base: Base, closers: Closer[]): Promise<void> {
  const { accounts, config, figures, folder, log, manifest, tokens } = base;
  const urls: Urls = { coordinator: '', messaging: '', calendar: '' };
  // The coordinator's own origin is known once it listens; nobody calls before.
  let origins: ReadonlySet<string> = new Set();
  const supervisor: Supervisor = makeSupervisor(base, {
    origins: () => origins,
    health: (accept) => health(accept),
    attachments: () => attachments,
    restarted: (shard) => {
      const noted = management.alerts.note('shard_restarted', `shard:${shard}`, 'it died and is back');
      noted.catch((error: unknown) => log.warn('an alert could not be stored', { error }));
    },
  });
  const health = makeHealth(base, supervisor);
  figures.supply(() => ({ asksPending: supervisor.asksPending, droppedLogLines: log.droppedLines }));
  const announcer = makeShardAnnouncer(supervisor);
  const surface = { config, log, health, allowsOrigin: (origin: string) => origins.has(origin) };
  const { attachments, lanes } = await openStores(base, supervisor, closers);
  const coordinator = await makeCoordinator({
    ...surface,
    accounts,
    tokens,
    announcer,
    telemetry: countFor('coordinator', figures),
    ...makeConversationAccess(lanes, supervisor, systemClock),
  });
  const management = await addManagementPlane({
    ...base,
    ...coordinator,
    announcer,
    announceBots: makeBotAnnouncer(supervisor),
    clock: systemClock,
    health: async () => JSON.parse((await health('application/json')).body) as HealthBody,
    listeners: () => urls,
    liveCalls: makeLiveCalls(() => supervisor.gather('@calls', null, FIGURES_MILLIS)),
    conversations: () => lanes.conversationCount,
    lanes,
    epoch: manifest.epoch,
    startedAt,
  });
  closers.push(
    () => management.vault.close(),
    () => management.alerts.stop(),
    () => management.automationOutbox.stop(),
  );
  await loadConfiguredMasterKey(management.vault, config.masterKey, log);
  management.automationOutbox.start();
  const calendar = await makeHttpSurface({ ...surface, telemetry: countFor('calendar', figures) });
  closers.push(
    () => closeListener(coordinator.app, config.drainSeconds),
    () => closeListener(calendar, config.drainSeconds),
  );
  await coordinator.app.listen({ host: config.host, port: config.coordinatorPort });
  await calendar.listen({ host: config.host, port: config.calendarPort });
  const coordinatorPort = portOf(coordinator.app.server.address());
  origins = originsOf(config, coordinatorPort);
  const messagingPort = await supervisor.start();
  closers.push(() => supervisor.stop(config.drainSeconds * 2000));
  urls.coordinator = config.coordinatorUrl ?? urlOf(config, coordinatorPort);
  urls.messaging = config.messagingUrl ?? urlOf(config, messagingPort);
  urls.calendar = config.calendarUrl ?? urlOf(config, portOf(calendar.server.address()));
  const control = await listenForCommands(base, { coordinator, announcer, supervisor, urls });
  closers.push(() => control.close());
  plantBugsOnSignal(supervisor, base.placement.shards);
  const setup = await coordinator.invitations.ensureOwnerInvitation();
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...urls })}\n`);
  printWelcome(version, folder, urls, setup);
}

/** Opens the lanes to read, and the attachments, which this thread writes. */
async function openStores(base: Base, supervisor: Supervisor, closers: Closer[]): Promise<OpenStores> {
  const lanes = openLanes(base);
  closers.push(() => lanes.close());
  const attachments = await openAttachmentDesk({ ...base, lanes, supervisor, clock: systemClock });
  closers.push(() => attachments.stop());
  return { attachments, lanes };
}

interface OpenStores {
  readonly attachments: AttachmentDesk;
  readonly lanes: Lanes;
}

/** Opens the control socket, by which the `parley` command reaches this server. */
async function listenForCommands(base: Base, parts: CommandParts): ReturnType<typeof listenForControl> {
  const { accounts, folder, log, tokens } = base;
  const { announcer, coordinator, supervisor, urls } = parts;
  const seeder = new Seeder({
    accounts,
    passwords: coordinator.passwords,
    tokens,
    announcer,
    clock: systemClock,
    makeRooms: (plans) => makeRooms(supervisor, plans),
  });
  const handlers = makeControlHandlers({
    people: coordinator.people,
    invitations: coordinator.invitations,
    seeder,
    coordinatorBase: () => urls.coordinator,
    status: async () => statusOf(base, urls),
    backup: (out) => backupFolder(folder, out),
  });
  return await listenForControl(folder, handlers, log);
}

/** What the commands act on. */
interface CommandParts {
  readonly announcer: SessionAnnouncer;
  readonly coordinator: Coordinator;
  readonly supervisor: Supervisor;
  readonly urls: Urls;
}

/** What the supervisor's parts ask of the rest of the server. */
interface SupervisorParts {
  readonly origins: () => ReadonlySet<string>;
  readonly health: AskHealth;
  readonly attachments: () => AttachmentDesk;
  readonly restarted: (shard: number) => void;
}

/** The lanes as this thread has them: to read alone. */
function openLanes({ config, folder, manifest }: Base): Lanes {
  const mapBytes = config.laneSize * 2 ** 30;
  return new Lanes({ folder, lanes: manifest.lanes, mapBytes, owns: () => false, report: () => undefined });
}

function makeSupervisor(
  { config, folder, manifest, accounts, placement, log, recentLines, figures }: Base,
  { attachments, origins, health, restarted }: SupervisorParts,
): Supervisor {
  const botAudit = new BotAudit(accounts, systemClock);
  const botBudget = makeBotBudget();
  const calls = new CallBoard();
  const serveShard = async (to: string, body: unknown): Promise<Answer> => {
    if (to === '@botAudit') return await botAudit.take(body as BotAuditBatch);
    if (to === '@attachments') return await attachments().serve(body);
    if (to !== '@health') return refused('internal');
    return { ok: true, value: await health((body as string | null) ?? undefined) };
  };
  const supervisor: Supervisor = new Supervisor({
    entry: new URL('messaging/shard.ts', import.meta.url),
    placement,
    host: config.host,
    port: config.messagingPort,
    workerData: (shard): ShardData => ({
      shard,
      placement: { shards: placement.shards, lanes: placement.lanes },
      folder,
      config: { ...config, masterKey: undefined },
      epoch: manifest.epoch,
      sessionKey: accounts.secret('session_key'),
      policies: readPolicySnapshot(accounts),
      bots: readBotSnapshot(accounts),
      botBudget,
      calls: calls.list(Infinity).filter(({ scope }) => placement.shardOf(`call:${scope}`) === shard),
      idKey: accounts.secret('installation_key'),
      origins: [...origins()],
      startedAt,
      version,
      debugHooks: process.env['PARLEY_DEBUG_HOOKS'] === '1',
    }),
    services: {
      ask: (to, body, incoming) => {
        void serveShard(to, body).then((answer) => incoming.settle(answer));
      },
      tell: (name, body) => {
        if (name === '@log') recentLines.add(body as string);
        if (name === '@call') calls.follow(body as CallChange);
      },
      timedOut: () => figures.askTimedOut(),
      dropped: () => figures.dropped('link'),
    },
    onRestart: (shard, error) => {
      figures.threadRestarted(`shard-${shard}`);
      attachments().shardLost(shard);
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

/** The figures of all threads, merged, as GET /healthz answers them. */
function makeHealth({ config, placement, figures }: Base, supervisor: Supervisor): AskHealth {
  const ledger = new FigureLedger();
  const installation = { version, protocolMin: config.protocolMin, startedAt };
  const numbers = Array.from({ length: placement.shards }, (_, shard) => shard);
  const expected = ['main', ...numbers.map((shard) => `shard-${shard}`)];
  return async (accept) => {
    const asked = numbers.map((shard) => supervisor.askShard(shard, '@figures', null, FIGURES_MILLIS));
    const answers = (await Promise.all(asked)).flatMap((answer) => (answer.ok ? [answer.value as ThreadSnapshot] : []));
    return await healthReply(ledger.settle([figures.snapshot(), ...answers], expected), installation, accept);
  };
}

/** What `parley status` prints, a line each. */
function statusOf({ accounts, folder, manifest, placement }: Base, urls: Urls): Record<string, string | number> {
  const { shards, lanes } = placement;
  const { epoch } = manifest;
  return {
    state: 'running',
    pid: process.pid,
    version,
    folder,
    shards,
    lanes,
    epoch,
    people: accounts.personCount,
    ...urls,
  };
}

/** Stops once, in order, whatever number of signals comes. */
function stopOnSignals({ log, figures }: Base, closers: Closer[]): void {
  let isStopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info('the server stops', { signal });
    await close(closers);
    figures.stop();
    log.info('the server has stopped');
    process.exitCode = 0;
  };
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
}

async function close(closers: Closer[]): Promise<void> {
  for (const closer of closers.splice(0).toReversed()) await closer();
}

/** With PARLEY_DEBUG_HOOKS=1, SIGUSR2 has one shard after the other fail: how the tests see a shard come back. */
function plantBugsOnSignal(supervisor: Supervisor, shards: number): void {
  if (process.env['PARLEY_DEBUG_HOOKS'] !== '1') return;
  let next = 0;
  process.on('SIGUSR2', () => {
    supervisor.tellShard(next % shards, '@crash', null);
    next += 1;
  });
}

function countFor(service: Service, figures: ThreadFigures): HttpTelemetry {
  return {
    answered: (route, status, clientVersion) => figures.countRequest(service, route, status, clientVersion),
    refused: (code) => figures.countRefusal(code, service),
  };
}

try {
  await main();
} catch (error) {
  const expected = error instanceof ConfigError || error instanceof FolderError;
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (expected) process.stderr.write(`parley: ${error.message}\n`);
  else if (code === 'EADDRINUSE') process.stderr.write(`parley: port ${port} is taken by another program.\n`);
  else process.stderr.write(`parley: ${(error as Error).stack}\n`);
  process.exit(expected || code === 'EADDRINUSE' ? EXIT_UNUSABLE : 1);
}
