/**
 * The search index as the writer of a conversation keeps it: a block's signature in the commit of the block's last
 * message, a segment in the commit of its last block, an edit in the commit of the edit. So there is no moment at which
 * a crash could leave it behind the messages.
 *
 * Reading a block again costs one post in 32 what the 32 cost (some 150 µs) and spares every other one any work. What
 * was edited or deleted before the block was whole leaves no trace in it. Behind that, deleting takes nothing out: the
 * bits of what is gone stay until the conversation is purged, and lead a search to look and find nothing.
 */
import type { ConversationKind } from '#src/protocol/conversations/conversations.ts';
import { searchedText } from '#src/protocol/conversations/searched-text.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { numbered } from '../engine/keys.ts';
import type { LaneTable, LaneWrite } from '../engine/lane.ts';
import { POSTED_BLOCK } from '../conversations/posted-blocks.ts';
import { messageRecord, MESSAGE_FLAGS } from '../engine/records.ts';
import { fold } from './search-folding.ts';
import { addText, SIGNATURE_BITS, SIGNATURE_BYTES } from './search-grams.ts';
import {
  amendSegment,
  firstBlockOf,
  readSignature,
  segmentOf,
  SEGMENT_BLOCKS,
  signatureKey,
  writeSegment,
  writeSignature,
  type Signature,
} from './search-records.ts';

/** What the writer sees of its lane. */
export interface IndexView {
  get(table: LaneTable, itemKey: Buffer): Buffer | undefined;
}

/**
 * Texts of one block up to this are taken apart, in UTF-16 units; it bounds the work of one turn to about a millisecond.
 * With more, natural language fills nearly all of a signature, so the block is marked as one that may hold anything.
 */
export const BLOCK_UNITS_MAX = 65_536;

/** The latest instant that a record has room for: that of a block without a message. */
const TIME_MAX = 2 ** 48 - 1;

/** Whether conversations of this kind are searched. What is in a secret one is for its two people, not for an index. */
export function isSearched(kind: ConversationKind): boolean {
  return kind !== 'secret';
}

/** The block whose last message has just been made, as JSON, or is stored like the others. */
export interface BlockToIndex {
  readonly conversation: string;
  readonly block: number;
  /** Messages up to here went with a deletion. */
  readonly floorSeq: number;
  readonly last?: string;
}

/** The writes that index a whole block, and its segment where it is the last one missing of it. */
export function indexBlock(view: IndexView, whole: BlockToIndex): LaneWrite[] {
  const { conversation, block, floorSeq } = whole;
  const signature = signatureOf(view, whole);
  const isLast = block % SEGMENT_BLOCKS === 0;
  const segment = isLast ? gatherSegment(view, conversation, segmentOf(block), floorSeq, signature) : undefined;
  return segment ?? [writeSignature(conversation, block, signature)];
}

/** Takes the texts of a block into a signature. */
function signatureOf(view: IndexView, { conversation, block, floorSeq, last }: BlockToIndex): Signature {
  const bits = Buffer.alloc(SIGNATURE_BYTES);
  let time = TIME_MAX;
  let units = 0;
  const end = block * POSTED_BLOCK;
  for (let seq = Math.max(end - POSTED_BLOCK, floorSeq) + 1; seq <= end; seq += 1) {
    const json = seq === end && last !== undefined ? last : storedJson(view, conversation, seq);
    if (json === undefined) continue;
    const message = JSON.parse(json) as Message;
    time = Math.min(time, Date.parse(message.created_at));
    const text = searchedText(message);
    units += text.length;
    if (units <= BLOCK_UNITS_MAX) addText(bits, fold(text));
  }
  if (units > BLOCK_UNITS_MAX) bits.fill(0xff);
  return { time, bits };
}

function storedJson(view: IndexView, conversation: string, seq: number): string | undefined {
  const stored = view.get('messages', numbered(seq, conversation));
  return stored === undefined ? undefined : messageRecord.json(stored);
}

/**
 * The writes that turn a segment's signatures on their side and remove them; undefined while one of them is missing.
 * `last` is the signature of its last block where that is not stored yet.
 */
export function gatherSegment(
  view: IndexView,
  conversation: string,
  segment: number,
  floorSeq: number,
  last?: Signature,
): LaneWrite[] | undefined {
  const firstBlock = firstBlockOf(segment);
  const blocks: (Signature | undefined)[] = [];
  const removals: LaneWrite[] = [];
  for (let column = 0; column < SEGMENT_BLOCKS; column += 1) {
    const block = firstBlock + column;
    const itemKey = signatureKey(conversation, block);
    const isNew = last !== undefined && column === SEGMENT_BLOCKS - 1;
    const stored = isNew ? undefined : view.get('signatures', itemKey);
    if (stored !== undefined) removals.push({ table: 'signatures', key: itemKey, value: null });
    // What went with a deletion is not looked for.
    const isEmptied = block * POSTED_BLOCK <= floorSeq;
    const signature = isNew ? last : isEmptied ? undefined : readSignature(stored);
    if (signature === undefined && !isEmptied) return undefined;
    blocks.push(signature);
  }
  return [...removals, ...writeSegment(conversation, segment, blocks)];
}

/**
 * The writes that let an edited message be found by what it says now. None where its block is not whole or not indexed.
 * Made also while new blocks are not indexed, so that what is in the index stays true.
 */
export function indexEdit(view: IndexView, edited: Message, headSeq: number): LaneWrite[] {
  const { conversation_id: conversation, seq } = edited;
  const block = Math.ceil(seq / POSTED_BLOCK);
  if (block * POSTED_BLOCK > headSeq) return [];
  const bits = Buffer.alloc(SIGNATURE_BYTES);
  addText(bits, fold(searchedText(edited)));
  const signature = readSignature(view.get('signatures', signatureKey(conversation, block)));
  if (signature === undefined) {
    return amendSegment(conversation, block, placesIn(bits), (itemKey) => view.get('segments', itemKey)) ?? [];
  }
  const both = Buffer.from(signature.bits.map((byte, at) => byte | bits[at]!));
  return [writeSignature(conversation, block, { time: signature.time, bits: both })];
}

function placesIn(bits: Buffer): number[] {
  const places: number[] = [];
  for (let place = 0; place < SIGNATURE_BITS; place += 1) {
    if ((bits[place >>> 3]! & (1 << (place & 7))) !== 0) places.push(place);
  }
  return places;
}

/** A stored message's text as it is searched; undefined for one that was deleted. */
export function searchedTextOf(stored: Buffer): string | undefined {
  if ((messageRecord.flags(stored) & MESSAGE_FLAGS.deleted) !== 0) return undefined;
  return searchedText(JSON.parse(messageRecord.json(stored)) as Message);
}
