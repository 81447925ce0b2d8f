/** Checks the search index of one conversation: that no text could be missed by it. */
import { isBelowFloor, type Subject } from './check-subject.ts';
import { numbered, numberOf, under } from '../engine/keys.ts';
import { indexedUpTo, POSTED_BLOCK } from '../conversations/posted-blocks.ts';
import { isIndexComplete } from '../search/search-backfill.ts';
import { fold } from '../search/search-folding.ts';
import { addText, SIGNATURE_BITS, SIGNATURE_BYTES } from '../search/search-grams.ts';
import { isSearched, searchedTextOf } from '../search/search-index.ts';
import {
  chunkKey,
  firstBlockOf,
  readSignature,
  Segment,
  SEGMENT_BLOCKS,
  SEGMENT_CHUNKS,
  segmentOf,
  signatureKey,
} from '../search/search-records.ts';

export function checkSearch(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id, headSeq } = record;
  checkSignatureKeys(subject);
  checkSegmentKeys(subject);
  if (record.deleted || !isSearched(record.kind)) return;
  const isComplete = isIndexComplete({ get: (table, itemKey) => tables[table].get(itemKey) });
  let segment = 0;
  let rows = new Segment(() => undefined);
  for (let block = Math.floor(record.floorSeq / POSTED_BLOCK) + 1; block * POSTED_BLOCK <= headSeq; block += 1) {
    if (segmentOf(block) !== segment) {
      segment = segmentOf(block);
      const number = segment;
      const chunks: (Buffer | undefined)[] = [];
      rows = new Segment((chunk) => (chunks[chunk] ??= tables.segments.get(chunkKey(id, number, chunk))));
    }
    const signature = readSignature(tables.signatures.get(signatureKey(id, block)));
    const bit = 1 << (block - firstBlockOf(segment));
    if (signature !== undefined) {
      checkCover(subject, block, (place) => (signature.bits[place >>> 3]! & (1 << (place & 7))) !== 0);
    } else if (rows.time !== undefined) {
      checkCover(subject, block, (place) => ((rows.row(place) ?? 0) & bit) !== 0);
    } else if (isComplete) findings.add('signatures', [id, block], 'is missing');
  }
}

/** Finds a message of a block that holds what its signature says that it does not. */
function checkCover({ tables, record, findings }: Subject, block: number, has: (place: number) => boolean): void {
  const { id } = record;
  const from = Math.max((block - 1) * POSTED_BLOCK, record.floorSeq) + 1;
  for (const entry of tables.messages.getRange({
    start: numbered(from, id),
    end: numbered(block * POSTED_BLOCK + 1, id),
  })) {
    const seq = numberOf(entry.key);
    const text = findings.attempt('messages', [id, seq], () => searchedTextOf(entry.value));
    if (text === undefined) continue;
    const bits = Buffer.alloc(SIGNATURE_BYTES);
    addText(bits, fold(text));
    for (let place = 0; place < SIGNATURE_BITS; place += 1) {
      if ((bits[place >>> 3]! & (1 << (place & 7))) === 0 || has(place)) continue;
      findings.add('signatures', [id, block], `lacks what message ${seq} says`);
      return;
    }
  }
}

function checkSignatureKeys(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const itemKey of tables.signatures.getKeys(under(record.id))) {
    const block = numberOf(itemKey);
    const parts = [record.id, block];
    if (isBelowFloor(subject, 'signatures', parts, block * POSTED_BLOCK)) continue;
    if (block * POSTED_BLOCK > record.headSeq) findings.add('signatures', parts, 'is of a block that is not whole');
    if (!isSearched(record.kind)) findings.add('signatures', parts, 'indexes what is not searched');
  }
}

function checkSegmentKeys(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  const counts = new Map<number, number>();
  for (const itemKey of tables.segments.getKeys(under(id))) {
    const segment = Math.floor(numberOf(itemKey) / SEGMENT_CHUNKS);
    counts.set(segment, (counts.get(segment) ?? 0) + 1);
  }
  for (const [segment, count] of counts) {
    const end = segment * SEGMENT_BLOCKS * POSTED_BLOCK;
    if (isBelowFloor(subject, 'segments', [id, segment], end)) continue;
    if (end > indexedUpTo(record.headSeq)) findings.add('segments', [id, segment], 'is of blocks that are not whole');
    if (count !== SEGMENT_CHUNKS)
      findings.add('segments', [id, segment], `has ${count} of its ${SEGMENT_CHUNKS} records`);
    if (!isSearched(record.kind)) findings.add('segments', [id, segment], 'indexes what is not searched');
  }
}
