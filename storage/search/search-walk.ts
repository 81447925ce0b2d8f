/**
 * Walking one conversation for a search, from new to old: first the messages behind the last whole block, then block by
 * block those whose signatures say that they may hold what is searched. Every message found is one that was looked at:
 * a signature that says too much costs work and nothing else, and a block without one is looked at too.
 */
import type { MessageKind } from '#src/protocol/conversations/messages.ts';
import type { Tables } from '../conversations/conversation-reader.ts';
import { numbered, numberOf } from '../engine/keys.ts';
import { indexedUpTo, POSTED_BLOCK } from '../conversations/posted-blocks.ts';
import { messageRecord, messageTime, MESSAGE_FLAGS, senderCounts, type ConversationRecord } from '../engine/records.ts';
import { fold } from './search-folding.ts';
import { hasPlaces } from './search-grams.ts';
import { searchedTextOf } from './search-index.ts';
import { matches, type SearchTerms } from './search-query.ts';
import {
  chunkKey,
  firstBlockOf,
  readSignature,
  Segment,
  segmentOf,
  SEGMENT_BLOCKS,
  signatureKey,
} from './search-records.ts';

export interface SearchRequest extends SearchTerms {
  readonly sender: string | undefined;
  readonly kind: MessageKind | undefined;
  /** From this instant on, in milliseconds. */
  readonly after: number;
  /** Up to, not including, this instant. */
  readonly before: number;
}

/**
 * A place in the one order that results have: newest first, among equals by conversation, then the higher seq. The
 * server's clock gives the order, so around an hour that a clock was set back it is not exact.
 */
export interface Place {
  readonly time: number;
  readonly conversation: string;
  readonly seq: number;
}

export function comparePlaces(a: Place, b: Place): number {
  if (a.time !== b.time) return b.time - a.time;
  if (a.conversation !== b.conversation) return a.conversation < b.conversation ? -1 : 1;
  return b.seq - a.seq;
}

const TEXT_KIND = ',"kind":"text"';
const BODY = ',"body":"';

export class ConversationWalk {
  readonly #tables: Tables;
  readonly #record: ConversationRecord;
  readonly #request: SearchRequest;
  readonly #from: Place | undefined;
  /** The next message to look at is this one or an older one; undefined until the walk has found where to start. */
  #seq: number | undefined;
  /** No message from there on is newer. */
  #time: number;
  #hits: Place[] = [];
  /** Blocks of the segment at hand that are still to be looked at, the newest first. */
  #candidates: number[] | undefined;

  /** `from` is where to start in the order of results; without it, at the newest message. */
  constructor(tables: Tables, record: ConversationRecord, request: SearchRequest, from: Place | undefined) {
    this.#tables = tables;
    this.#record = record;
    this.#request = request;
    this.#from = from;
    this.#time = Math.min(record.activeAt, from?.time ?? Infinity, request.before);
  }

