/**
 * What shards ask the one that writes attachments: to begin, finish and discard uploads, to have one upload for
 * themselves while they write it, and to remove what no message has any more. It is a shard and not the main thread, so
 * that files go on being sent while the management plane hangs (SVC-02).
 */
import type { RequireQuota } from '#src/protocol/quotas.ts';
import type { AskBody, ServiceHandlers } from '#actors/runtime/thread-services.ts';
import type { AttachmentServices, InfectedUpload } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Sample } from '#src/telemetry/metrics.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import { sealContents } from '#storage/attachments/attachment-sealing.ts';
import { Attachments, HOLD_MILLIS } from '#storage/attachments/attachments.ts';
import { Content, type ContentVault } from '#storage/attachments/blob-contents.ts';
import { isSealedName, storedBytes } from '#storage/attachments/blob-sealing.ts';
import { blobPath, removeFile, removeUpload } from '#storage/attachments/blobs.ts';
import { fetchObject } from '#storage/attachments/object-transfer.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import type { LaneEnvironment } from '#storage/engine/lane.ts';
import type { ShardRuntime } from '../thread-services.ts';
import { AvatarMaker } from '#src/pictures/avatar-maker.ts';
import { ContentMover } from './content-mover.ts';
import type { StoreClient } from './store-client.ts';
import { thumbnailFormat, ThumbnailMaker } from '#src/pictures/thumbnail-maker.ts';

/** How long a request waits for the one before it to let go of the upload, once that was told to. */
const LEASE_WAIT_MILLIS = 5_000;
/** How long the main thread may take for an entry of the audit trail. */
const AUDIT_MILLIS = 10_000;
/** How long another shard may take to let go of what it writes, before it is asked again. */
const DROP_ALL_MILLIS = 60_000;
/** How often abandoned uploads are looked for. */
const SWEEP_MILLIS = 60_000;

interface Lease {
  readonly shard: number;
  readonly token: string;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

export interface AttachmentWriterOptions {
  readonly folder: string;
  /** What seals contents, as this thread has it. */
  readonly vault: ContentVault;
  readonly attachments: Attachments;
  /** Moves contents between this disk and the object store. */
  readonly mover: ContentMover;
  readonly storeClient: StoreClient;
  readonly log: Log;
  /** Tells a shard to let go of an upload: a newer request of the same client wants it. */
  readonly drop: (shard: number, id: string, token: string) => void;
  /** Has all shards let go of every upload; resolves when nothing is written any more. */
  readonly dropAll: () => Promise<void>;
  /** Writes down whose file the virus scanner named. @throws Refusal `unavailable` while that cannot be done. */
  readonly auditInfected: (upload: InfectedUpload) => Promise<void>;
}

/** What the shard has that the desk is made from. */
export interface AttachmentWriterContext {
  readonly folder: string;
  readonly vault: ContentVault;
  readonly storeClient: StoreClient;
  readonly lanes: readonly LaneEnvironment[];
  readonly requireQuota: RequireQuota;
  /** Of main: while its first number is not 0, a backup is being made. */
  readonly pauses: Int32Array;
  readonly words: DurableWords;
  /** Whether this thread takes the place of one that died. */
  readonly isRestart: boolean;
  readonly now: () => number;
  readonly log: Log;
  readonly runtime: ShardRuntime;
}

/** Opens the attachments to write them: on one shard of a server that has the folder. */
export async function openAttachmentWriter(context: AttachmentWriterContext): Promise<AttachmentWriter> {
  const { storeClient, folder, isRestart, lanes, log, runtime, now, pauses, requireQuota, vault, words } = context;
  const quietUntil = isRestart ? now() + HOLD_MILLIS : 0;
  const noted = (name: string): void => mover.note(name);
  const attachments = await Attachments.open(folder, { lanes, now, requireQuota, quietUntil, pauses, noted, words });
  const faulted = (fault: string | null): void => runtime.tellMain('objectStore.faulted', { fault });
  const mover: ContentMover = new ContentMover({ folder, attachments, vault, storeClient, now, log, faulted });
  return new AttachmentWriter({
    folder,
    vault,
    attachments,
    mover,
    storeClient,
    log,
    drop: (shard, id, lease) => runtime.tellShard(shard, 'upload.drop', { id, lease }),
    dropAll: async () => {
      await Promise.all(runtime.otherShards.map(async (shard) => await dropAllOf(runtime, shard)));
    },
    auditInfected: async (upload) => {
      const answer = await runtime.askMain('audit.writeInfection', upload, AUDIT_MILLIS);
      if (!answer.ok) throw new Refusal('unavailable');
    },
  });
}

/** Until a shard says so, something may still be written there; one that is gone writes nothing. */
async function dropAllOf(runtime: ShardRuntime, shard: number): Promise<void> {
  while (runtime.otherShards.includes(shard)) {
    const answer = await runtime.askShard(shard, 'uploads.dropAll', null, DROP_ALL_MILLIS);
    if (answer.ok) return;
  }
}

export class AttachmentWriter {
  readonly #options: AttachmentWriterOptions;
  /** Upload → who writes it now. */
  readonly #leases = new Map<string, Lease>();
  /** Reserved upload → the shard that it comes to. */
  readonly #reserved = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  readonly #thumbnails = new ThumbnailMaker();
  readonly #avatars = new AvatarMaker(this.#thumbnails);
  #sealing: Promise<void> = Promise.resolve();
  #contents: { readonly sealed: number; readonly plain: number } | undefined;
  #isSealing = false;
  #isStopped = false;
  /** What the thread before this one gave leave to write is over. */
  readonly #ready = Promise.withResolvers<void>();

