/**
 * Which log's file is copied into the snapshot next. One at a time, so that a copy is a part of the data, and none before it is worth
 * it: the stream may hold an eighth of what the files do, so that a byte of the stream costs at most eight that are copied, however
 * much there is.
 */
import type { SnapshotFile } from './installation.ts';

/** Of the bytes of all files, the part that the stream may hold. */
export const STREAM_SHARE = 1 / 8;
/** How old a file may become while the stream has something behind it: what was erased from the files is in neither for longer. */
export const SNAPSHOT_AGE_MILLIS = 30 * 24 * 3_600_000;

/** What the stream has. */
export interface StreamContent {
  readonly bytes: number;
  readonly messages: number;
  /** Messages of each log, by its name. */
  readonly counts: ReadonlyMap<string, number>;
}

/** A log, and its file in the snapshot; undefined where the snapshot has none of it. */
export interface Snapshotted {
  readonly log: string;
  readonly file: Pick<SnapshotFile, 'bytes' | 'made_at'> | undefined;
}

/**
 * The log whose copy frees most of the stream for each byte that is copied, where the stream is too long; one that is missing or too
 * old in any case; undefined where nothing has to be copied. `leastBytes` is what the stream may hold whatever the files do.
 */
export function chooseLog(
  stream: StreamContent,
  logs: readonly Snapshotted[],
  leastBytes: number,
  now: number,
): string | undefined {
  // The last message of each log stays in the stream, and is no reason to copy anything.
  const behind = (log: string) => Math.max(0, (stream.counts.get(log) ?? 0) - 1);
  const due = ({ file, log }: Snapshotted) =>
    file === undefined || (behind(log) > 0 && now - file.made_at > SNAPSHOT_AGE_MILLIS);
  const lacking = logs.find(due);
  if (lacking !== undefined) return lacking.log;
  const files = logs.reduce((sum, { file }) => sum + (file?.bytes ?? 0), 0);
  if (stream.bytes <= Math.max(leastBytes, files * STREAM_SHARE)) return undefined;
  const worth = ({ file, log }: Snapshotted) => behind(log) / Math.max(1, file?.bytes ?? 0);
  const best = logs.reduce((found, one) => (worth(one) > worth(found) ? one : found));
  return worth(best) > 0 ? best.log : undefined;
}