  /** The place of the next message found, or of where the walk goes on; undefined at its end. */
  get place(): Place | undefined {
    const [hit] = this.#hits;
    if (hit !== undefined) return hit;
    const isOver = this.#time < this.#request.after || (this.#seq ?? Infinity) <= this.#record.floorSeq;
    return isOver ? undefined : { time: this.#time, conversation: this.#record.id, seq: this.#seq ?? Infinity };
  }

  /** Takes the message found at `place`, or undefined where there is none yet: then `step`. */
  take(): Place | undefined {
    return this.#hits.shift();
  }

  /** Goes on by at most one block of messages, or over at most one segment without any to look at. */
  step(): void {
    if (this.#seq === undefined) {
      this.#seq = this.#start();
      return;
    }
    const indexed = indexedUpTo(this.#record.headSeq);
    if (this.#seq > indexed) return this.#look(Math.max(indexed, this.#record.floorSeq));
    const block = Math.ceil(this.#seq / POSTED_BLOCK);
    const segment = segmentOf(block);
    this.#candidates ??= this.#candidatesOf(segment, block);
    const next = this.#candidates.shift();
    if (next !== undefined) {
      this.#seq = Math.min(this.#seq, next * POSTED_BLOCK);
      this.#look(Math.max((next - 1) * POSTED_BLOCK, this.#record.floorSeq));
    }
    if (this.#candidates.length === 0) {
      this.#candidates = undefined;
      this.#seq = Math.min(this.#seq, (firstBlockOf(segment) - 1) * POSTED_BLOCK);
    }
  }

  /** The newest seq that does not lie in front of where the search starts. */
  #start(): number {
    const { headSeq, floorSeq, id, activeAt } = this.#record;
    const { before } = this.#request;
    const from = this.#from;
    let isBehind: (time: number) => boolean = (time) => time < before;
    if (from !== undefined) {
      if (from.conversation === id) return Math.min(headSeq, from.seq);
      isBehind = (time) => time < before && (time < from.time || (time === from.time && id > from.conversation));
    }
    if (isBehind(activeAt)) return headSeq;
    let [low, high] = [floorSeq, headSeq];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const stored = this.#tables.messages.get(numbered(middle, id));
      if (stored === undefined || isBehind(messageTime(stored))) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Blocks of a segment, up to `block`, that may hold what is searched, the newest first. */
  #candidatesOf(number: number, block: number): number[] {
    const { id, floorSeq } = this.#record;
    const { places } = this.#request;
    const firstBlock = firstBlockOf(number);
    const segment = new Segment((chunk) => this.#tables.segments.getBinaryFast(chunkKey(id, number, chunk)));
    const mask = segment.candidates(places);
    const found: number[] = [];
    let oldest = segment.time ?? this.#time;
    for (let one = Math.min(block, firstBlock + SEGMENT_BLOCKS - 1); one >= firstBlock; one -= 1) {
      if (one * POSTED_BLOCK <= floorSeq) break;
      let isCandidate = mask === undefined || (mask & (1 << (one - firstBlock))) !== 0;
      if (mask === undefined) {
        const signature = readSignature(this.#tables.signatures.get(signatureKey(id, one)));
        if (signature !== undefined) {
          isCandidate = hasPlaces(signature.bits, places);
          oldest = Math.min(oldest, signature.time);
        }
      }
      if (isCandidate && this.#maySender(one)) found.push(one);
    }
    // How far back the walk came shows without opening a message, so that other conversations get their turn.
    if (found.length === 0) this.#time = Math.min(this.#time, oldest);
    return found;
  }

  #maySender(block: number): boolean {
    const { sender } = this.#request;
    if (sender === undefined) return true;
    const stored = this.#tables.senders.get(numbered(block, this.#record.id));
    return stored === undefined || senderCounts.decode(stored).some(([user]) => user === sender);
  }

  /** Looks at the messages from where the walk is down to, not including, `end`. */
  #look(end: number): void {
    const { id } = this.#record;
    const { after, before } = this.#request;
    const seq = this.#seq ?? end;
    const range = { start: numbered(seq, id), end: numbered(end, id), reverse: true };
    for (const { key, value } of this.#tables.messages.getRange(range)) {
      const time = messageTime(value);
      this.#time = Math.min(this.#time, time);
      if (time >= after && time < before && isHit(value, this.#request)) {
        this.#hits.push({ time: this.#time, conversation: id, seq: numberOf(key) });
      }
    }
    this.#seq = Math.min(seq, end);
  }
}

/** Whether a stored message is one that is searched for. */
export function isHit(stored: Buffer, { terms, sender, kind }: SearchRequest): boolean {
  if ((messageRecord.flags(stored) & MESSAGE_FLAGS.deleted) !== 0) return false;
  const body = stored.includes(TEXT_KIND) ? stored.indexOf(BODY) : -1;
  if (body >= 0) {
    // Most messages are texts without an escape in them, and most of those do not match: that much shows unparsed.
    const raw = stored.toString('utf8', body + BODY.length);
    if (!raw.includes('\\') && !matches(fold(raw), terms)) return false;
  }
  if (sender !== undefined && messageRecord.facts(stored).sender !== sender) return false;
  const text = searchedTextOf(stored);
  if (text === undefined || !matches(fold(text), terms)) return false;
  return kind === undefined || kindOf(stored) === kind;
}

function kindOf(stored: Buffer): unknown {
  return (JSON.parse(messageRecord.json(stored)) as { kind?: unknown }).kind;
}
