/**
 * Contents of attachments in the object store of a cluster, from which the other hosts have them: one is there before anybody is told
 * that the file is, so the loss of this host loses none. What speaks to NATS is loaded with the first of them.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectStore } from '@nats-io/obj';
import { Refusal } from '#src/protocol/errors.ts';
import { isSealedName } from './blob-sealing.ts';
import { blobPath, fetchedPath, settleFolder } from './blobs.ts';
import { makeContentHash } from './content-hash.ts';
import type { SharedConnection } from '../stream/stream-connection.ts';
import { contentBucket } from '../stream/stream-names.ts';
import type { StreamPlace } from '../stream/stream-place.ts';

/** How long NATS may send nothing of a content; its servers choose a new leader within two seconds. */
const STALLED_MILLIS = 5_000;

export class ContentCopies {
  readonly #place: StreamPlace;
  #connection: SharedConnection | undefined;
  #store: Promise<ObjectStore> | undefined;

  constructor(place: StreamPlace) {
    this.#place = place;
  }

  /** Puts the content of that name there from this host's disk; resolves when a majority has it. @throws Refusal `unavailable`. */
  async put(folder: string, name: string): Promise<void> {
    try {
      const store = await this.#open();
      const known = await store.info(name);
      if (known !== null && !known.deleted) return;
      const bytes = Readable.toWeb(createReadStream(blobPath(folder, name))) as ReadableStream<Uint8Array>;
      await store.put({ name }, bytes);
    } catch (error) {
      const refusal = new Refusal('unavailable');
      refusal.cause = error;
      throw refusal;
    }
  }

  /** Has it gone there, too; one that stays since NATS is away costs room and nothing else. */
  remove(name: string): void {
    void this.#open()
      .then(async (store) => await store.delete(name))
      .catch(() => undefined);
  }

  /**
   * Brings the content of that name to this host's disk, unless `stopped` aborts; answers whether it is there.
   * @throws Refusal `object_store_unavailable` while NATS is away, or has sent nothing for STALLED_MILLIS; Error for one that is not the content.
   */
  async bring(folder: string, name: string, stopped?: AbortSignal): Promise<boolean> {
    const path = fetchedPath(folder, randomUUID());
    // What NATS does not go on with never ends by itself.
    const stalled = new AbortController();
    const timer = setTimeout(() => stalled.abort(), STALLED_MILLIS);
    const signal = stopped === undefined ? stalled.signal : AbortSignal.any([stalled.signal, stopped]);
    try {
      const found = await (await this.#open()).get(name);
      if (found === null) return false;
      const hash = makeContentHash(name);
      const hashing = async function* hashed(source: AsyncIterable<Uint8Array>) {
        for await (const piece of source) {
          timer.refresh();
          hash.update(piece);
          yield piece;
        }
      };
      const data = Readable.fromWeb(found.data as Parameters<typeof Readable.fromWeb>[0]);
      await pipeline(data, hashing, createWriteStream(path, { mode: 0o600, flush: true }), { signal });
      const fault = await found.error;
      if (fault instanceof Error) throw fault;
      if (!isSealedName(name) && hash.digest() !== name) throw new Error('A copy is not the content that it was.');
    } catch (error) {
      await rm(path, { force: true });
      const refusal = new Refusal('object_store_unavailable');
      refusal.cause = error;
      throw refusal;
    } finally {
      clearTimeout(timer);
    }
    const target = blobPath(folder, name);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await rename(path, target);
    await settleFolder(dirname(target));
    return true;
  }

  async close(): Promise<void> {
    await this.#connection?.release();
  }

  async #open(): Promise<ObjectStore> {
    this.#store ??= this.#connect();
    try {
      return await this.#store;
    } catch (error) {
      this.#store = undefined;
      throw error;
    }
  }

  async #connect(): Promise<ObjectStore> {
    const [{ shareConnection }, { openObjects }] = await Promise.all([
      import('../stream/stream-connection.ts'),
      import('../stream/stream-buckets.ts'),
    ]);
    this.#connection ??= shareConnection(this.#place);
    const { name, replicas } = this.#place;
    return await openObjects(await this.#connection.opened, contentBucket(name), replicas);
  }
}
