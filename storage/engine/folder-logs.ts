/** The logs of a folder by their names, and how far each is durable. */
import { join } from 'node:path';
import { ArchiveWord } from '../log/archive-word.ts';
import { DurableWord } from '../log/durable-word.ts';
import type { ArchiveOptions } from '../log/log-archive.ts';
import type { LogOptions } from '../log/log-store.ts';
import { StreamAppender } from '../stream/stream-appender.ts';
import { readArchivePlace } from './archive-place.ts';
import { readClusterPlace } from './cluster-place.ts';
import { folderPaths, lanePath } from './folder.ts';

/** Logs beside those of the lanes. */
const OTHERS = ['accounts', 'attachments', 'calendar'] as const;
export type LogName = (typeof OTHERS)[number] | number;

/** Keys stand in this table: what signs in the server's name is in no archive, as it is in no backup. */
const WITHHELD: Partial<Record<LogName, readonly string[]>> = { accounts: ['secrets'] };

/** The memory of a folder's words: how far each log is durable and archived, its gaps and faults; and who writes to the archive. */
export type DurableWords = SharedArrayBuffer;
const WORDS_OF_A_LOG = 4;

export function makeDurableWords(lanes: number): DurableWords {
  const words = (OTHERS.length + lanes) * WORDS_OF_A_LOG + 1;
  return new SharedArrayBuffer(words * BigInt64Array.BYTES_PER_ELEMENT);
}

function logsIn(words: DurableWords): number {
  return (words.byteLength / BigInt64Array.BYTES_PER_ELEMENT - 1) / WORDS_OF_A_LOG;
}

/** Where threads see the archive of the log at a place among the folder's. */
export function archiveWordOf(words: DurableWords, at: number): ArchiveWord {
  const logs = logsIn(words);
  return new ArchiveWord(words, {
    at: logs + at,
    gaps: 2 * logs + at,
    fault: 3 * logs + at,
    gate: WORDS_OF_A_LOG * logs,
  });
}

/** How the archive of a folder's logs is. */
export interface ArchiveStatus {
  /** Milliseconds since the one that is furthest behind was written; 0 where nothing is archived. */
  readonly lagMillis: number;
  /** How often something was left out since the start. */
  readonly gaps: number;
  /** Why one of them was not written the last time: the operating system's number, 0 where all were. */
  readonly fault: number;
}

export function archiveStatus(words: DurableWords, now: number): ArchiveStatus {
  const logs = Array.from({ length: logsIn(words) }, (_, at) => archiveWordOf(words, at));
  const reached = logs.map(({ reaches }) => reaches).filter((at) => at > 0);
  return {
    lagMillis: reached.length === 0 ? 0 : Math.max(0, now - Math.min(...reached)),
    gaps: logs.reduce((sum, { gaps }) => sum + gaps, 0),
    fault: logs.map(({ fault }) => fault).find((fault) => fault !== 0) ?? 0,
  };
}

/** A log of a folder, a lane's by its number, as one thread opens it; `words` where threads share it. */
export function logOf(folder: string, log: LogName, access: LogOptions['access'], words?: DurableWords): LogOptions {
  const name = logFolderName(log);
  const at = typeof log === 'number' ? OTHERS.length + log : OTHERS.indexOf(log);
  const durable = words === undefined ? undefined : new DurableWord(words, at);
  const place = { folder: join(folderPaths(folder).logs, name), access, durable };
  if (access === 'read') return place;
  const cluster = readClusterPlace(folder);
  return {
    ...place,
    archive: archiveOf(folder, log, words === undefined ? undefined : archiveWordOf(words, at)),
    replication: cluster && new StreamAppender(cluster, name),
  };
}

/** The archive of a log, where the folder has one. */
function archiveOf(folder: string, log: LogName, word: ArchiveWord | undefined): ArchiveOptions | undefined {
  const place = readArchivePlace(folder);
  return place && { ...place, log: logFolderName(log), withheld: WITHHELD[log] ?? [], word };
}

/** What a log is called in the data folder and in an archive. */
export function logFolderName(log: LogName): string {
  return typeof log === 'number' ? `lane-${String(log).padStart(2, '0')}` : log;
}

/** The path within a folder of the file behind a log. */
export function storePath(log: LogName): string {
  return typeof log === 'number' ? lanePath('', log) : folderPaths('')[log];
}

/** The logs of a folder with that many lanes. */
export function logNames(lanes: number): readonly LogName[] {
  return [...OTHERS, ...Array.from({ length: lanes }, (_, lane) => lane)];
}
