/**
 * Threads: which messages answer which, written in the commit of the answer. Messages that nobody answers have no rows.
 *
 *     threads [conversation, root]        → how many messages are behind it, and the last one's seq
 *     replies [conversation, root, seq]   the messages of a thread
 *
 * A reply that is deleted stays in its thread as the stub that it is in history, so the count only grows.
 */
import { readMessage, type Tables } from './conversation-reader.ts';
import { numbered, numberOf, numberValue, underNumber } from '../engine/keys.ts';
import type { LaneWrite } from '../engine/lane.ts';
import { threadRecord, type ConversationRecord, type ThreadRecord } from '../engine/records.ts';

const PRESENT = Buffer.from([1]);
const NUMBER_BYTES = 6;

/** Where a message of a thread lies; in the order of seqs for each root. */
export function replyKey(conversation: string, root: number, seq: number): Buffer {
  return Buffer.concat([numbered(root, conversation), numberValue(seq)]);
}

/** The parts of a key of `replies`. */
export function replyAt(itemKey: Buffer): { conversation: string; root: number; seq: number } {
  const numbers = itemKey.length - 2 * NUMBER_BYTES;
  const conversation = itemKey.toString('latin1', 0, numbers - 1);
  return { conversation, root: itemKey.readUIntBE(numbers, NUMBER_BYTES), seq: numberOf(itemKey) };
}

/** One more message in a thread. */
export function writeReply(conversation: string, root: number, seq: number, thread: ThreadRecord): LaneWrite[] {
  return [
    { table: 'replies', key: replyKey(conversation, root, seq), value: PRESENT },
    { table: 'threads', key: numbered(root, conversation), value: threadRecord.encode(thread) },
  ];
}

/** A page of a thread as JSON texts in seq order, behind `afterSeq`; `next` is the seq to go on from. */
export function readReplies(
  tables: Tables,
  record: ConversationRecord,
  root: number,
  { afterSeq, limit }: { readonly afterSeq: number; readonly limit: number },
): { items: string[]; next?: number } {
  const { id, headSeq, floorSeq } = record;
  const start = replyKey(id, root, Math.min(Math.max(afterSeq, floorSeq), headSeq) + 1);
  const { end } = underNumber(root, id);
  // One more than asked tells whether there is a next page.
  const seqs = [...tables.replies.getKeys({ start, end, limit: limit + 1 })].map((itemKey) => numberOf(itemKey));
  const page = seqs.slice(0, limit);
  const items = page.map((seq) => readMessage(tables, record, seq)).filter((json) => json !== undefined);
  return seqs.length > limit ? { items, next: page.at(-1) as number } : { items };
}
