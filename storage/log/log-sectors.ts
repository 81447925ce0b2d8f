/**
 * The form of a log on disk: batches laid over sectors of 512 bytes, each of which proves itself.
 *
 *     segment  │ head │ sector │ sector │ sector │ …                  1 MiB, filled with zeros before it is used
 *     sector   │ start: the position of its batch │ data │ CRC32C │   8 + 500 + 4 bytes
 *     batch    │ kind, stamp, length │ bytes … │ bytes … │            in as many sectors as it takes
 *
 * A position is a number of sectors since the log began; the segment that has it follows from it. A disk writes a
 * sector whole or not at all. So a sector is one of three: *blank* (zeros: never written), *whole* (its checksum, which
 * covers its own position, is right) or *damaged*. That tells a batch that a power cut tore, some of whose sectors are
 * blank and which was therefore never acknowledged, from one that was damaged later, none of whose sectors are.
 */
import { LogFault, type EncodedBatch } from './commit-log.ts';

export const SECTOR_BYTES = 512;
/** Sectors of a segment that hold batches. One more, the first, is its head. */
export const SEGMENT_SECTORS = 2_047;
export const SEGMENT_BYTES = (SEGMENT_SECTORS + 1) * SECTOR_BYTES;

const START_BYTES = 8;
const CRC_AT = SECTOR_BYTES - 4;
const DATA_BYTES = CRC_AT - START_BYTES;
const HEAD_BYTES = 8;
/** Kinds of batches. A turn has no bytes and says that the log goes on in the next segment. */
const [WRITES, TURN] = [1, 2];
const MAGIC = 0x474f4c50;
const VERSION = 1;

/** The polynomial of Castagnoli, which finds any five wrong bits in a sector; eight bytes a step. */
const CRC_TABLE = ((): Int32Array => {
  const table = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    table[byte] = crc;
  }
  for (let at = 256; at < table.length; at += 1) {
    const before = table[at - 256] as number;
    table[at] = (table[before & 255] as number) ^ (before >>> 8);
  }
  return table;
})();

