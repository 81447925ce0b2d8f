/** The draft of a change to attachments: reads what the changes before it in the same commit leave, holds what it writes. */
import {
  attachmentRecord,
  unpostedKey,
  uploadedKey,
  type AttachmentRecord,
  type AttachmentTable,
} from './attachment-records.ts';
import type { Table, Write } from '../engine/environment.ts';
import { key, numberAt, numberValue } from '../engine/keys.ts';
import { dayOf, EVERYBODY } from '#src/protocol/quotas.ts';
import { chargeOf } from './upload-admission.ts';

export type AttachmentWrite = Write<AttachmentTable>;

export class AttachmentDraft {
  readonly writes = new Map<string, AttachmentWrite>();
  readonly #before: ReadonlyMap<string, AttachmentWrite>;
  readonly #tables: Readonly<Record<AttachmentTable, Table>>;

  constructor(before: ReadonlyMap<string, AttachmentWrite>, tables: Readonly<Record<AttachmentTable, Table>>) {
    this.#before = before;
    this.#tables = tables;
  }

  /** An upload or attachment, whoever it belongs to. */
  find(id: string): AttachmentRecord | undefined {
    const stored = this.#get('attachments', key(id));
    return stored === undefined ? undefined : attachmentRecord.decode(stored);
  }

  /** Stores what is known of an upload, and of a whole one that its content has an attachment. */
  putRecord(record: AttachmentRecord): void {
    const { hash, id } = record;
    this.put('attachments', key(id), attachmentRecord.encode(record));
    if (hash !== undefined) this.put('contents', key(hash, id), Buffer.of(1));
  }

  /** Stores a new upload, which no message has yet, and what its owner is charged for it. */
  begin(record: AttachmentRecord): void {
    const { bytes, createdAt, id, owner } = record;
    this.putRecord(record);
    this.put('unposted', unpostedKey(createdAt, id), key(id));
    this.charge(owner, createdAt, chargeOf(bytes));
  }

  /** Null removes it. */
  put(table: AttachmentTable, itemKey: Buffer, value: Buffer | null): void {
    this.writes.set(nameOf(table, itemKey), { table, key: itemKey, value });
  }

  /** Counts bytes to what a person, and everybody, uploaded on the day of that instant, or off it again. */
  charge(owner: string, at: number, bytes: number): void {
    const day = dayOf(at);
    for (const who of [owner, EVERYBODY]) {
      const sum = Math.max(0, this.#uploaded(who, day) + bytes);
      this.put('uploaded', uploadedKey(who, day), sum === 0 ? null : numberValue(sum));
    }
  }

  #uploaded(owner: string, day: number): number {
    const stored = this.#get('uploaded', uploadedKey(owner, day));
    return stored === undefined ? 0 : numberAt(stored);
  }

  #get(table: AttachmentTable, itemKey: Buffer): Buffer | undefined {
    const name = nameOf(table, itemKey);
    const write = this.writes.get(name) ?? this.#before.get(name);
    if (write === undefined) return this.#tables[table].get(itemKey);
    return write.value === null ? undefined : Buffer.from(write.value);
  }
}

function nameOf(table: AttachmentTable, itemKey: Buffer): string {
  return `${table}/${itemKey.toString('latin1')}`;
}
