/**
 * The server put together: folder, accounts, shards, coordinator, calendar listener, control socket — started in that
 * order, stopped in the other. Nothing imports this file.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Placement } from '#actors/runtime/placement.ts';
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { systemClock } from '#src/base/clock.ts';
import { TrustedProxies } from '#src/limits/trusted-proxies.ts';
import { type Config, ConfigError, readConfig } from '#src/config.ts';
import { AttachmentKeys } from '#src/server/attachment-keys.ts';
import { openCalendar, type CalendarOpeningOptions, type OpenCalendar } from '#src/calendar/calendar-opening.ts';
import { filesOf } from '#src/calendar/ics/calendar-file.ts';
import { erasePerson } from '#src/calendar/objects/person-erasure.ts';
import { addManagementServices } from '#src/console/console.ts';
import type { Leadership } from '#src/cluster/leadership.ts';
import { endProcess, untilServing, type Serving } from '#src/cluster/phase.ts';
import { originsOf } from '#src/http/cors.ts';
import { listenForCommands, type CommandParts } from '#src/server/control/running-commands.ts';
import { loadConfiguredMasterKey } from '#src/server/configured-master-key.ts';
import { makeLimiterMemory } from '#src/limits/bucket-table.ts';
import { Limiter } from '#src/limits/limiter.ts';
import { QuotaGate, type NearQuota } from '#src/limits/quotas.ts';
import { QuotaWarnings } from '#src/monitoring/quota-warnings.ts';
import { readQuotaLimits } from '#src/settings/quota-settings.ts';
import { makePolicies } from '#src/limits/policies.ts';
import { makeConversationAccess } from '#src/server/conversation-access.ts';
import { GRANTING_SCREENS } from '#src/settings/granted-rights.ts';
import { readAsking } from '#src/settings/asking-settings.ts';
import { CertificateRenewal, namesOf, prepareAcme } from '#src/acme/certificate-renewal.ts';
import { makeCoordinator, type Coordinator } from '#src/server/coordinator.ts';
import { makeEntryMeetings } from '#src/meetings/entry-meetings.ts';
import { eraseFromMeetings } from '#src/meetings/meetings.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import type { HttpTelemetry } from '#src/http/http-telemetry.ts';
import { closeListener } from '#src/http/listener-closing.ts';
import { portOf, urlOf } from '#src/http/listening-address.ts';
import { renewCertificate } from '#src/http/tls-server.ts';
import { makeLiveCalls } from '#src/server/live-calls.ts';
import { makeCalendarAnnouncer, makeChangeAnnouncers, makeShardAnnouncer } from '#src/server/shard-announcer.ts';
import { GroupMemberships } from '#src/directory/bookable/group-memberships.ts';
import { PersonnelPull } from '#src/directory/personnel-pull.ts';
import { AlertTickets } from '#src/integrations/alert-tickets.ts';
import type { Settings } from '#src/settings/settings.ts';
import { unlessLocked, watchCredentials } from '#src/settings/credential-watch.ts';
import { readMailTrust } from '#src/settings/mail-trust.ts';
import { readMediaServers } from '#src/settings/media-servers.ts';
import { readObjectStore } from '#src/settings/object-store-settings.ts';
import { readPushCredentials } from '#src/settings/push-credentials.ts';
import { OwnData, type OwnDataOptions } from '#src/compliance/own-data/own-data.ts';
import { addOwnDataRoute } from '#src/compliance/own-data/own-data-route.ts';
import { addAccounts } from '#src/server/account/accounts.ts';
import type { ShownVendorToken } from '#src/protocol/sessions/shown-vendor-token.ts';
import { printWelcome } from '#src/server/welcome.ts';
import { addMailRoutes, makeOutbox, type MailServicesOptions } from '#src/calendar/mail/mail-services.ts';
import { watchArchive } from '#src/monitoring/archive-watch.ts';
import type { Base, Release } from '#src/server/base.ts';
import type { Invitations } from '#src/directory/invitations.ts';
import { METRICS_MILLIS, makeHealth } from '#src/server/health.ts';
import { makeSupervisor, startShards, type ShardContext } from '#src/server/shard-supervision.ts';
import type { HealthBody } from '#src/telemetry/health-body.ts';
import { logConsole } from '#src/telemetry/console-lines.ts';
import { Log } from '#src/telemetry/log.ts';
import { RecentLines } from '#src/telemetry/recent-lines.ts';
import { ThreadMetrics, type Service } from '#src/telemetry/thread-metrics.ts';
import { type Certificate, CertificateError, certificateFilesOf } from '#src/tls/certificate.ts';
import { CertificateWatch } from '#src/tls/certificate-watch.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { AttachmentReader, openAttachments } from '#storage/attachments/attachment-records.ts';
import { archiveStatus } from '#storage/engine/folder-logs.ts';
import { FolderError, lockFolder } from '#storage/engine/folder.ts';
import { Lanes } from '#storage/engine/lanes.ts';
import { openServed } from '#storage/engine/served-folder.ts';

/** The exit code when a setting or the folder is wrong. */
const EXIT_UNUSABLE = 2;

