/**
 * Looks which conversations of a shard's lanes hold what is over its time, and has each take it away. Nobody waits for
 * it: what is over its time is unreadable without it. Purges that were left in the middle go on with it, too.
 */
import type { RetentionRule } from '#storage/retention.ts';
import { isRetentionGeneral, useRetention } from '#storage/retention.ts';
import { isExpiring } from '#storage/conversation-reader.ts';
import { readConversationIds, readPurges, readRetained } from '#storage/inbox-reader.ts';
import type { Lanes } from '#storage/lanes.ts';

/** Between two sweeps: what is over its time may lie on the disk for so much longer. */
const SWEEP_MILLIS = 60_000;
/** Conversations looked at in one go: some of these hold a thousand messages to search in, a few microseconds each. */
const SWEPT_AT_ONCE = 100;

export interface RetentionSweepOptions {
  readonly lanes: Pick<Lanes, 'owned'>;
  /** Tells the actor of a conversation. */
  readonly tell: (conversation: string, message: { readonly kind: 'expire' | 'purge' }) => void;
  readonly isLeaving: () => boolean;
}

export class RetentionSweep {
  readonly #options: RetentionSweepOptions;
  #timer: NodeJS.Timeout | undefined;
  #isUnderWay = false;
  #isWanted = false;

  constructor(options: RetentionSweepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => void this.sweep(), SWEEP_MILLIS).unref();
    void this.sweep();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Has this thread read by a rule from now on, and sweeps by it. */
  use(rule: RetentionRule): true {
    useRetention(rule);
    void this.sweep();
    return true;
  }

  /** One sweep at a time; what is asked for during one follows it. */
  async sweep(): Promise<void> {
    this.#isWanted = true;
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    try {
      while (this.#isWanted && !this.#options.isLeaving()) {
        this.#isWanted = false;
        await this.#sweepAll();
      }
    } finally {
      this.#isUnderWay = false;
    }
  }

  async #sweepAll(): Promise<void> {
    const { isLeaving, lanes, tell } = this.#options;
    for (const { environment } of lanes.owned) {
      for (const conversation of readPurges(environment.tables)) tell(conversation, { kind: 'purge' });
      const read = isRetentionGeneral() ? readConversationIds : readRetained;
      for (let after: string | undefined = ''; after !== undefined;) {
        environment.refresh();
        const ids: readonly string[] = read(environment.tables, after, SWEPT_AT_ONCE);
        for (const id of ids) if (isExpiring(environment.tables, id)) tell(id, { kind: 'expire' });
        after = ids.length < SWEPT_AT_ONCE ? undefined : ids.at(-1);
        await new Promise((resolve) => setImmediate(resolve));
        if (isLeaving()) return;
      }
    }
  }
}
