/**
 * An answer that is made once for all who ask for it at about the same time (single-flight, with a pace): what is dear to
 * make then costs so much a second and no more, however many ask.
 *
 * Nobody gets an answer that was begun before they asked. Whoever asks after some quiet has it made at once; whoever asks
 * within `everyMillis` of that shares the next one, which is begun when they are over.
 */
export class SharedAnswer<T> {
  readonly #make: () => Promise<T>;
  readonly #everyMillis: number;
  #begunAt = -Infinity;
  #next: Promise<T> | undefined;

  /** `make` makes the answer; it is begun once in `everyMillis` at most. */
  constructor(make: () => Promise<T>, everyMillis: number) {
    this.#make = make;
    this.#everyMillis = everyMillis;
  }

  /** An answer that is begun from now on. Rejects as the making does, for those who shared it and nobody after. */
  async read(): Promise<T> {
    const wait = this.#begunAt + this.#everyMillis - performance.now();
    if (this.#next === undefined && wait <= 0) return await this.#begin();
    this.#next ??= new Promise((resolve) => setTimeout(resolve, Math.ceil(wait))).then(async () => await this.#begin());
    return await this.#next;
  }

  async #begin(): Promise<T> {
    // Whoever asks from here on asks after the making began.
    this.#next = undefined;
    this.#begunAt = performance.now();
    return await this.#make();
  }
}