// The library reads this when it is loaded: headers up to here are ours to judge, beyond it answers by itself.
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = '32768';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const release: Release = { version, startedAt: systemClock.now() };

/** What is open, in the order in which it was opened; closed in the other. */
type Closer = () => Promise<unknown> | undefined | void;

/** Base URLs of the three services, as clients reach them. */
interface Urls {
  coordinator: string;
  messaging: string;
  calendar: string;
}

async function main(): Promise<void> {
  const given = readConfig(process.env);
  const environment = { ...process.env };
  // Threads get a copy of the environment, and none of them has a use for the key of the secrets.
  delete process.env['PARLEY_MASTER_KEY'];
  const folder = resolve(given.data);
  const recentLines = new RecentLines();
  const keep = (line: string) => recentLines.add(line);
  const log = new Log({ level: given.logLevel, thread: 'main', clock: systemClock, keep });
  logConsole(log);
  const files = certificateFilesOf(given);
  let certificate = files === undefined ? undefined : await CertificateWatch.open({ files, log });
  const lock = await lockFolder(folder);
  const opening = { archive: given.logArchive ?? null, lanes: given.lanes, log, now: release.startedAt };
  const serving = await untilServing({ certificate, config: given, environment, folder, lock, log, opening, version });
  const { config, leadership } = serving;
  const { manifest, setAside, words } = await openServed(folder, lock, opening);
  const renewal = await makeRenewal(config, folder, log);
  if (renewal !== undefined) certificate = await CertificateWatch.open({ files: renewal.files, log });
  const accounts = await Accounts.open(folder, words);
  const tokens = new SessionTokens(accounts.signingKeys('session_keys'));
  const shards = Math.min(config.shards, manifest.lanes);
  if (shards < config.shards) log.warn('there are fewer lanes than shards', { shards, lanes: manifest.lanes });
  const metrics = new ThreadMetrics('main');
  metrics.start();
  const placement = new Placement(shards, manifest.lanes);
  const backups = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  // What lies in a lane that is set aside may refer to any attachment: none is removed.
  if (setAside.length > 0) Atomics.add(new Int32Array(backups), 0, 1);
  metrics.supply(() => ({ lanesSetAside: setAside.length, archive: archiveStatus(words, Date.now()) }));
  const limits = makeLimiterMemory();
  const limiter = new Limiter(limits, makePolicies(config));
  const parts = { accounts, tokens, placement, backups, words, limits, limiter, log, recentLines, metrics };
  const hosts = new TrustedProxies(config.trustedProxies, leadership?.others);
  const base: Base = { config, certificate, hosts, renewal: renewal?.renewal, folder, manifest, setAside, ...parts };
  const closers: Closer[] = [
    () => {
      lock.release();
      return undefined;
    },
    // What the other threads wrote is out by then: another host may lead at once.
    () => leadership?.stop(),
    () => accounts.close(),
  ];
  closers.push(watchArchive(words, config.logArchive, log));
  if (leadership !== undefined) metrics.supply(() => ({ cluster: leadership.metrics }));
  leadership?.keepShort({ folder, lanes: manifest.lanes, words });
  try {
    const served = await serve(base, closers, leadership);
    // Whoever starts a server may stop it as soon as it says that it is ready.
    stopOnSignals(base, closers, serving);
    if (!serving.stopping.aborted) await sayReady(base, served);
  } catch (error) {
    await close(closers);
    throw error;
  }
}

/** What is told of a server that listens. */
interface Served {
  readonly invitations: Invitations;
  readonly urls: Urls & { readonly lmtp: number | undefined };
}

