/** Legal holds under kills: what acknowledged edits and deletions replaced is in the owners' export, and off the disk after. */
import { setTimeout as pause } from 'node:timers/promises';
import { post } from '#test/messaging/conversing.ts';
import { consoleOf } from '#test/support/console.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { readLanes, tablesWithWords } from '#test/support/stored-words.ts';
import { until } from '#test/support/waiting.ts';
import { under } from '#storage/engine/keys.ts';
import { HeldErasures } from './held-erasures.ts';
import { accepted, type Part, type PartOptions } from './part.ts';

const NAMES = ['hana', 'hugo', 'heli'] as const;
const BREATH_MILLIS_MAX = 10;
/** Changes after which the hold of a conversation ends: in some lives none does, in others several. */
const CHANGES_MIN = 5;
const CHANGES_MAX = 60;

/** What a hold has to have kept: the message before a change. */
interface Kept {
  readonly seq: number;
  readonly change: 'edit' | 'delete';
  readonly body: string;
}

interface Exported {
  readonly message?: { readonly seq: number; readonly body?: unknown };
  readonly kept?: { readonly seq: number; readonly change: Kept['change']; readonly message: { body: unknown } };
  readonly end?: object;
}

/** A conversation with its only writer. */
interface Held {
  readonly id: string;
  readonly writer: string;
  readonly kept: Kept[];
  /** Seq → body, undefined once it is deleted. */
  readonly bodies: Map<number, string | undefined>;
  /** A change that nobody answered, and the body that it makes. */
  open: (Kept & { readonly after: string | undefined }) | undefined;
  /** `asked` is on its way to `off`. */
  hold: 'none' | 'on' | 'asked' | 'off';
}

export class HoldsPart implements Part {
  readonly environment = {};
  readonly #options: PartOptions;
  readonly #held: Held[] = [];
  readonly #erasures: HeldErasures;
  /** Words of what was kept and purged: they are nowhere any more. */
  #purged: string[] = [];
  #people: Readonly<Record<string, Person>> = {};
  #words = 0;
  #kept = 0;
  #compared = 0;
  #released = 0;
  #lookedFor = 0;

  constructor(options: PartOptions) {
    this.#options = options;
    this.#erasures = new HeldErasures(options);
  }

