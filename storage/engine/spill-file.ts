/** Bytes that came before anybody could take them, first in, first out, in a file without a name. */
import { closeSync, ftruncateSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { folderPaths } from './folder.ts';

/** Bytes read back at once. */
const READ_BYTES = 512 * 1024;

/** Nothing here waits: it is for callers that are given bytes faster than the event loop turns. */
export class SpillFile {
  readonly #folder: string;
  #file: number | undefined;
  #written = 0;
  #read = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get isEmpty(): boolean {
    return this.#read === this.#written;
  }

  write(bytes: Buffer): void {
    this.#file ??= this.#open();
    for (let done = 0; done < bytes.length;) {
      const count = writeSync(this.#file, bytes, done, bytes.length - done, this.#written);
      done += count;
      this.#written += count;
    }
  }

  /** The next bytes, which nobody gets again. Empty when there are none. */
  take(): Buffer {
    if (this.#file === undefined || this.isEmpty) return Buffer.alloc(0);
    const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, this.#written - this.#read));
    const count = readSync(this.#file, buffer, 0, buffer.length, this.#read);
    this.#read += count;
    if (this.isEmpty) {
      ftruncateSync(this.#file, 0);
      this.#read = 0;
      this.#written = 0;
    }
    return buffer.subarray(0, count);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#read = this.#written;
  }

  /** A file that is gone with the process: its name is taken away at once. */
  #open(): number {
    const path = join(folderPaths(this.#folder).uploads, `spill-${randomUUID()}`);
    const file = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    return file;
  }
}
