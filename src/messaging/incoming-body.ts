/**
 * A body that arrives while it is worked on, in bounded memory: whoever reads takes each chunk as it comes. Before there
 * is a reader the library hands over chunk after chunk for as long as the other end is as fast as this one, paused or
 * not; so what nobody could take yet goes to a file beyond a megabyte. The pause holds it back where the other end is
 * slower, which is nearly always.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Cancellation } from '#actors/runtime/cancellation.ts';
import type { SpillFile } from '#storage/spill-file.ts';

/** Bytes that wait in memory, two chunks of the library: what is more goes to the spill file. */
const WAITING_BYTES_MAX = 1024 * 1024;

interface Reader {
  readonly take: (chunk: Buffer) => void;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

export class IncomingBody {
  readonly #res: HttpResponse;
  readonly #cancellation: Cancellation;
  readonly #spill: SpillFile;
  #gathering = Buffer.allocUnsafeSlow(0);
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
    for (let chunk = this.#kept(); chunk !== undefined; chunk = this.#kept()) take(chunk);
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
    this.#bytes = 0;
    this.#spill.close();
  }

  /** What came before anybody read: from memory, or from the spill file, which has what is before it. */
  #kept(): Buffer | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#spill.isEmpty) return this.#spill.take();
    if (this.#bytes === 0) return undefined;
    const chunk = this.#gathering.subarray(0, this.#bytes);
    this.#gathering = Buffer.allocUnsafeSlow(0);
    this.#bytes = 0;
    return chunk;
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
    if (this.#bytes + chunk.length > WAITING_BYTES_MAX) {
      this.#spill.write(this.#gathering.subarray(0, this.#bytes));
      this.#spill.write(chunk);
      this.#bytes = 0;
      return;
    }
    if (!this.#spill.isEmpty && this.#bytes === 0) return this.#spill.write(chunk);
    const bytes = this.#bytes + chunk.length;
    if (bytes > this.#gathering.length) {
      const grown = Buffer.allocUnsafeSlow(bytes);
      this.#gathering.copy(grown, 0, 0, this.#bytes);
      this.#gathering = grown;
    }
    chunk.copy(this.#gathering, this.#bytes);
    this.#bytes = bytes;
    return undefined;
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
