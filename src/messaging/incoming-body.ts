/**
 * A body that arrives while it is worked on, in bounded memory. The library hands over chunk after chunk for as long as
 * the other end is as fast as this one, paused or not, and nothing else runs meanwhile; so what nobody could take yet
 * goes to a file beyond a megabyte. The pause holds it back where the other end is slower, which is nearly always.
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { Cancellation } from '#actors/runtime/cancellation.ts';
import type { SpillFile } from '#storage/spill-file.ts';

/** Bytes that wait in memory, two chunks of the library: what is more goes to the spill file. */
const WAITING_BYTES_MAX = 1024 * 1024;

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
  #wake: (() => void) | undefined;

  /** Within the request's handler, before anything is awaited: what comes without a reader is lost. */
  constructor(res: HttpResponse, cancellation: Cancellation, spill: SpillFile) {
    this.#res = res;
    this.#cancellation = cancellation;
    this.#spill = spill;
    res.onData((chunk, isLast) => this.#take(Buffer.from(chunk), isLast));
    // Nothing is wanted before it is settled who is asking.
    res.pause();
    cancellation.onCancel(() => this.#wake?.());
  }

  /** What comes next, in order; undefined behind the end, or where the other end went away. */
  async next(): Promise<Buffer | undefined> {
    if (this.#isDry && !this.#isWhole && !this.#cancellation.isCancelled) {
      this.#resume();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
      this.#wake = undefined;
    }
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#spill.isEmpty) return this.#spill.take();
    if (this.#bytes === 0) return undefined;
    const chunk = this.#gathering.subarray(0, this.#bytes);
    this.#gathering = Buffer.allocUnsafeSlow(0);
    this.#bytes = 0;
    return chunk;
  }

  /** Reads what is left and throws it away, up to so many bytes. Whether that was all. */
  async discard(bytesMax: number): Promise<boolean> {
    let bytes = 0;
    for (let chunk = await this.next(); chunk !== undefined; chunk = await this.next()) {
      bytes += chunk.length;
      if (bytes > bytesMax) return false;
    }
    return this.#isWhole;
  }

  /** Nobody reads any more: what still comes is thrown away. */
  close(): void {
    this.#isClosed = true;
    this.#bytes = 0;
    this.#spill.close();
  }

  get #isDry(): boolean {
    return this.#bytes === 0 && this.#spill.isEmpty && this.#failure === undefined;
  }

  #take(chunk: Buffer, isLast: boolean): void {
    if (this.#isClosed) return;
    // A connection that stayed paused would never bring another request.
    if (isLast) this.#resume();
    this.#isWhole ||= isLast;
    try {
      this.#gather(chunk);
    } catch (error) {
      this.#failure = error as Error;
    }
    if (!isLast && this.#bytes >= WAITING_BYTES_MAX / 2) {
      this.#isPaused = true;
      this.#res.pause();
    }
    this.#wake?.();
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

  #resume(): void {
    if (!this.#isPaused || this.#isWhole || this.#cancellation.isCancelled) return;
    this.#isPaused = false;
    this.#res.resume();
  }
}