  get figures(): Record<string, number> {
    const [kept, compared, released] = [this.#kept, this.#compared, this.#released];
    return { kept, compared, released, lookedFor: this.#lookedFor, erased: this.#erasures.finished };
  }

  async settle(server: TestServer): Promise<void> {
    this.#people = await server.people(...NAMES);
    await this.#erasures.settle(server);
  }

  async traffic(server: TestServer): Promise<void> {
    const writing = NAMES.map(async (name) => await this.#write(server, name, this.#options.random.fork()));
    await Promise.all([...writing, this.#erasures.traffic(server)]);
  }

  /** Looks through the whole disk for what was purged in the life before. */
  async inspect(folder: string): Promise<void> {
    this.#lookedFor += this.#purged.length;
    const found = await tablesWithWords(folder, this.#purged);
    for (const one of found) this.#options.lose(`Its hold is over, and it is on the disk: ${one}.`);
    this.#purged = [];
  }

  async verify(server: TestServer, isLast: boolean): Promise<void> {
    const held = this.#held.splice(0);
    for (const one of held) {
      if (one.hold === 'on') await this.#compare(server, one);
      // What was asked for before the kill, and in the end every hold.
      if (one.hold === 'asked' || (isLast && one.hold === 'on')) await this.#hold(server, one, false);
      if (one.hold === 'on') this.#held.push(one);
    }
    const released = held.filter(({ hold }) => hold === 'off');
    const left = async () => {
      const ids: string[] = [];
      await readLanes(server.folder, ({ keptVersions }) => {
        for (const { id } of released) if (keptVersions.getKeysCount({ ...under(id), limit: 1 }) > 0) ids.push(id);
      });
      return ids;
    };
    await until(async () => (await left()).length === 0, 'the purge of what was held').catch(async () => {
      for (const id of await left()) this.#options.lose(`The hold of ${id} is over, and its versions are kept.`);
    });
    const erased = await this.#erasures.verify(server, isLast);
    this.#purged = [...erased, ...released.flatMap(({ kept }) => kept.map(({ body }) => body))];
    this.#released += released.length;
  }

  async close(): Promise<void> {
    // Nothing runs beside the server.
  }

  /** Writes into a conversation that is held, and ends the hold after a while, until the server is gone. */
  async #write(server: TestServer, name: string, random: SeededRandom): Promise<void> {
    for (;;) {
      const known = this.#held.find(({ hold, writer }) => hold === 'on' && writer === name);
      const conversation = known ?? (await this.#begin(server, name));
      if (conversation === undefined) return;
      for (let n = random.whole(CHANGES_MIN, CHANGES_MAX); n > 0; n -= 1) {
        if (!(await this.#change(server, name, conversation, random))) return;
        await pause(random.whole(0, BREATH_MILLIS_MAX));
      }
      conversation.hold = 'asked';
      if (!(await this.#hold(server, conversation, false))) return;
    }
  }

  /** A conversation with something that was edited before it is held: that is not kept. */
  async #begin(server: TestServer, name: string): Promise<Held | undefined> {
    const person = this.#people[name] as Person;
    const { lose } = this.#options;
    const made = await accepted(
      server.api<{ id: string }>(person, 'POST', '/v1/conversations', { kind: 'room', participants: [] }),
      lose,
    );
    if (made === undefined) return undefined;
    const { id } = made.body;
    const one: Held = { id, writer: name, kept: [], bodies: new Map(), open: undefined, hold: 'none' };
    if (!(await this.#post(server, name, one))) return undefined;
    const body = this.#word();
    const path = `/v1/conversations/${id}/messages/1`;
    if ((await accepted(server.api(person, 'PATCH', path, { body }), lose)) === undefined) return undefined;
    one.bodies.set(1, body);
    if (!(await this.#hold(server, one, true))) return undefined;
    this.#held.push(one);
    return one;
  }

  async #post(server: TestServer, name: string, one: Held): Promise<boolean> {
    const body = this.#word();
    const form = { kind: 'text', body };
    const reply = await accepted(post(server, this.#people[name], one.id, form), this.#options.lose);
    if (reply !== undefined) one.bodies.set(reply.body.seq, body);
    return reply !== undefined;
  }

  /** Posts, edits or deletes; false when the server was killed. */
  async #change(server: TestServer, name: string, one: Held, random: SeededRandom): Promise<boolean> {
    const there = [...one.bodies].filter(([, body]) => body !== undefined);
    if (there.length === 0 || random.chance(0.3)) return await this.#post(server, name, one);
    const [seq, body] = random.pick(there) as [number, string];
    const change = random.chance(0.3) ? 'delete' : 'edit';
    const after = change === 'delete' ? undefined : this.#word();
    one.open = { seq, change, body, after };
    const path = `/v1/conversations/${one.id}/messages/${seq}`;
    const method = change === 'delete' ? 'DELETE' : 'PATCH';
    const sent = server.api(this.#people[name], method, path, change === 'delete' ? undefined : { body: after });
    if ((await accepted(sent, this.#options.lose)) === undefined) return false;
    this.#note(one, one.open);
    return true;
  }

  /** A change that is stored, and what was kept of before it. */
  #note(one: Held, { after, body, change, seq }: Kept & { readonly after: string | undefined }): void {
    one.kept.push({ seq, change, body });
    one.bodies.set(seq, after);
    one.open = undefined;
    this.#kept += 1;
  }

  async #hold(server: TestServer, one: Held, held: boolean): Promise<boolean> {
    const console = consoleOf(server, this.#options.ownerToken);
    const reply = await accepted(console('PUT', `/conversations/${one.id}/hold`, { held }), this.#options.lose);
    if (reply !== undefined) one.hold = held ? 'on' : 'off';
    return reply !== undefined;
  }

  /** The export has the messages as they are and each version before a change, in order, and nothing else. */
  async #compare(server: TestServer, one: Held): Promise<void> {
    const { lose, ownerToken } = this.#options;
    const url = `${server.coordinator}/admin/api/message-export?conversation=${one.id}`;
    const response = await fetch(url, { headers: { 'x-admin-token': ownerToken } });
    const text = await response.text();
    if (response.status !== 200) return lose(`The export of ${one.id} was refused: ${text}`);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Exported);
    if (lines.at(-1)?.end === undefined) lose(`The export of ${one.id} is not whole.`);
    const bodies = new Map(lines.flatMap(({ message }) => (message ? [[message.seq, message.body] as const] : [])));
    const { open } = one;
    // Whether what nobody answered is stored, its own message says.
    if (open !== undefined && bodies.get(open.seq) === open.after) this.#note(one, open);
    one.open = undefined;
    for (const [seq, body] of one.bodies) {
      if (bodies.get(seq) !== body) lose(`Seq ${seq} of ${one.id} is ${String(bodies.get(seq))} instead of ${body}.`);
    }
    const actual = lines.flatMap(({ kept }) => (kept ? [{ ...kept, body: kept.message.body }] : []));
    const expected = one.kept.toSorted((a, b) => a.seq - b.seq);
    this.#compared += expected.length;
    for (let at = 0; at < Math.max(actual.length, expected.length); at += 1) {
      const [is, was] = [sentenceOf(actual[at]), sentenceOf(expected[at])];
      if (is !== was) return lose(`The export of ${one.id} has ${is} where ${was} should be.`);
    }
  }

  #word(): string {
    this.#words += 1;
    return `held word ${this.#words} of many`;
  }
}

function sentenceOf(kept: { seq: number; change: string; body: unknown } | undefined): string {
  return kept === undefined ? 'nothing' : `the ${kept.change} of ${String(kept.body)} at ${kept.seq}`;
}
