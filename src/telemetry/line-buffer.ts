/**
 * Lines on their way to an output that may be slow or stand still: bounded, never blocking.
 *
 * Whoever logs fills it, one write at a time drains it. When it is full, new lines are dropped and counted, and the
 * first line after that says how many: the old ones are kept, since they tell how the trouble began.
 */
import { write } from 'node:fs';

/**
 * Bytes that may wait: some 5,000 lines, more than a second of a server that logs every error of a bad minute.
 * Beyond it lines are dropped.
 */
export const WAITING_BYTES_MAX = 1024 * 1024;

/**
 * Bytes of one write: what POSIX promises to put into a pipe in one piece (PIPE_BUF on Linux), so that lines of
 * several threads never run into each other. A longer line would not be whole; `log.ts` keeps below it.
 */
export const WRITE_BYTES_MAX = 4096;

/** Where lines go: calls `done` when they are out of our hands, with an error if they are lost. */
export type WriteLines = (lines: Buffer, done: (error: Error | null) => void) => void;

export class LineBuffer {
  readonly #write: WriteLines;
  readonly #lostLine: (count: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** Lines of the write that is under way; 0 when none is. */
  #writing = 0;
  #dropped = 0;
  #untold = 0;
  #onEmpty: (() => void)[] = [];

  /** @param lostLine the line that tells a reader that so many lines are missing here. */
  constructor(lines: WriteLines, lostLine: (count: number) => string) {
    this.#write = lines;
    this.#lostLine = lostLine;
  }

  /** Lines lost since the beginning. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a line, which ends with a line feed. */
  add(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX) return this.#lose(1);
    this.#tellLost();
    this.#enqueue(bytes);
    if (this.#writing === 0) this.#drain();
  }

  /** Resolves to true when everything is out, to false when it is not within the time given. */
  async drained(deadlineMillis: number): Promise<boolean> {
    if (this.#writing === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), deadlineMillis);
    this.#onEmpty.push(() => resolve(true));
    const isOut = await promise;
    clearTimeout(timer);
    return isOut;
  }

  #enqueue(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #lose(count: number): void {
    this.#dropped += count;
    this.#untold += count;
  }

  /** The notice goes in whatever the room: it is one line, and there is at most one of them between two others. */
  #tellLost(): void {
    if (this.#untold === 0) return;
    const notice = Buffer.from(this.#lostLine(this.#untold));
    this.#untold = 0;
    this.#enqueue(notice);
  }

  #drain(): void {
    if (this.#waiting.length === 0) {
      for (const resolve of this.#onEmpty.splice(0)) resolve();
      return;
    }
    let count = 1;
    let bytes = (this.#waiting[0] as Buffer).length;
    for (; count < this.#waiting.length; count += 1) {
      const next = (this.#waiting[count] as Buffer).length;
      if (bytes + next > WRITE_BYTES_MAX) break;
      bytes += next;
    }
    const lines = Buffer.concat(this.#waiting.splice(0, count), bytes);
    this.#writing = count;
    this.#write(lines, (error) => {
      if (error !== null) this.#lose(this.#writing);
      this.#writing = 0;
      this.#waitingBytes -= bytes;
      this.#drain();
    });
  }
}

/** How soon a full pipe is asked again whether it takes more. */
const FULL_RETRY_MILLIS = 20;

/** `fs.write`, as far as it is needed: writes from an offset on and says how many bytes it took. */
export type WriteBytes = (
  bytes: Buffer,
  offset: number,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/** Writes lines whole: goes on where a write took only a part, and asks again where it took nothing. */
export function writeWhole(writeBytes: WriteBytes): WriteLines {
  return (lines, done) => {
    const attempt = (from: number) => {
      writeBytes(lines, from, (error, written) => {
        if (error?.code === 'EAGAIN') setTimeout(() => attempt(from), FULL_RETRY_MILLIS);
        else if (error !== null) done(error);
        else if (from + written < lines.length) attempt(from + written);
        else done(null);
      });
    };
    attempt(0);
  };
}

const STANDARD_OUTPUT = 1;

/**
 * Standard output, past `process.stdout`: that one waits for a slow disk or terminal on the thread that logs, and a
 * worker's goes through the main thread. Here a write that waits holds one thread of the pool and no event loop.
 */
export const writeStandardOutput = writeWhole((bytes, offset, done) => write(STANDARD_OUTPUT, bytes, offset, done));