  constructor(options: AttachmentWriterOptions) {
    this.#options = options;
  }

  /** Removes what a crash left, then, every minute, what nobody goes on with. Once there are links to the others. */
  start(): void {
    void this.#options.dropAll().then(() => this.#ready.resolve());
    this.#keep(async () => {
      const files = await this.#options.attachments.removeOrphans();
      if (files > 0) this.#options.log.info('files of attachments that nothing knew were removed', { files });
    });
    this.#keep(() => this.sealRest());
    this.#keep(async () => await this.#countContents());
    this.#keep(() => this.#options.mover.start());
    this.#timer = setInterval(() => {
      this.#keep(() => this.sweep());
      this.#keep(async () => await this.#countContents());
      this.sealRest();
    }, SWEEP_MILLIS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#thumbnails.close();
    await this.#work;
    await this.#options.mover.stop();
    await this.#sealing;
  }

  /** Another object store, or another place to keep contents in. */
  storeChanged(): void {
    this.#options.mover.changed();
    // What could not be sealed because it lay there can be now.
    this.sealRest();
  }

  /** Removes everything that is due now. */
  async sweep(): Promise<void> {
    while (await this.#options.attachments.sweep((id) => this.#leases.has(id)));
  }

  /** The attachments as this thread reads them. */
  get attachments(): Attachments {
    return this.#options.attachments;
  }

  /** Thumbnails, and how many contents are sealed. */
  get metrics(): Readonly<Partial<Record<ScalarName, Sample[]>>> {
    const counted = Object.entries(this.#contents ?? {});
    return {
      ...this.#thumbnails.metrics,
      ...this.#options.mover.metrics,
      parley_attachments_contents: counted.map(([form, value]) => ({ labels: [form], value })),
    };
  }

  /** A shard died: what it wrote is whatever reached the file. */
  shardLost(shard: number): void {
    for (const [id, lease] of this.#leases) if (lease.shard === shard) this.#end(id, lease);
    for (const [id, from] of this.#reserved) {
      if (from !== shard) continue;
      this.#release(id);
      this.#keep(async () => await removeUpload(this.#options.folder, id));
    }
  }

  /** What shards ask of the one that has this writer, itself too. @throws Refusal `internal` on a shard without one. */
  static services(writer: AttachmentWriter | undefined): ServiceHandlers<AttachmentServices> {
    const here = (): AttachmentWriter => {
      if (writer === undefined) throw new Refusal('internal');
      return writer;
    };
    return {
      'uploads.create': async ({ bytes, name, user }) => await here().attachments.create(user, bytes, name),
      'uploads.reserve': (upload) => here().#reserve(upload),
      'uploads.keep': async (upload) => {
        await here().attachments.keep(upload.id, upload);
        here().#reserved.delete(upload.id);
      },
      'uploads.release': ({ id }) => here().#release(id),
      'uploads.open': async (upload) => await here().#open(upload),
      'uploads.close': ({ id, lease }) => here().#close(id, lease),
      'uploads.finish': async ({ hash, id, lease, type }) => {
        here().#require(id, lease);
        await here().attachments.finish(id, hash, type);
      },
      'uploads.removeInfected': async (upload) => await here().#removeInfected(upload),
      'uploads.discard': async (upload) => await here().#discard(upload),
      'attachments.hold': async ({ id }) => await here().attachments.hold(id),
      'attachments.posted': async ({ id }) => await here().attachments.posted(id),
      'attachments.settle': async () => await here().attachments.settle(),
      'attachments.makeThumbnail': async ({ id, size }) => await here().#makeThumbnail(id, size),
      'avatars.make': async ({ picture }) => await here().#avatars.make(picture),
      'attachments.release': async ({ ids }) => await here().attachments.release(ids),
    };
  }

  /** @throws Refusal `attachment_not_found`, `upload_busy`. */
  async #discard({ id, user }: AskBody<AttachmentServices, 'uploads.discard'>): Promise<void> {
    this.#requireOwner(id, user);
    await this.#free(id);
    await this.#options.attachments.discard(id);
  }

  /** @throws Refusal `quota_exceeded`, `uploads_full`. */
  #reserve({ user, bytes, shard }: AskBody<AttachmentServices, 'uploads.reserve'>): string {
    const id = this.#options.attachments.admission.reserve(user, bytes);
    this.#reserved.set(id, shard);
    return id;
  }

  #release(id: string): void {
    this.#reserved.delete(id);
    this.#options.attachments.admission.release(id);
  }

  /**
   * @throws Refusal `attachment_not_found`, `thumbnail_not_found`, `encryption_locked`, `object_store_unavailable`,
   * `busy`.
   */
  async #makeThumbnail(id: string, size: number): Promise<void> {
    const { attachments, storeClient, folder, vault } = this.#options;
    const { bytes = 0, hash, type = '' } = attachments.find(id) ?? {};
    if (hash === undefined) throw new Refusal('attachment_not_found');
    const format = thumbnailFormat(type, bytes);
    if (format === undefined) throw new Refusal('thumbnail_not_found');
    const find = () => storeClient.at(attachments.objectOf(hash));
    const content = await Content.open(folder, hash, vault, find);
    const { opened } = content;
    await content.close();
    const object = find();
    const stored = isSealedName(hash) ? storedBytes(bytes) : bytes;
    const path =
      object === undefined ? blobPath(folder, hash) : await fetchObject(folder, object, { name: hash, bytes, stored });
    const name = `${hash}.${size}`;
    try {
      await this.#thumbnails.make(name, { source: { path, bytes, opened }, format, size }, async (picture) => {
        const kept = isSealedName(hash) ? vault.keys.sealPart(name, picture) : picture;
        await attachments.keepThumbnail(hash, size, kept);
      });
    } finally {
      if (object !== undefined) await removeFile(path);
    }
  }

  /**
   * Seals what is not sealed yet, if there is anything and the key is there. One pass at a time: another one begins each
   * minute, and whenever the keys change.
   */
  sealRest(): void {
    const { attachments, folder, log, mover, vault } = this.#options;
    if (this.#isSealing || !vault.isUnlocked || attachments.unsealedAfter('') === undefined) return;
    this.#isSealing = true;
    const { keys } = vault;
    const goesOn = () => !this.#isStopped && vault.isUnlocked && vault.keys === keys;
    this.#sealing = sealContents(folder, attachments, keys, goesOn, async (name) => await mover.bringBack(name, 0))
      .then(({ left, sealed }) => {
        this.#keep(async () => await this.#countContents());
        if (left > 0) log.warn('attachments could not be sealed', { sealed, left });
        else log.info('attachments were sealed', { sealed });
      })
      .catch((error: unknown) => log.error('the sealing of attachments stopped', { error }))
      .finally(() => {
        this.#isSealing = false;
      });
  }

  /** @throws Refusal `attachment_not_found`, `upload_busy` when the request before does not let go. */
  async #open({ id, user, shard, lease }: AskBody<AttachmentServices, 'uploads.open'>): Promise<void> {
    this.#requireOwner(id, user);
    await this.#free(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#leases.set(id, { shard, token: lease, ended: promise, end: resolve });
  }

  /** Has whoever writes an upload let go: a client that lost its connection comes back before the server knows it. */
  async #free(id: string): Promise<void> {
    await this.#ready.promise;
    const held = this.#leases.get(id);
    if (held === undefined) return;
    this.#options.drop(held.shard, id, held.token);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LEASE_WAIT_MILLIS);
    await Promise.race([held.ended, late]);
    clearTimeout(timer);
    // Of several that waited, the first one has it.
    if (this.#leases.has(id)) throw new Refusal('upload_busy');
  }

  #close(id: string, token: string): void {
    const lease = this.#leases.get(id);
    if (lease?.token === token) this.#end(id, lease);
  }

  #end(id: string, lease: Lease): void {
    this.#leases.delete(id);
    lease.end();
  }

  /** One who lost the upload to another may not finish it. @throws Refusal `upload_busy`. */
  #require(id: string, token: string): void {
    if (this.#leases.get(id)?.token !== token) throw new Refusal('upload_busy');
  }

  /** @throws Refusal `attachment_not_found` for what is not there and what is another's. */
  #requireOwner(id: string, user: string): void {
    if (this.#options.attachments.find(id)?.owner !== user) throw new Refusal('attachment_not_found');
  }

  /** Removes what the virus scanner named, and writes down whose it was. */
  async #removeInfected(upload: AskBody<AttachmentServices, 'uploads.removeInfected'>): Promise<void> {
    const { id, lease, signature, address } = upload;
    const { attachments, auditInfected } = this.#options;
    const reservation = attachments.admission.get(id);
    if (reservation === undefined) this.#require(id, lease);
    const { owner = '', bytes = 0 } = reservation ?? attachments.find(id) ?? {};
    await auditInfected({ id, owner, bytes, signature, address });
    if (reservation === undefined) await attachments.discard(id);
  }

  async #countContents(): Promise<void> {
    if (!this.#isStopped) this.#contents = await this.#options.attachments.countContents();
  }

  #keep(work: () => void | Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      this.#options.log.error('the sweep of attachments failed', { error });
    });
  }
}