/** Opens the listeners and the control socket. */
async function serve(base: Base, closers: Closer[], leadership: Leadership | undefined): Promise<Served> {
  const { accounts, config, limiter, metrics, log, manifest, tokens } = base;
  const urls: Urls = { coordinator: '', messaging: '', calendar: '' };
  // Known once the coordinator listens; nobody calls before.
  const origins = new Set<string>();
  const supervisor = makeSupervisor(base);
  const health = makeHealth(base, release, supervisor);
  metrics.supply(() => ({ asksPending: supervisor.asksPending, droppedLogLines: log.droppedLines }));
  const memberships = new GroupMemberships(accounts);
  const announcer = makeShardAnnouncer(supervisor, memberships);
  const { quotas, quotaWarnings } = makeQuotas(base, supervisor);
  const changes = makeChangeAnnouncers(supervisor);
  // Nobody calls before there is a management to note it.
  const vendorRefused = (shown: ShownVendorToken) => management.vendorRefusals.note(shown);
  const allowsOrigin = (origin: string) => origins.has(origin);
  const shown = base.certificate?.current;
  const surface = { config, certificate: shown, hosts: base.hosts, limiter, log, health, allowsOrigin, vendorRefused };
  const { attachments, lanes } = openStores(base, closers);
  const coordinator = await makeCoordinator({
    ...surface,
    ...{ accounts, tokens, announcer, memberships },
    messagingUrl: () => urls.messaging,
    calendarUrl: () => urls.calendar,
    sessionReused: async ({ address }) =>
      await management.alerts.note('session_reused', 'server', `from ${address}; the audit trail says whose it was`),
    directorySignIn: () => management.ldapSignIn,
    secondFactors: () => management.clientFactors,
    telemetry: countFor('coordinator', metrics),
    quotas,
    ...makeConversationAccess(lanes, supervisor, systemClock, quotas.require, () => readAsking(accounts, config)),
  });
  const management = await addManagementServices({
    ...base,
    ...coordinator,
    announcer,
    ...changes,
    ask: (to, message, millis) => supervisor.ask(to, message, millis),
    clock: systemClock,
    health: async () => JSON.parse((await health('application/json')).body) as HealthBody,
    listeners: () => urls,
    origins: () => origins,
    liveCalls: makeLiveCalls(() => supervisor.askShards('calls.list', null, METRICS_MILLIS)),
    conversations: () => lanes.conversationCount,
    attachments,
    lanes,
    quotas,
    epoch: manifest.epoch,
    startedAt: release.startedAt,
  });
  const account = { ...base, ...coordinator, ...management, announcer, clock: systemClock };
  const profiles = await addAccounts(account, supervisor, () => urls.coordinator);
  const attachmentKeys = new AttachmentKeys({ ...base, ...management, announce: changes.announceSealing });
  followAccess(management.settings, coordinator.access);
  await startManagement(base, closers, { ...management, ...coordinator }, attachmentKeys);
  startOutsideSystems(base, closers, management.settings, coordinator.people);
  const calendar = await makeHttpSurface({ ...surface, telemetry: countFor('calendar', metrics) });
  const meetings = makeEntryMeetings(coordinator.meetings, () => urls.coordinator);
  const announced = { meetings, tell: makeCalendarAnnouncer(supervisor), baseUrl: () => urls.calendar };
  const parts = { ...coordinator, ...management, attachments, lanes, profiles, quotas, ...announced };
  const openMail = await startCalendar(base, closers, calendar, parts);
  const lmtp = await listen(base, closers, { coordinator: coordinator.app, calendar, openMail }, urls);
  for (const origin of originsOf(config, portOf(coordinator.app.server.address()))) origins.add(origin);
  const stated = { quotas, quotaWarnings, origins: [...origins] };
  const shardParts = { ...management, attachmentKeys, changes, health, ...stated, supervisor, vendorRefused };
  urls.messaging = await startMessaging(base, closers, shardParts);
  followCertificate(base, closers, [coordinator.app, calendar], changes.announceCertificate);
  await takeCommands(base, closers, { ...management, announcer, changes, coordinator, supervisor }, urls, leadership);
  followHosts(base, closers, leadership, changes.announceHosts);
  // First of all: it looks at stores that are closed one after the other.
  closers.push(() => management.alerts.stop());
  plantBugsOnSignal(supervisor, base.placement.shards);
  return { invitations: coordinator.invitations, urls: { ...urls, lmtp } };
}

