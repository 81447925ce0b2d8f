/**
 * What bots did on this shard, on its way into the audit trail (CRD-04):
 *
 *     request ─► a place is reserved ─► served ─► its fact waits ─► handed over with the others ─► on disk ─► forgotten
 *                    └ none left: busy
 *
 * A bot's request begins only when there is a place for its fact, so nothing is served that could not be told of. The
 * main thread writes each batch in one commit; until it says so, the facts stay here. A shard that dies loses those of
 * the last moment, HAND_OVER_MILLIS and a commit.
 */
import type { Answer } from '#actors/runtime/actor.ts';
import type { BotAuditBatch, BotFact } from '#src/protocol/bots/bots.ts';
import { type ErrorCode, statusOf } from '#src/protocol/errors.ts';

/** Facts that wait, and requests under way: some 2 MB, and forty seconds of one bot at its limit. [busy] */
export const BOT_FACTS_MAX = 4_096;

/** Facts of one commit on the main thread, which other work waits for: some 20 ms. */
export const BOT_FACTS_PER_BATCH = 256;

/** How long the first fact of a batch waits for others. */
const HAND_OVER_MILLIS = 100;

/** After a batch was not taken: storage that is full is not full for milliseconds. */
const RETRY_MILLIS = 1_000;
/** The same while the shard leaves and cannot wait that long. */
const SETTLE_PAUSE_MILLIS = 20;

export interface BotAuditBufferOptions {
  /** A name of this thread that no other ever had. */
  readonly source: string;
  /** Hands a batch to the main thread; the answer is good once it is on disk. */
  readonly handOver: (batch: BotAuditBatch) => Promise<Answer>;
  readonly now: () => number;
}

export class BotAuditBuffer {
  readonly #options: BotAuditBufferOptions;
  readonly #waiting: BotFact[] = [];
  /** Refused before they were looked at, counted instead of kept: bot and code → one fact for all of them. */
  readonly #counted = new Map<string, BotFact>();
  #reserved = 0;
  #number = 0;
  /** The batch that is being handed over, until it is taken. */
  #batch: BotAuditBatch | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;

  constructor(options: BotAuditBufferOptions) {
    this.#options = options;
  }

  /** Keeps a place for one fact, which `record` fills. False when there is none: what it was for must be refused. */
  reserve(): boolean {
    if (this.#reserved + this.waiting >= BOT_FACTS_MAX) return false;
    this.#reserved += 1;
    return true;
  }

  /** Takes the fact that a place was kept for. */
  record(fact: BotFact): void {
    this.#reserved -= 1;
    this.#waiting.push(fact);
    this.#soon(HAND_OVER_MILLIS);
  }

  /** Counts what was refused unseen; all of a bot with that code go into the trail as one. */
  count(code: ErrorCode, fact: Omit<BotFact, 'at' | 'status' | 'code' | 'count'>): void {
    const name = `${fact.bot} ${code}`;
    const before = this.#counted.get(name)?.count ?? 0;
    this.#counted.set(name, {
      ...fact,
      at: this.#options.now(),
      status: statusOf(code),
      code,
      count: before + 1,
    });
    this.#soon(HAND_OVER_MILLIS);
  }

  /** Takes a fact of what cannot be refused any more; when there is no place for it, it is counted. */
  note(fact: BotFact): void {
    if (this.reserve()) this.record(fact);
    else this.count('busy', fact);
  }

  /** Facts that are not on disk yet. */
  get waiting(): number {
    return this.#waiting.length + this.#counted.size + (this.#batch?.facts.length ?? 0);
  }

  /** Hands everything over, if the main thread takes it before `deadline` (`performance.now()`). */
  async settle(deadline: number): Promise<void> {
    while (this.waiting > 0 && performance.now() < deadline) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      await this.#send();
      // Not taken: whoever refuses at once would otherwise be asked without a breath.
      if (this.#batch !== undefined) await new Promise((resolve) => setTimeout(resolve, SETTLE_PAUSE_MILLIS));
    }
  }

  #soon(millis: number): void {
    if (this.#timer !== undefined || this.#sending !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#send();
    }, millis);
    this.#timer.unref();
  }

  async #send(): Promise<void> {
    this.#sending ??= this.#handOver().then((isTaken) => {
      this.#sending = undefined;
      if (this.waiting > 0) this.#soon(isTaken ? 0 : RETRY_MILLIS);
    });
    await this.#sending;
  }

  async #handOver(): Promise<boolean> {
    // A batch that may have been written must come again as it was, or its facts would be there twice.
    this.#batch ??= this.#gather();
    const answer = await this.#options.handOver(this.#batch);
    if (answer.ok) this.#batch = undefined;
    return answer.ok;
  }

  #gather(): BotAuditBatch {
    this.#number += 1;
    const counted = [...this.#counted.values()];
    this.#counted.clear();
    const facts = [...this.#waiting.splice(0, BOT_FACTS_PER_BATCH), ...counted];
    return { source: this.#options.source, number: this.#number, facts };
  }
}
