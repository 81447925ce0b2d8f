/**
 * Reading conversations: from any thread, straight from the lane, without asking the shard that writes it. Every
 * read is bounded by a page, so that no snapshot is held for long.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { CHANGES_REPLY_MAX, EVENT_PARTICIPANTS_MAX, HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import type { Conversation, Participant } from '#src/protocol/conversations.ts';
import { encodeEvent, type EventType } from '#src/protocol/events.ts';
import { key, lastPart, numberAt, numbered, numberOf, under } from './keys.ts';
import type { LaneEnvironment } from './lane.ts';
import {
  changeRecord,
  conversationRecord,
  memberRecord,
  messageRecord,
  MESSAGE_FLAGS,
  personalRecord,
  reactionCounts,
  type ChangeRecord,
  type ConversationRecord,
  type MemberRecord,
  type PersonalRecord,
  type ReactionCounts,
  type Watermark,
} from './records.ts';

export type Tables = LaneEnvironment['tables'];

/** The record, also of a deleted conversation, or undefined when there never was one. */
export function readRecord(tables: Tables, id: string): ConversationRecord | undefined {
  const value = tables.conversations.get(key(id));
  return value === undefined ? undefined : conversationRecord.decode(value);
}

/** The record, or undefined when there is none or it was deleted. */
export function readConversation(tables: Tables, id: string): ConversationRecord | undefined {
  const record = readRecord(tables, id);
  return record?.deleted === true ? undefined : record;
}

export function readMember(tables: Tables, id: string, user: string): MemberRecord | undefined {
  const value = tables.members.get(key(id, user));
  return value === undefined ? undefined : memberRecord.decode(value);
}

export function readWatermark(tables: Tables, id: string, user: string): Watermark {
  const value = tables.watermarks.get(key(id, user));
  return value === undefined ? { delivered: 0, read: 0 } : { delivered: numberAt(value), read: numberAt(value, 1) };
}

export function readPersonal(tables: Tables, id: string, user: string): PersonalRecord {
  const value = tables.personal.get(key(user, id));
  return value === undefined ? { draft: undefined, mutedUntil: undefined } : personalRecord.decode(value);
}

/** Participants by username, behind `after`, at most `limit`. */
export function readParticipants(tables: Tables, id: string, limit: number, after?: string): Participant[] {
  const range = under(id);
  // A NUL is the lowest byte: the first key that can follow `after` is `after` and a NUL.
  const start = after === undefined ? range.start : key(id, after, '');
  return [...tables.members.getRange({ start, end: range.end, limit })].map((entry) => ({
    user: lastPart(entry.key),
    role: memberRecord.decode(entry.value).role,
  }));
}

/**
 * The conversation as answers and events carry it: with participants for direct and secret chats always, for rooms
 * while they have at most EVENT_PARTICIPANTS_MAX (SOC-09).
 */
export function toConversation(record: ConversationRecord, epoch: string, people: () => Participant[]): Conversation {
  const listed = record.kind !== 'room' || record.participantCount <= EVENT_PARTICIPANTS_MAX;
  return {
    id: record.id,
    kind: record.kind,
    ...(record.title === undefined ? {} : { title: record.title }),
    created_at: record.createdAt,
    created_by: record.createdBy,
    head_seq: record.headSeq,
    rev: record.rev,
    epoch,
    participant_count: record.participantCount,
    ...(listed ? { participants: people() } : {}),
  };
}

/** The conversation as a reader gets it now. */
export function conversationView(tables: Tables, record: ConversationRecord, epoch: string): Conversation {
  return toConversation(record, epoch, () => readParticipants(tables, record.id, EVENT_PARTICIPANTS_MAX));
}

/** A stored message as JSON, with its reactions put in where it has any. */
export function messageJson(tables: Tables, id: string, seq: number, stored: Buffer): string {
  const json = messageRecord.json(stored);
  if ((messageRecord.flags(stored) & MESSAGE_FLAGS.reactions) === 0) return json;
  const counts = tables.reactionCounts.get(numbered(seq, id));
  return counts === undefined ? json : withReactions(json, reactionCounts.decode(counts));
}

/** Puts reactions into a message's JSON, which ends with the closing brace of its object. */
export function withReactions(json: string, counts: ReactionCounts): string {
  if (counts.length === 0) return json;
  const reactions = counts.map(([emoji, count, users]) => ({ emoji, count, users }));
  return `${json.slice(0, -1)},"reactions":${JSON.stringify(reactions)}}`;
}

export function readMessage(tables: Tables, record: ConversationRecord, seq: number): string | undefined {
  const stored = seq <= record.floorSeq ? undefined : tables.messages.get(numbered(seq, record.id));
  return stored === undefined ? undefined : messageJson(tables, record.id, seq, stored);
}

export interface HistoryQuery {
  readonly afterSeq?: number | undefined;
  readonly beforeSeq?: number | undefined;
  readonly limit: number;
}

