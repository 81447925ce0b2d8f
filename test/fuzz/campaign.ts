/** A server under damaged input, beside people who must not notice. */
import { SeededRandom } from '#test/support/random.ts';
import { makeScimClient } from '#test/scim/scim-client.ts';
import { type AskConsole, type ConsoleServer, startConsoleServer } from '#test/support/console.ts';
import { type Person, request, type TestServer } from '#test/support/server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import type { World } from './forms.ts';
import { HttpFuzzer } from './http-fuzzer.ts';
import { shootRaw } from './raw-http.ts';
import { SCIM_ROUTE_NAMES, ScimFuzzer } from './scim-fuzzer.ts';
import { SocketFuzzer } from './socket-fuzzer.ts';

/** Shots between two looks at those who must not notice. */
const SHOTS_PER_ROUND = 200;
/** Shots under way at a time. */
const WIDTH = 8;

const FUZZERS = ['fay', 'gus', 'hal'] as const;
const MEMBERS = ['ann', 'ben', 'carl'] as const;
/** Clients that provision people: each has a rate of its own. */
const SCIM_CLIENTS = ['one', 'two', 'three', 'four'] as const;
/** What everybody is told, whoever it is about. */
const NEWS_FOR_ALL: readonly string[] = ['directory.changed', 'group', 'unit'];
const ENVIRONMENT = { PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '1000000', PARLEY_SESSION_SECONDS: '86400' };

export interface FuzzReport {
  readonly seed: number;
  shots: number;
  canaries: number;
  readonly faults: string[];
}

/** Fuzzes a server of its own for so many seconds; the report says what was wrong. */
export async function runFuzz(options: { seconds: number; seed: number }): Promise<FuzzReport> {
  const running = await startConsoleServer({ shards: 2, environment: ENVIRONMENT });
  const campaign = new FuzzCampaign(running, options.seed);
  try {
    return await campaign.run(options.seconds);
  } finally {
    campaign.close();
    await running.stop();
  }
}

class FuzzCampaign {
  readonly #server: TestServer;
  readonly #console: AskConsole;
  readonly #random: SeededRandom;
  readonly #report: FuzzReport;
  readonly #http: HttpFuzzer;
  readonly #rooms: string[] = [];
  #people: Readonly<Record<string, Person>> = {};
  #sockets: SocketFuzzer[] = [];
  #members: TestSocket[] = [];
  #bystander: TestSocket | undefined;
  #canaryRoom = '';
  #scim: ScimFuzzer | undefined;

  constructor({ console, server }: ConsoleServer, seed: number) {
    this.#server = server;
    this.#console = console;
    this.#random = new SeededRandom(seed);
    this.#report = { seed, shots: 0, canaries: 0, faults: [] };
    this.#http = new HttpFuzzer(server);
  }

