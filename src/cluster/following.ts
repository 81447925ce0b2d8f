/**
 * A server of a cluster, until it leads: it follows the stream and hands on what comes to it. Once nobody leads and this host has all
 * that the stream has, it tries to; `Leadership` is what it then has.
 *
 *     following ─► nobody leads ─► `lead` (one host) ─► a term begun in every log (the others are shut out) ─► the server starts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import type { Config } from '#src/config.ts';
import { speaksTls } from '#src/config.ts';
import { versionHeaders } from '#src/http/http-surface.ts';
import type { ClusterControl } from '#src/server/control/control-commands.ts';
import { listenForControl, type ControlServer } from '#src/server/control/control-server.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { CertificateWatch } from '#src/tls/certificate-watch.ts';
import { followContents } from '#storage/cluster/content-follower.ts';
import {
  FORGOTTEN_MILLIS,
  Presence,
  PRESENCE_MILLIS,
  type HostPresence,
  type Leader,
} from '#storage/cluster/presence.ts';
import { writeClusterPlace } from '#storage/engine/cluster-place.ts';
import { FolderError, type FolderLock } from '#storage/engine/folder.ts';
import { connectToStream, untilReached, type StreamConnection } from '#storage/stream/stream-connection.ts';
import type { ClusterConfig } from './cluster-config.ts';
import { followerControl } from './follower-control.ts';
import { hostName } from './host-name.ts';
import { isDrained, setDrained } from './drained.ts';
import { isPassing, joinCluster, type Joined, type Joining } from './joining.ts';
import { Leadership, listedHost } from './leadership.ts';
import { PassThrough, type FollowerHealth, type ServiceName } from './pass-through.ts';

/** How often a host looks who leads. */
const LOOK_MILLIS = 250;
/** How long a host that is drained leaves the lead to others: then one that serves is better than none. */
const DRAINED_MILLIS = 15_000;
/** How long the stream may bring nothing, while it has more and nobody leads. */
const STUCK_MILLIS = 5_000;

export interface FollowingOptions {
  readonly cluster: ClusterConfig;
  readonly config: Config;
  readonly certificate: CertificateWatch | undefined;
  readonly folder: string;
  readonly lock: FolderLock;
  readonly log: Log;
  readonly opening: Joining['opening'];
  readonly version: string;
  /** Ends the following: the process is to stop. */
  readonly stopping: AbortSignal;
  /** Called once there is a host that leads, with where this one listens. */
  readonly ready: (ports: Leader['ports']) => void;
  /** Begins this process anew; never resolves. */
  readonly beginAgain: (ports: Leader['ports']) => Promise<never>;
}

/** What a host has once it leads: the ports that it listened on, which are free again. */
export interface Led {
  readonly leadership: Leadership;
  readonly ports: Leader['ports'];
}

/**
 * Follows until this host leads; undefined where it is told to stop before.
 * @throws FolderError for a folder, or NATS servers, that cannot be used.
 */
export async function followUntilLeading(options: FollowingOptions): Promise<Led | undefined> {
  const { cluster, config, folder, lock, log, opening, stopping } = options;
  const connection = await unlessStopped(
    untilReached(cluster).then(async () => await connectToStream(cluster)),
    stopping,
  );
  if (connection === undefined) return undefined;
  let fault: Error | undefined;
  const faulted = (error: Error | undefined) => {
    if (error !== undefined && fault === undefined) log.error('this host cannot store what the others have', { error });
    fault = error;
  };
  const joined = await untilAnswered(
    async () => await joinCluster({ cluster, connection, folder, lock, log, opening, faulted }),
    options,
  );
  if (joined === undefined) return undefined;
  const me = {
    host: hostName(folder, cluster.host),
    instance: randomBytes(6).toString('hex'),
    address: addressOf(config.host, connection.nats.info?.client_ip),
    version: options.version,
  };
  const presence = await untilAnswered(async () => {
    const opened = await Presence.open(connection, cluster.name, joined.replicas);
    await assertAlone(opened, me, stopping);
    return opened;
  }, options);
  if (presence === undefined) return undefined;
  const follower = new Following({ ...options, connection, joined, presence, me, fault: () => fault });
  try {
    return await follower.run();
  } finally {
    await follower.close();
    if (!follower.leads) {
      await presence.leave(me.host).catch(() => undefined);
      await connection.nats.close();
    }
  }
}

interface FollowingParts extends FollowingOptions {
  readonly connection: StreamConnection;
  readonly joined: Joined;
  readonly presence: Presence;
  readonly me: Omit<HostPresence, 'drained' | 'lag' | 'role'>;
  readonly fault: () => Error | undefined;
}

