/** What the server counts of messages, held against a recount of the history: threads, unread, mentions, who read what. */
import type { Mention, Message } from '#src/protocol/conversations/messages.ts';
import { HINT_PARTICIPANTS_MAX, UNREAD_COUNT_MAX } from '#src/protocol/limits.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { readHistory } from './history.ts';
import type { Lose } from './part.ts';

/** Threads and messages of each conversation whose lists are read. */
const LISTS = 3;

export interface Counted {
  readonly id: string;
  readonly members: readonly string[];
}

export interface CountCheckerOptions {
  readonly server: TestServer;
  readonly people: Readonly<Record<string, Person>>;
  readonly random: SeededRandom;
  readonly lose: Lose;
}

interface InboxItem {
  readonly conversation?: { readonly id: string };
  readonly unread: number;
  readonly mention_count: number;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** A conversation as its history and its watermarks are: what everything is recounted from. */
interface Subject extends Counted {
  readonly history: readonly Message[];
  readonly read: ReadonlyMap<string, number>;
}

export class CountChecker {
  readonly #options: CountCheckerOptions;

  constructor(options: CountCheckerOptions) {
    this.#options = options;
  }

  /** Recounts these conversations; nobody may change them meanwhile. Answers how many messages that were. */
  async compare(conversations: readonly Counted[]): Promise<number> {
    const subjects: Subject[] = [];
    for (const conversation of conversations) subjects.push(await this.#read(conversation));
    for (const subject of subjects) {
      await this.#compareThreads(subject);
      await this.#compareReadBy(subject);
    }
    for (const member of new Set(subjects.flatMap(({ members }) => members))) {
      const theirs = subjects.filter(({ members }) => members.includes(member));
      await this.#compareInbox(member, theirs);
      await this.#compareMentions(member, theirs);
    }
    return subjects.reduce((sum, { history }) => sum + history.length, 0);
  }

  async #read(conversation: Counted): Promise<Subject> {
    const { id, members } = conversation;
    const reader = this.#person(members[0] as string);
    const history = await readHistory(this.#options.server, reader, id, 0);
    const path = `/v1/conversations/${id}/changes?after_rev=0`;
    const { watermarks } = await this.#get<{ watermarks: { user: string; read: number }[] }>(reader, path);
    return { ...conversation, history, read: new Map(watermarks.map(({ user, read }) => [user, read])) };
  }

  /** The count and the end of every thread, and the whole of some. */
  async #compareThreads({ id, members, history }: Subject): Promise<void> {
    const { lose, random } = this.#options;
    const threads = Map.groupBy(
      history.filter(({ root_seq }) => root_seq !== undefined),
      ({ root_seq }) => root_seq as number,
    );
    for (const { seq, reply_count, last_reply_seq } of history) {
      const replies = threads.get(seq);
      if (reply_count === replies?.length && last_reply_seq === replies?.at(-1)?.seq) continue;
      lose(
        `Seq ${seq} of ${id} has ${replies?.length ?? 0} replies, and the server says ${reply_count} up to ${last_reply_seq}.`,
      );
    }
    const roots = [...threads.keys()];
    for (let n = 0; n < LISTS && roots.length > 0; n += 1) {
      const root = random.pick(roots);
      const expected = threads.get(root)?.map(({ seq }) => seq) ?? [];
      const path = `/v1/conversations/${id}/messages/${root}/replies?limit=200`;
      const { items } = await this.#get<Page<Message>>(this.#person(members[0] as string), path);
      const actual = items.map(({ seq }) => seq);
      if (same(actual, expected.slice(0, 200))) continue;
      lose(`The thread of seq ${root} in ${id} lists ${actual.join()} instead of ${expected.join()}.`);
    }
  }

