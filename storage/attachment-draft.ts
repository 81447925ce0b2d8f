/** The draft of a change to attachments: reads what the changes before it in the same commit leave, holds what it writes. */
import { attachmentRecord, uploadedKey, type AttachmentRecord, type AttachmentTable } from './attachment-records.ts';
import type { Table, Write } from './environment.ts';
import { key, numberAt, numberValue } from './keys.ts';

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

  putRecord(record: AttachmentRecord): void {
    this.put('attachments', key(record.id), attachmentRecord.encode(record));
  }

  /** Null removes it. */
  put(table: AttachmentTable, itemKey: Buffer, value: Buffer | null): void {
    this.writes.set(nameOf(table, itemKey), { table, key: itemKey, value });
  }

  /** Bytes that a person uploaded from one day to another, both included, in days since 1970. */
  uploadedBetween(owner: string, first: number, last: number): number {
    let bytes = 0;
    for (let day = first; day <= last; day += 1) bytes += this.#uploaded(owner, day);
    return bytes;
  }

  /** Counts bytes to what a person uploaded that day, or off it again. */
  charge(owner: string, day: number, bytes: number): void {
    const sum = Math.max(0, this.#uploaded(owner, day) + bytes);
    this.put('uploaded', uploadedKey(owner, day), sum === 0 ? null : numberValue(sum));
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
