/**
 * Looks which conversations of a shard's lanes hold what is over its time, and has each take it away. Nobody waits for
 * it: what is over its time is unreadable without it. Purges that were left in the middle, or that a legal hold stopped, go
 * on with it, too.
 */
import { type RetentionRule, isRetentionGeneral, useRetention } from '#storage/conversations/retention.ts';
import { isExpiring } from '#storage/conversations/conversation-reader.ts';
import { readConversationIds, readPurges, readRetained } from '#storage/conversations/inbox-reader.ts';
import { readKeepers } from '#storage/conversations/hold-revisions.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

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
  use(rule: RetentionRule): void {
    useRetention(rule);
    void this.sweep();
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
    const { lanes, tell } = this.#options;
    for (const { environment } of lanes.owned) {
      const { tables } = environment;
      for (const conversation of readPurges(tables)) tell(conversation, { kind: 'purge' });
      await this.#walk(environment, readKeepers, (conversation) => tell(conversation, { kind: 'purge' }));
      await this.#walk(environment, isRetentionGeneral() ? readConversationIds : readRetained, (conversation) => {
        if (isExpiring(tables, conversation)) tell(conversation, { kind: 'expire' });
      });
    }
  }

  /** Goes over the conversations of a lane that `read` answers, with turns for others in between. */
  async #walk(
    environment: LaneEnvironment,
    read: (tables: LaneEnvironment['tables'], after: string, limit: number) => string[],
    look: (conversation: string) => void,
  ): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined && !this.#options.isLeaving();) {
      environment.refresh();
      const ids: readonly string[] = read(environment.tables, after, SWEPT_AT_ONCE);
      for (const id of ids) look(id);
      after = ids.length < SWEPT_AT_ONCE ? undefined : ids.at(-1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
