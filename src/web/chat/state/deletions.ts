/**
 * Messages that the person deletes: each is gone from sight at once and from the server a few seconds later, so that a wrong
 * press is taken back. What waits is kept in this browser: a page that is closed meanwhile deletes at its next visit.
 */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { isTransient, toParleyError } from '#src/client/parley-error.ts';
import { keep, readKept } from '../../kit/kept-values.ts';
import { Observable } from '../../kit/observable.ts';

/** Long enough to see it and to press a button, short enough that nobody waits for it. */
export const UNDO_MILLIS = 6_000;
const DELETING = 'parley.deleting';

interface Place {
  readonly conv: string;
  readonly seq: number;
}

interface Waiting extends Place {
  readonly onRefused: (thrown: unknown) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

const keyOf = ({ conv, seq }: Place) => `${conv}/${seq}`;

export class Deletions extends Observable {
  readonly #client: ParleyClient;
  readonly #waiting = new Map<string, Waiting>();
  /** Those that the server has deleted: its event may come after its answer. */
  readonly #done = new Set<string>();

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    for (const place of placesIn(readKept(DELETING))) this.#wait(place, () => undefined, 0);
    addEventListener('pagehide', () => void this.flush());
  }

  /** Whether a message is about to be deleted here, or was. */
  stateOf(conv: string, seq: number): 'waiting' | 'deleted' | undefined {
    const key = keyOf({ conv, seq });
    if (this.#waiting.has(key)) return 'waiting';
    return this.#done.has(key) ? 'deleted' : undefined;
  }

  /** Deletes a message unless that is taken back in time; `onRefused` is told what the server said against it. */
  delete(place: Place, onRefused: (thrown: unknown) => void): void {
    if (this.stateOf(place.conv, place.seq) === undefined) this.#wait(place, onRefused, UNDO_MILLIS);
  }

  undo(place: Place): void {
    clearTimeout(this.#waiting.get(keyOf(place))?.timer);
    this.#waiting.delete(keyOf(place));
    this.#show();
  }

  /** Deletes at once what waits, as before the session ends. */
  async flush(): Promise<void> {
    const all = [...this.#waiting.values()];
    for (const { timer } of all) clearTimeout(timer);
    await Promise.all(all.map(async ({ onRefused, ...place }) => await this.#carryOut(place, onRefused)));
  }

  #wait(place: Place, onRefused: (thrown: unknown) => void, millis: number): void {
    const timer = setTimeout(() => void this.#carryOut(place, onRefused), millis);
    this.#waiting.set(keyOf(place), { ...place, onRefused, timer });
    this.#show();
  }

  async #carryOut(place: Place, onRefused: (thrown: unknown) => void): Promise<void> {
    try {
      await this.#client.delete(place.conv, place.seq);
      this.#done.add(keyOf(place));
    } catch (thrown) {
      // Without a connection it goes on waiting, and can be taken back for so long.
      if (isTransient(toParleyError(thrown))) return this.#wait(place, onRefused, UNDO_MILLIS);
      onRefused(thrown);
    }
    this.#waiting.delete(keyOf(place));
    this.#show();
  }

  #show(): void {
    keep(
      DELETING,
      [...this.#waiting.values()].map(({ conv, seq }) => ({ conv, seq })),
    );
    this.changed();
  }
}

function placesIn(kept: unknown): Place[] {
  if (!Array.isArray(kept)) return [];
  return (kept as unknown[]).filter(
    (one): one is Place =>
      typeof one === 'object' && one !== null && 'conv' in one && 'seq' in one && typeof one.conv === 'string',
  );
}
