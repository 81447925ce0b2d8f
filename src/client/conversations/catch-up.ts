/**
 * Learns what was missed (SOC-11). After every opening of the socket: walk the inbox since the last walk, and read
 * the changes of the conversations that it names. What the socket brings meanwhile joins on by its rev, so nothing
 * falls between the two.
 */
import { HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import { backoffMillis } from '../connection/backoff.ts';
import type { Changes, ConversationMirror } from './conversation-mirror.ts';
import type { Conversations } from './conversations.ts';
import { Gate } from '../connection/gate.ts';
import type { HistoryPage, InboxPage } from '../messaging-api.ts';
import { isTransient, isUnauthorized, type ParleyError, toParleyError } from '../parley-error.ts';
import type { ChatConversation, InboxEntry } from './records.ts';
import type { Random, Timers } from '../connection/timers.ts';

/**
 * Conversations caught up at once. Enough to hide the network's latency, few enough that thousands of clients
 * returning together do not bury the server.
 */
export const CATCH_UP_MAX = 8;

/**
 * Of the conversations that were kept from the last visit and changed since, those whose changes are read before anybody looks at them.
 * Beyond it they begin at their records, as in a first visit: a morning costs the server a bounded number of requests.
 */
export const KEPT_CAUGHT_UP_MAX = 20;

/** What catching up asks of the messaging service. */
export interface CatchUpSource {
  readInbox(after?: string): Promise<InboxPage>;
  readConversation(conv: string): Promise<ChatConversation>;
  readChanges(conv: string, afterRev: number): Promise<Changes>;
  readHistory(conv: string): Promise<HistoryPage>;
}

/** What a walk came to: conversations named, and events told that the socket had not brought by then. */
export interface Walk {
  readonly conversations: number;
  readonly missed: number;
}

export interface CatchUpOptions {
  readonly source: CatchUpSource;
  readonly conversations: Conversations;
  readonly timers: Timers;
  readonly random: Random;
  /** A walk ended and every conversation it named is caught up. */
  readonly onDone: (walk: Walk) => void;
  readonly onTrouble: (error: ParleyError) => void;
}

/** Thrown inside when the connection that a job worked for is gone; the next opening starts over. */
class Interrupted extends Error {}

export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #gate = new Gate(CATCH_UP_MAX);
  readonly #jobs = new Map<string, Promise<void>>();
  readonly #waits = new Set<() => void>();
  /** Rises with every opening and closing: a job of another number has nothing to say. */
  #generation = 0;
  #isLive = false;
  #isWalking = false;
  /** Told since the walk began, or the one that it takes the place of. */
  #missed = 0;
  #sync: string | undefined;
  /** Whether the next walk is the first after what was kept from the last visit, and how many of it may be caught up still. */
  #isFirst = false;
  #keptLeft = 0;

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /** Where the last whole walk began: whatever changed before it is known. Undefined before the first. */
  get sync(): string | undefined {
    return this.#sync;
  }

  /** What was kept of the last visit is there, up to that walk. Before the first walk of this one. */
  restore(sync: string): void {
    this.#sync = sync;
    this.#isFirst = true;
  }

  /** The socket opened, or is doubted: catches up with everything. A walk that is under way begins anew. */
  run(): void {
    if (!this.#isWalking) this.#missed = 0;
    this.#stop();
    this.#isLive = true;
    this.#isWalking = true;
    this.#keptLeft = KEPT_CAUGHT_UP_MAX;
    const generation = this.#generation;
    this.#walk(generation).then(
      (conversations) => {
        if (generation !== this.#generation) return;
        this.#isWalking = false;
        this.#options.onDone({ conversations, missed: this.#missed });
      },
      (thrown: unknown) => {
        if (generation === this.#generation) this.#isWalking = false;
        this.#fail(thrown);
      },
    );
  }

  /** The socket closed: what is under way has nothing to say any more. */
  interrupt(): void {
    this.#stop();
    this.#isWalking = false;
  }

  #stop(): void {
    this.#generation += 1;
    this.#isLive = false;
    this.#jobs.clear();
    for (const end of [...this.#waits]) end();
  }

  /**
   * Reads the changes of one conversation until nothing is missing. Asking again while that goes on changes nothing.
   * Without a socket it does nothing: opening one catches up.
   */
  conversation(conv: string): Promise<void> {
    if (!this.#isLive) return Promise.resolve();
    const running = this.#jobs.get(conv);
    if (running !== undefined) return running;
    const generation = this.#generation;
    const job = this.#gate
      .run(() => this.#catchUp(conv, generation))
      .catch((thrown: unknown) => this.#fail(thrown))
      .finally(() => {
        if (this.#jobs.get(conv) === job) this.#jobs.delete(conv);
      });
    this.#jobs.set(conv, job);
    return job;
  }

  /** Walks the inbox and answers how many conversations it named. */
  async #walk(generation: number): Promise<number> {
    const { conversations } = this.#options;
    const isWhole = this.#sync === undefined;
    const before = [...conversations.mirrors.keys()];
    const named = new Set<string>();
    let after = this.#sync;
    let sync: string | undefined;
    do {
      const page = await this.#readInbox(after, generation);
      // A stored cursor that the server no longer takes: the data behind it was restored. Walk from the start.
      if (page === undefined) {
        this.#sync = undefined;
        return await this.#walk(generation);
      }
      // The first page's, so that what changes during the walk is told again in the next one.
      sync ??= page.sync;
      await Promise.all(page.items.map((item) => this.#takeIn(item, isWhole, named)));
      this.#check(generation);
      after = page.next ?? undefined;
    } while (after !== undefined);
    // A walk from the start names nobody who is gone, so whoever it did not name is.
    if (isWhole) for (const conv of before) if (!named.has(conv)) conversations.drop(conv);
    // Whatever is still behind, by an earlier walk's failure or an event since, is caught up as well.
    const behind = [...conversations.mirrors.values()].filter((mirror) => mirror.isBehind);
    await Promise.all(behind.map(({ id }) => this.conversation(id)));
    this.#check(generation);
    this.#sync = sync;
    this.#isFirst = false;
    return named.size;
  }

  async #readInbox(after: string | undefined, generation: number): Promise<InboxPage | undefined> {
    try {
      return await this.#persist(generation, () => this.#options.source.readInbox(after));
    } catch (thrown) {
      if (toParleyError(thrown).code === 'cursor_invalid' && after !== undefined) return undefined;
      throw thrown;
    }
  }

  async #takeIn(item: InboxEntry | { gone: string }, isWhole: boolean, named: Set<string>): Promise<void> {
    const { conversations } = this.#options;
    if ('gone' in item) {
      named.add(item.gone);
      return conversations.drop(item.gone);
    }
    const { id, epoch, participant_count } = item.conversation;
    named.add(id);
    const kept = conversations.get(id);
    if (this.#isFirst && kept !== undefined && kept.rev < item.conversation.rev && this.#keptLeft-- <= 0)
      return conversations.beginAnew(item);
    // A conversation that is new here starts at its record, and its history is read when somebody looks.
    if (!conversations.observe(item)) return;
    const mirror = conversations.get(id);
    const isOther = mirror?.isBehind === true || mirror?.epoch !== epoch;
    // Receipts move no rev. Where they are shown to others, a conversation that changed may have changed by one. Of the last visit's
    // they are read when somebody looks.
    const mayHaveReceipts = !isWhole && !this.#isFirst && participant_count <= HINT_PARTICIPANTS_MAX;
    if (isOther || mayHaveReceipts) await this.conversation(id);
  }

  async #catchUp(conv: string, generation: number): Promise<void> {
    const { conversations, source } = this.#options;
    for (let round = 1; ; round += 1) {
      this.#check(generation);
      const mirror = conversations.get(conv);
      if (mirror === undefined) return;
      try {
        if (mirror.conversation === undefined) {
          const record = await this.#persist(generation, () => source.readConversation(conv));
          mirror.observeRecord(record);
        }
        const changes = await this.#persist(generation, () => source.readChanges(conv, mirror.rev));
        if (conversations.get(conv) !== mirror) return;
        const told = conversations.applyChanges(mirror, changes);
        if (told === 'afresh') await this.#startAfresh(mirror, changes, generation);
        this.#missed += told === 'afresh' ? 1 : told;
      } catch (thrown) {
        const { status } = toParleyError(thrown);
        if (thrown instanceof Interrupted || (status !== 403 && status !== 404)) throw thrown;
        return conversations.drop(conv);
      }
      if (!mirror.isBehind) return;
      // The socket was ahead of the answer. Again, but never in a tight loop.
      await this.#wait(backoffMillis(round, this.#options.random));
    }
  }

  async #startAfresh(mirror: ConversationMirror, changes: Changes, generation: number): Promise<void> {
    const { conversations, source } = this.#options;
    const record = await this.#persist(generation, () => source.readConversation(mirror.id));
    const { items } = await this.#persist(generation, () => source.readHistory(mirror.id));
    if (conversations.get(mirror.id) !== mirror) return;
    conversations.startAfresh(mirror, { ...changes, record, messages: items });
  }

  /** Asks until there is an answer, for as long as the connection lives. @throws ParleyError an answer that is final */
  async #persist<Result>(generation: number, ask: () => Promise<Result>): Promise<Result> {
    for (let failures = 1; ; failures += 1) {
      try {
        const result = await ask();
        this.#check(generation);
        return result;
      } catch (thrown) {
        this.#check(generation);
        const error = toParleyError(thrown);
        if (!isTransient(error)) throw error;
        this.#options.onTrouble(error);
        await this.#wait(backoffMillis(failures, this.#options.random, error.retryAfter));
        this.#check(generation);
      }
    }
  }

  #wait(millis: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#waits.delete(end);
        resolve();
      };
      const cancel = this.#options.timers.after(millis, end);
      this.#waits.add(end);
    });
  }

  #check(generation: number): void {
    if (generation !== this.#generation) throw new Interrupted();
  }

  #fail(thrown: unknown): void {
    if (thrown instanceof Interrupted) return;
    const error = toParleyError(thrown);
    // Signing out is told elsewhere, and closing is nobody's trouble.
    if (!isUnauthorized(error) && error.code !== 'client_closed') this.#options.onTrouble(error);
  }
}