class Following {
  readonly #parts: FollowingParts;
  readonly #listeners = new Map<ServiceName, PassThrough>();
  #leader: Leader | undefined;
  #control: ControlServer | undefined;
  /** Ends what goes on beside. */
  readonly #over = new AbortController();
  #contents: Promise<void> | undefined;
  #isReady = false;
  #isReached = true;
  #isDrained: boolean;
  /** Since when nobody leads, as this host sees it. */
  #leaderlessSince = performance.now();
  #hosts: readonly HostPresence[] = [];
  #saidAt = 0;
  /** Where the stream was when it was last looked at while nobody led, and since when it is there. */
  #stuck = { at: -1, since: 0 };
  leads = false;

  constructor(parts: FollowingParts) {
    this.#parts = parts;
    this.#isDrained = isDrained(parts.folder);
  }

  async run(): Promise<Led | undefined> {
    const { folder, joined, log, presence, stopping } = this.#parts;
    await this.#listen();
    this.#control = await listenForControl(
      folder,
      followerControl(
        () => this.#status(),
        () => this.#leader?.host,
        { host: this.#parts.me.host, hosts: () => this.#hosts.map(listedHost), ...this.#draining },
      ),
      log,
    );
    const { connection } = this.#parts;
    this.#contents = followContents(connection, joined.place, folder, this.#over.signal);
    let ended: Error | undefined;
    joined.follower.ended.catch((error: unknown) => {
      ended = error as Error;
    });
    while (!stopping.aborted) {
      if (ended instanceof FolderError) throw ended;
      if (ended !== undefined) {
        log.error('the stream does not go on here, and this host begins again', { error: ended });
        await this.#parts.beginAgain(this.#ports);
      }
      try {
        const known = await presence.leader();
        await this.#say();
        // Its own word from before it began again, which would be forgotten by itself.
        if (known?.leader.host === this.#parts.me.host) await presence.stepDown(known.revision);
        else if (known === undefined) {
          this.#leader = undefined;
          const led = await this.#tryToLead();
          if (led !== undefined) return led;
        } else this.#follow(known.leader);
      } catch (error) {
        if (this.#isReached) log.warn('NATS does not answer', { error: error as Error });
        this.#isReached = false;
      }
      await sleep(LOOK_MILLIS, undefined, { signal: stopping }).catch(() => undefined);
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners.values()) await listener.close();
    this.#listeners.clear();
    await this.#control?.close();
    this.#over.abort();
    await this.#contents;
    await this.#parts.joined.follower.close();
  }

  get #ports(): Leader['ports'] {
    const portOf = (service: ServiceName) => (this.#listeners.get(service) as PassThrough).port;
    return { coordinator: portOf('coordinator'), messaging: portOf('messaging'), calendar: portOf('calendar') };
  }

  async #listen(): Promise<void> {
    const { certificate, config } = this.#parts;
    const ports = {
      coordinator: config.coordinatorPort,
      messaging: config.messagingPort,
      calendar: config.calendarPort,
    };
    for (const [service, port] of Object.entries(ports) as [ServiceName, number][]) {
      const listener = await PassThrough.open({
        service,
        port,
        host: config.host,
        headers: { ...versionHeaders(config.protocolMin), 'cache-control': 'no-store' },
        certificate: () => certificate?.current,
        leader: () => this.#leader,
        health: () => this.#health(),
      });
      this.#listeners.set(service, listener);
    }
  }

  /** What `parley cluster drain` and `resume` do here. */
  get #draining(): Pick<ClusterControl, 'drain' | 'resume'> {
    const set = (drained: boolean) => {
      setDrained(this.#parts.folder, drained);
      this.#isDrained = drained;
      // The others hear it with the next look.
      this.#saidAt = 0;
    };
    return { drain: () => set(true), resume: () => set(false) };
  }

  #follow(leader: Leader): void {
    this.#leader = leader;
    this.#leaderlessSince = performance.now();
    if (this.#isReady) return;
    this.#isReady = true;
    this.#parts.ready(this.#ports);
  }

  /** What this host says of itself at `GET /healthz`. */
  #health(): FollowerHealth {
    const { fault, joined, me, version } = this.#parts;
    return {
      status: fault() === undefined && this.#isReached ? 'ok' : 'degraded',
      version,
      cluster: {
        host: me.host,
        role: this.#role,
        leader: this.#leader?.host ?? null,
        term: null,
        reached: this.#isReached,
        lag_ms: joined.follower.lagMillis,
        hosts: this.#hosts.map(({ host, lag, role }) => ({ host, role, lag_ms: lag })),
      },
    };
  }

