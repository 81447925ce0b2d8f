/**
 * The one writer of attachments, on one shard: all shards bring bytes to the disk by themselves and ask here for what
 * has to be decided once. Changes happen in turn; that a content which somebody finishes is not the one that somebody else
 * is removing is for `content-claims.ts` to see to.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '#src/protocol/errors.ts';
import type { RequireQuota } from '#src/protocol/quotas.ts';
import { AttachmentDraft, type AttachmentWrite } from './attachment-draft.ts';
import { isReferenced } from '../conversations/attachment-references.ts';
import {
  attachmentRecord,
  AttachmentReader,
  openAttachments,
  unpostedBefore,
  unpostedKey,
  type AttachmentEnvironment,
  type AttachmentRecord,
  type AttachmentTable,
} from './attachment-records.ts';
import {
  adoptFile,
  adoptUpload,
  blobFiles,
  blobPath,
  prepareBlobs,
  removeBlob,
  removeFile,
  removeUpload,
  sealedBlobPath,
  takeUpload,
  uploadFiles,
  uploadTouchedAt,
  writeThumbnail,
} from './blobs.ts';
import type { DurableWords } from '../engine/folder-logs.ts';
import { ChangeQueue } from '../engine/change-queue.ts';
import { LogUnavailable } from '../engine/environment.ts';
import { readClusterPlace } from '../engine/cluster-place.ts';
import { ContentCopies } from './content-copies.ts';
import { ContentClaims } from './content-claims.ts';
import { CONTENT_NAME } from './content-hash.ts';
import { key, lastPart, numberValue, under } from '../engine/keys.ts';
import { folderPaths } from '../engine/folder.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { chargeOf, UploadAdmission } from './upload-admission.ts';

/** An upload that nobody goes on with, and an attachment that nobody posts, go after this: a day. */
export const UNPOSTED_MILLIS = 86_400_000;
/** How long the removal waits for a message that is being posted: longer than any request may take. */
export const HOLD_MILLIS = 300_000;
/** How long whoever discards waits while nothing may be removed, in seconds. */
const PAUSED_RETRY_SECONDS = 60;
/** Uploads that wait to begin or end, at most: every connection of a large installation at once. Beyond it: `busy`. */
const WAITING_MAX = 10_000;
/** Unposted uploads looked at in one pass of the sweep. */
const SWEEP_STEP = 100;
/** Contents in the object store looked at in one go. */
const PLACED_STEP = 1_000;
/** How long an object stays whose content was brought back to this disk: whoever is reading it goes on. */
export const RETURNED_MILLIS = 900_000;

export interface AttachmentsOptions {
  /** Lanes to read, for whether a message has an attachment. */
  readonly lanes: readonly LaneEnvironment[];
  readonly now: () => number;
  /** What a person, and everybody together, may upload; without it nothing bounds them. */
  readonly requireQuota?: RequireQuota;
  /**
   * Until when nothing is removed that a message could have, in milliseconds since 1970: the writer before this one
   * died and took along what it knew of messages that are being posted.
   */
  readonly quietUntil?: number;
  /** While its first number is not 0, nothing is removed that a message could have: backups are being made. */
  readonly pauses?: Int32Array;
  /** How far the logs of the folder are durable, where other threads read what this one writes. */
  readonly words?: DurableWords | undefined;
  /** Told of each content that came to this disk under its name, and of each whose object is to go. */
  readonly noted?: (name: string) => void;
}

/** What a file turned out to be when it was whole. */
export interface WholeUpload {
  readonly name: string;
  readonly hash: string;
  readonly type: string;
}

