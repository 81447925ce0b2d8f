/** Search under kills: every message is found by the word that it alone has, by who may read it, and nothing else is. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { post, start } from '#test/messaging/conversing.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, Reply, TestServer } from '#test/support/server.ts';
import { accepted, type Lose, type Part, type PartOptions } from './part.ts';

const NAMES = ['sam', 'sue', 'tia'] as const;
/** Not in the room: whatever is there is not found by them. */
const STRANGER = 'zoe';
/** Messages searched for after each kill: the newest, and some of any age. */
const NEWEST = 40;
const OLD = 20;
const BREATH_MILLIS_MAX = 8;
const LETTERS = 'abcdefghijklmnopqrstuvwxyzабвгдежзиклмнопрстуфхцчшщэюя';
const WORD_LENGTH = 9;
const FILLERS = [
  'the budget is approved',
  'встреча в полдень',
  'see you at the station',
  'ещё раз спасибо',
  '東京都に',
];

interface Said {
  readonly sender: string;
  readonly clientId: string;
  readonly first: string;
  /** The word that is in it now; undefined once it is deleted, or while nobody knows. */
  word: string | undefined;
  /** Words that were in it and are no more. */
  readonly gone: string[];
  /** An edit or a deletion that nobody answered. */
  open: 'edit' | 'deletion' | undefined;
  seq: number | undefined;
}

interface Page {
  readonly items: readonly Message[];
  readonly next: string | null;
}

export class SearchPart implements Part {
  readonly environment = {};
  readonly #random: SeededRandom;
  readonly #lose: Lose;
  readonly #said: Said[] = [];
  #people: Readonly<Record<string, Person>> = {};
  #room = '';
  #searched = 0;
  #edited = 0;
  #deleted = 0;

  constructor({ random, lose }: PartOptions) {
    this.#random = random;
    this.#lose = lose;
  }

  get figures(): Record<string, number> {
    return { messages: this.#said.length, edited: this.#edited, deleted: this.#deleted, searched: this.#searched };
  }

  async settle(server: TestServer): Promise<void> {
    this.#people = await server.people(...NAMES, STRANGER);
    const [owner, ...others] = NAMES;
    ({ id: this.#room } = await start(server, this.#person(owner), 'room', others));
  }

  async traffic(server: TestServer): Promise<void> {
    await Promise.all(NAMES.map(async (name) => await this.#write(server, name, this.#random.fork())));
  }

  async verify(server: TestServer, isLast: boolean): Promise<void> {
    for (const said of this.#said) if (said.seq === undefined) await this.#repeat(server, said);
    const known = this.#said.filter(({ open }) => open === undefined);
    const old = known.slice(0, -NEWEST);
    const some = Array.from({ length: Math.min(OLD, old.length) }, () => this.#random.pick(old));
    for (const said of isLast ? known : [...some, ...known.slice(-NEWEST)]) await this.#compare(server, said);
    const { word = '' } = known.findLast((said) => said.word !== undefined) ?? {};
    await this.#expect(server, STRANGER, word, []);
    await this.#expect(server, NAMES[0], this.#word(this.#random), []);
  }

  async close(): Promise<void> {
    // Nothing runs beside the server.
  }

  async #write(server: TestServer, sender: string, random: SeededRandom): Promise<void> {
    for (;;) {
      const said = await this.#post(server, sender, random);
      if (said === undefined) return;
      if (random.chance(0.1) && !(await this.#edit(server, said, random))) return;
      if (random.chance(0.05) && !(await this.#delete(server, said))) return;
      await pause(random.whole(0, BREATH_MILLIS_MAX));
    }
  }

  async #post(server: TestServer, sender: string, random: SeededRandom): Promise<Said | undefined> {
    const word = this.#word(random);
    const clientId = `${sender}-${this.#said.length}`;
    const first = `${random.pick(FILLERS)} ${word} ${random.pick(FILLERS)}`;
    const said: Said = { sender, clientId, first, word, gone: [], open: undefined, seq: undefined };
    this.#said.push(said);
    const reply = await accepted(this.#send(server, said), this.#lose);
    if (reply === undefined) return undefined;
    said.seq = reply.body.seq;
    return said;
  }

  async #send(server: TestServer, { clientId, first, sender }: Said): Promise<Reply<Message>> {
    return await post(server, this.#person(sender), this.#room, { kind: 'text', body: first, client_msg_id: clientId });
  }

  async #repeat(server: TestServer, said: Said): Promise<void> {
    const reply = await accepted(this.#send(server, said), this.#lose);
    said.seq = reply?.body.seq;
  }

  async #edit(server: TestServer, said: Said, random: SeededRandom): Promise<boolean> {
    const word = this.#word(random);
    said.open = 'edit';
    const sent = server.api(this.#person(said.sender), 'PATCH', this.#path(said), { body: `${word} instead` });
    if ((await accepted(sent, this.#lose)) === undefined) return false;
    said.gone.push(said.word ?? '');
    said.word = word;
    said.open = undefined;
    this.#edited += 1;
    return true;
  }

  async #delete(server: TestServer, said: Said): Promise<boolean> {
    said.open = 'deletion';
    const sent = server.api(this.#person(said.sender), 'DELETE', this.#path(said));
    if ((await accepted(sent, this.#lose)) === undefined) return false;
    said.gone.push(said.word ?? '');
    said.word = undefined;
    said.open = undefined;
    this.#deleted += 1;
    return true;
  }

  async #compare(server: TestServer, { gone, sender, seq, word }: Said): Promise<void> {
    const reader = this.#random.pick(NAMES);
    if (word !== undefined) await this.#expect(server, reader, word, [seq ?? 0]);
    for (const old of gone) await this.#expect(server, sender, old, []);
  }

  /** Searches everywhere for a word, and for a part of it in the room. */
  async #expect(server: TestServer, who: string, word: string, seqs: readonly number[]): Promise<void> {
    const room = who === STRANGER ? {} : { conversation: this.#room };
    for (const query of [{ q: word }, { q: word.slice(1, -1), ...room }]) {
      const found = (await this.#search(server, who, query)).join();
      if (found !== seqs.join()) this.#lose(`${who} searched ${query.q} of seq ${seqs.join()} and found ${found}.`);
    }
  }

  /** The seqs of all that is found. A page may be empty and not the last one: a search looks for a bounded time. */
  async #search(server: TestServer, who: string, query: Record<string, string>): Promise<number[]> {
    const seqs: number[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const from: Record<string, string> = cursor === '' ? {} : { cursor };
      const path = `/v1/search?${new URLSearchParams({ ...query, ...from })}`;
      const reply: Reply<Page> = await server.api<Page>(this.#person(who), 'GET', path);
      if (reply.status !== 200) throw new Error(`GET ${path} was refused: ${reply.text}`);
      seqs.push(...reply.body.items.map(({ seq }) => seq));
      cursor = reply.body.next;
    }
    this.#searched += 1;
    return seqs;
  }

  #path({ seq }: Said): string {
    return `/v1/conversations/${this.#room}/messages/${seq}`;
  }

  /** A word that no other message has. */
  #word(random: SeededRandom): string {
    return Array.from({ length: WORD_LENGTH }, () => LETTERS.charAt(random.whole(0, LETTERS.length - 1))).join('');
  }

  #person(name: string): Person {
    return this.#people[name] as Person;
  }
}
