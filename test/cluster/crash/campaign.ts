/**
 * Cycles of traffic over a cluster to which something happens, and of comparison: what was acknowledged is there once, in its place and
 * at every host; answers could have come one after the other; of one term there was one host; the hosts' files are equal.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { compareFolders } from '#storage/check/folder-comparison.ts';
import { checkFolder } from '#storage/check/check.ts';
import { logFault } from '#test/support/linearisability.ts';
import { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { settled, startMachines, type HostMachine, type Machines } from './machines.ts';
import { NEMESES, type Nemesis } from './nemeses.ts';
import { StreamRecord } from './stream-record.ts';
import { Traffic } from './traffic.ts';

const PEOPLE = Array.from({ length: 8 }, (_, at) => `person-${at}`);
const ROOMS = 4;
/** How long all is well before a blow, and how long the blow lasts: beyond what a lead is forgotten in. */
const CALM_MILLIS = 500;
const [BLOW_MILLIS_MIN, BLOW_MILLIS_MAX] = [1_000, 9_000];
/** Answers after a blow that have to come. */
const ACKS_AFTER = 8;
/**
 * How long the stream has to be still for the hosts to have the same: longer than a follower takes to notice that the NATS server which
 * served it was away, until when it believes that it has everything.
 */
const STILL_MILLIS = 6_000;
const PATIENCE_MILLIS = 120_000;
/** Lines of a host that are shown when it did not come back. */
const LINES_SHOWN = 6;

export interface CampaignOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly hosts: number;
  /** Words that the names of what happens have; all of it by default. */
  readonly only?: string;
  readonly onCycle?: (cycle: number, told: Cycle, losses: readonly string[]) => void;
}

/** What happened in a cycle. */
export interface Cycle {
  readonly nemesis: string;
  /** How long it lasted, and the longest time in and after it in which nothing was acknowledged, in milliseconds. */
  readonly millis: number;
  readonly gap: number;
}

export interface CampaignResult {
  /** One sentence for each thing that was lost, doubled or contradicted. */
  readonly losses: readonly string[];
  readonly cycles: readonly Cycle[];
  readonly figures: Readonly<Record<string, number>>;
}

