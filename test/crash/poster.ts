/** A person who writes to one conversation until the server is gone: posts, edits, reactions, receipts. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Person, Reply, TestServer } from '#test/support/server.ts';
import type { SeededRandom } from '#test/support/random.ts';
import { accepted } from './part.ts';
import type { ConversationLedger, Ledger, Links, PostRecord } from './ledger.ts';

export const EMOJI = '🐙';
/** The longest breath between two posts: keeps what 200 cycles store small enough to be compared within minutes. */
const BREATH_MILLIS_MAX = 25;

interface StoredMessage {
  readonly seq: number;
  readonly client_msg_id?: string;
}

export interface PosterOptions {
  readonly server: TestServer;
  readonly ledger: Ledger;
  readonly conversation: ConversationLedger;
  readonly person: Person;
  readonly random: SeededRandom;
}

export class Poster {
  readonly #options: PosterOptions;

  constructor(options: PosterOptions) {
    this.#options = options;
  }

  /** Writes, one request after the other, until one is not answered because the server was killed. */
  async run(): Promise<void> {
    const { random } = this.#options;
    for (;;) {
      const post = await this.#post();
      if (post === undefined) return;
      if (random.chance(0.2) && !(await this.#edit(post))) return;
      if (random.chance(0.2) && !(await this.#react(post))) return;
      if (random.chance(0.2) && !(await this.#read(post))) return;
      if (random.chance(0.5)) await pause(random.whole(1, BREATH_MILLIS_MAX));
    }
  }

  async #post(): Promise<PostRecord | undefined> {
    const { conversation, ledger, person, random, server } = this.#options;
    const body = `${random.whole(0, 1e9)} ${'é'.repeat(random.whole(0, 300))}`;
    const post = conversation.begin(person.username, body, this.#links());
    const reply = await accepted(sendPost(server, person, post), ledger.lose);
    if (reply === undefined) return undefined;
    if (reply.status !== 201) ledger.lose(`${nameOf(post)} was new and answered ${reply.status}.`);
    if (reply.body.client_msg_id !== post.id) ledger.lose(`${nameOf(post)} was answered with another message.`);
    conversation.acknowledge(post, reply.body.seq);
    ledger.acked += 1;
    return post;
  }

  /** Some answer a message that is there, and some mention somebody who takes part. */
  #links(): Links {
    const { conversation, random } = this.#options;
    const known = [...conversation.bySeq.keys()].slice(-20);
    const isReply = known.length > 0 && random.chance(0.2);
    const mention = { username: random.pick(conversation.members), offset: 0, length: 1 } as const;
    return {
      ...(isReply ? { reply_to: random.pick(known) } : {}),
      ...(random.chance(0.2) ? { mentions: [mention] } : {}),
    };
  }

  async #edit(post: PostRecord): Promise<boolean> {
    const { ledger, person, random, server } = this.#options;
    const body = `edited ${random.whole(0, 1e9)}`;
    post.openEdits.add(body);
    const path = `/v1/conversations/${post.conv}/messages/${post.seq}`;
    if ((await accepted(server.api(person, 'PATCH', path, { body }), ledger.lose)) === undefined) return false;
    post.edited = body;
    post.openEdits.clear();
    ledger.edits += 1;
    return true;
  }

  /** Reacts to the message before, which somebody else may have written, as long as nobody has compared it yet. */
  async #react(own: PostRecord): Promise<boolean> {
    const { conversation, ledger, person, server } = this.#options;
    const before = (own.seq as number) - 1;
    const post = (before > conversation.verified ? conversation.bySeq.get(before) : undefined) ?? own;
    post.openReactions.add(person.username);
    const path = `/v1/conversations/${post.conv}/messages/${post.seq}/reactions/${encodeURIComponent(EMOJI)}`;
    if ((await accepted(server.api(person, 'PUT', path), ledger.lose)) === undefined) return false;
    post.reacted.add(person.username);
    ledger.reactions += 1;
    return true;
  }

  async #read(post: PostRecord): Promise<boolean> {
    const { conversation, ledger, person, server } = this.#options;
    const path = `/v1/conversations/${post.conv}/receipts`;
    const receipt = server.api(person, 'POST', path, { state: 'read', seq: post.seq });
    if ((await accepted(receipt, ledger.lose)) === undefined) return false;
    conversation.read.set(person.username, Math.max(post.seq as number, conversation.read.get(person.username) ?? 0));
    ledger.receipts += 1;
    return true;
  }
}

/** Posts a record's message, for the first time or again. */
export async function sendPost(server: TestServer, person: Person, post: PostRecord): Promise<Reply<StoredMessage>> {
  const body = { kind: 'text', body: post.body, client_msg_id: post.id, ...post.links };
  return await server.api<StoredMessage>(person, 'POST', `/v1/conversations/${post.conv}/messages`, body);
}

export function nameOf(post: PostRecord): string {
  return `The post ${post.id} in ${post.conv}`;
}