/** A page of history as JSON texts in seq order; `next` is the seq to go on from, or undefined at the end. */
export function readHistory(
  tables: Tables,
  record: ConversationRecord,
  query: HistoryQuery,
): { items: string[]; next?: number } {
  const { id, floorSeq } = record;
  const range = { start: numbered(floorSeq + 1, id), end: under(id).end };
  const forward = query.afterSeq !== undefined;
  const options = forward
    ? // Behind the head there is nothing, however far behind it a query looks.
      { start: numbered(Math.min(Math.max(query.afterSeq ?? 0, floorSeq), record.headSeq) + 1, id), end: range.end }
    : {
        start: query.beforeSeq === undefined ? range.end : numbered(query.beforeSeq - 1, id),
        // The end of a range is left out, also of one that is walked backwards.
        end: numbered(floorSeq, id),
        reverse: true,
      };
  const seqs: number[] = [];
  const items: string[] = [];
  // One more than asked tells whether there is a next page.
  for (const entry of tables.messages.getRange({ ...options, limit: query.limit + 1 })) {
    const seq = numberOf(entry.key);
    if (items.length === query.limit) {
      const last = seqs.at(-1) as number;
      return { items: forward ? items : items.toReversed(), next: last };
    }
    seqs.push(seq);
    items.push(messageJson(tables, id, seq, entry.value));
  }
  return { items: forward ? items : items.toReversed() };
}

/**
 * The changes behind a rev, each in the envelope of its event, as JSON texts in order; undefined when they are not
 * all there any more, or more than one answer holds.
 */
export function readChanges(
  tables: Tables,
  record: ConversationRecord,
  epoch: string,
  afterRev: number,
): string[] | undefined {
  const missing = record.rev - afterRev;
  if (missing < 0 || missing > CHANGES_REPLY_MAX || afterRev < record.floorRev) return undefined;
  const range = { start: numbered(afterRev + 1, record.id), end: numbered(record.rev + 1, record.id) };
  const rows = [...tables.changes.getRange(range)].map(({ key: itemKey, value }) => ({
    rev: numberOf(itemKey),
    change: changeRecord.decode(value),
  }));
  const items: string[] = [];
  // Revs without a record are new messages, one after the other up to the head.
  let seq = record.headSeq - (missing - rows.length);
  let rev = afterRev;
  for (const row of rows) {
    while (rev + 1 < row.rev) items.push(newMessageEvent(tables, record, (rev += 1), (seq += 1)));
    rev = row.rev;
    // A record that is gone would pass for a message: then the log is not whole.
    if (row.change.head !== seq) return undefined;
    items.push(changeEvent(tables, record, epoch, row.rev, row.change));
  }
  while (rev < record.rev) items.push(newMessageEvent(tables, record, (rev += 1), (seq += 1)));
  return items;
}

function changeEvent(
  tables: Tables,
  record: ConversationRecord,
  epoch: string,
  rev: number,
  { type, seq, ts, data }: ChangeRecord,
): string {
  const head = { type: type as EventType, conv: record.id, ts, rev, rev_count: 1 };
  return encodeEvent(seq === undefined ? head : { ...head, seq }, data ?? changeData(tables, record, epoch, seq));
}

/** The event of a message's post, with the message as it now stands. */
function newMessageEvent(tables: Tables, record: ConversationRecord, rev: number, seq: number): string {
  const stored = tables.messages.get(numbered(seq, record.id));
  if (stored === undefined) throw new Error(`Message ${seq} of ${record.id} is missing.`);
  const ts = unixSeconds(Date.parse(messageRecord.facts(stored).createdAt));
  const head = { type: 'message.new', conv: record.id, seq, ts, rev, rev_count: 1 } as const;
  return encodeEvent(head, messageJson(tables, record.id, seq, stored));
}

/** What a change without data of its own tells: the message or the conversation as it now stands. */
function changeData(tables: Tables, record: ConversationRecord, epoch: string, seq: number | undefined): string {
  if (seq === undefined) return JSON.stringify(conversationView(tables, record, epoch));
  const json = readMessage(tables, record, seq);
  if (json === undefined) throw new Error(`Message ${seq} of ${record.id} is missing.`);
  return json;
}

/** Everyone's watermarks while the conversation is small enough for anybody to look at them; otherwise one's own. */
export function readWatermarks(
  tables: Tables,
  record: ConversationRecord,
  reader: string,
): { user: string; delivered: number; read: number }[] {
  if (record.participantCount > HINT_PARTICIPANTS_MAX) {
    return [{ user: reader, ...readWatermark(tables, record.id, reader) }];
  }
  return [...tables.watermarks.getRange(under(record.id))].map((entry) => ({
    user: lastPart(entry.key),
    delivered: numberAt(entry.value),
    read: numberAt(entry.value, 1),
  }));
}