/** Opens the door of the `parley` command. */
async function takeCommands(
  base: Base,
  closers: Closer[],
  parts: Omit<CommandParts, 'cluster' | 'coordinatorBase' | 'status'>,
  urls: Urls,
  leadership: Leadership | undefined,
): Promise<void> {
  const status = () => ({ ...statusOf(base, urls), ...leadership?.status });
  const cluster = leadership?.control(() => void handOver(base, closers, leadership));
  const control = await listenForCommands(base, { ...parts, cluster, coordinatorBase: () => urls.coordinator, status });
  closers.push(() => control.close());
}

/** Has every thread believe the other hosts of the cluster, and none wait for NATS when the server stops. */
function followHosts(
  { hosts }: Base,
  closers: Closer[],
  leadership: Leadership | undefined,
  announce: ReturnType<typeof makeChangeAnnouncers>['announceHosts'],
): void {
  leadership?.follow((addresses) => {
    hosts.setHosts(addresses);
    void announce({ addresses });
  });
  closers.push(() => leadership?.giveUp());
}

/** Has every thread decide by screens that say who is asked into rooms, and who may what, before a change is answered. */
function followAccess(settings: Settings, access: Pick<Coordinator['access'], 'refresh'>): void {
  for (const name of ['room-invitations', ...Object.values(GRANTING_SCREENS)] as const)
    settings.follow(name, async () => await access.refresh());
}

