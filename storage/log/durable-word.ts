/**
 * How far a log is durable: a word of memory that all threads of the process share. Its writer raises it before it
 * acknowledges, so a reader that finds it where it was has missed nothing.
 */
export class DurableWord {
  readonly #words: BigInt64Array;
  readonly #at: number;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT), at = 0) {
    [this.#words, this.#at] = [new BigInt64Array(memory), at];
  }

  /** The position up to which the log is durable; 0 before anybody writes it. */
  get(): number {
    return Number(Atomics.load(this.#words, this.#at));
  }

  set(position: number): void {
    Atomics.store(this.#words, this.#at, BigInt(position));
  }
}
