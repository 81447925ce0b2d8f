/**
 * The file of attachments: what is known of each upload, which contents are in use, which of them lie in an object
 * store, what waits to be posted, and what each person uploaded by day. One shard writes it (`attachments.ts`); any
 * thread reads it.
 */
import { isSealedName } from './blob-sealing.ts';
import { logOf, type DurableWords } from '../engine/folder-logs.ts';
import { Environment, type LogOptions } from '../engine/environment.ts';
import { folderPaths } from '../engine/folder.ts';
import { key, lastPart, numberAt, numbered, numberedThen, under } from '../engine/keys.ts';
import { recordOf } from '../engine/record-codec.ts';

/**
 * `placed` has the object of each content that lies in the object store; a content without one lies on this disk.
 * `doomed` has every object that may be in the store and that no content has, with the instant from which it goes.
 */
export const ATTACHMENT_TABLES = ['attachments', 'contents', 'doomed', 'placed', 'unposted', 'uploaded'] as const;
export type AttachmentTable = (typeof ATTACHMENT_TABLES)[number];
export type AttachmentEnvironment = Environment<AttachmentTable>;

/** Address space: a hundred million records. */
const MAP_BYTES = 64 * 1024 ** 3;

export interface AttachmentRecord {
  id: string;
  owner: string;
  /** The file's name as its uploader gave it, made safe. */
  name: string;
  bytes: number;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Media type by the content's first bytes, and its name (`blobs.ts`); undefined until the upload is whole. */
  type: string | undefined;
  hash: string | undefined;
}

/** Contents counted between two turns of the event loop. */
const COUNT_STEP = 1_000;

export const attachmentRecord = recordOf<AttachmentRecord>('attachment', [
  'id',
  'owner',
  'name',
  'bytes',
  'createdAt',
  'type?',
  'hash?',
]);

/** Uploads by when they were last known to be alive, so that the oldest come first. */
export const unpostedKey = (since: number, id: string): Buffer => numberedThen(since, 'u', id);
export const unpostedBefore = (until: number) => ({ start: numbered(0, 'u'), end: numbered(until, 'u') });

/** What a person uploaded in a day, counted in days since 1970. */
export const uploadedKey = (user: string, day: number): Buffer => numbered(day, user);

export function openAttachments(
  folder: string,
  access: LogOptions['access'] = 'read',
  words?: DurableWords,
): AttachmentEnvironment {
  const log = logOf(folder, 'attachments', access, words);
  return new Environment(folderPaths(folder).attachments, ATTACHMENT_TABLES, { mapBytes: MAP_BYTES, log });
}

export class AttachmentReader {
  protected readonly environment: AttachmentEnvironment;

  constructor(environment: AttachmentEnvironment) {
    this.environment = environment;
  }

  /** An upload or attachment, whoever it belongs to. */
  find(id: string): AttachmentRecord | undefined {
    this.environment.refresh();
    const stored = this.environment.tables.attachments.get(key(id));
    return stored === undefined ? undefined : attachmentRecord.decode(stored);
  }

  /**
   * Uploads of everybody that no message has, behind a key that an earlier answer gave; `limit` are looked at. `next` is
   * undefined at the end.
   */
  unpostedAfter(
    after: Buffer | undefined,
    limit: number,
  ): { readonly items: AttachmentRecord[]; readonly next: Buffer | undefined } {
    this.environment.refresh();
    const { end, start: first } = under('u');
    // A NUL is the lowest byte: the first key that can follow is the same and a NUL.
    const start = after === undefined ? first : Buffer.concat([after, Buffer.of(0)]);
    const listed = [...this.environment.tables.unposted.getRange({ start, end, limit })].map((entry) => ({
      itemKey: Buffer.from(entry.key),
      id: entry.value.toString(),
    }));
    const items = listed.flatMap(({ id }) => this.find(id) ?? []);
    return { items, next: listed.length < limit ? undefined : listed.at(-1)?.itemKey };
  }

