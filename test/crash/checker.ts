/** Compares what the server holds after a crash with what its clients know, and says what is missing. */
import { isDeepStrictEqual } from 'node:util';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { canonical, readHistory } from './history.ts';
import type { ConversationLedger, Ledger, PostRecord } from './ledger.ts';
import { EMOJI, nameOf, sendPost } from './poster.ts';
import type { Reader } from './reader.ts';

/** Acknowledged posts that are sent once more after each crash. */
const REPEATS = 40;

export interface CheckerOptions {
  readonly server: TestServer;
  readonly ledger: Ledger;
  readonly people: Readonly<Record<string, Person>>;
  readonly random: SeededRandom;
}

export class Checker {
  readonly #options: CheckerOptions;

  constructor(options: CheckerOptions) {
    this.#options = options;
  }

  /** Sends again what nobody answered, twice: it must land exactly once, at one seq. */
  async retry(): Promise<void> {
    const { ledger, server } = this.#options;
    for (const conversation of ledger.conversations.values()) {
      for (const post of conversation.unanswered) {
        const sender = this.#person(post.sender);
        const first = await sendPost(server, sender, post);
        ledger.retried += 1;
        if (first.status !== 200 && first.status !== 201) {
          ledger.lose(`${nameOf(post)} was retried and answered ${first.status}: ${first.text}`);
          continue;
        }
        if (first.status === 200) ledger.landed += 1;
        conversation.acknowledge(post, first.body.seq);
        await this.#repeat(post);
      }
    }
  }

  /** Sends some acknowledged posts of any age once more: 200 and the first seq. */
  async repeatSome(): Promise<void> {
    const { ledger, random } = this.#options;
    const all = [...ledger.conversations.values()].flatMap(({ posts }) => [...posts.values()]);
    const acked = all.filter(({ seq }) => seq !== undefined);
    for (let n = 0; n < REPEATS && acked.length > 0; n += 1) await this.#repeat(random.pick(acked));
  }

  async #repeat(post: PostRecord): Promise<void> {
    const { ledger, server } = this.#options;
    const reply = await sendPost(server, this.#person(post.sender), post);
    ledger.repeated += 1;
    if (reply.status !== 200 || reply.body.seq !== post.seq) {
      ledger.lose(`${nameOf(post)} has seq ${post.seq}; repeated it answered ${reply.status}: ${reply.text}`);
    }
  }

  /** Compares the histories behind what was compared before, or all of them, with the ledger and every reader's copy. */
  async compare(readers: readonly Reader[], isFull: boolean): Promise<void> {
    for (const conversation of this.#options.ledger.conversations.values()) {
      const reader = this.#person(conversation.members[0] as string);
      const from = isFull ? 0 : conversation.verified;
      const history = await readHistory(this.#options.server, reader, conversation.id, from);
      this.#compareHistory(conversation, history, from);
      await this.#compareReaders(conversation, history, readers);
      await this.#compareReceipts(conversation);
      conversation.verified = Math.max(conversation.verified, history.at(-1)?.seq ?? 0);
      for (const { mirrors } of readers) mirrors.get(conversation.id)?.forgetUpTo(conversation.verified);
    }
  }

  #compareHistory(conversation: ConversationLedger, history: readonly Message[], from: number): void {
    const { ledger } = this.#options;
    const seen = new Set<string>();
    const orders = new Map<string, number>();
    for (const [at, message] of history.entries()) {
      const where = `Seq ${message.seq} of ${conversation.id}`;
      if (message.seq !== from + at + 1) ledger.lose(`${where} stands where ${from + at + 1} should.`);
      const post = conversation.posts.get(message.client_msg_id ?? '');
      if (post === undefined || post.sender !== message.sender) {
        ledger.lose(`${where} was posted by nobody.`);
        continue;
      }
      if (seen.has(post.id)) ledger.lose(`${nameOf(post)} is stored twice.`);
      seen.add(post.id);
      if (post.seq !== message.seq) ledger.lose(`${nameOf(post)} has seq ${post.seq} and is stored at ${message.seq}.`);
      if (post.order <= (orders.get(post.sender) ?? 0)) ledger.lose(`${nameOf(post)} is stored before an earlier one.`);
      orders.set(post.sender, post.order);
      this.#compareContent(post, message);
    }
    for (const post of conversation.posts.values()) {
      const isDue = post.seq !== undefined && post.seq > from;
      if (isDue && !seen.has(post.id)) ledger.lose(`${nameOf(post)}, acknowledged as ${post.seq}, is gone.`);
    }
  }

  #compareContent(post: PostRecord, message: Message): void {
    const { ledger } = this.#options;
    const allowed = [post.edited ?? post.body, ...post.openEdits];
    if (!allowed.some((body) => body === message.body))
      ledger.lose(`${nameOf(post)} has a body that nobody wrote last.`);
    if (message.reply_to !== post.links.reply_to) ledger.lose(`${nameOf(post)} answers another message.`);
    const mentioned = post.edited === undefined && post.openEdits.size === 0 ? post.links.mentions : message.mentions;
    if (!isDeepStrictEqual(message.mentions, mentioned)) ledger.lose(`${nameOf(post)} mentions somebody else.`);
    const users = message.reactions?.find(({ emoji }) => emoji === EMOJI)?.users ?? [];
    for (const user of post.reacted) {
      if (!users.includes(user)) ledger.lose(`${nameOf(post)} lost the reaction of ${user}.`);
    }
    for (const user of users) {
      if (!post.openReactions.has(user)) ledger.lose(`${nameOf(post)} has a reaction that ${user} never sent.`);
    }
  }

  async #compareReaders(
    { id, members, verified }: ConversationLedger,
    history: readonly Message[],
    readers: readonly Reader[],
  ): Promise<void> {
    const { ledger, server } = this.#options;
    const expected = history.filter(({ seq }) => seq > verified).map(canonical);
    for (const { mirrors, person } of readers) {
      if (!members.includes(person.username)) continue;
      const { body } = await server.api<{ rev: number }>(person, 'GET', `/v1/conversations/${id}`);
      const mirror = mirrors.get(id);
      try {
        await until(() => mirror?.rev === body.rev && !mirror.isBehind, `rev ${body.rev}`);
      } catch {
        ledger.lose(`The reader ${person.username} of ${id} stands at rev ${mirror?.rev}, the server at ${body.rev}.`);
        continue;
      }
      const held = [...(mirror?.messages.values() ?? [])].filter(({ seq }) => seq > verified);
      const actual = held.toSorted((a, b) => a.seq - b.seq).map(canonical);
      const wrong = Math.max(expected.length, actual.length);
      for (let at = 0; at < wrong; at += 1) {
        if (expected[at] === actual[at]) continue;
        ledger.lose(`The reader ${person.username} of ${id} holds ${actual[at]}, the server ${expected[at]}.`);
        break;
      }
    }
  }

  async #compareReceipts({ id, read, members }: ConversationLedger): Promise<void> {
    const { ledger, server } = this.#options;
    const [reader = ''] = members;
    const path = `/v1/conversations/${id}/changes?after_rev=0`;
    const { body } = await server.api<{ watermarks: { user: string; read: number }[] }>(
      this.#person(reader),
      'GET',
      path,
    );
    for (const [user, seq] of read) {
      const stored = body.watermarks.find((watermark) => watermark.user === user)?.read ?? 0;
      if (stored < seq) ledger.lose(`${user} had read ${id} up to ${seq}, and the server says ${stored}.`);
    }
  }

  #person(name: string): Person {
    return this.#options.people[name] as Person;
  }
}