/** Says that everything listens, and where, to programs and to people. */
async function sayReady({ folder }: Base, { invitations, urls }: Served): Promise<void> {
  const setup = await invitations.ensureOwnerInvitation();
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...urls })}\n`);
  printWelcome(version, folder, urls, setup);
}

/** What keeps a certificate of an ACME authority, and its files, which can be shown; undefined where none is ordered. */
async function makeRenewal(config: Config, folder: string, log: Log) {
  const names = namesOf(config);
  if (names.length === 0) return undefined;
  const files = await prepareAcme(folder, names, systemClock.now());
  return { files: files.certificate, renewal: new CertificateRenewal({ config, files, clock: systemClock, log }) };
}

/** What people may use as this thread holds them to it, and how they are told that they are near. */
function makeQuotas({ accounts, config, log }: Base, supervisor: ShardSupervisor) {
  const tell = (near: NearQuota) => supervisor.tellShards('quotaWarning.due', near);
  const quotaWarnings = new QuotaWarnings({ accounts, clock: systemClock, log, tell });
  const quotas = new QuotaGate({
    limits: readQuotaLimits(accounts, config),
    now: () => systemClock.now(),
    near: (near) => quotaWarnings.note(near),
  });
  return { quotas, quotaWarnings };
}

/** Starts the shards, and hands them what changes of settings and certificates; answers their base URL. */
async function startMessaging(
  base: Base,
  closers: Closer[],
  parts: Pick<
    ShardContext,
    | 'attachmentKeys'
    | 'health'
    | 'integrations'
    | 'objectStoreFault'
    | 'origins'
    | 'quotas'
    | 'quotaWarnings'
    | 'retention'
    | 'vendorRefused'
  > &
    Pick<Awaited<ReturnType<typeof addManagementServices>>, 'alerts' | 'settings'> & {
      readonly changes: ReturnType<typeof makeChangeAnnouncers>;
      readonly supervisor: ShardSupervisor;
    },
): Promise<string> {
  const { accounts, config, log } = base;
  const { alerts, changes, settings, supervisor } = parts;
  const pushKey = accounts.secret('push_key');
  const push = () => readPushCredentials({ config, settings, pushKey });
  const mediaServers = () => readMediaServers({ config, settings });
  const objectStore = () => unlessLocked(() => readObjectStore(settings));
  const port = await startShards(supervisor, base, {
    ...parts,
    release,
    push,
    mediaServers,
    objectStore,
    restarted: (shard) => {
      const noted = alerts.note('shard_restarted', `shard:${shard}`, 'it died and is back');
      noted.catch((error: unknown) => log.warn('an alert could not be stored', { error }));
    },
  });
  closers.push(
    () => supervisor.stop(config.drainSeconds * 2000),
    watchCredentials(push, (credentials) => void changes.announcePush(credentials)),
    watchCredentials(mediaServers, (servers) => void changes.announceMediaServers(servers)),
    watchCredentials(objectStore, (store) => void changes.announceObjectStore(store)),
  );
  return config.messagingUrl ?? urlOf(config, port);
}

/** Has all three listeners show another certificate when its files change. */
function followCertificate(
  { certificate, metrics, renewal }: Base,
  closers: Closer[],
  apps: readonly FastifyInstance[],
  announce: (certificate: Certificate) => Promise<void>,
): void {
  if (certificate === undefined) return;
  certificate.start(async (renewed) => {
    for (const app of apps) renewCertificate(app, renewed);
    await announce(renewed);
  });
  closers.push(() => certificate.stop());
  renewal?.start();
  closers.push(async () => await renewal?.stop());
  metrics.supply(() => ({ tls: { ...certificate.metrics, ...renewal?.metrics } }));
}

/** Unlocks what the configuration has the key of, and starts what the management plane does by itself. */
async function startManagement(
  { config, metrics, log }: Base,
  closers: Closer[],
  {
    alerts,
    auditArchive,
    automationOutbox,
    integrations,
    ldapSync,
    retention,
    hostedGuests,
    roomOwners,
    vault,
  }: Awaited<ReturnType<typeof addManagementServices>> & Pick<Coordinator, 'hostedGuests'>,
  attachmentKeys: AttachmentKeys,
): Promise<void> {
  closers.push(
    () => vault.close(),
    () => alerts.stop(),
    () => auditArchive.stop(),
    async () => retention.shortening.stop(),
    () => ldapSync.stop(),
    () => automationOutbox.stop(),
    () => integrations.deliveries.stop(),
    () => roomOwners.stop(),
  );
  await loadConfiguredMasterKey(vault, config.masterKey, log);
  await attachmentKeys.settle();
  await retention.announce();
  retention.shortening.watch();
  automationOutbox.start();
  auditArchive.start();
  ldapSync.start();
  roomOwners.start();
  hostedGuests.landAll().catch((error: unknown) => log.warn('bringing guests into their rooms failed', { error }));
  integrations.deliveries.start();
  metrics.supply(() => ({ subscriptions: integrations.deliveries.metrics }));
}

/** Asks a personnel system who has left, and opens tickets for alerts, also whenever these are others. */
function startOutsideSystems(
  { accounts, config, log }: Base,
  closers: Closer[],
  settings: Settings,
  people: Coordinator['people'],
): void {
  const { allowPrivateTargets } = config;
  const system = () => settings.read('hrms');
  const pull = new PersonnelPull({ accounts, people, system, allowPrivateTargets, log });
  settings.follow('hrms', async () => pull.pull());
  const tickets = new AlertTickets({
    accounts,
    desk: () => settings.read('simpleone'),
    model: () => settings.read('ai-keys'),
    allowPrivateTargets,
    log,
  });
  settings.follow('simpleone', async () => tickets.again());
  closers.push(
    () => pull.stop(),
    () => tickets.stop(),
  );
  pull.start();
  tickets.start();
}

/** Adds the calendar to its app, and what people take with them of it and of the rest; answers what opens its door for mail. Erasures begin with it, since they reach into it. */
async function startCalendar(
  base: Base,
  closers: Closer[],
  app: FastifyInstance,
  parts: Pick<
    CalendarOpeningOptions,
    | 'access'
    | 'appPasswords'
    | 'authenticate'
    | 'directory'
    | 'meetings'
    | 'memberships'
    | 'quotas'
    | 'resources'
    | 'tell'
    | 'vault'
  > &
    Pick<MailServicesOptions, 'baseUrl' | 'mailDns'> &
    Pick<OwnDataOptions, 'appPasswords' | 'attachments' | 'groups' | 'hostedGuests' | 'lanes' | 'profiles' | 'vault'> &
    Pick<Coordinator, 'app' | 'groups' | 'session'> &
    Pick<Awaited<ReturnType<typeof addManagementServices>>, 'erasures' | 'quotaReport' | 'settings'>,
): Promise<OpenCalendar['openMail']> {
  const { erasures, quotaReport, settings } = parts;
  const mailTrust = () => readMailTrust(settings);
  const mail: CalendarOpeningOptions['mail'] = (own) => makeOutbox(own, { ...base, ...parts });
  const { epoch } = base.manifest;
  const service = await openCalendar(app, { ...base, ...parts, mail, mailTrust, epoch, version, clock: systemClock });
  quotaReport.start(service.calendars);
  await addMailRoutes(app, service.services);
  const ownData = new OwnData({
    ...base,
    ...parts,
    calendarsOf: (user) => filesOf(service.services, user),
    clock: systemClock,
  });
  addOwnDataRoute(parts.app, { limiter: base.limiter, ownData, session: parts.session });
  closers.push(
    () => service.close(),
    () => erasures.stop(),
  );
  erasures.start(service.calendars, async (user, names, isStopping) => {
    await eraseFromMeetings(base.accounts, user, names);
    return await erasePerson(service.services, user, names, isStopping);
  });
  base.metrics.supply(() => ({ calendar: service.metrics() }));
  return service.openMail;
}

/** Has the listeners of this thread take connections, and says where they are; answers the port of the LMTP door, if any. */
async function listen(
  { config }: Base,
  closers: Closer[],
  {
    calendar,
    coordinator,
    openMail,
  }: Readonly<Record<'calendar' | 'coordinator', FastifyInstance>> & Pick<OpenCalendar, 'openMail'>,
  urls: Urls,
): Promise<number | undefined> {
  closers.push(
    () => closeListener(coordinator, config.drainSeconds),
    () => closeListener(calendar, config.drainSeconds),
  );
  await coordinator.listen({ host: config.host, port: config.coordinatorPort });
  await calendar.listen({ host: config.host, port: config.calendarPort });
  urls.coordinator = config.coordinatorUrl ?? urlOf(config, portOf(coordinator.server.address()));
  urls.calendar = config.calendarUrl ?? urlOf(config, portOf(calendar.server.address()));
  return await openMail();
}

/** Opens the lanes and the attachments as this thread has them: to read alone. */
function openStores(base: Base, closers: Closer[]): { readonly attachments: AttachmentReader; readonly lanes: Lanes } {
  const lanes = openLanes(base);
  const attachments = new AttachmentReader(openAttachments(base.folder, 'read', base.words));
  closers.push(
    () => lanes.close(),
    () => attachments.close(),
  );
  return { attachments, lanes };
}

/** The lanes as this thread has them: to read alone. */
function openLanes({ config, folder, manifest, setAside, words }: Base): Lanes {
  const mapBytes = config.laneSize * 2 ** 30;
  return new Lanes({
    folder,
    lanes: manifest.lanes,
    mapBytes,
    owns: () => false,
    report: () => undefined,
    setAside,
    words,
  });
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

/** Closes everything; false where somebody is at it. */
async function stopInOrder({ log, metrics }: Base, closers: Closer[], signal: string): Promise<boolean> {
  if (closers.length === 0) return false;
  log.info('the server stops', { signal });
  await close(closers);
  metrics.stop();
  log.info('the server has stopped');
  return true;
}

/** Stops in order, and goes on as a host that follows; one that is told to stop meanwhile ends. */
async function handOver(base: Base, closers: Closer[], leadership: Leadership): Promise<void> {
  if (await stopInOrder(base, closers, 'drain')) await leadership.beginAgain();
}

/** Stops once, in order, whatever number of signals comes, and at once where one came before. */
function stopOnSignals(base: Base, closers: Closer[], { serves, stopping }: Serving): void {
  serves();
  const stop = async (signal: string): Promise<void> => {
    if (await stopInOrder(base, closers, signal)) await endProcess(base.log);
  };
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
  if (stopping.aborted) void stop('one that came before');
}

async function close(closers: Closer[]): Promise<void> {
  for (const closer of closers.splice(0).toReversed()) await closer();
}

/** With PARLEY_DEBUG_HOOKS=1, SIGUSR2 has one shard after the other fail: how the tests see a shard come back. */
function plantBugsOnSignal(supervisor: ShardSupervisor, shards: number): void {
  if (process.env['PARLEY_DEBUG_HOOKS'] !== '1') return;
  let next = 0;
  process.on('SIGUSR2', () => {
    supervisor.tellShard(next % shards, 'shard.crash', null);
    next += 1;
  });
}

function countFor(service: Service, metrics: ThreadMetrics): HttpTelemetry {
  return {
    answered: (route, status, clientVersion) => metrics.countRequest(service, route, status, clientVersion),
    refused: (code) => metrics.countRefusal(code, service),
  };
}

try {
  await main();
} catch (error) {
  const expected = error instanceof ConfigError || error instanceof FolderError || error instanceof CertificateError;
  const { code, port } = error as NodeJS.ErrnoException & { port?: number };
  if (expected) process.stderr.write(`parley: ${error.message}\n`);
  else if (code === 'EADDRINUSE') process.stderr.write(`parley: port ${port} is taken by another program.\n`);
  else process.stderr.write(`parley: ${(error as Error).stack}\n`);
  process.exit(expected || code === 'EADDRINUSE' ? EXIT_UNUSABLE : 1);
}
