/**
 * People who write to rooms through any host, one request after the other, each under an id until it is acknowledged, and look through
 * any host for what is there.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { request, type Person, type Reply } from '#test/support/server.ts';
import type { LogOperation } from '#test/support/linearisability.ts';
import type { SeededRandom } from '#test/support/random.ts';
import { until } from '#test/support/waiting.ts';

/** A client's own patience with one request, and with a message under all its tries. */
const REQUEST_MILLIS = 4_000;
const MESSAGE_MILLIS = 180_000;
const READ_MILLIS = 60_000;
/** A breath between two posts, and before another try. */
const [BREATH_MILLIS_MIN, BREATH_MILLIS_MAX] = [5, 40];
const RETRY_MILLIS = 50;
const PAGE = 200;

/** A host as its clients know it. */
export interface Door {
  readonly name: string;
  readonly messaging: string;
}

/** A request, as who made it saw it; times in milliseconds of `performance.now()`. */
interface Seen extends LogOperation {
  readonly room: string;
  readonly host: Door;
}

export interface TrafficOptions {
  readonly hosts: readonly Door[];
  readonly people: readonly Person[];
  readonly rooms: readonly string[];
  readonly random: SeededRandom;
  readonly lose: (sentence: string) => void;
}

export class Traffic {
  readonly #options: TrafficOptions;
  /** What was sent to a room, and what was acknowledged there: its text by its place. */
  readonly #sent = new Map<string, Set<string>>();
  readonly #acknowledged = new Map<string, Map<number, string>>();
  #seen: Seen[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #isOver = true;
  #isGivenUp = false;
  #ackAt = 0;
  #gap = 0;
  acks = 0;
  reads = 0;
  retries = 0;

  constructor(options: TrafficOptions) {
    this.#options = options;
    for (const room of options.rooms) {
      this.#sent.set(room, new Set());
      this.#acknowledged.set(room, new Map());
    }
  }

  /** What was acknowledged in a room: its text by its place. */
  readonly acknowledged = (room: string): ReadonlyMap<number, string> => this.#acknowledged.get(room) ?? new Map();

