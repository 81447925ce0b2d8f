/**
 * Changes of one file, in turn and by group commit:
 *
 *     change ─► waiting ──► decided one after the other, each on a draft of those before ──► one commit ──► all answered
 */
import { Refusal } from '#src/protocol/errors.ts';
import type { Write } from './environment.ts';

/** What one change writes, by `table/key`. */
export interface Draft<Table extends string> {
  readonly writes: ReadonlyMap<string, Write<Table>>;
}

export interface ChangeQueueOptions<Table extends string, D extends Draft<Table>> {
  /** A draft that sees the disk and these writes over it. */
  readonly draft: (before: ReadonlyMap<string, Write<Table>>) => D;
  readonly commit: (writes: readonly Write<Table>[]) => Promise<void>;
  /** Changes that may wait for their turn; one more is refused with `busy`. */
  readonly waitingMax: number;
  /** Runs each batch, decisions and commit, while nobody else may change the file; at once without it. */
  readonly inTurn?: (batch: () => Promise<void>) => Promise<void>;
}

interface Waiting<D> {
  readonly decide: (draft: D) => () => void;
  readonly fail: (error: Error) => void;
}

export class ChangeQueue<Table extends string, D extends Draft<Table>> {
  readonly #options: ChangeQueueOptions<Table, D>;
  #waiting: Waiting<D>[] = [];
  #writing: Promise<void> | undefined;

  constructor(options: ChangeQueueOptions<Table, D>) {
    this.#options = options;
  }

  /**
   * Decides a change on a draft of everything before it; resolves with what `decide` returned once it is on disk.
   * What `decide` throws is the answer, and nothing of that change is stored.
   * @throws Refusal `busy`, `storage_full` when the commit failed.
   */
  async change<T>(decide: (draft: D) => T): Promise<T> {
    if (this.#waiting.length >= this.#options.waitingMax) throw new Refusal('busy');
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      decide: (draft) => {
        const result = decide(draft);
        return () => resolve(result);
      },
      fail: reject,
    });
    this.#writing ??= this.#write();
    return await promise;
  }

  /** Resolves when nothing waits. */
  async settle(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    // The turn's end gathers what arrives together.
    await new Promise(setImmediate);
    const { inTurn = async (batch) => await batch() } = this.#options;
    while (this.#waiting.length > 0) await inTurn(async () => await this.#commit(this.#waiting.splice(0)));
    this.#writing = undefined;
  }

  async #commit(changes: readonly Waiting<D>[]): Promise<void> {
    const writes = new Map<string, Write<Table>>();
    const answers: (() => void)[] = [];
    for (const change of changes) {
      const draft = this.#options.draft(writes);
      try {
        answers.push(change.decide(draft));
        for (const [name, write] of draft.writes) writes.set(name, write);
      } catch (error) {
        // Answered with the others: it may have been refused because of a change that is not on disk yet.
        answers.push(() => change.fail(error as Error));
      }
    }
    try {
      await this.#options.commit([...writes.values()]);
    } catch (error) {
      const refusal = new Refusal('storage_full');
      refusal.cause = error;
      for (const change of changes) change.fail(refusal);
      return;
    }
    for (const answer of answers) answer();
  }
}