/** Runs the cycles and a last comparison; within namespaces of its own. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-cluster-'));
  const machines = await startMachines(folder, options.hosts);
  const record = await StreamRecord.open(machines.nats.map(({ url }) => url));
  try {
    return await new Campaign(options, machines, record).run();
  } finally {
    await record.close();
    for (const host of machines.hosts) await host.end('SIGKILL');
    for (const one of machines.nats) await one.end('SIGKILL');
    // The hosts' disks are mounted below it and end with the namespace.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

class Campaign {
  readonly #options: CampaignOptions;
  readonly #machines: Machines;
  readonly #record: StreamRecord;
  readonly #random: SeededRandom;
  readonly #losses: string[] = [];
  readonly #cycles: Cycle[] = [];
  readonly #lose = (sentence: string): void => void this.#losses.push(sentence);

  constructor(options: CampaignOptions, machines: Machines, record: StreamRecord) {
    [this.#options, this.#machines, this.#record] = [options, machines, record];
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<CampaignResult> {
    const { cycles, onCycle, only = '' } = this.#options;
    const traffic = await this.#openTraffic();
    const nemeses = NEMESES.filter(({ name }) => name.includes(only));
    let waiting: Nemesis[] = [];
    for (let cycle = 1; cycle <= cycles; cycle += 1) {
      if (waiting.length === 0) waiting = [...nemeses];
      const [nemesis] = waiting.splice(this.#random.whole(0, waiting.length - 1), 1) as [Nemesis];
      const told = await this.#cycle(nemesis, traffic).catch(async (error: unknown) => {
        this.#lose(`When ${nemesis.name}: ${(error as Error).message}`);
        traffic.giveUp();
        await this.#tellFaults();
      });
      // What comes after a cluster that does not come back says nothing more.
      if (told === undefined) return { losses: this.#losses, cycles: this.#cycles, figures: {} };
      this.#cycles.push(told);
      onCycle?.(cycle, told, this.#losses);
    }
    const alike = await this.#compare(traffic);
    const { acks, reads, retries } = traffic;
    return {
      losses: this.#losses,
      cycles: this.#cycles,
      figures: {
        acknowledged: acks,
        read: reads,
        'tried again': retries,
        batches: this.#record.batches,
        'passed over': this.#record.passedOver,
        'rows alike': alike,
      },
    };
  }

  async #openTraffic(): Promise<Traffic> {
    const { hosts } = this.#machines;
    const server = (hosts[0] as HostMachine).server as TestServer;
    const people: Person[] = [];
    for (const name of PEOPLE) people.push(await server.person(name));
    const rooms: string[] = [];
    for (let room = 0; room < ROOMS; room += 1) {
      const form = { kind: 'room', title: `Room ${room}`, participants: PEOPLE.slice(1) };
      const { body, text } = await server.api<{ id?: string }>(people[0], 'POST', '/v1/conversations', form);
      if (body.id === undefined) throw new Error(text);
      rooms.push(body.id);
    }
    return new Traffic({ hosts, people, rooms, random: this.#random.fork(), lose: this.#lose });
  }

  /** Traffic all the time; a blow after a while, which ends after a while. */
  async #cycle(nemesis: Nemesis, traffic: Traffic): Promise<Cycle> {
    const { hosts } = this.#machines;
    const millis = this.#random.whole(BLOW_MILLIS_MIN, BLOW_MILLIS_MAX);
    traffic.begin();
    await pause(CALM_MILLIS);
    traffic.watch();
    const from = performance.now();
    const { end, stale = [] } = await nemesis.strike(this.#machines, this.#random);
    await pause(millis);
    await end();
    const behind = traffic.acks + ACKS_AFTER;
    await until(() => traffic.acks >= behind, `acknowledgements after ${nemesis.name}`, PATIENCE_MILLIS);
    await settled(hosts);
    const { gap } = traffic;
    const to = performance.now();
    await traffic.end();
    for (const [room, seen] of traffic.takeSeen({ hosts: stale, from, to })) {
      const fault = logFault(seen);
      if (fault !== undefined) this.#lose(`When ${nemesis.name}, in ${room} ${fault}.`);
    }
    for (const host of hosts) await traffic.verify(host);
    await this.#record.verify(this.#lose);
    this.#assertTerms();
    return { nemesis: nemesis.name, millis: Math.round(to - from), gap: Math.round(gap) };
  }

  /** What the stream has, and what the hosts said last, of a cluster that did not come back. */
  async #tellFaults(): Promise<void> {
    await this.#record.verify(this.#lose).catch((error: unknown) => this.#lose(String(error)));
    for (const { name, said } of this.#machines.hosts) {
      const faults = said.filter((line) => !line.includes('"level":"info"')).slice(-LINES_SHOWN);
      for (const line of faults) this.#lose(`${name} said: ${line}`);
    }
  }

  /** No two hosts ever said that they lead in one term. */
  #assertTerms(): void {
    const led = new Map<number, string>();
    for (const { name, said } of this.#machines.hosts) {
      for (const line of said) {
        if (!line.includes('"this host leads"')) continue;
        const { term } = JSON.parse(line) as { term: number };
        const other = led.get(term);
        if (other !== undefined && other !== name) this.#lose(`${other} and ${name} both led in term ${term}.`);
        led.set(term, name);
      }
    }
  }

  /** Stops all hosts in one moment in which the stream is still, and holds their files against each other. Answers how many rows are alike. */
  async #compare(traffic: Traffic): Promise<number> {
    const { hosts } = this.#machines;
    await until(
      async () => {
        await settled(hosts);
        const before = await this.#record.last();
        await pause(STILL_MILLIS);
        for (const host of hosts) host.signal('SIGSTOP');
        if ((await this.#record.last()) === before) return true;
        for (const host of hosts) host.signal('SIGCONT');
        return false;
      },
      'the stream to be still',
      PATIENCE_MILLIS,
    );
    for (const host of hosts) await host.end('SIGKILL');
    const [first, ...others] = hosts as [HostMachine, ...HostMachine[]];
    let alike = 0;
    for (const other of others) {
      const compared = await compareFolders(first.folder, other.folder);
      alike += compared.alike;
      for (const difference of compared.differences) this.#lose(difference);
    }
    for (const { folder, name } of hosts) {
      for (const problem of (await checkFolder(folder)).problems) this.#lose(`The check of ${name} says: ${problem}`);
    }
    if (traffic.acks === 0) this.#lose('Nothing was acknowledged.');
    return alike;
  }
}
