/**
 * How far each log of a folder is durable: a word of memory for each, shared by all threads of the process. Its writer
 * raises it before it acknowledges, so a reader that finds it where it was has missed nothing.
 */
import { join } from 'node:path';
import type { LogOptions } from './environment.ts';
import { folderPaths } from './folder.ts';

/** Logs beside those of the lanes: accounts, attachments, calendar. */
const OTHERS = ['accounts', 'attachments', 'calendar'] as const;
export type LogName = (typeof OTHERS)[number] | number;

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

/** The memory of a folder's words. */
export type DurableWords = SharedArrayBuffer;

export function makeDurableWords(lanes: number): DurableWords {
  return new SharedArrayBuffer((OTHERS.length + lanes) * BigInt64Array.BYTES_PER_ELEMENT);
}

/** A log of a folder, a lane's by its number, as one thread opens it; `words` where threads share it. */
export function logOf(folder: string, log: LogName, access: LogOptions['access'], words?: DurableWords): LogOptions {
  const name = typeof log === 'number' ? `lane-${String(log).padStart(2, '0')}` : log;
  const at = typeof log === 'number' ? OTHERS.length + log : OTHERS.indexOf(log);
  const durable = words === undefined ? undefined : new DurableWord(words, at);
  return { folder: join(folderPaths(folder).logs, name), access, durable };
}

/** The logs of a folder with that many lanes. */
export function logNames(lanes: number): readonly LogName[] {
  return [...OTHERS, ...Array.from({ length: lanes }, (_, lane) => lane)];
}
