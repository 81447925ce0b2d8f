/**
 * Blocks of messages: what is indexed of them is written once for a whole block, with its last message.
 *
 * A post alone would touch a page of the index of client_msg_ids and one of the counts by sender, each somewhere else
 * in the file, and most of what a post costs is the kernel writing pages. The messages behind the last whole block are
 * few enough to look at themselves: the conversation's writer keeps them in memory, readers scan them.
 */
import { numbered } from '../engine/keys.ts';
import type { Tables } from './conversation-reader.ts';
import { messageRecord, senderCounts, type ConversationRecord } from '../engine/records.ts';

/**
 * Messages of a block. A writer that wakes up reads up to 31 (70 to 107 µs measured), and 32 entries of one
 * conversation share a page or two of the index.
 */
export const POSTED_BLOCK = 32;

/** The last seq of the last whole block. */
export function indexedUpTo(headSeq: number): number {
  return headSeq - (headSeq % POSTED_BLOCK);
}

/** The number of the block that ends with this seq, from 1 up; undefined within a block. */
export function blockEndingAt(seq: number): number | undefined {
  return seq % POSTED_BLOCK === 0 ? seq / POSTED_BLOCK : undefined;
}

/** How many of the messages behind `from`, up to the head, a person posted. `from` is not below the floor. */
export function countOwn(tables: Tables, record: ConversationRecord, user: string, from: number): number {
  const { id, headSeq } = record;
  const first = Math.ceil(from / POSTED_BLOCK) * POSTED_BLOCK;
  const last = indexedUpTo(headSeq);
  if (first >= last) return countPosted(tables, id, user, from, headSeq);
  let count = countPosted(tables, id, user, from, first) + countPosted(tables, id, user, last, headSeq);
  const blocks = {
    start: numbered(first / POSTED_BLOCK + 1, id),
    end: numbered(last / POSTED_BLOCK + 1, id),
  };
  for (const { value } of tables.senders.getRange(blocks)) {
    count += senderCounts.decode(value).find(([sender]) => sender === user)?.[1] ?? 0;
  }
  return count;
}

/** How many of the messages behind `from`, up to `to`, a person posted, by looking at each. */
function countPosted(tables: Tables, id: string, user: string, from: number, to: number): number {
  if (from >= to) return 0;
  let count = 0;
  for (const { value } of tables.messages.getRange({ start: numbered(from + 1, id), end: numbered(to + 1, id) })) {
    if (messageRecord.facts(value).sender === user) count += 1;
  }
  return count;
}