export class Attachments extends AttachmentReader {
  readonly #folder: string;
  readonly #options: AttachmentsOptions;
  /** Where the other hosts of a cluster get contents from. */
  readonly #copies: ContentCopies | undefined;
  /** Attachment → how many messages with it are being posted, and until when it stays if none of them is heard of. */
  readonly #holds = new Map<string, { readonly posts: number; readonly until: number }>();
  readonly #contents: ContentClaims;
  /** Who may upload, how much, and what they were given leave for. */
  readonly admission: UploadAdmission;
  /** Uploads that begin or end together do so in one commit. */
  readonly #queue: ChangeQueue<AttachmentTable, AttachmentDraft>;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(folder: string, environment: AttachmentEnvironment, options: AttachmentsOptions) {
    super(environment);
    this.#folder = folder;
    this.#options = options;
    const place = readClusterPlace(folder);
    this.#copies = place && new ContentCopies(place);
    this.#contents = new ContentClaims(
      async (name) => await this.#removeContent(name),
      (name) => this.usesContent(name),
    );
    this.admission = new UploadAdmission({
      ...options,
      uploadedSince: (owner, day) => this.uploadedSince(owner, day),
    });
    this.#queue = new ChangeQueue({
      draft: (before) => new AttachmentDraft(before, environment.tables),
      commit: async (writes) => await this.#commit(writes),
      waitingMax: WAITING_MAX,
      inTurn: async (batch) => await this.#inTurn(batch),
    });
  }

  /** Opens the attachments of a data folder, whose lock the caller has. */
  static async open(folder: string, options: AttachmentsOptions): Promise<Attachments> {
    await prepareBlobs(folder);
    for (const name of await uploadFiles(folder)) {
      // Nobody goes on with a copy of an object.
      if (name.startsWith('fetch-')) await removeFile(join(folderPaths(folder).uploads, name));
    }
    const attachments = new Attachments(folder, openAttachments(folder, 'write', options.words), options);
    for (const { value } of attachments.environment.tables.unposted.getRange()) {
      const owner = attachments.find(value.toString())?.owner;
      if (owner !== undefined) attachments.admission.count(owner, 1);
    }
    return attachments;
  }

  /**
   * Begins an upload of so many bytes; answers its id.
   * @throws Refusal `quota_exceeded`, `uploads_full`, `storage_full`.
   */
  async create(owner: string, bytes: number, name: string): Promise<string> {
    const id = this.admission.reserve(owner, bytes);
    await this.admission.use(id, async ({ createdAt }) => {
      await this.#queue.change((draft) => {
        draft.begin({ id, owner, name, bytes, createdAt, type: undefined, hash: undefined });
      });
    });
    return id;
  }

  /**
   * Makes the reserved upload, whose bytes are all on disk, an attachment. In one commit: nobody was told of it before.
   * @throws Refusal `upload_busy` without a reservation, `storage_full`.
   */
  async keep(id: string, { name, hash, type }: WholeUpload): Promise<void> {
    await this.admission.use(id, async ({ owner, bytes, createdAt }) => {
      await this.#contents.claim(hash, async () => {
        await takeUpload(this.#folder, id, hash);
        await this.#copies?.put(this.#folder, hash);
        await this.#queue.change((draft) => {
          draft.begin({ id, owner, name, bytes, createdAt, type, hash });
        });
      });
    });
    this.#options.noted?.(hash);
  }

  /** Makes an upload whose bytes are all on disk an attachment. Doing it again changes nothing. */
  async finish(id: string, hash: string, type: string): Promise<void> {
    await this.#contents.claim(hash, async () => {
      if (this.find(id)?.hash === undefined) {
        await adoptUpload(this.#folder, id, hash);
        await this.#copies?.put(this.#folder, hash);
      }
      await this.#queue.change((draft) => {
        const record = draft.find(id);
        if (record === undefined) throw new Refusal('attachment_not_found');
        if (record.hash === undefined) draft.putRecord({ ...record, hash, type });
      });
      await removeUpload(this.#folder, id);
    });
    this.#options.noted?.(hash);
  }

  /**
   * Removes an upload or an attachment that no message has.
   * @throws Refusal `attachment_not_found`, `attachment_in_use`, `busy` while a backup is made.
   */
  async discard(id: string): Promise<void> {
    await this.#inTurn(async () => {
      const record = this.find(id);
      if (record === undefined) throw new Refusal('attachment_not_found');
      // A file that was never whole is in no message.
      if (record.hash !== undefined) {
        if (this.#isHeld(id) || this.#isReferenced(id)) throw new Refusal('attachment_in_use');
        if (this.isPaused) throw new Refusal('busy', { retryAfter: PAUSED_RETRY_SECONDS });
      }
      await this.#remove(record);
    });
  }

  /** Keeps an attachment while a message with it is being posted. @throws Refusal `attachment_not_found`. */
  async hold(id: string): Promise<void> {
    await this.#inTurn(() => {
      if (this.find(id)?.hash === undefined) throw new Refusal('attachment_not_found');
      const { posts } = this.#holds.get(id) ?? { posts: 0 };
      this.#holds.set(id, { posts: posts + 1, until: this.#options.now() + HOLD_MILLIS });
    });
  }

  /** A message has the attachment now: it is no longer held for it, nor one of those that wait for one. */
  async posted(id: string): Promise<void> {
    await this.#inTurn(async () => {
      const { posts, until } = this.#holds.get(id) ?? { posts: 0, until: 0 };
      if (posts > 1) this.#holds.set(id, { posts: posts - 1, until });
      else this.#holds.delete(id);
      const record = this.find(id);
      const itemKey = record === undefined ? undefined : this.#unpostedKeyOf(record);
      if (record === undefined || itemKey === undefined || !this.#isReferenced(id)) return;
      await this.#commit([{ table: 'unposted', key: itemKey, value: null }]);
      this.admission.count(record.owner, -1);
    });
  }

  /**
   * Puts the sealed copy of a content in its place, under its new name, for every attachment that has it. Whether any
   * still does.
   */
  async replaceContent(hash: string, name: string): Promise<boolean> {
    return await this.#inTurn(async () => {
      const { contents } = this.environment.tables;
      const ids = [...contents.getKeys(under(hash))].map((itemKey) => lastPart(itemKey));
      const records = ids.flatMap((id) => this.find(id) ?? []);
      if (records.length > 0) {
        await adoptFile(this.#folder, sealedBlobPath(this.#folder, hash), name);
        await this.#copies?.put(this.#folder, name);
        await this.#commit(
          records.flatMap((record): AttachmentWrite[] => [
            { table: 'attachments', key: key(record.id), value: attachmentRecord.encode({ ...record, hash: name }) },
            { table: 'contents', key: key(hash, record.id), value: null },
            { table: 'contents', key: key(name, record.id), value: Buffer.of(1) },
          ]),
        );
        await this.#contents.removeUnused(hash);
        this.#options.noted?.(name);
      }
      await rm(sealedBlobPath(this.#folder, hash), { force: true });
      return records.length > 0;
    });
  }

  /** Writes down that there may be such an object, which no content has, before a byte of it is sent. */
  async beginObject(object: string): Promise<void> {
    await this.#commit([{ table: 'doomed', key: key(object), value: numberValue(this.#options.now()) }]);
  }

  /**
   * Has a content lie in the object store, where all of it is, and not on this disk any more. Whether it does: not when
   * nothing has it now, nor while a backup copies the files. The object goes then.
   */
  async placeContent(name: string, object: string): Promise<boolean> {
    return await this.#inTurn(async () => {
      if (!this.usesContent(name) || this.objectOf(name) !== undefined || this.isPaused) return false;
      await this.#commit([
        { table: 'doomed', key: key(object), value: null },
        { table: 'placed', key: key(name), value: key(object) },
      ]);
      await removeFile(blobPath(this.#folder, name));
      this.#copies?.remove(name);
      return true;
    });
  }

  /** Takes away the file of a content whose object the store was just seen to have: it was uploaded once more. */
  async removeCopy(name: string): Promise<void> {
    await this.#inTurn(async () => {
      if (this.objectOf(name) !== undefined && !this.isPaused) await removeFile(blobPath(this.#folder, name));
    });
  }

  /** Has a content lie on this disk again, of which `source` is a whole copy. Its object goes after so many milliseconds. */
  async returnContent(name: string, object: string, source: string, keptMillis = RETURNED_MILLIS): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.usesContent(name) || this.objectOf(name) !== object) return;
      await adoptFile(this.#folder, source, name);
      await this.#copies?.put(this.#folder, name);
      await this.#commit([
        { table: 'placed', key: key(name), value: null },
        { table: 'doomed', key: key(object), value: numberValue(this.#options.now() + keptMillis) },
      ]);
    });
  }

  /** An object is gone from the store, with every part of it. */
  async forgetObject(object: string): Promise<void> {
    await this.#commit([{ table: 'doomed', key: key(object), value: null }]);
  }

  /** Keeps a thumbnail beside its content, unless that is gone. */
  async keepThumbnail(hash: string, size: number, bytes: Uint8Array): Promise<void> {
    await this.#inTurn(async () => {
      if (this.usesContent(hash)) await writeThumbnail(this.#folder, hash, size, bytes);
    });
  }

  /** Removes those of these attachments that no message has any more; answers those that need no second look. */
  async release(ids: readonly string[]): Promise<string[]> {
    return await this.#inTurn(async () => {
      const settled: string[] = [];
      if (this.isPaused) return settled;
      for (const id of ids) {
        if (this.#isHeld(id)) continue;
        const record = this.find(id);
        if (record !== undefined && !this.#isReferenced(id)) await this.#remove(record);
        settled.push(id);
      }
      return settled;
    });
  }

  /**
   * One pass over what no message had for a day: removes uploads that nobody goes on with and attachments that nobody
   * posted, and forgets those that were posted. Answers whether there may be more.
   */
  async sweep(isOpen: (id: string) => boolean): Promise<boolean> {
    return await this.#inTurn(async () => {
      const now = this.#options.now();
      for (const [id, { until }] of this.#holds) if (until < now) this.#holds.delete(id);
      const range = { ...unpostedBefore(now - UNPOSTED_MILLIS), limit: SWEEP_STEP };
      const due = [...this.environment.tables.unposted.getRange(range)].map((entry) => ({
        itemKey: Buffer.from(entry.key),
        id: entry.value.toString(),
      }));
      for (const { itemKey, id } of due) await this.#settleUnposted(id, itemKey, now, isOpen(id));
      return due.length === SWEEP_STEP;
    });
  }

  async #settleUnposted(id: string, itemKey: Buffer, now: number, isOpen: boolean): Promise<void> {
    const record = this.find(id);
    const forget: AttachmentWrite = { table: 'unposted', key: itemKey, value: null };
    if (record === undefined) return await this.#commit([forget]);
    if (record.hash !== undefined && this.#isReferenced(id)) {
      await this.#commit([forget]);
      return this.admission.count(record.owner, -1);
    }
    const touched = record.hash === undefined ? ((await uploadTouchedAt(this.#folder, id)) ?? 0) : 0;
    const isKept = record.hash !== undefined && (this.#isHeld(id) || this.isPaused);
    if (isKept || isOpen || touched > now - UNPOSTED_MILLIS) {
      const later: AttachmentWrite = { table: 'unposted', key: unpostedKey(now, id), value: key(id) };
      return await this.#commit([forget, later]);
    }
    await this.#remove(record, itemKey);
  }

  /** Resolves when whatever was decided before is done. */
  async settle(): Promise<void> {
    await this.#queue.settle();
    await this.#inTurn(() => undefined);
  }

  /** Removes files that no record knows: what a crash left between a file and its record. Runs beside the others. */
  async removeOrphans(): Promise<number> {
    let removed = 0;
    for (const name of await uploadFiles(this.#folder)) {
      removed += await this.#inTurn(async () => {
        const [, unsealed = ''] = /^seal-(b?[0-9a-f]{64})$/.exec(name) ?? [];
        if (unsealed !== '') await rm(sealedBlobPath(this.#folder, unsealed));
        const [, id = ''] = /^(att_[0-9a-z]+)(?:\.sealed)?$/.exec(name) ?? [];
        if (id === '') return 0;
        const record = this.find(id);
        if (this.admission.has(id) || (record !== undefined && record.hash === undefined)) return 0;
        await removeUpload(this.#folder, id);
        return 1;
      });
    }
    for await (const names of blobFiles(this.#folder)) {
      for (const hash of new Set(names.map((name) => name.split('.', 1)[0] ?? ''))) {
        removed += await this.#inTurn(async () => {
          return CONTENT_NAME.test(hash) && (await this.#contents.removeUnused(hash)) ? 1 : 0;
        });
      }
    }
    for (let after: string | undefined = ''; after !== undefined;) {
      const names: string[] = this.placedAfter(after, PLACED_STEP) ?? [];
      for (const name of names) {
        if (!this.usesContent(name)) await this.#inTurn(async () => void (await this.#contents.removeUnused(name)));
      }
      after = names.at(-1);
      await new Promise(setImmediate);
    }
    return removed;
  }

  /** Waits for what is under way and closes the file. */
  override async close(): Promise<void> {
    await this.settle();
    await this.#copies?.close();
    await super.close();
  }

  /** The record goes first: a file without one is found at the next start, a record without its file misleads. */
  async #remove(record: AttachmentRecord, listed?: Buffer): Promise<void> {
    const { id, owner, hash, bytes, createdAt } = record;
    const unposted = listed ?? this.#unpostedKeyOf(record);
    const draft = new AttachmentDraft(new Map(), this.environment.tables);
    draft.put('attachments', key(id), null);
    if (hash !== undefined) draft.put('contents', key(hash, id), null);
    if (unposted !== undefined) draft.put('unposted', unposted, null);
    // Bytes that never became a file are given back; a file that was there was sent, and counts.
    if (hash === undefined) draft.charge(owner, createdAt, -chargeOf(bytes));
    await this.#commit([...draft.writes.values()]);
    if (unposted !== undefined) this.admission.count(owner, -1);
    if (hash === undefined) await removeUpload(this.#folder, id);
    else await this.#contents.removeUnused(hash);
  }

  /** From the disk at once; the object that a content has is written down to go, in case the store is not there. */
  async #removeContent(name: string): Promise<void> {
    await removeBlob(this.#folder, name);
    this.#copies?.remove(name);
    const object = this.objectOf(name);
    if (object === undefined) return;
    await this.#commit([
      { table: 'placed', key: key(name), value: null },
      { table: 'doomed', key: key(object), value: numberValue(this.#options.now()) },
    ]);
    this.#options.noted?.(name);
  }

  /** Where an upload stands among the unposted: at its beginning, unless a sweep moved it. */
  #unpostedKeyOf({ id, createdAt }: AttachmentRecord): Buffer | undefined {
    const { unposted } = this.environment.tables;
    const first = unpostedKey(createdAt, id);
    if (unposted.get(first) !== undefined) return first;
    const range = { start: first, end: unpostedBefore(this.#options.now() + 1).end };
    for (const entry of unposted.getRange(range)) if (entry.value.toString() === id) return Buffer.from(entry.key);
    return undefined;
  }

  #isHeld(id: string): boolean {
    return (this.#holds.get(id)?.until ?? 0) > this.#options.now();
  }

  /** Whether nothing is removed now that a message could have. */
  get isPaused(): boolean {
    const { now, pauses, quietUntil = 0 } = this.#options;
    return quietUntil > now() || (pauses !== undefined && Atomics.load(pauses, 0) > 0);
  }

  #isReferenced(id: string): boolean {
    return this.#options.lanes.some((lane) => {
      lane.refresh();
      return isReferenced(lane.tables, id);
    });
  }

  /** @throws Refusal `storage_full`, `unavailable`. */
  async #commit(writes: readonly AttachmentWrite[]): Promise<void> {
    try {
      await this.environment.commit(writes);
    } catch (error) {
      throw new Refusal(error instanceof LogUnavailable ? 'unavailable' : 'storage_full');
    }
    this.environment.refresh();
  }

  async #inTurn<T>(action: () => T | Promise<T>): Promise<T> {
    const turn = this.#turn.then(action);
    // Whoever comes next waits for the end, whatever it was.
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }
}
