/**
 * Three NATS servers and two hosts, each killed in turn and started again, under a chat between clients of both hosts. It takes no rights
 * and no network of its own, unlike the campaign.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestNats } from '#test/support/nats.ts';
import { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { healthOf, startHost, untilRole } from '../hosts.ts';
import { faultsOf, Listener } from './listener.ts';
import { Traffic, type Door } from './traffic.ts';

const NATS_SERVERS = 3;
const NAMES = ['one', 'two'] as const;
/** Messages that are acknowledged before each kill, while the process is away, and when it is back. */
const ACKS = 20;
const PATIENCE_MILLIS = 120_000;
/** Beyond the life of a token by default. */
const SESSION_SECONDS = '86400';

export interface InTurnOptions {
  readonly seed: number;
  /** What happens, as it does. */
  readonly say: (sentence: string) => void;
}

/** Kills each of the five once. Answers a sentence for each message that was lost, doubled or in another order. */
export async function runInTurn({ say, seed }: InTurnOptions): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-in-turn-'));
  const nats = await TestNats.start(NATS_SERVERS);
  const hosts = new Map<string, TestServer>();
  try {
    return await new Chat(nats, folder, hosts, { say, seed }).run();
  } finally {
    for (const host of hosts.values()) await host.end('SIGKILL');
    await nats.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

class Chat {
  readonly #nats: TestNats;
  readonly #folder: string;
  readonly #hosts: Map<string, TestServer>;
  readonly #options: InTurnOptions;
  readonly #losses: string[] = [];

  constructor(nats: TestNats, folder: string, hosts: Map<string, TestServer>, options: InTurnOptions) {
    [this.#nats, this.#folder, this.#hosts, this.#options] = [nats, folder, hosts, options];
  }

  async run(): Promise<string[]> {
    const { say, seed } = this.#options;
    await this.#start('one', 'leads');
    await this.#start('two', 'follows');
    say('Three NATS servers and two hosts run: one leads, two follows.');
    const [ann, bob] = [await this.#host('one').person('ann'), await this.#host('one').person('bob')];
    const form = { kind: 'direct', participants: ['bob'] };
    const { body: room } = await this.#host('one').api<{ id: string }>(ann, 'POST', '/v1/conversations', form);
    const doors = NAMES.map((name) => this.#door(name));
    const lose = (sentence: string) => void this.#losses.push(sentence);
    const traffic = new Traffic({
      ...{ hosts: doors, people: [ann, bob], rooms: [room.id], lose },
      random: new SeededRandom(seed),
    });
    const listeners = [this.#listen(ann, room.id, NAMES), this.#listen(bob, room.id, NAMES.toReversed())];
    traffic.begin();
    try {
      await this.#killAll(traffic);
    } finally {
      await traffic.end();
    }
    const { acknowledged } = traffic;
    const end = Math.max(...acknowledged(room.id).keys());
    const isHeard = () => listeners.every(({ last }) => last >= end);
    // What is missing then is said below.
    await until(isHeard, 'both to have heard everything', PATIENCE_MILLIS).catch(() => undefined);
    for (const door of doors) await traffic.verify(door);
    for (const [name, listener] of [
      ['ann', listeners[0]],
      ['bob', listeners[1]],
    ] as const) {
      await listener?.end();
      const faults = [...(listener?.faults ?? []), ...faultsOf(listener?.heard ?? [], acknowledged(room.id))];
      for (const fault of faults) lose(`To ${name} ${fault}.`);
      say(
        `${name} heard ${listener?.heard.length} messages over ${listener?.connections} sockets, ${listener?.askedFor} of them upon asking.`,
      );
    }
    say(
      `${traffic.acks} messages were acknowledged, ${traffic.retries} requests tried again; both hosts were asked for all of them.`,
    );
    return this.#losses;
  }

  async #killAll(traffic: Traffic): Promise<void> {
    for (let server = 0; server < NATS_SERVERS; server += 1) {
      await this.#kill(`NATS server ${server + 1}`, traffic, {
        kill: async () => await this.#nats.kill(server),
        start: async () => {
          this.#nats.run(server);
          await this.#nats.settled();
          for (const name of NAMES) await this.#isSteady(name);
        },
      });
    }
    const leads = (await healthOf(this.#host('one')))?.role === 'leads' ? 'one' : 'two';
    for (const name of [leads, leads === 'one' ? 'two' : 'one'] as const) {
      const role = (await healthOf(this.#host(name)))?.role;
      await this.#kill(`host ${name}, which ${role},`, traffic, {
        kill: async () => {
          await this.#host(name).end('SIGKILL');
          this.#hosts.delete(name);
        },
        start: async () => await this.#start(name, 'follows'),
      });
    }
  }

  /** Kills something that runs under the chat, and starts it again when the chat has gone on without it. */
  async #kill(
    what: string,
    traffic: Traffic,
    { kill, start }: { readonly kill: () => Promise<void>; readonly start: () => Promise<void> },
  ): Promise<void> {
    await this.#untilMore(traffic, `before ${what} is killed`);
    traffic.watch();
    await kill();
    await this.#untilMore(traffic, `without ${what}`);
    const gap = Math.round(traffic.gap);
    await start();
    await this.#untilMore(traffic, `with ${what} back`);
    const subject = what.replace(/^./, (letter) => letter.toUpperCase());
    this.#options.say(
      `${subject} was killed and is back; ${gap} ms without an acknowledgement; ${this.#losses.length} losses so far.`,
    );
  }

  async #untilMore(traffic: Traffic, when: string): Promise<void> {
    const behind = traffic.acks + ACKS;
    await until(() => traffic.acks >= behind, `acknowledgements ${when}`, PATIENCE_MILLIS);
  }

  async #start(name: string, role: 'follows' | 'leads'): Promise<void> {
    const environment = { PARLEY_SESSION_SECONDS: SESSION_SECONDS };
    const host = await startHost(this.#nats, name, { folder: join(this.#folder, name), environment });
    this.#hosts.set(name, host);
    await untilRole(host, role);
  }

  /** Resolves when a host has everything, whatever its part is. */
  async #isSteady(name: string): Promise<void> {
    const look = async () => {
      const health = await healthOf(this.#host(name));
      return health !== undefined && health.leader !== null && health.lag_ms === 0;
    };
    await until(look, `${name} to have everything`, PATIENCE_MILLIS);
  }

  #host(name: string): TestServer {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new Error(`${name} does not run.`);
    return host;
  }

  /** Where a host is found: it has other ports whenever it is started. */
  #door(name: string): Door {
    const hosts = this.#hosts;
    return {
      name,
      get messaging() {
        return hosts.get(name)?.messaging ?? 'http://127.0.0.1:1';
      },
    };
  }

  #listen(person: Person, room: string, names: readonly string[]): Listener {
    return new Listener({ person, room, hosts: () => names.flatMap((name) => this.#hosts.get(name) ?? []) });
  }
}
