/**
 * Paces what vendor tokens read: de-personalising takes the main thread and the pool, and on a small machine these
 * share a core with the messages. One answer is made at a time, and after each the core is left to the others.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '#src/protocol/errors.ts';

/** How many times as long as an answer took nobody makes another: vendors get a tenth of a core, some 15 pages a second. */
export const REST_TIMES = 9;
/** No rest is longer: an answer that waited for something else did not cost what it took. */
export const REST_MILLIS_MAX = 250;
/** Answers that wait. A page of the console asks for a handful at once. Beyond it: `busy`. */
export const WAITING_MAX = 64;

export class VendorPace {
  readonly #rest: (millis: number) => Promise<unknown>;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(rest: (millis: number) => Promise<unknown> = sleep) {
    this.#rest = rest;
  }

  /** Does the work when its turn comes. @throws Refusal `busy` when too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= WAITING_MAX) throw new Refusal('busy');
    this.#waiting += 1;
    const { promise: ended, resolve: end } = Promise.withResolvers<number>();
    const before = this.#turn;
    this.#turn = ended.then((millis) => this.#rest(millis));
    await before;
    this.#waiting -= 1;
    const began = performance.now();
    try {
      return await work();
    } finally {
      end(Math.min(REST_TIMES * (performance.now() - began), REST_MILLIS_MAX));
    }
  }
}
