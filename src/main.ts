/**
 * The server put together: folder, accounts, shards, coordinator, calendar listener, control socket — started in that
 * order, stopped in the other. Nothing imports this file.
 */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { Placement } from '#actors/runtime/placement.ts';
import { refused, type Answer } from '#actors/runtime/actor.ts';
import { Supervisor } from '#actors/runtime/supervisor.ts';
import type { Reply } from '#actors/conversation/conversation.messages.ts';
import { SessionTokens } from '#src/auth/session-tokens.ts';
import type { SessionAnnouncer } from '#src/auth/revocations.ts';
import { systemClock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { ConfigError, readConfig, type Config } from '#src/config.ts';
import { originsOf } from '#src/coordinator/cors.ts';
import { makeControlHandlers } from '#src/coordinator/control-commands.ts';
import { listenForControl } from '#src/coordinator/control-server.ts';
import { makeCoordinator } from '#src/coordinator/coordinator.ts';
import { makeHttpSurface, type HttpTelemetry } from '#src/coordinator/http-surface.ts';
import { Seeder, type RoomPlan } from '#src/coordinator/seed.ts';
import type { ShardData } from '#src/messaging/shard.ts';
import { FigureLedger } from '#src/telemetry/figure-ledger.ts';
import type { ThreadSnapshot } from '#src/telemetry/figures.ts';
import { healthReply, type HealthReply } from '#src/telemetry/health-reply.ts';
import { Log } from '#src/telemetry/log.ts';
import { ThreadFigures, type Service } from '#src/telemetry/thread-figures.ts';
import { Accounts } from '#storage/accounts.ts';
import { backupFolder } from '#storage/backup.ts';
import { FolderError, lockFolder, openFolder, type Manifest } from '#storage/folder.ts';
import { migrateFolder } from '#storage/migrations.ts';

/** A thread that takes longer to say how it is doing counts as missing. */
const FIGURES_MILLIS = 900;
/** A shard that has not taken a revocation by then hangs; the answer goes out, and /healthz names the shard. */
const REVOKE_MILLIS = 2_000;
/** Rooms of a seed that are made at once. */
const SEEDED_ROOMS_AT_ONCE = 64;
/** How long one seeded room may take: a room of 20,000 writes 80,000 records. */
const SEED_ROOM_MILLIS = 60_000;
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
  readonly figures: ThreadFigures;
}

