/** The file of one upload while bytes come for it. */
import fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { hashFile, readAll, settleFolder, uploadPath } from './blobs.ts';
import { makeContentHash, type ContentHash } from './content-hash.ts';

/**
 * Bytes that gather before the disk is set to write them while more arrive. Without it the disk rests until the last
 * byte is there and all of the file is waited for then.
 */
const WRITE_BEHIND_BYTES = 16 * 1024 * 1024;

/**
 * Bytes that are written at once. Given half a megabyte, the kernel looks for pieces of memory of that size to keep it in,
 * which are seldom at hand: 1 MiB took 0.25 ms of CPU where they were and up to 2.7 where not. Pieces of this size it has
 * ready, and 1 MiB takes 0.35 (ext4, Linux 6.18, 2026-11-21).
 */
const WRITE_BYTES_MAX = 32 * 1024;

/**
 * Appends to one upload. One at a time has it: whoever holds the upload's lease. Opening and writing are done when they
 * return, as cheap as handing them to another thread would be, so that an upload which arrives meanwhile need not wait
 * in memory; only the disk is waited for.
 */
export class UploadWriter {
  readonly #path: string;
  readonly #file: number;
  readonly #begun: number;
  #offset: number;
  /** How far the disk was set to write, and its work while it does. */
  #behind: number;
  #writing: Promise<void> | undefined;
  /** What the disk said to that: it says so once, and would call the next attempt a success. */
  #failure: unknown;
  /** How far the content is on disk. */
  #settled = 0;
  #isNamed = false;
  /** Of the whole content, while every byte of it passed through here. */
  readonly #whole: ContentHash | undefined;

  private constructor(path: string, file: number, offset: number) {
    this.#path = path;
    this.#file = file;
    this.#begun = offset;
    this.#offset = offset;
    this.#behind = offset;
    this.#whole = offset === 0 ? makeContentHash() : undefined;
  }

  /** Goes on with an upload, or begins it. */
  static open(folder: string, id: string): UploadWriter {
    const path = uploadPath(folder, id);
    const file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600);
    return new UploadWriter(path, file, fs.fstatSync(file).size);
  }

  /** Begins an upload that has no file yet. */
  static begin(folder: string, id: string): UploadWriter {
    const path = uploadPath(folder, id);
    return new UploadWriter(path, fs.openSync(path, 'wx+', 0o600), 0);
  }

  get offset(): number {
    return this.#offset;
  }

  /**
   * Returns when the bytes are with the operating system. It does not give way to anything else, so that whoever brings
   * them cannot bring more meanwhile: half a megabyte takes a fraction of a millisecond.
   */
  append(chunk: Buffer): void {
    this.#whole?.update(chunk);
    for (let written = 0; written < chunk.length;) {
      const length = Math.min(chunk.length - written, WRITE_BYTES_MAX);
      const bytes = fs.writeSync(this.#file, chunk, written, length, this.#offset);
      written += bytes;
      this.#offset += bytes;
    }
    if (this.#writing === undefined && this.#offset - this.#behind >= WRITE_BEHIND_BYTES) this.#writeBehind();
  }

  /** Has the disk write what there is, beside what else happens. That it failed is for `settle` to say. */
  #writeBehind(): void {
    this.#behind = this.#offset;
    this.#writing = promisify(fs.fdatasync)(this.#file)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** Takes back what was appended since it was opened. */
  async undo(): Promise<void> {
    await promisify(fs.ftruncate)(this.#file, this.#begun);
    this.#offset = this.#begun;
    this.#behind = this.#begun;
    this.#settled = 0;
  }

  /** Puts what was appended on disk with its name: whoever comes back finds it. */
  async settle(): Promise<void> {
    const name = this.#isNamed ? undefined : settleFolder(dirname(this.#path));
    await Promise.all([this.settleContent(), name]);
    this.#isNamed = true;
  }

  /** Puts what was appended on disk. It gets another name next, or nobody was told of it. */
  async settleContent(): Promise<void> {
    await this.#writing;
    if (this.#failure !== undefined) throw this.#failure as Error;
    const offset = this.#offset;
    if (offset === this.#settled) return;
    await promisify(fs.fsync)(this.#file);
    this.#settled = offset;
  }

  /** The first bytes of the content. */
  head(bytes: number): Buffer {
    const buffer = Buffer.alloc(bytes);
    return buffer.subarray(0, fs.readSync(this.#file, buffer, 0, bytes, 0));
  }

  /** The hash of the whole content; ends the writing. Reads it again where a part of it came earlier. */
  async hash(): Promise<string> {
    return this.#whole?.digest() ?? (await hashFile(this.#file));
  }

  /** The content from its beginning, for whoever has to look through it. */
  async *read(): AsyncGenerator<Buffer> {
    yield* readAll(this.#file);
  }

  async close(): Promise<void> {
    await this.#writing;
    fs.closeSync(this.#file);
  }
}
