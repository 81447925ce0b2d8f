/** Calls under kills: a restart leaves none behind, lists are true at every step, and an outcome is posted once. */
import { setTimeout as pause } from 'node:timers/promises';
import type { LiveCallView } from '#src/protocol/calls/calls.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { post, start } from '#test/messaging/conversing.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, Reply, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { readHistory } from './history.ts';
import { accepted, type Lose, type Part, type PartOptions } from './part.ts';

const NAMES = ['cal', 'cat', 'dag', 'dot', 'gil', 'gus', 'guy'] as const;
const SCENES = [
  ['direct', 'cal', 'cat'],
  ['direct', 'dag', 'dot'],
  ['room', 'gil', 'gus', 'guy'],
] as const;
/** How long a call rings here, in seconds: the last cycle waits for it. */
const RING_SECONDS = 2;
/** The longest breath between two steps of a call. */
const BREATH_MILLIS_MAX = 25;

interface Scene {
  readonly id: string;
  readonly members: readonly string[];
}

/** One attempt, and what its host says became of it. */
interface Attempt {
  readonly scene: Scene;
  readonly call: string;
  readonly seqs: Map<string, number>;
  /** What the outcome says; undefined while the call went on. */
  result: 'completed' | 'declined' | 'cancelled' | 'failed' | undefined;
  /** Where the outcome stands, once that was acknowledged. */
  posted: number | undefined;
}

export class CallsPart implements Part {
  readonly environment = { PARLEY_RING_SECONDS: String(RING_SECONDS) };
  readonly #random: SeededRandom;
  readonly #lose: Lose;
  readonly #attempts: Attempt[] = [];
  #people: Readonly<Record<string, Person>> = {};
  #scenes: readonly Scene[] = [];
  #listed = 0;
  #cut = 0;
  /** Attempts before this one are over and have their outcome. */
  #verified = 0;

  constructor({ random, lose }: PartOptions) {
    this.#random = random;
    this.#lose = lose;
  }

