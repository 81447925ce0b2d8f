/**
 * What the search index holds: a signature for each whole block of messages, and for each SEGMENT_BLOCKS of them one
 * segment, which is their signatures turned on their side.
 *
 *     signatures  [conversation, block]             version, time, SIGNATURE_BYTES of bits
 *     segments    [conversation, segment × chunks]  version, time, ROWS_PER_CHUNK rows of one bit a block
 *
 * A block is in one of the two, or in none where the index is not built yet. Times are those of the oldest message in
 * it, in milliseconds, so that a reader knows how far back it came without opening a message.
 */
import type { LaneWrite } from '../engine/lane.ts';
import { numbered } from '../engine/keys.ts';
import { SIGNATURE_BITS, SIGNATURE_BYTES } from './search-grams.ts';

/**
 * The version of folding and grams that a record was made by. A record of another one is as good as none, and is made
 * again in the background.
 */
export const SEARCH_VERSION = 1;

/**
 * Blocks of a segment. Half of them wait as loose signatures on average, each one read, while a segment costs one read
 * for each place of the query whatever its blocks: 16 suits a thousand conversations of a thousand messages as well as
 * one of a million.
 */
export const SEGMENT_BLOCKS = 16;
const ROW_BYTES = SEGMENT_BLOCKS / 8;
/** Rows in one record, so that three of them fit a page of the file. */
const ROWS_PER_CHUNK = 512;
export const SEGMENT_CHUNKS = SIGNATURE_BITS / ROWS_PER_CHUNK;

const TIME_AT = 1;
const HEAD_BYTES = 7;

export interface Signature {
  /** Of the block's oldest message, in milliseconds. */
  readonly time: number;
  readonly bits: Buffer;
}

/** The number of a block's segment, from 1 up. */
export function segmentOf(block: number): number {
  return Math.ceil(block / SEGMENT_BLOCKS);
}

/** The first block of a segment. */
export function firstBlockOf(segment: number): number {
  return (segment - 1) * SEGMENT_BLOCKS + 1;
}

export function signatureKey(conversation: string, block: number): Buffer {
  return numbered(block, conversation);
}

/** The record of a segment that has the row of a place. */
export function chunkKey(conversation: string, segment: number, chunk: number): Buffer {
  return numbered(segment * SEGMENT_CHUNKS + chunk, conversation);
}

export function writeSignature(conversation: string, block: number, { time, bits }: Signature): LaneWrite {
  return { table: 'signatures', key: signatureKey(conversation, block), value: withHead(time, bits) };
}

/** The signature, or undefined for none and one of another version. */
export function readSignature(value: Buffer | undefined): Signature | undefined {
  if (value === undefined || value[0] !== SEARCH_VERSION || value.length !== HEAD_BYTES + SIGNATURE_BYTES) {
    return undefined;
  }
  return { time: timeOf(value), bits: value.subarray(HEAD_BYTES) };
}

/** The records of a segment with these blocks; undefined stands for one that has nothing to find. */
export function writeSegment(
  conversation: string,
  segment: number,
  blocks: readonly (Signature | undefined)[],
): LaneWrite[] {
  const columns = new Uint16Array(SIGNATURE_BITS);
  for (const [column, block] of blocks.entries()) {
    if (block === undefined) continue;
    const { bits } = block;
    const bit = 1 << column;
    for (let byte = 0; byte < SIGNATURE_BYTES; byte += 1) {
      let rest = bits[byte]!;
      for (let place = byte * 8; rest !== 0; place += 1, rest >>>= 1) {
        if ((rest & 1) !== 0) columns[place]! |= bit;
      }
    }
  }
  // Low byte first, as every machine that this runs on has it.
  const rows = Buffer.from(columns.buffer);
  const time = Math.min(...blocks.flatMap((block) => (block === undefined ? [] : [block.time])));
  const chunkBytes = ROWS_PER_CHUNK * ROW_BYTES;
  return Array.from({ length: SEGMENT_CHUNKS }, (_, chunk) => ({
    table: 'segments' as const,
    key: chunkKey(conversation, segment, chunk),
    value: withHead(time, rows.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes)),
  }));
}

/** A segment as far as it is asked for. */
export class Segment {
  readonly #read: (chunk: number) => Buffer | undefined;
  #time: number | undefined;

  /** `read` answers the record of that number; what it answers need not stay as it is. */
  constructor(read: (chunk: number) => Buffer | undefined) {
    this.#read = read;
  }

  /** The oldest message's time, or undefined where the segment is not built. */
  get time(): number | undefined {
    if (this.#time === undefined) this.row(0);
    return this.#time;
  }

  /**
   * Which blocks may hold all places, one bit each from the first block up; undefined where the segment is not built.
   */
  candidates(places: readonly number[]): number | undefined {
    let mask = 2 ** SEGMENT_BLOCKS - 1;
    for (const place of places) {
      const row = this.row(place);
      if (row === undefined) return undefined;
      mask &= row;
      if (mask === 0) return 0;
    }
    return this.time === undefined ? undefined : mask;
  }

  /** The row of a place: one bit for each block that has it. */
  row(place: number): number | undefined {
    const chunk = readChunk(this.#read(Math.floor(place / ROWS_PER_CHUNK)));
    if (chunk === undefined) return undefined;
    this.#time ??= timeOf(chunk);
    return chunk.readUInt16LE(rowAt(place));
  }
}

/** The records that have to change for a block of a segment to have these places as well; undefined without a segment. */
export function amendSegment(
  conversation: string,
  block: number,
  places: readonly number[],
  read: (itemKey: Buffer) => Buffer | undefined,
): LaneWrite[] | undefined {
  const segment = segmentOf(block);
  const bit = 1 << (block - firstBlockOf(segment));
  const changed = new Map<number, Buffer>();
  for (const place of places) {
    const chunk = Math.floor(place / ROWS_PER_CHUNK);
    const known = changed.get(chunk) ?? readChunk(read(chunkKey(conversation, segment, chunk)));
    if (known === undefined) return undefined;
    const value = changed.get(chunk) ?? Buffer.from(known);
    value.writeUInt16LE(value.readUInt16LE(rowAt(place)) | bit, rowAt(place));
    changed.set(chunk, value);
  }
  return [...changed].map(([chunk, value]) => ({
    table: 'segments',
    key: chunkKey(conversation, segment, chunk),
    value,
  }));
}

/** A segment's record; undefined for none and one of another version. */
function readChunk(value: Buffer | undefined): Buffer | undefined {
  const isKnown = value?.[0] === SEARCH_VERSION && value.length === HEAD_BYTES + ROWS_PER_CHUNK * ROW_BYTES;
  return isKnown ? value : undefined;
}

function rowAt(place: number): number {
  return HEAD_BYTES + (place % ROWS_PER_CHUNK) * ROW_BYTES;
}

function timeOf(value: Buffer): number {
  return value.readUIntBE(TIME_AT, HEAD_BYTES - TIME_AT);
}

function withHead(time: number, bits: Uint8Array): Buffer {
  const value = Buffer.allocUnsafe(HEAD_BYTES + bits.length);
  value[0] = SEARCH_VERSION;
  value.writeUIntBE(time, TIME_AT, HEAD_BYTES - TIME_AT);
  value.set(bits, HEAD_BYTES);
  return value;
}
