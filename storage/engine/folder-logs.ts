/** The logs of a folder by their names, and how far each is durable. */
import { join } from 'node:path';
import { DurableWord } from '../log/durable-word.ts';
import type { LogOptions } from '../log/log-store.ts';
import { folderPaths } from './folder.ts';

/** Logs beside those of the lanes. */
const OTHERS = ['accounts', 'attachments', 'calendar'] as const;
export type LogName = (typeof OTHERS)[number] | number;

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