  async run(seconds: number): Promise<FuzzReport> {
    await this.#settle();
    const end = performance.now() + seconds * 1000;
    do {
      // Fuzzed people delete their rooms and end their sessions: each round begins with new ones.
      await this.#renew();
      const lines = Array.from({ length: WIDTH }, () => this.#shootMany(this.#random.fork()));
      await Promise.all(lines);
      await this.#lookAround();
    } while (performance.now() < end && this.#report.faults.length === 0);
    return this.#report;
  }

  close(): void {
    this.#http.close();
    for (const socket of this.#sockets) socket.close();
    for (const { raw } of [...this.#members, ...(this.#bystander === undefined ? [] : [this.#bystander])])
      raw.terminate();
  }

  async #settle(): Promise<void> {
    const server = this.#server;
    this.#people = await server.people(...FUZZERS, ...MEMBERS, 'eve');
    const [owner, ...others] = MEMBERS;
    this.#canaryRoom = await this.#createRoom(owner, others);
    this.#members = await Promise.all(MEMBERS.map((name) => connect(server, this.#person(name))));
    this.#bystander = await connect(server, this.#person('eve'));
    const clients = await Promise.all(SCIM_CLIENTS.map((name) => makeScimClient(server, this.#console, name)));
    this.#scim = new ScimFuzzer(
      server,
      clients.map(({ token }) => token),
    );
    this.#sockets = FUZZERS.slice(0, 2).map((name) => new SocketFuzzer(server, this.#person(name)));
  }

  async #renew(): Promise<void> {
    for (const name of FUZZERS) {
      const person = this.#person(name);
      const reply = await this.#server.api(person, 'GET', '/v1/me/capabilities');
      if (reply.status === 401) {
        person.session = await this.#server.signIn(name, person.password, person.session.device_id);
      }
    }
    const [owner, ...others] = FUZZERS;
    this.#rooms.push(await this.#createRoom(owner, others));
    if (this.#rooms.length > 3) this.#rooms.shift();
    const path = `/v1/conversations/${this.#rooms.at(-1)}/messages`;
    for (const name of FUZZERS) {
      await this.#server.api(this.#person(name), 'POST', path, { kind: 'text', body: `a line of ${name}` });
    }
  }

  async #createRoom(owner: string, participants: readonly string[]): Promise<string> {
    const form = { kind: 'room', participants };
    const reply = await this.#server.api<{ id: string }>(this.#person(owner), 'POST', '/v1/conversations', form);
    if (reply.status !== 201) throw new Error(`A room was refused: ${reply.text}`);
    return reply.body.id;
  }

  async #shootMany(random: SeededRandom): Promise<void> {
    const world: World = { conversations: [...this.#rooms, this.#canaryRoom], names: FUZZERS };
    for (let shot = 0; shot < SHOTS_PER_ROUND / WIDTH; shot += 1) {
      const fault = await this.#shoot(world, random);
      this.#report.shots += 1;
      if (fault !== undefined) this.#report.faults.push(fault);
    }
  }

  async #shoot(world: World, random: SeededRandom): Promise<string | undefined> {
    if (random.chance(0.2)) return await random.pick(this.#sockets).shoot(world, random);
    if (random.chance(0.05)) {
      const { calendar, coordinator, messaging } = this.#server;
      return await shootRaw(random.pick([calendar, coordinator, messaging]), random);
    }
    if (random.chance(0.1)) return await this.#scim?.shoot(random.pick(SCIM_ROUTE_NAMES), random);
    const all = FUZZERS.map((name) => this.#person(name));
    return await this.#http.shoot({ all, expendable: this.#person(FUZZERS[2]) }, world, random);
  }

  /** The members get a canary unchanged, the bystander nothing, every service is well, and the log is quiet. */
  async #lookAround(): Promise<void> {
    const { faults } = this.#report;
    await this.#sendCanary();
    for (const { data, type } of this.#bystander?.events ?? []) {
      if (NEWS_FOR_ALL.includes(type)) continue;
      faults.push(`the bystander got ${type} ${JSON.stringify(data)}`);
    }
    for (const base of [this.#server.coordinator, this.#server.messaging, this.#server.calendar]) {
      const health = await request('GET', `${base}/healthz`, { headers: { accept: 'application/json' } });
      if (health.status !== 200) faults.push(`${base}/healthz answers ${health.status}`);
    }
    if (this.#server.process.exitCode !== null) faults.push(`the server ended with ${this.#server.process.exitCode}`);
    for (const line of this.#server.output) if (isErrorLine(line)) faults.push(`the log says ${line}`);
  }

  async #sendCanary(): Promise<void> {
    this.#report.canaries += 1;
    const body = `canary ${this.#report.canaries} 👩‍👩‍👧‍👦`;
    const path = `/v1/conversations/${this.#canaryRoom}/messages`;
    const reply = await this.#server.api<{ seq: number }>(this.#person(MEMBERS[0]), 'POST', path, {
      kind: 'text',
      body,
    });
    const { seq } = reply.body;
    if (reply.status !== 201 || seq !== this.#report.canaries) {
      this.#report.faults.push(`canary ${this.#report.canaries} was answered ${reply.status}: ${reply.text}`);
      return;
    }
    const events = await Promise.all(
      this.#members.map((socket) => socket.event((event) => event.type === 'message.new' && event.seq === seq, body)),
    );
    for (const { data } of events) {
      if (JSON.stringify(data) !== JSON.stringify(reply.body)) {
        this.#report.faults.push(`a member got ${JSON.stringify(data)} for ${reply.text}`);
      }
    }
  }

  #person(name: string): Person {
    return this.#people[name] as Person;
  }
}

/** A log line of level error, or a line that is no log line at all: an uncaught error's. */
function isErrorLine(line: string): boolean {
  return /"level":"(?:error|fatal)"/.test(line) || /^\s+at .+:\d+\)?$/.test(line);
}
