/** Messages under kills: posts, edits, reactions and receipts in directs and rooms, with readers who catch up. */
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { Checker } from './checker.ts';
import { CountChecker } from './counts.ts';
import { Ledger } from './ledger.ts';
import type { Part, PartOptions } from './part.ts';
import { Poster } from './poster.ts';
import { Reader } from './reader.ts';

const NAMES = ['ann', 'ben', 'cem', 'dora', 'eva', 'finn'] as const;
const DIRECTS = [
  ['ann', 'ben'],
  ['cem', 'dora'],
  ['eva', 'ann'],
] as const;
const READERS = ['ann', 'cem', 'finn'] as const;
/** Rooms that live from the first cycle to the last; each cycle adds one more. */
const LASTING_ROOMS = 2;

export class MessagesPart implements Part {
  readonly environment = {};
  readonly #random: SeededRandom;
  readonly #ledger: Ledger;
  #people: Readonly<Record<string, Person>> = {};
  #readers: readonly Reader[] = [];
  #counted = 0;

  constructor({ random, lose }: PartOptions) {
    this.#random = random;
    this.#ledger = new Ledger(lose);
  }

  get figures(): Record<string, number> {
    const { acked, retried, landed, repeated, edits, reactions, receipts } = this.#ledger;
    return { acknowledged: acked, edits, reactions, receipts, retried, landed, repeated, counted: this.#counted };
  }

  async settle(server: TestServer): Promise<void> {
    this.#people = await server.people(...NAMES);
    this.#readers = READERS.map((name) => new Reader(this.#people[name] as Person, this.#ledger));
    for (const [one, other] of DIRECTS) await this.#create(server, 'direct', one, [other]);
    for (let room = 0; room <= LASTING_ROOMS; room += 1) await this.#openRoom(server);
    await Promise.all(this.#readers.map((reader) => reader.connect(server)));
  }

  /** Everybody writes to the directs, the lasting rooms and the newest room. */
  async traffic(server: TestServer): Promise<void> {
    const posters = this.#busy.flatMap((conversation) =>
      conversation.members.slice(0, 3).map((name) => {
        const person = this.#people[name] as Person;
        return new Poster({ server, ledger: this.#ledger, conversation, person, random: this.#random.fork() });
      }),
    );
    await Promise.all(posters.map((poster) => poster.run()));
  }

  /** Readers catch up while unanswered posts are sent again; then everything is compared. */
  async verify(server: TestServer, isLast: boolean): Promise<void> {
    const ledger = this.#ledger;
    const checker = new Checker({ server, ledger, people: this.#people, random: this.#random.fork() });
    await Promise.all([checker.retry(), ...this.#readers.map((reader) => reader.connect(server))]);
    await checker.repeatSome();
    await checker.compare(this.#readers, isLast);
    const counts = new CountChecker({ server, people: this.#people, lose: ledger.lose, random: this.#random.fork() });
    // Of a history as long as the campaign, one conversation at a time; the newest room is short.
    const some = [...this.#busy.slice(-1), this.#random.pick(this.#busy)];
    this.#counted += await counts.compare(isLast ? [...ledger.conversations.values()] : [...new Set(some)]);
    await this.#openRoom(server);
  }

  async close(): Promise<void> {
    // Readers lose their sockets with the server.
  }

  get #busy() {
    const all = [...this.#ledger.conversations.values()];
    return [...all.slice(0, DIRECTS.length + LASTING_ROOMS), ...all.slice(-1)];
  }

  async #openRoom(server: TestServer): Promise<void> {
    const [owner, ...others] = NAMES;
    await this.#create(server, 'room', owner, others);
  }

  async #create(server: TestServer, kind: string, owner: string, participants: readonly string[]): Promise<void> {
    const form = { kind, participants };
    const reply = await server.api<{ id: string }>(this.#people[owner], 'POST', '/v1/conversations', form);
    if (reply.status !== 201) throw new Error(`A conversation was refused: ${reply.text}`);
    this.#ledger.add(reply.body.id, [owner, ...participants]);
  }
}