  /** What `parley status` prints, a line each. */
  #status(): Record<string, string | number> {
    const { folder, joined, me, version } = this.#parts;
    const { epoch, lanes } = joined.manifest;
    const cluster = {
      host: me.host,
      role: this.#role,
      leader: this.#leader?.host ?? 'nobody',
      lag_ms: joined.follower.lagMillis,
    };
    return { state: 'running', pid: process.pid, version, folder, lanes, epoch, ...cluster };
  }

  get #role(): HostPresence['role'] {
    return this.#parts.fault() === undefined ? 'follows' : 'cannot_store';
  }

  async #say(): Promise<void> {
    if (Date.now() - this.#saidAt < PRESENCE_MILLIS) return;
    this.#saidAt = Date.now();
    const { joined, me, presence } = this.#parts;
    await presence.say({ ...me, role: this.#role, drained: this.#isDrained, lag: joined.follower.lagMillis });
    this.#hosts = await presence.hosts();
    this.#isReached = true;
  }

  /** What the stream has and does not bring, since NATS was away, comes with a new start. */
  async #requireProgress(): Promise<void> {
    const { sequence } = this.#parts.joined.follower;
    if (sequence !== this.#stuck.at) this.#stuck = { at: sequence, since: Date.now() };
    if (Date.now() - this.#stuck.since < STUCK_MILLIS) return;
    this.#parts.log.error('the stream brings nothing more, and this host begins again', { sequence });
    await this.#parts.beginAgain(this.#ports);
  }

  /** One host at a time gets as far as a term; it may still lack what another one wrote, and leaves the lead again then. */
  async #tryToLead(): Promise<Led | undefined> {
    const { cluster, config, connection, fault, folder, joined, log, me, presence } = this.#parts;
    if (fault() !== undefined) return undefined;
    if (this.#isDrained && performance.now() - this.#leaderlessSince < DRAINED_MILLIS) return undefined;
    if (!(await joined.follower.isLevel())) {
      await this.#requireProgress();
      return undefined;
    }
    const leader = { host: me.host, address: me.address, ports: this.#ports, tls: speaksTls(config) };
    const term = await presence.lead(leader);
    if (term === undefined) return undefined;
    if (!(await joined.follower.beginTerm(term, this.#parts.stopping))) {
      await presence.stepDown(term);
      return undefined;
    }
    const ports = this.#ports;
    this.leads = true;
    log.info('this host leads', { term });
    writeClusterPlace(folder, { ...joined.place, term });
    const { place, record, replicas } = joined;
    const leadership = new Leadership({
      ...{ cluster: place.cluster, connection, name: cluster.name, record, replicas },
      ...{ presence, me, leader, term, log, folder, hosts: this.#hosts },
      streamBytes: config.clusterStreamBytes,
      beginAgain: async () => await this.#parts.beginAgain(ports),
    });
    return { leadership, ports };
  }
}

/** Tries again while NATS does not answer; undefined where the process is to stop. @throws what does not pass. */
async function untilAnswered<T>(
  action: () => Promise<T>,
  { log, stopping }: Pick<FollowingOptions, 'log' | 'stopping'>,
): Promise<T | undefined> {
  for (let tries = 0; !stopping.aborted; tries += 1) {
    try {
      return await action();
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (tries === 0) log.warn('NATS does not answer', { error: error as Error });
      await sleep(PRESENCE_MILLIS, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
  return undefined;
}

/** Waits for something unless the process is to stop. */
async function unlessStopped<T>(action: Promise<T>, stopping: AbortSignal): Promise<T | undefined> {
  if (stopping.aborted) return undefined;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  stopping.addEventListener('abort', () => resolve(undefined), { once: true });
  return await Promise.race([action, promise]);
}

/** Where the other hosts reach this one: the address that the listeners bind or, where that is all, the one that NATS sees. */
function addressOf(host: string, seen: string | undefined): string {
  const isAny = host === '0.0.0.0' || host === '::';
  return isAny ? (seen ?? host) : host;
}

/** @throws FolderError while another process says that it is the host of that name. */
async function assertAlone(presence: Presence, me: Pick<HostPresence, 'host' | 'instance'>, stopping: AbortSignal) {
  const other = async () => (await presence.hosts()).find(({ host }) => host === me.host)?.instance;
  const before = await other();
  if (before === undefined) return;
  // A host that has just died says nothing again, and is forgotten.
  for (const until = Date.now() + FORGOTTEN_MILLIS + 2 * PRESENCE_MILLIS; Date.now() < until;) {
    await sleep(LOOK_MILLIS, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted || (await other()) === undefined) return;
  }
  throw new FolderError(
    `Another host of the cluster is called ${me.host}, too: set PARLEY_HOST_ID, or use a folder of its own.`,
  );
}