  begin(): void {
    this.#isOver = false;
    const { people, random, rooms } = this.#options;
    const writers = people.map((person, at) => [person, rooms[at % rooms.length] as string, random.fork()] as const);
    this.#running = Promise.all(
      writers.map(async ([person, room, own]) => {
        for (let count = this.acks; !this.#isOver; count += 1) {
          await this.#post(person, room, own, `${person.username} ${count} ${randomUUID()}`);
          if (own.chance(0.5)) await this.#look(person, room, own);
          await pause(own.whole(BREATH_MILLIS_MIN, BREATH_MILLIS_MAX));
        }
      }),
    );
  }

  /** Resolves once everybody’s last message is acknowledged. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** Ends it at once, whatever is not acknowledged. */
  giveUp(): void {
    this.#isOver = true;
    this.#isGivenUp = true;
  }

  /** Begins to look how long nobody is acknowledged anything. */
  watch(): void {
    [this.#ackAt, this.#gap] = [performance.now(), 0];
  }

  /** The longest time without an acknowledgement since `watch`, in milliseconds. */
  get gap(): number {
    return Math.max(this.#gap, performance.now() - this.#ackAt);
  }

  /** What was seen since the last call of a room, without reads of a host in a time in which it may be behind. */
  takeSeen(stale: {
    readonly hosts: readonly Door[];
    readonly from: number;
    readonly to: number;
  }): Map<string, LogOperation[]> {
    const seen = this.#seen.filter(
      ({ began, ended, host, kind }) =>
        kind === 'post' || !stale.hosts.includes(host) || ended < stale.from || began > stale.to,
    );
    this.#seen = [];
    return Map.groupBy(seen, ({ room }) => room);
  }

  /** Says what a host has not as it was acknowledged. */
  async verify(host: Door): Promise<void> {
    const { lose, people, rooms } = this.#options;
    for (const room of rooms) {
      const sent = this.#sent.get(room) as Set<string>;
      const acknowledged = this.#acknowledged.get(room) as Map<number, string>;
      const stored = await readAll(host, people[0] as Person, room);
      const texts = new Map(stored.map(({ body, seq }) => [seq, body]));
      stored.forEach(({ seq }, at) => {
        if (seq !== at + 1) lose(`${host.name} has seq ${seq} of ${room} in place ${at + 1}.`);
      });
      if (new Set(texts.values()).size !== stored.length) lose(`${host.name} has something of ${room} twice.`);
      for (const [seq, text] of acknowledged) {
        if (texts.get(seq) !== text) lose(`${host.name} has at ${seq} of ${room} ${texts.get(seq)}, not ${text}.`);
      }
      for (const { body } of stored)
        if (!sent.has(body)) lose(`${host.name} has ${body} in ${room}, which nobody sent.`);
      if (stored.length !== acknowledged.size)
        lose(`${host.name} has ${stored.length} messages of ${room}, of which ${acknowledged.size} were acknowledged.`);
    }
  }

  async #post(person: Person, room: string, random: SeededRandom, text: string): Promise<void> {
    const { hosts, lose } = this.#options;
    const body = { kind: 'text', body: text, client_msg_id: randomUUID() };
    this.#sent.get(room)?.add(text);
    const began = performance.now();
    while (performance.now() - began < MESSAGE_MILLIS) {
      if (this.#isGivenUp) return;
      const host = random.pick(hosts);
      const reply = await ask<{ seq: number }>(host, person, 'POST', `/v1/conversations/${room}/messages`, body);
      if (reply?.status === 200 || reply?.status === 201) {
        const ended = performance.now();
        const place = reply.body.seq;
        this.#seen.push({ kind: 'post', place, began, ended, room, host });
        const known = this.#acknowledged.get(room) as Map<number, string>;
        if (known.has(place)) lose(`Place ${place} of ${room} was acknowledged for ${known.get(place)} and ${text}.`);
        known.set(place, text);
        this.acks += 1;
        this.#gap = Math.max(this.#gap, ended - this.#ackAt);
        this.#ackAt = ended;
        return;
      }
      if (reply !== undefined && reply.status !== 503) {
        lose(`${host.name} answered a post with ${reply.status}: ${reply.text.slice(0, 200)}`);
        return;
      }
      this.retries += 1;
      await pause(RETRY_MILLIS);
    }
    lose(`${text} was not acknowledged within ${MESSAGE_MILLIS} ms.`);
  }

  /** The newest message of the room, as some host says. */
  async #look(person: Person, room: string, random: SeededRandom): Promise<void> {
    const host = random.pick(this.#options.hosts);
    const began = performance.now();
    const path = `/v1/conversations/${room}/messages?limit=1`;
    const reply = await ask<{ items: { seq: number }[] }>(host, person, 'GET', path);
    const ended = performance.now();
    if (reply?.status === 200) {
      const place = reply.body.items[0]?.seq ?? 0;
      this.#seen.push({ kind: 'read', place, began, ended, room, host });
      this.reads += 1;
    } else if (reply !== undefined && reply.status !== 503)
      this.#options.lose(`${host.name} answered a read with ${reply.status}: ${reply.text.slice(0, 200)}`);
  }
}

/** A request that a client gives up after a while; undefined where it was not answered. */
async function ask<T>(
  host: Door,
  { session }: Person,
  method: string,
  path: string,
  body?: object,
): Promise<Reply<T> | undefined> {
  try {
    const signal = AbortSignal.timeout(REQUEST_MILLIS);
    return await request<T>(method, `${host.messaging}${path}`, { body, token: session.token, signal });
  } catch {
    return undefined;
  }
}

async function readAll(host: Door, person: Person, room: string): Promise<{ seq: number; body: string }[]> {
  const messages: { seq: number; body: string }[] = [];
  for (;;) {
    const path = `/v1/conversations/${room}/messages?limit=${PAGE}&after_seq=${messages.at(-1)?.seq ?? 0}`;
    // Another host may just have come to lead.
    const page = await until(
      async () => {
        const reply = await ask<{ items: { seq: number; body: string }[] }>(host, person, 'GET', path);
        return reply?.status === 200 && reply;
      },
      `${host.name} to answer for ${room}`,
      READ_MILLIS,
    );
    if (page.body.items.length === 0) return messages;
    messages.push(...page.body.items);
  }
}
