/**
 * A file of a log's archive: what the log carried from a position on, with the time of each batch.
 *
 *     ID-FROM-AT.arc   │ head │ record │ record │ …          never changed once written, only added to
 *     head             │ magic, log id, from, at, installation, name of the log │ CRC32C │     128 bytes
 *     record           │ CRC32C, bytes, after, position, at, magic │ batch │                  32 bytes and the batch
 *
 * `after` is the position of the record before, so that nothing is left out in silence. A record without a batch says that
 * there was nothing else up to its time. A checksum covers the log's id, so that no record passes for another log's.
 *
 * Files are added to at their end. So a record that is not whole and that no whole one follows was torn, and what it had
 * is in the next file, where there is one; anything else that is not whole was damaged later.
 */
import type { EncodedBatch } from './commit-log.ts';
import { crc32c } from './log-sectors.ts';

/** What a file of the archive says of itself, in its head and, but for whose it is, in its name. */
export interface ArchiveHead {
  readonly installation: string;
  /** The name of the log: `accounts`, `lane-00` and so on. */
  readonly log: string;
  /** The log's own eight bytes. */
  readonly id: Buffer;
  /** What the archive has before this file ends at this position. */
  readonly from: number;
  /** When it was begun, in milliseconds since 1970. */
  readonly at: number;
}

export interface ArchivedRecord {
  /** The position of the record before. */
  readonly after: number;
  readonly position: number;
  /** When it was durable, in milliseconds since 1970; never before the record before. */
  readonly at: number;
  /** Undefined where it only says how far the archive reaches. */
  readonly batch: EncodedBatch | undefined;
}

/** How the bytes behind the last whole record are: `torn` where no whole record follows. */
export type ArchiveEnding = 'whole' | 'torn' | 'damaged';

export const ARCHIVE_HEAD_BYTES = 128;
const RECORD_HEAD_BYTES = 32;
const FILE_MAGIC = Buffer.from('PARLEYA1', 'latin1');
const RECORD_MAGIC = Buffer.from('aRcRec', 'latin1');
const MAGIC_AT = RECORD_HEAD_BYTES - RECORD_MAGIC.length;
/** Stands in the place of a batch's length where there is none. */
const NO_BATCH = 0xffffffff;
const NAME = /^([0-9a-f]{16})-(\d{15})-(\d{15})\.arc$/;

export function archiveFileName({ at, from, id }: Pick<ArchiveHead, 'at' | 'from' | 'id'>): string {
  return `${id.toString('hex')}-${String(from).padStart(15, '0')}-${String(at).padStart(15, '0')}.arc`;
}

/** What a name says; undefined of what is no file of an archive. */
export function readArchiveFileName(name: string): Pick<ArchiveHead, 'at' | 'from' | 'id'> | undefined {
  const [, id, from, at] = NAME.exec(name) ?? [];
  return id === undefined ? undefined : { id: Buffer.from(id, 'hex'), from: Number(from), at: Number(at) };
}

export function encodeArchiveHead({ at, from, id, installation, log }: ArchiveHead): Buffer {
  const head = Buffer.alloc(ARCHIVE_HEAD_BYTES);
  FILE_MAGIC.copy(head, 0);
  id.copy(head, 8);
  head.writeUIntLE(from, 16, 6);
  head.writeUIntLE(at, 22, 6);
  let end = 28;
  for (const text of [installation, log]) {
    end = head.writeUInt8(Buffer.byteLength(text), end);
    end += head.write(text, end, 'utf8');
  }
  head.writeUInt32LE(crc32c(head, 0, ARCHIVE_HEAD_BYTES - 4), ARCHIVE_HEAD_BYTES - 4);
  return head;
}

/** The head of a file; undefined where it is damaged or not all there. */
export function readArchiveHead(bytes: Buffer): ArchiveHead | undefined {
  if (bytes.length < ARCHIVE_HEAD_BYTES || !bytes.subarray(0, 8).equals(FILE_MAGIC)) return undefined;
  if (bytes.readUInt32LE(ARCHIVE_HEAD_BYTES - 4) !== crc32c(bytes, 0, ARCHIVE_HEAD_BYTES - 4)) return undefined;
  const texts: string[] = [];
  for (let at = 28; texts.length < 2;) {
    const length = bytes.readUInt8(at);
    texts.push(bytes.toString('utf8', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const [installation = '', log = ''] = texts;
  const id = Buffer.from(bytes.subarray(8, 16));
  return { installation, log, id, from: bytes.readUIntLE(16, 6), at: bytes.readUIntLE(22, 6) };
}

/** The head of a record, before its batch. `seed` is that of its log. */
export function encodeRecordHead({ after, at, batch, position }: ArchivedRecord, seed: number): Buffer {
  const head = Buffer.alloc(RECORD_HEAD_BYTES);
  head.writeUInt32LE(batch?.length ?? NO_BATCH, 4);
  head.writeUIntLE(after, 8, 6);
  head.writeUIntLE(position, 14, 6);
  head.writeUIntLE(at, 20, 6);
  RECORD_MAGIC.copy(head, MAGIC_AT);
  const crc = crc32c(head, 4, RECORD_HEAD_BYTES, seed);
  head.writeUInt32LE(batch === undefined ? crc : crc32c(batch, 0, batch.length, crc), 0);
  return head;
}

/** What the checksums of a log's records begin with. */
export function seedOf(id: Buffer): number {
  return crc32c(id, 0, id.length);
}

/** Walks the records of a file; their batches share its memory. */
export class ArchiveFileReader {
  readonly #bytes: Buffer;
  readonly #seed: number;
  #at = ARCHIVE_HEAD_BYTES;

  constructor(bytes: Buffer, id: Buffer) {
    [this.#bytes, this.#seed] = [bytes, seedOf(id)];
  }

  /** Where in the file the next record begins, in bytes. */
  get offset(): number {
    return this.#at;
  }

  /** The next record that is whole; undefined where there is none. */
  next(): ArchivedRecord | undefined {
    const found = this.#recordAt(this.#at);
    if (found === undefined) return undefined;
    this.#at += RECORD_HEAD_BYTES + (found.batch?.length ?? 0);
    return found;
  }

  /** What stands behind the last record that was read. */
  ending(): ArchiveEnding {
    if (this.#at >= this.#bytes.length) return 'whole';
    for (let found = this.#bytes.indexOf(RECORD_MAGIC, this.#at + 1); found !== -1;) {
      if (this.#recordAt(found - MAGIC_AT) !== undefined) return 'damaged';
      found = this.#bytes.indexOf(RECORD_MAGIC, found + 1);
    }
    return 'torn';
  }

  #recordAt(at: number): ArchivedRecord | undefined {
    const [bytes, start] = [this.#bytes, at + RECORD_HEAD_BYTES];
    if (at < ARCHIVE_HEAD_BYTES || start > bytes.length) return undefined;
    if (!bytes.subarray(at + MAGIC_AT, start).equals(RECORD_MAGIC)) return undefined;
    const said = bytes.readUInt32LE(at + 4);
    const end = start + (said === NO_BATCH ? 0 : said);
    if (end > bytes.length || bytes.readUInt32LE(at) !== crc32c(bytes, at + 4, end, this.#seed)) return undefined;
    return {
      after: bytes.readUIntLE(at + 8, 6),
      position: bytes.readUIntLE(at + 14, 6),
      at: bytes.readUIntLE(at + 20, 6),
      batch: said === NO_BATCH ? undefined : bytes.subarray(start, end),
    };
  }
}