/** CRC32C (RFC 3720, B.4) of a part of a buffer, going on from `seed`. */
export function crc32c(bytes: Uint8Array, from: number, to: number, seed = 0): number {
  const t = CRC_TABLE as unknown as { readonly [at: number]: number };
  const b = bytes as unknown as { readonly [at: number]: number };
  let crc = ~seed;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    const low = crc ^ ((b[at] ?? 0) | ((b[at + 1] ?? 0) << 8) | ((b[at + 2] ?? 0) << 16) | ((b[at + 3] ?? 0) << 24));
    crc =
      (t[1792 + (low & 255)] ?? 0) ^
      (t[1536 + ((low >>> 8) & 255)] ?? 0) ^
      (t[1280 + ((low >>> 16) & 255)] ?? 0) ^
      (t[1024 + (low >>> 24)] ?? 0) ^
      (t[768 + (b[at + 4] ?? 0)] ?? 0) ^
      (t[512 + (b[at + 5] ?? 0)] ?? 0) ^
      (t[256 + (b[at + 6] ?? 0)] ?? 0) ^
      (t[b[at + 7] ?? 0] ?? 0);
  }
  for (; at < to; at += 1) crc = (t[(crc ^ (b[at] ?? 0)) & 255] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The segment that has a position. */
export function segmentOf(position: number): number {
  return Math.floor(position / SEGMENT_SECTORS);
}

/** Where in its segment's file the sector at a position lies, in bytes. */
export function offsetOf(position: number): number {
  return ((position % SEGMENT_SECTORS) + 1) * SECTOR_BYTES;
}

/** The first position of the segment behind the one that has this one. */
export function nextSegment(position: number): number {
  return (segmentOf(position) + 1) * SEGMENT_SECTORS;
}

/** Sectors of a batch of that many bytes. */
export function sectorsOf(bytes: number): number {
  return Math.max(1, Math.ceil((bytes + HEAD_BYTES) / DATA_BYTES));
}

/**
 * The sectors of a batch that starts at a position, or of a turn where there is no batch: in `memory`, which is written
 * over, where they find room there.
 */
export function layOut(position: number, batch: EncodedBatch | undefined, memory?: Buffer, stamp = 0): Buffer {
  const bytes = batch?.length ?? 0;
  const length = sectorsOf(bytes) * SECTOR_BYTES;
  const sectors =
    memory === undefined || length > memory.length ? Buffer.alloc(length) : memory.subarray(0, length).fill(0);
  sectors.writeUInt8(batch === undefined ? TURN : WRITES, START_BYTES);
  sectors.writeUIntLE(stamp, START_BYTES + 1, 3);
  sectors.writeUInt32LE(bytes, START_BYTES + 4);
  let copied = 0;
  for (let at = 0; at < sectors.length; at += SECTOR_BYTES) {
    // One more than the start, so that no sector that was written is blank.
    sectors.writeUIntLE(position + 1, at, 6);
    const from = at + START_BYTES + (at === 0 ? HEAD_BYTES : 0);
    const room = at + CRC_AT - from;
    if (batch !== undefined) batch.copy(sectors, from, copied, Math.min(bytes, copied + room));
    copied += room;
    sectors.writeUInt32LE(checksum(sectors, at, position + at / SECTOR_BYTES), at + CRC_AT);
  }
  return sectors;
}

function checksum(sectors: Buffer, at: number, position: number): number {
  return crc32c(sectors, at, at + CRC_AT, position >>> 0);
}

/** What a sector is: `undefined` when it is blank, else the position at which its batch starts; NaN when it is damaged. */
export function sectorStart(sectors: Buffer, at: number, position: number): number | undefined {
  if (sectors.readUInt32LE(at + CRC_AT) === checksum(sectors, at, position)) {
    const start = sectors.readUIntLE(at, 6) - 1;
    if (start >= 0) return start;
  }
  for (let byte = at; byte < at + SECTOR_BYTES; byte += 4) if (sectors.readUInt32LE(byte) !== 0) return Number.NaN;
  return undefined;
}

/** What the first sector of a batch says of it. A turn has no bytes. */
export function batchHead(
  sectors: Buffer,
  at: number,
): { readonly isTurn: boolean; readonly bytes: number; readonly stamp: number } {
  return {
    isTurn: sectors.readUInt8(at + START_BYTES) === TURN,
    stamp: sectors.readUIntLE(at + START_BYTES + 1, 3),
    bytes: sectors.readUInt32LE(at + START_BYTES + 4),
  };
}

/** The bytes of a batch, out of its sectors, which are whole. */
export function takeUp(sectors: Buffer, bytes: number): EncodedBatch {
  const batch = Buffer.allocUnsafe(bytes);
  let copied = 0;
  for (let at = 0; copied < bytes; at += SECTOR_BYTES) {
    const from = at + START_BYTES + (at === 0 ? HEAD_BYTES : 0);
    copied += sectors.copy(batch, copied, from, Math.min(at + CRC_AT, from + bytes - copied));
  }
  return batch;
}

/** The head of a segment: which log it belongs to, by the eight bytes of its id, and which of its segments it is. */
export function segmentHead(id: Buffer, segment: number): Buffer {
  const head = Buffer.alloc(SECTOR_BYTES);
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(VERSION, 4);
  id.copy(head, 8);
  head.writeUIntLE(segment, 16, 6);
  head.writeUInt32LE(crc32c(head, 0, CRC_AT), CRC_AT);
  return head;
}

/** @throws LogFault when a file is not the segment of that log that its name says. */
export function assertHead(path: string, bytes: Buffer, id: Buffer, segment: number): void {
  if (bytes.length !== SEGMENT_BYTES) {
    throw new LogFault(
      `${path} has ${bytes.length} bytes and not ${SEGMENT_BYTES}: a part of the log is lost. ${ADVICE}`,
    );
  }
  const head = bytes.subarray(0, SECTOR_BYTES);
  if (head.equals(segmentHead(id, segment))) return;
  if (head.readUInt32LE(0) === MAGIC && head.readUInt32LE(CRC_AT) === crc32c(head, 0, CRC_AT)) {
    throw new LogFault(`${path} is not segment ${segment} of this log: it was put there from elsewhere. ${ADVICE}`);
  }
  throw new LogFault(`${path} is damaged in its first ${SECTOR_BYTES} bytes. ${ADVICE}`);
}

/** What an operator can do about a log that is damaged. */
export const ADVICE =
  'It may hold changes that were acknowledged. Put the file back as it was if there is a copy, or restore a backup; ' +
  'parley check --drop-damaged-logs goes on without what is lost.';
