/** A backup of a running server, which removes no attachment while it is made. */
import type { ShardSupervisor } from '#src/messaging/thread-services.ts';
import type { Placement } from '#actors/runtime/placement.ts';
import { backupFolder, type BackupReport } from '#storage/backup/backup.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import { FolderError } from '#storage/engine/folder.ts';

/** How long what is being removed may take to be removed. */
const SETTLE_MILLIS = 30_000;

export interface LiveBackupOptions {
  readonly folder: string;
  readonly supervisor: ShardSupervisor;
  readonly placement: Placement;
  /** Its first number counts the backups under way. All shards see it, those that are started meanwhile too. */
  readonly backups: SharedArrayBuffer;
  readonly words: DurableWords;
}

/**
 * Copies the data folder to `out`. Whatever has no message from now on stays until it is done.
 * @throws FolderError as `backupFolder`, and when the shard that writes attachments does not answer.
 */
export async function backUpRunning(
  { backups, folder, placement, supervisor, words }: LiveBackupOptions,
  out: string,
  earlier: string | undefined,
): Promise<BackupReport> {
  const underWay = new Int32Array(backups);
  Atomics.add(underWay, 0, 1);
  try {
    const answer = await supervisor.askShard(placement.attachmentShard, 'attachments.settle', null, SETTLE_MILLIS);
    if (!answer.ok) throw new FolderError('The attachments are not answering: back up again shortly.');
    return await backupFolder(folder, out, earlier, words);
  } finally {
    Atomics.sub(underWay, 0, 1);
  }
}
