/**
 * Indexes what was posted before there was an index, or while it was switched off: block by block, beside the running
 * server, by the thread that writes the lane. Whatever is missing is found by looking, so a restart goes on where the
 * last one ended. Until a block is indexed, a search looks at its messages themselves.
 */
import { key, lastPart } from '../engine/keys.ts';
import type { Batch, Lane, LaneWrite } from '../engine/lane.ts';
import { POSTED_BLOCK } from '../conversations/posted-blocks.ts';
import { conversationRecord, type ConversationRecord } from '../engine/records.ts';
import { gatherSegment, indexBlock, isSearched } from './search-index.ts';
import {
  chunkKey,
  firstBlockOf,
  readSignature,
  SEARCH_VERSION,
  Segment,
  SEGMENT_BLOCKS,
  segmentOf,
  signatureKey,
} from './search-records.ts';

/** Says that every whole block of a lane is indexed, and by which version. */
const MARK = key('search');
/** Work between two pauses. */
const SLICE_MILLIS = 2;
/** Conversations whose ids are read in one go. */
const CONVERSATIONS_AT_ONCE = 200;

export interface BackfillOptions {
  /** Lets others have the thread; answers false when the thread is to end. */
  readonly pause: () => Promise<boolean>;
  /** Milliseconds of a clock that never goes back. */
  readonly clock: () => number;
}

/** Whether every whole block of a lane has its place in the index. */
export function isIndexComplete(lane: Pick<Lane, 'get'>): boolean {
  return lane.get('meta', MARK)?.[0] === SEARCH_VERSION;
}

/** To be called where the index is not written: from now on it may lack blocks. */
export function leaveIndex(lane: Lane): void {
  if (lane.get('meta', MARK) !== undefined) lane.append([{ table: 'meta', key: MARK, value: null }]);
}

/**
 * Indexes what a lane lacks; resolves when it is all on disk, or when `pause` said to stop. Answers how many records of
 * the index it wrote.
 * @throws Error when the lane cannot be written. The next start goes on from there.
 */
export async function completeIndex(lane: Lane, { pause, clock }: BackfillOptions): Promise<number> {
  if (isIndexComplete(lane)) return 0;
  let written = 0;
  let began = clock();
  let batch: Batch | undefined;
  for (const id of conversationsOf(lane)) {
    for (let block = 1; ;) {
      const step = nextStep(lane, id, block);
      if (step === undefined) break;
      block = step.next;
      if (step.writes.length > 0) {
        batch = lane.append(step.writes);
        written += step.writes.length;
      }
      if (clock() - began < SLICE_MILLIS) continue;
      if (batch !== undefined) await onDisk(batch);
      if (!(await pause())) return written;
      began = clock();
    }
  }
  await onDisk(lane.append([{ table: 'meta', key: MARK, value: Buffer.of(SEARCH_VERSION) }]));
  return written;
}

/** The ids in a lane, read so many at a time that no snapshot is held while others write. */
function* conversationsOf(lane: Lane): Generator<string> {
  for (let start: Buffer | undefined = Buffer.of(0); start !== undefined;) {
    const some: Buffer[] = [...lane.environment.tables.conversations.getKeys({ start, limit: CONVERSATIONS_AT_ONCE })];
    yield* some.map((itemKey) => lastPart(itemKey));
    const last: Buffer | undefined = some.at(-1);
    start = last === undefined ? undefined : Buffer.concat([last, Buffer.of(0)]);
  }
}

interface Step {
  readonly writes: readonly LaneWrite[];
  readonly next: number;
}

/** What a block still needs, and the block to look at next; undefined at the end of the conversation. */
function nextStep(lane: Lane, id: string, wanted: number): Step | undefined {
  const stored = lane.get('conversations', key(id));
  const record: ConversationRecord | undefined = stored === undefined ? undefined : conversationRecord.decode(stored);
  if (record === undefined || record.deleted || !isSearched(record.kind)) return undefined;
  const { floorSeq, headSeq } = record;
  const block = Math.max(wanted, Math.floor(floorSeq / POSTED_BLOCK) + 1);
  if (block * POSTED_BLOCK > headSeq) return undefined;
  const segment = segmentOf(block);
  if (new Segment((chunk) => lane.get('segments', chunkKey(id, segment, chunk))).time !== undefined) {
    return { writes: [], next: firstBlockOf(segment + 1) };
  }
  const next = block + 1;
  if (readSignature(lane.get('signatures', signatureKey(id, block))) === undefined) {
    return { writes: indexBlock(lane, { conversation: id, block, floorSeq }), next };
  }
  // The last block was indexed when one before it was not yet.
  const isLast = block % SEGMENT_BLOCKS === 0;
  return { writes: (isLast ? gatherSegment(lane, id, segment, floorSeq) : undefined) ?? [], next };
}

async function onDisk(batch: Batch): Promise<void> {
  if (batch.settled) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  batch.gated.push({ done: resolve, failed: reject });
  await promise;
}
