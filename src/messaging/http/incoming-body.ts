/**
 * A body that arrives while it is worked on, in bounded memory: whoever reads takes each chunk as it comes. Before there
 * is a reader the library hands over chunk after chunk for as long as the other end is as fast as this one, paused or
 * not; so what nobody could take yet goes to a file beyond a megabyte. The pause holds it back where the other end is
 * slower, which is nearly always.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Cancellation } from '#actors/runtime/cancellation.ts';
import type { SpillFile } from '#storage/engine/spill-file.ts';

/** Bytes that wait in memory, two chunks of the library: what is more goes to the spill file. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** Pieces of memory that are kept for the next bodies: new ones cost more than what they are for. */
const SPARE_MAX = 8;

const spare: Buffer[] = [];

interface Reader {
  readonly take: (chunk: Buffer) => void;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

export class IncomingBody {
  readonly #res: HttpResponse;
  readonly #cancellation: Cancellation;
  readonly #spill: SpillFile;
  #gathering: Buffer | undefined;
  #bytes = 0;
  #isPaused = true;
  #isWhole = false;
  #isClosed = false;
  #failure: Error | undefined;
  #reader: Reader | undefined;

  /** Within the request's handler, before anything is awaited: what comes without a reader is lost. */
  constructor(res: HttpResponse, cancellation: Cancellation, spill: SpillFile) {
    this.#res = res;
    this.#cancellation = cancellation;
    this.#spill = spill;
    res.onData((chunk, isLast) => this.#take(Buffer.from(chunk), isLast));
    // Nothing is wanted before it is settled who is asking.
    res.pause();
    cancellation.onCancel(() => this.#letGo()?.end());
  }

  /**
   * Hands over what comes, in order and as it comes, until the end or until the other end goes away. `take` is done with
   * a chunk when it returns: the memory is the library's. What it throws ends it, and what follows stays to be read.
   */
  async pour(take: (chunk: Buffer) => void): Promise<void> {
    this.#handOverKept(take);
    if (this.#isWhole || this.#cancellation.isCancelled) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#reader = { take, end: resolve, fail: reject };
    this.#resume();
    await promise;
  }

  /** Reads what is left and throws it away, up to so many bytes. Whether that was all. */
  async discard(bytesMax: number): Promise<boolean> {
    let bytes = 0;
    await this.pour((chunk) => {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new Error('more than is read in vain');
    });
    return this.#isWhole;
  }

  /** Nobody reads any more: what still comes is thrown away. */
  close(): void {
    this.#isClosed = true;
    this.#release();
    this.#spill.close();
  }

  /** What came before anybody read: first the spill file, then what is in memory. */
  #handOverKept(take: (chunk: Buffer) => void): void {
    if (this.#failure !== undefined) throw this.#failure;
    while (!this.#spill.isEmpty) take(this.#spill.take());
    const chunk = this.#gathering?.subarray(0, this.#bytes);
    this.#bytes = 0;
    if (chunk !== undefined && chunk.length > 0) take(chunk);
    this.#release();
  }

  #letGo(): Reader | undefined {
    const reader = this.#reader;
    this.#reader = undefined;
    return reader;
  }

  #take(chunk: Buffer, isLast: boolean): void {
    if (this.#isClosed) return;
    // A connection that stayed paused would never bring another request.
    if (isLast) this.#resume();
    this.#isWhole ||= isLast;
    if (this.#reader === undefined) this.#keep(chunk, isLast);
    else this.#handOver(chunk, isLast);
  }

  #handOver(chunk: Buffer, isLast: boolean): void {
    try {
      this.#reader?.take(chunk);
    } catch (error) {
      if (!isLast) this.#pause();
      return this.#letGo()?.fail(error as Error);
    }
    if (isLast) this.#letGo()?.end();
  }

  #keep(chunk: Buffer, isLast: boolean): void {
    try {
      this.#gather(chunk);
    } catch (error) {
      this.#failure = error as Error;
    }
    if (!isLast && this.#bytes >= WAITING_BYTES_MAX / 2) this.#pause();
  }

  /** The chunk is the library's, and gone when this returns. */
  #gather(chunk: Buffer): void {
    this.#gathering ??= spare.pop() ?? Buffer.allocUnsafeSlow(WAITING_BYTES_MAX);
    if (this.#bytes + chunk.length > WAITING_BYTES_MAX) {
      this.#spill.write(this.#gathering.subarray(0, this.#bytes));
      this.#spill.write(chunk);
      this.#bytes = 0;
      return;
    }
    if (!this.#spill.isEmpty && this.#bytes === 0) return this.#spill.write(chunk);
    chunk.copy(this.#gathering, this.#bytes);
    this.#bytes += chunk.length;
    return undefined;
  }

  #release(): void {
    if (this.#gathering !== undefined && spare.length < SPARE_MAX) spare.push(this.#gathering);
    this.#gathering = undefined;
    this.#bytes = 0;
  }

  #pause(): void {
    this.#isPaused = true;
    this.#res.pause();
  }

  #resume(): void {
    if (!this.#isPaused || this.#isWhole || this.#cancellation.isCancelled) return;
    this.#isPaused = false;
    this.#res.resume();
  }
}