  get figures(): Record<string, number> {
    return { calls: this.#attempts.length, cut: this.#cut, listed: this.#listed };
  }

  async settle(server: TestServer): Promise<void> {
    this.#people = await server.people(...NAMES);
    const scenes: Scene[] = [];
    for (const [kind, host, ...others] of SCENES) {
      const { id } = await start(server, this.#person(host), kind, others);
      scenes.push({ id, members: [host, ...others] });
    }
    this.#scenes = scenes;
  }

  async traffic(server: TestServer): Promise<void> {
    await Promise.all(
      this.#scenes.map(async (scene) => {
        const random = this.#random.fork();
        while (await this.#call(server, scene, random));
      }),
    );
  }

  async verify(server: TestServer, isLast: boolean): Promise<void> {
    for (const name of NAMES) {
      const calls = await this.#callsOf(server, name);
      for (const { call } of calls ?? []) this.#lose(`${name} is told after a restart that ${call} goes on.`);
    }
    for (const attempt of this.#attempts.slice(this.#verified)) {
      await this.#refuseLateSteps(server, attempt);
      await this.#postOnce(server, attempt);
    }
    for (const scene of this.#scenes) await this.#compareOutcomes(server, scene, isLast);
    this.#verified = this.#attempts.length;
    if (isLast) await this.#ringToTheEnd(server);
  }

  async close(): Promise<void> {
    // Nothing runs beside the server.
  }

  /** One call from its invite to its outcome. False when the server was killed in between. */
  async #call(server: TestServer, scene: Scene, random: SeededRandom): Promise<boolean> {
    const attempt = this.#begin(scene);
    const [host = '', ...others] = scene.members;
    const [first = ''] = others;
    const take = async (who: string, step: string): Promise<boolean> => {
      const isTaken = (await accepted(this.#step(server, attempt, who, step), this.#lose)) !== undefined;
      if (isTaken) await pause(random.whole(0, BREATH_MILLIS_MAX));
      return isTaken;
    };
    if (!(await take(host, 'invite'))) return false;
    for (const other of others) if (!(await this.#expect(server, attempt, other, 'ringing'))) return false;
    const isDirect = others.length === 1;
    const way = random.pick(isDirect ? (['cancelled', 'declined', 'completed'] as const) : (['completed'] as const));
    if (way === 'cancelled' && !(await take(host, 'cancel'))) return false;
    if (way === 'declined' && !(await take(first, 'decline'))) return false;
    if (way === 'completed') {
      for (const other of others) if (!(await take(other, 'join'))) return false;
      for (const one of scene.members) if (!(await this.#expect(server, attempt, one, 'joined'))) return false;
      if (!(await take(host, 'hold')) || !(await this.#expect(server, attempt, host, 'held'))) return false;
      // The last but one of them ends it for the last.
      for (const one of scene.members.slice(0, -1)) if (!(await take(one, 'end'))) return false;
    }
    for (const one of scene.members) if (!(await this.#expect(server, attempt, one, undefined))) return false;
    attempt.result = way;
    const posted = await accepted(this.#post(server, attempt, attempt.call), this.#lose);
    if (posted === undefined) return false;
    attempt.posted = posted.body.seq;
    return true;
  }

  #begin(scene: Scene): Attempt {
    const call = `call-${this.#attempts.length}`;
    const attempt: Attempt = { scene, call, seqs: new Map(), result: undefined, posted: undefined };
    this.#attempts.push(attempt);
    return attempt;
  }

  async #step(server: TestServer, { call, scene, seqs }: Attempt, who: string, step: string): Promise<Reply> {
    const seq = (seqs.get(who) ?? 0) + 1;
    seqs.set(who, seq);
    const body = step === 'invite' ? { video: true, room: 'r' } : {};
    return await server.api(this.#person(who), 'POST', '/v1/signal', {
      ...{ to: scene.id, kind: 'call', step, call, seq, body },
    });
  }

  /** Whether the call is listed for somebody as it should be, or not at all. False when the server was killed. */
  async #expect(server: TestServer, { call }: Attempt, who: string, you: string | undefined): Promise<boolean> {
    const calls = await this.#callsOf(server, who);
    if (calls === undefined) return false;
    const found = calls.find((one) => one.call === call)?.you;
    if (found !== you) this.#lose(`${who} is listed as ${found} in ${call}, instead of ${you}.`);
    return true;
  }

  async #callsOf(server: TestServer, who: string): Promise<readonly LiveCallView[] | undefined> {
    const sent = server.api<{ items: LiveCallView[] }>(this.#person(who), 'GET', '/v1/calls');
    const reply = await accepted(sent, this.#lose);
    this.#listed += 1;
    return reply?.body.items;
  }

  /** A call that went with the server is not joined any more, and is not ended by anybody. */
  async #refuseLateSteps(server: TestServer, attempt: Attempt): Promise<void> {
    if (attempt.result === undefined) this.#cut += 1;
    const who = attempt.scene.members[1] as string;
    // In a room a join begins a call of its own.
    for (const step of attempt.scene.members.length === 2 ? ['join', 'hold'] : ['hold', 'end']) {
      const reply = await this.#step(server, attempt, who, step);
      if (reply.status === 404 && reply.body['code'] === 'call_not_found') continue;
      this.#lose(`${attempt.call} of before the restart was answered ${reply.status} ${reply.text} to a ${step}.`);
    }
  }

  /** Posts the outcome under its old key and under a new one: there is one of it, where it was. */
  async #postOnce(server: TestServer, attempt: Attempt): Promise<void> {
    attempt.result ??= 'failed';
    for (const key of [attempt.call, `${attempt.call}-again`]) {
      const reply = await this.#post(server, attempt, key);
      const isFirst = attempt.posted === undefined;
      attempt.posted ??= reply.body.seq;
      const isRight = reply.status === 200 || (isFirst && reply.status === 201);
      if (isRight && reply.body.seq === attempt.posted) continue;
      this.#lose(`The outcome of ${attempt.call} stands at ${attempt.posted}; again it answered ${reply.text}`);
    }
  }

  async #post(server: TestServer, { call, result, scene }: Attempt, key: string): Promise<Reply<Message>> {
    const body = { outcome: { result, duration: 0, flags: [] }, call };
    const form = { kind: 'call', body, client_msg_id: key };
    return await post(server, this.#person(scene.members[0] as string), scene.id, form);
  }

  async #compareOutcomes(server: TestServer, scene: Scene, isLast: boolean): Promise<void> {
    const own = this.#attempts.filter((attempt) => attempt.scene === scene);
    const from = isLast ? 0 : Math.max(0, ...own.slice(0, -20).map(({ posted }) => posted ?? 0));
    const seen = new Map<string, number>();
    for (const { body, seq } of await readHistory(server, this.#person(scene.members[0] as string), scene.id, from)) {
      const call = (body as { call?: string } | undefined)?.call ?? '';
      if (seen.has(call)) this.#lose(`The outcome of ${call} is posted as ${seen.get(call)} and as ${seq}.`);
      seen.set(call, seq);
    }
    for (const { call, posted } of own) {
      if (posted === undefined || posted <= from || seen.get(call) === posted) continue;
      this.#lose(`The outcome of ${call}, acknowledged as ${posted}, is gone.`);
    }
  }

  /** Nobody answers, and it stops by itself. */
  async #ringToTheEnd(server: TestServer): Promise<void> {
    const attempt = this.#begin(this.#scenes[0] as Scene);
    const [host = '', other = ''] = attempt.scene.members;
    await accepted(this.#step(server, attempt, host, 'invite'), this.#lose);
    await this.#expect(server, attempt, other, 'ringing');
    try {
      await until(async () => (await this.#callsOf(server, other))?.length === 0, 'the call to stop ringing');
    } catch {
      this.#lose(`${attempt.call} rings for ever.`);
    }
  }

  #person(name: string): Person {
    return this.#people[name] as Person;
  }
}