  /** Who has read some messages, and up to where everybody has. */
  async #compareReadBy({ id, members, history, read }: Subject): Promise<void> {
    const { lose, random } = this.#options;
    for (let n = 0; n < LISTS && history.length > 0; n += 1) {
      const { seq, sender } = random.pick(history);
      const path = `/v1/conversations/${id}/messages/${seq}/read-by`;
      const { items } = await this.#get<Page<{ user: string }>>(this.#person(sender), path);
      const actual = items.map(({ user }) => user);
      const expected = members.filter((user) => user !== sender && (read.get(user) ?? 0) >= seq).toSorted();
      if (!same(actual, expected)) lose(`Seq ${seq} of ${id} was read by ${expected.join()}, not by ${actual.join()}.`);
    }
    if (members.length > HINT_PARTICIPANTS_MAX) return;
    for (const member of members) {
      const view = await this.#get<{ last_common_read: number }>(this.#person(member), `/v1/conversations/${id}`);
      const others = members.filter((other) => other !== member).map((other) => read.get(other) ?? 0);
      const expected = Math.min(...others);
      if (view.last_common_read === expected) continue;
      lose(`All but ${member} have read ${id} up to ${expected}, and the server says ${view.last_common_read}.`);
    }
  }

  async #compareInbox(member: string, subjects: readonly Subject[]): Promise<void> {
    const items = new Map<string, InboxItem>();
    for await (const item of this.#pages<InboxItem>(member, '/v1/inbox?limit=100')) {
      if (item.conversation !== undefined) items.set(item.conversation.id, item);
    }
    for (const subject of subjects) {
      const item = items.get(subject.id);
      const unread = unreadOf(subject, member);
      const behind = subject.history.filter(({ seq }) => seq > (subject.read.get(member) ?? 0));
      const mentions = behind.filter((message) => mentionsPerson(message, member));
      if (item?.unread === unread.length && item.mention_count === mentions.length) continue;
      this.#options.lose(
        `${member} has ${unread.length} unread with ${mentions.length} mentions in ${subject.id}, and the server says ${item?.unread} with ${item?.mention_count}.`,
      );
    }
  }

  async #compareMentions(member: string, subjects: readonly Subject[]): Promise<void> {
    const { lose } = this.#options;
    const listed = new Map<string, boolean>();
    for await (const { message, unread } of this.#pages<{ message: Message; unread: boolean }>(
      member,
      '/v1/mentions?limit=200',
    )) {
      const name = `${message.conversation_id} ${message.seq}`;
      if (listed.has(name)) lose(`The mention of ${member} in ${name} is listed twice.`);
      listed.set(name, unread);
    }
    for (const { id, history, read } of subjects) {
      for (const message of history) {
        const isUnread = message.seq > (read.get(member) ?? 0);
        const expected = mentionsPerson(message, member) ? isUnread : undefined;
        const actual = listed.get(`${id} ${message.seq}`);
        if (actual === expected) continue;
        lose(`Seq ${message.seq} of ${id} is a mention of ${member}, unread: ${expected}; the list says ${actual}.`);
      }
    }
  }

  async *#pages<T>(member: string, path: string): AsyncIterable<T> {
    for (let next: string | null = ''; next !== null;) {
      const after: string = next === '' ? '' : `&after=${encodeURIComponent(next)}`;
      const page: Page<T> = await this.#get<Page<T>>(this.#person(member), `${path}${after}`);
      yield* page.items;
      ({ next } = page);
    }
  }

  async #get<T>(who: Person, path: string): Promise<T> {
    const reply = await this.#options.server.api<T>(who, 'GET', path);
    if (reply.status !== 200) throw new Error(`GET ${path} was refused: ${reply.text}`);
    return reply.body;
  }

  #person(name: string): Person {
    return this.#options.people[name] as Person;
  }
}

/** What counts as unread: others' messages behind the watermark that are not deleted, among the last UNREAD_COUNT_MAX. */
function unreadOf({ history, read }: Subject, member: string): Message[] {
  const from = Math.max(read.get(member) ?? 0, (history.at(-1)?.seq ?? 0) - UNREAD_COUNT_MAX);
  return history.filter((message) => message.seq > from && message.sender !== member && !('deleted_at' in message));
}

function mentionsPerson({ mentions = [], sender }: Message, person: string): boolean {
  const calls = (mention: Mention) => 'username' in mention && mention.username === person;
  return sender !== person && mentions.some(calls);
}

function same(actual: readonly unknown[], expected: readonly unknown[]): boolean {
  return actual.length === expected.length && actual.every((one, at) => one === expected[at]);
}
