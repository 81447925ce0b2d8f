/**
 * Changes of one file, in turn and by group commit:
 *
 *     change ─► waiting ──► decided one after the other, each on a draft of those before ──► one commit ──► all answered
 */
import { Refusal } from '#src/protocol/errors.ts';
import { LogUnavailable, type Write } from './environment.ts';

/** How long a commit may take before whoever waits for it is answered `unavailable`: the deadline of requests in general. */
export const ANSWER_MILLIS = 10_000;

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
  /** Whether there is room for any change; without it only urgent ones are taken. Asked before each batch. */
  readonly hasRoom?: () => Promise<boolean>;
  /** Runs each batch, decisions and commit, while nobody else may change the file; at once without it. */
  readonly inTurn?: (batch: () => Promise<void>) => Promise<void>;
}

/** A change that is made in the room that is kept for it, too: what ends something that somebody may do. */
export interface ChangeUrgency {
  readonly isUrgent?: boolean;
}

interface Waiting<D> extends ChangeUrgency {
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
   * @throws Refusal `busy`; `unavailable` when the commit hangs, or other hosts cannot be reached; `storage_full` when the commit failed, or there is room for urgent changes only.
   */
  async change<T>(decide: (draft: D) => T, { isUrgent = false }: ChangeUrgency = {}): Promise<T> {
    if (this.#waiting.length >= this.#options.waitingMax) throw new Refusal('busy');
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({
      isUrgent,
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
    const { hasRoom } = this.#options;
    if (hasRoom === undefined || (await hasRoom())) return await this.#commitAll(changes);
    const [urgent, others] = partition(changes);
    failAll(others, new Error('The disk is full, and what is left is for what ends sessions.'));
    if (urgent.length > 0) await this.#commitAll(urgent);
    return undefined;
  }

  async #commitAll(changes: readonly Waiting<D>[]): Promise<void> {
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
    const late = setInterval(() => this.#answerLate(changes), ANSWER_MILLIS);
    try {
      await this.#options.commit([...writes.values()]);
    } catch (error) {
      const [urgent, others] = partition(changes);
      // Together with the others they did not fit; alone they may.
      const fitAlone = urgent.length > 0 && others.length > 0;
      failAll(fitAlone ? others : changes, error);
      if (fitAlone) await this.#commitAll(urgent);
      return;
    } finally {
      clearInterval(late);
    }
    for (const answer of answers) answer();
  }

  /** Whoever waits for a commit that hangs is told so, not knowing what becomes of it; what came behind it is not tried. */
  #answerLate(changes: readonly Waiting<D>[]): void {
    for (const change of [...changes, ...this.#waiting.splice(0)]) change.fail(new Refusal('unavailable'));
  }
}

/** The urgent ones, and the others. */
function partition<D>(changes: readonly Waiting<D>[]): [Waiting<D>[], Waiting<D>[]] {
  return [changes.filter(({ isUrgent }) => isUrgent), changes.filter(({ isUrgent }) => isUrgent !== true)];
}

function failAll(changes: readonly Waiting<never>[], cause: unknown): void {
  const refusal = new Refusal(cause instanceof LogUnavailable ? 'unavailable' : 'storage_full');
  refusal.cause = cause;
  for (const change of changes) change.fail(refusal);
}