  /** Bytes that a person uploaded since the beginning of a day, which is counted from 1970. */
  uploadedSince(user: string, day: number): number {
    this.environment.refresh();
    let bytes = 0;
    const range = { start: uploadedKey(user, day), end: under(user).end };
    for (const { value } of this.environment.tables.uploaded.getRange(range)) bytes += numberAt(value);
    return bytes;
  }

  /** Whether an attachment has the content with that hash. */
  usesContent(hash: string): boolean {
    this.environment.refresh();
    return [...this.environment.tables.contents.getKeys({ ...under(hash), limit: 1 })].length > 0;
  }

  /** The object of a content that lies in the object store; undefined for one that lies on this disk. */
  objectOf(name: string): string | undefined {
    this.environment.refresh();
    return this.environment.tables.placed.get(key(name))?.toString();
  }

  /** Plain bytes of a content; undefined for one that no attachment has. */
  bytesOf(name: string): number | undefined {
    this.environment.refresh();
    const [itemKey] = [...this.environment.tables.contents.getKeys({ ...under(name), limit: 1 })];
    return itemKey === undefined ? undefined : this.find(lastPart(itemKey))?.bytes;
  }

  /** Names of contents behind `after`, each once, of at most `limit` attachments; undefined at the end. */
  contentsAfter(after: string, limit: number): string[] | undefined {
    this.environment.refresh();
    const range = { start: Buffer.from(`${after}\x01`, 'latin1'), limit };
    const names = [...this.environment.tables.contents.getKeys(range)].map(contentOf);
    return names.length === 0 ? undefined : [...new Set(names)];
  }

  /** Contents in the object store behind `after`, by name; undefined at the end. */
  placedAfter(after: string, limit: number): string[] | undefined {
    this.environment.refresh();
    const range = { start: Buffer.from(`${after}\x01`, 'latin1'), limit };
    const names = [...this.environment.tables.placed.getKeys(range)].map((itemKey) => itemKey.toString());
    return names.length === 0 ? undefined : names;
  }

  /** Objects that no content has and that may go at that instant, in milliseconds since 1970. */
  doomedAt(now: number, limit: number): string[] {
    this.environment.refresh();
    const due: string[] = [];
    for (const { key: itemKey, value } of this.environment.tables.doomed.getRange()) {
      if (numberAt(value) > now) continue;
      due.push(itemKey.toString());
      if (due.length === limit) break;
    }
    return due;
  }

  /** How many contents lie in the object store, and how many objects there wait to be removed. */
  countObjects(): { readonly placed: number; readonly doomed: number } {
    this.environment.refresh();
    const { doomed, placed } = this.environment.tables;
    return { placed: placed.getKeysCount(), doomed: doomed.getKeysCount() };
  }

  /** The first content that is not sealed, behind `after`; undefined when there is none. */
  unsealedAfter(after: string): string | undefined {
    this.environment.refresh();
    // Sealed ones begin with a letter behind those of the digits.
    const range = { start: Buffer.from(`${after}\x01`, 'latin1'), end: Buffer.from('s'), limit: 1 };
    const [itemKey] = [...this.environment.tables.contents.getKeys(range)];
    return itemKey === undefined ? undefined : contentOf(itemKey);
  }

  /** How many contents are sealed and how many are not, looked at in steps. */
  async countContents(): Promise<{ sealed: number; plain: number }> {
    const counts = { sealed: 0, plain: 0 };
    for (let after = ''; ;) {
      this.environment.refresh();
      const range = { start: Buffer.from(`${after}\x01`, 'latin1'), limit: COUNT_STEP };
      const names = [...this.environment.tables.contents.getKeys(range)].map(contentOf);
      const last = names.at(-1);
      if (last === undefined) return counts;
      for (const name of new Set(names)) counts[isSealedName(name) ? 'sealed' : 'plain'] += 1;
      after = last;
      await new Promise(setImmediate);
    }
  }

  async close(): Promise<void> {
    await this.environment.close();
  }
}

/** The name of the content that a key of `contents` begins with. */
function contentOf(itemKey: Buffer): string {
  return itemKey.toString('latin1').split('\0', 1)[0] ?? '';
}