/** Base URLs of the three services, as clients reach them. */
interface Urls {
  coordinator: string;
  messaging: string;
  calendar: string;
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const folder = resolve(config.data);
  const log = new Log({ level: config.logLevel, thread: 'main', clock: systemClock });
  const lock = lockFolder(folder);
  const manifest = await migrateFolder(folder, openFolder(folder, config.lanes, formatInstant(startedAt)));
  const accounts = await Accounts.open(folder);
  const tokens = new SessionTokens(accounts.secret('session_key'));
  const shards = Math.min(config.shards, manifest.lanes);
  if (shards < config.shards) log.warn('there are fewer lanes than shards', { shards, lanes: manifest.lanes });
  const figures = new ThreadFigures('main');
  figures.start();
  const placement = new Placement(shards, manifest.lanes);
  const base: Base = { config, folder, manifest, accounts, tokens, placement, log, figures };
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
  const { accounts, config, folder, figures, log, tokens } = base;
  const urls: Urls = { coordinator: '', messaging: '', calendar: '' };
  // The coordinator's own origin is known once it listens; nobody calls before.
  let origins: ReadonlySet<string> = new Set();
  const supervisor: Supervisor = makeSupervisor(
    base,
    () => origins,
    (accept) => health(accept),
  );
  const health = makeHealth(base, supervisor);
  figures.supply(() => ({ asksPending: supervisor.asksPending, droppedLogLines: log.droppedLines }));
  const announcer: SessionAnnouncer = {
    revoked: (revocations) => supervisor.askAll('@revoked', revocations, REVOKE_MILLIS),
    renewed: (sid, exp) => supervisor.tellAll('@renewed', [sid, exp]),
    directoryChanged: (user, rev) => supervisor.tellAll('@directory', [user, rev]),
  };
  const surface = { config, log, health, allowsOrigin: (origin: string) => origins.has(origin) };
  const telemetry = countFor('coordinator', figures);
  const coordinator = await makeCoordinator({ ...surface, accounts, tokens, announcer, telemetry });
  const calendar = await makeHttpSurface({ ...surface, telemetry: countFor('calendar', figures) });
  closers.push(
    () => coordinator.app.close(),
    () => calendar.close(),
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
  const control = await listenForControl(folder, handlers, log);
  closers.push(() => control.close());
  plantBugsOnSignal(supervisor, base.placement.shards);
  const setup = await coordinator.invitations.ensureOwnerInvitation();
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...urls })}\n`);
  printBanner(folder, urls, setup);
}

function makeSupervisor(
  { config, folder, manifest, accounts, placement, log, figures }: Base,
  origins: () => ReadonlySet<string>,
  health: (accept: string | undefined) => Promise<HealthReply>,
): Supervisor {
  const serveShard = async (to: string, body: unknown): Promise<Answer> => {
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
      config,
      epoch: manifest.epoch,
      sessionKey: accounts.secret('session_key'),
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
      tell: () => undefined,
      timedOut: () => figures.askTimedOut(),
      dropped: () => figures.dropped('link'),
    },
    onRestart: (shard, error) => {
      figures.threadRestarted(`shard-${shard}`);
      log.error('a shard died and is started again', { shard, error });
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
function makeHealth(
  { config, placement, figures }: Base,
  supervisor: Supervisor,
): (accept: string | undefined) => Promise<HealthReply> {
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

/** Makes seeded rooms through their actors, a few at a time; answers their ids in order. */
async function makeRooms(supervisor: Supervisor, plans: readonly RoomPlan[]): Promise<string[]> {
  const ids: string[] = [];
  for (let start = 0; start < plans.length; start += SEEDED_ROOMS_AT_ONCE) {
    const made = plans.slice(start, start + SEEDED_ROOMS_AT_ONCE).map(async ({ title, members }) => {
      const id = makeId('c', systemClock.now());
      const [user = '', ...participants] = members;
      const create = { kind: 'create', conversation: 'room', title, participants, user, device: '' };
      const answer = await supervisor.ask(`conversation:${id}`, create, SEED_ROOM_MILLIS);
      if (!answer.ok) throw new Error(`A room could not be made: ${answer.code}.`);
      return (JSON.parse((answer.value as Reply).json) as { id: string }).id;
    });
    ids.push(...(await Promise.all(made)));
  }
  return ids;
}

function countFor(service: Service, figures: ThreadFigures): HttpTelemetry {
  return {
    answered: (route, status, clientVersion) => figures.countRequest(service, route, status, clientVersion),
    refused: (code) => figures.countRefusal(code, service),
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('The listener has no port.');
  return address.port;
}

function urlOf(config: Config, port: number): string {
  return `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
}

/** What to do next, for a person; on standard error, so that standard output stays JSON lines. */
function printBanner(folder: string, urls: Urls, setup: string | undefined): void {
  const lines = [
    `Parley ${version} is running. Data: ${folder}`,
    `  coordinator  ${urls.coordinator}   sign-in and console`,
    `  messaging    ${urls.messaging}   conversations and sockets`,
    `  calendar     ${urls.calendar}`,
    ...(setup === undefined
      ? []
      : [
          '',
          'There is no owner yet. Open this link once, within 24 hours, to become it:',
          `  ${urls.coordinator}${setup}`,
        ]),
    '',
    'Add people:  echo PASSWORD | npx parley user add NAME',
    'Stop:        Ctrl-C',
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
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
