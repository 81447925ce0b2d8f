/**
 * Files under a commit log that a power cut can take things back from: what was not durable when the power went is there,
 * not there, or there sector by sector in any order.
 */
import type { LogFiles } from '#storage/log/log-files.ts';
import { SECTOR_BYTES } from '#storage/log/log-sectors.ts';
import type { SeededRandom } from '#test/support/random.ts';

type Files = Map<string, Buffer>;

/** A change that is under way: what it may have done to files when the power goes. */
type Cut = (files: Files, random: SeededRandom) => void;

export class UnsteadyFiles implements LogFiles {
  /** What is durable. */
  readonly #files: Files;
  readonly #underWay = new Set<Cut>();
  readonly #opened = new Map<number, string>();
  readonly #random: SeededRandom;
  /** Whether the disk takes nothing more. */
  isFull = false;
  /** Whether the next write is there as a whole and fails all the same. */
  failsLate = false;

  constructor(random: SeededRandom, files: Files = new Map<string, Buffer>()) {
    [this.#random, this.#files] = [random, files];
  }

  /** What a power cut leaves now. */
  cut(): UnsteadyFiles {
    const files = new Map([...this.#files].map(([path, bytes]) => [path, Buffer.from(bytes)]));
    for (const cut of this.#underWay) cut(files, this.#random);
    return new UnsteadyFiles(this.#random.fork(), files);
  }

  /** The bytes of a file, to damage them. */
  bytesOf(path: string): Buffer {
    const bytes = this.#files.get(path);
    if (bytes === undefined) throw Object.assign(new Error(`${path} is not there.`), { code: 'ENOENT' });
    return bytes;
  }

  shorten(path: string, bytes: number): void {
    this.#files.set(path, this.bytesOf(path).subarray(0, bytes));
  }

  list(folder: string): string[] {
    return [...this.#files.keys()]
      .filter((path) => path.startsWith(`${folder}/`))
      .map((path) => path.slice(folder.length + 1));
  }

  makeFolder(): void {}

  open(path: string): number {
    this.bytesOf(path);
    const file = Math.max(0, ...this.#opened.keys()) + 1;
    this.#opened.set(file, path);
    return file;
  }

  read(file: number, bytes: number, offset: number): Buffer {
    return Buffer.from(this.bytesOf(this.#pathOf(file)).subarray(offset, offset + bytes));
  }

  readAll(path: string): Buffer {
    return Buffer.from(this.bytesOf(path));
  }

  async write(file: number, bytes: Buffer, offset: number): Promise<void> {
    if (this.isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    await this.#later((files, random) => {
      const there = files.get(this.#pathOf(file));
      if (there === undefined) return;
      for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
        if (random.chance(0.5)) bytes.copy(there, offset + at, at, at + SECTOR_BYTES);
      }
    });
    this.writeNow(file, bytes, offset);
    if (!this.failsLate) return;
    this.failsLate = false;
    throw Object.assign(new Error('i/o error'), { code: 'EIO' });
  }

  writeNow(file: number, bytes: Buffer, offset: number): void {
    bytes.copy(this.bytesOf(this.#pathOf(file)), offset);
  }

  async make(path: string, bytes: Buffer): Promise<void> {
    if (this.isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    await this.#later((files, random) => {
      if (random.chance(0.3)) files.set(path, Buffer.from(bytes));
      else if (random.chance(0.5)) files.set(`${path}.new`, bytes.subarray(0, random.whole(0, bytes.length)));
    });
    this.makeNow(path, bytes);
  }

  makeNow(path: string, bytes: Buffer): void {
    this.#files.set(path, Buffer.from(bytes));
  }

  async rename(from: string, to: string): Promise<void> {
    const move = (files: Files): void => {
      const bytes = files.get(from);
      if (bytes === undefined) return;
      files.delete(from);
      files.set(to, bytes);
    };
    await this.#later((files, random) => {
      if (random.chance(0.5)) move(files);
    });
    move(this.#files);
    for (const [file, path] of this.#opened) if (path === from) this.#opened.set(file, to);
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  close(file: number): void {
    this.#opened.delete(file);
  }

  #pathOf(file: number): string {
    return this.#opened.get(file) as string;
  }

  /** Some turns of the event loop, in which the power may go. */
  async #later(cut: Cut): Promise<void> {
    this.#underWay.add(cut);
    for (let turns = this.#random.whole(1, 3); turns > 0; turns -= 1) await new Promise(setImmediate);
    this.#underWay.delete(cut);
  }
}
