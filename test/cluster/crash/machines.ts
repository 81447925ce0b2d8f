/** The machines of a campaign: three NATS servers, and hosts of Parley over them, each in its own part of the network. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { RealProgram } from '#test/support/real-program.ts';
import { request, startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import type { HostHealth } from '../hosts.ts';
import { Network } from './network.ts';

const [NATS_PORT, ROUTE_PORT] = [4222, 6222];
const PORTS = { PARLEY_COORDINATOR_PORT: '8000', PARLEY_MESSAGING_PORT: '8001', PARLEY_CALENDAR_PORT: '8002' };
/** A disk of a host's own, which can be filled. */
const DISK_MEGABYTES = 256;
/** How long machines may take for what takes them seconds where they are not all on one. */
const SETTLE_MILLIS = 60_000;
/** How long a host may take to say how it is. */
const HEALTH_MILLIS = 2_000;
/** Debian's library that has a process see another time. */
const FAKETIME = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketime.so.1`;

/** Whether clocks can be set. */
export const hasClocks = existsSync(FAKETIME);

/** A NATS server with JetStream. */
export class NatsMachine {
  readonly name: string;
  readonly address: string;
  readonly #file: string;
  #program: RealProgram | undefined;

  constructor(network: Network, name: string, folder: string) {
    this.name = name;
    this.address = network.add(name);
    this.#file = join(folder, `${name}.conf`);
  }

  /** Writes its configuration, once all of them are known. */
  configure(all: readonly NatsMachine[], folder: string): void {
    const routes = all.map(({ address }) => `nats://${address}:${ROUTE_PORT}`).join(', ');
    const lines = [
      `listen: ${this.address}:${NATS_PORT}`,
      `server_name: ${this.name}`,
      `jetstream { store_dir: "${join(folder, this.name)}" }`,
      `cluster { name: campaign, listen: ${this.address}:${ROUTE_PORT}, routes: [${routes}] }`,
    ];
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
  }

  get url(): string {
    return `nats://${this.address}:${NATS_PORT}`;
  }

  /** Resolves when it takes connections. */
  async start(): Promise<void> {
    const [program, ...args] = Network.on(this.name);
    this.#program = new RealProgram(program, [...args, 'nats-server', '-c', this.#file]);
    const takesConnections = async () => {
      this.#program?.assertRuns();
      const socket = connect(NATS_PORT, this.address);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
      const isTaken = await promise;
      socket.destroy();
      return isTaken;
    };
    await until(takesConnections, `${this.name} to take connections`, SETTLE_MILLIS);
  }

  get leadsJetStream(): boolean {
    return this.#program?.said.includes('JetStream cluster new metadata leader') === true;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await this.#program?.stop(signal);
    this.#program = undefined;
  }

  signal(signal: NodeJS.Signals): void {
    this.#program?.signal(signal);
  }
}

/** A host of Parley, with a disk and a clock of its own. */
export class HostMachine {
  readonly name: string;
  readonly address: string;
  readonly folder: string;
  readonly messaging: string;
  readonly #disk: string;
  readonly #clock: string;
  readonly #urls: string;
  /** What all its processes wrote. */
  readonly said: string[] = [];
  server: TestServer | undefined;

  constructor(network: Network, name: string, folder: string, urls: string) {
    this.name = name;
    this.address = network.add(name);
    this.messaging = `http://${this.address}:${PORTS.PARLEY_MESSAGING_PORT}`;
    this.#disk = join(folder, name);
    this.folder = join(this.#disk, 'data');
    this.#clock = join(folder, `${name}.clock`);
    this.#urls = urls;
    mkdirSync(this.#disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m`, name, this.#disk]);
    this.setClock(0);
  }

  /** Resolves when it serves, or hands on to one that does. */
  async start(): Promise<void> {
    const clock = { LD_PRELOAD: FAKETIME, FAKETIME_TIMESTAMP_FILE: this.#clock, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
    this.server = await startServer({
      shards: 2,
      folder: this.folder,
      through: Network.on(this.name),
      environment: {
        ...PORTS,
        ...(hasClocks ? { ...clock, FAKETIME_CACHE_DURATION: '1' } : {}),
        PARLEY_HOST: this.address,
        PARLEY_HOST_ID: this.name,
        PARLEY_CLUSTER: this.#urls,
        PARLEY_LOG_LEVEL: 'info',
        PARLEY_SESSION_SECONDS: '86400',
      },
      output: this.said,
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    await this.server?.end(signal);
    this.server = undefined;
  }

  signal(signal: NodeJS.Signals): void {
    this.server?.process.kill(signal);
  }

  /** How it sees its cluster; undefined where it does not say. */
  async health(): Promise<HostHealth['cluster'] | undefined> {
    try {
      const signal = AbortSignal.timeout(HEALTH_MILLIS);
      return (await request<HostHealth>('GET', `${this.messaging}/healthz`, { signal })).body.cluster;
    } catch {
      return undefined;
    }
  }

  /** Sets its clock so many seconds off; what it runs sees that within a second. */
  setClock(seconds: number): void {
    writeFileSync(this.#clock, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  }

  /** Takes all the room of its disk, or gives it back. */
  fillDisk(isFull: boolean): void {
    const ballast = join(this.#disk, 'ballast');
    if (!isFull) return rmSync(ballast, { force: true });
    const { bavail, bsize } = statfsSync(this.#disk);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
  }
}

export interface Machines {
  readonly network: Network;
  readonly nats: readonly NatsMachine[];
  readonly hosts: readonly HostMachine[];
}

/** Starts them all: NATS first, then the host whose folder is the installation's, then the others. */
export async function startMachines(folder: string, hostCount: number): Promise<Machines> {
  const network = new Network();
  const nats = ['n1', 'n2', 'n3'].map((name) => new NatsMachine(network, name, folder));
  for (const one of nats) one.configure(nats, folder);
  await Promise.all(nats.map(async (one) => await one.start()));
  await until(() => nats.some(({ leadsJetStream }) => leadsJetStream), 'a leader of JetStream', SETTLE_MILLIS);
  const urls = nats.map(({ url }) => url).join(',');
  const hosts = Array.from({ length: hostCount }, (_, at) => new HostMachine(network, `h${at + 1}`, folder, urls));
  for (const host of hosts) await host.start();
  await settled(hosts);
  return { network, nats, hosts };
}

/** Resolves when one host leads, and all others follow it and have everything. */
export async function settled(hosts: readonly HostMachine[]): Promise<void> {
  const isSettled = async () => {
    const all = await Promise.all(hosts.map(async (host) => await host.health()));
    const leaders = hosts.filter((_, at) => all[at]?.role === 'leads');
    if (leaders.length !== 1) return false;
    return all.every((one) => one?.leader === leaders[0]?.name && one?.lag_ms === 0 && one.role !== 'cannot_store');
  };
  await until(isSettled, 'one host to lead, and the others to follow it', SETTLE_MILLIS).catch(
    async (error: unknown) => {
      const all = await Promise.all(hosts.map(async (host) => JSON.stringify(await host.health())));
      throw new Error(`${(error as Error).message} They say: ${all.join(' ')}`, { cause: error });
    },
  );
}

/** The host that leads; the first one where nobody says so. */
export async function leaderOf(hosts: readonly HostMachine[]): Promise<HostMachine> {
  const all = await Promise.all(hosts.map(async (host) => await host.health()));
  return hosts.find((_, at) => all[at]?.role === 'leads') ?? (hosts[0] as HostMachine);
}
