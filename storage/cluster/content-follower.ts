/** Contents of attachments on a host that follows: each that the cluster has is brought here, and one that goes there goes here. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectInfo } from '@nats-io/obj';
import { blobFiles, blobPath, prepareBlobs, removeBlob } from '../attachments/blobs.ts';
import { ContentCopies } from '../attachments/content-copies.ts';
import { CONTENT_NAME } from '../attachments/content-hash.ts';
import { openObjects } from '../stream/stream-buckets.ts';
import type { StreamConnection } from '../stream/stream-connection.ts';
import { contentBucket } from '../stream/stream-names.ts';
import type { StreamPlace } from '../stream/stream-place.ts';

const RETRY_MILLIS = 1_000;

/** Puts everything there that a folder has, when it becomes the cluster's. */
export async function putAllContents(folder: string, place: StreamPlace): Promise<void> {
  const copies = new ContentCopies(place);
  await prepareBlobs(folder);
  for await (const names of blobFiles(folder)) {
    for (const name of names) if (CONTENT_NAME.test(name)) await copies.put(folder, name);
  }
  await copies.close();
}

/** Follows until `stopped`. What cannot be brought now is brought when somebody asks for it. */
export async function followContents(
  connection: StreamConnection,
  place: StreamPlace,
  folder: string,
  stopped: AbortSignal,
): Promise<void> {
  const copies = new ContentCopies(place);
  await prepareBlobs(folder);
  while (!stopped.aborted) {
    try {
      const store = await openObjects(connection, contentBucket(place.name), place.replicas);
      const changes = await store.watch({ includeHistory: true, ignoreDeletes: false });
      const stop = () => changes.stop();
      stopped.addEventListener('abort', stop, { once: true });
      if (stopped.aborted) stop();
      for await (const change of changes) {
        if (stopped.aborted) break;
        await unlessAborted(take(copies, folder, change, stopped), stopped);
      }
    } catch {
      await sleep(RETRY_MILLIS, undefined, { signal: stopped }).catch(() => undefined);
    }
  }
  await copies.close();
}

async function take(
  copies: ContentCopies,
  folder: string,
  { deleted, name }: ObjectInfo,
  stopped: AbortSignal,
): Promise<void> {
  if (!CONTENT_NAME.test(name)) return;
  if (deleted) await removeBlob(folder, name);
  else if (!existsSync(blobPath(folder, name))) await copies.bring(folder, name, stopped).catch(() => undefined);
}

/** Waits for something unless this is to stop: a NATS that does not answer keeps no host from leading. */
async function unlessAborted(action: Promise<void>, stopped: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  stopped.addEventListener('abort', stop, { once: true });
  if (stopped.aborted) stop();
  await Promise.race([action, promise]);
  stopped.removeEventListener('abort', stop);
}
