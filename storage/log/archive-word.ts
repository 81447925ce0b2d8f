/**
 * How far the archive of a log reaches, and what it missed, for all threads to see; and the one place among them from which the
 * archive is written. All files of a process are written by a few threads of the kernel's library that the logs need as well: an
 * archive on a network disk that hangs holds one of these, whatever the number of logs.
 */
export class ArchiveWord {
  readonly #words: BigInt64Array;
  readonly #at: number;
  readonly #gaps: number;
  readonly #fault: number;
  readonly #gate: number;

  /** Places in the memory: three for this log, and `gate`, which all logs share. */
  constructor(
    memory: SharedArrayBuffer,
    { at, fault, gaps, gate }: Readonly<Record<'at' | 'fault' | 'gaps' | 'gate', number>>,
  ) {
    this.#words = new BigInt64Array(memory);
    [this.#at, this.#fault, this.#gaps, this.#gate] = [at, fault, gaps, gate];
  }

  /** The time up to which the archive is written, in milliseconds since 1970; 0 where there is none. */
  get reaches(): number {
    return Number(Atomics.load(this.#words, this.#at));
  }

  set reaches(at: number) {
    Atomics.store(this.#words, this.#at, BigInt(at));
  }

  /** How often something was left out of the archive since the start. */
  get gaps(): number {
    return Number(Atomics.load(this.#words, this.#gaps));
  }

  /** The operating system's number of why the archive was not written the last time; 0 where it was. */
  get fault(): number {
    return Number(Atomics.load(this.#words, this.#fault));
  }

  set fault(errno: number) {
    Atomics.store(this.#words, this.#fault, BigInt(errno));
  }

  addGap(): void {
    Atomics.add(this.#words, this.#gaps, 1n);
  }

  /** Whether the place was free: it is this log's until `leave`. */
  enter(): boolean {
    return Atomics.compareExchange(this.#words, this.#gate, 0n, BigInt(this.#at)) === 0n;
  }

  /** Gives the place back where this log has it: also for a thread that died there, by the one that goes on with its log. */
  leave(): void {
    Atomics.compareExchange(this.#words, this.#gate, BigInt(this.#at), 0n);
  }
}
