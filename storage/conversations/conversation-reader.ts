/**
 * Reading conversations: from any thread, straight from the lane, without asking the shard that writes it. Every
 * read is bounded by a page, so that no snapshot is held for long.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { CHANGES_REPLY_MAX, EVENT_PARTICIPANTS_MAX, HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import type { Conversation, Participant } from '#src/protocol/conversations/conversations.ts';
import { encodeEvent, type EventType } from '#src/protocol/sockets/events.ts';
import { key, lastPart, numberAt, numbered, numberOf, setNumber, under } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { StorageFault } from '../engine/storage-fault.ts';
import { JsonPage } from './json-page.ts';
import { expiredUpTo, revOfPost, type LoggedChange, type RetentionRule } from './retention.ts';
import {
  changeRecord,
  conversationRecord,
  memberRecord,
  membershipRecord,
  messageRecord,
  messageTime,
  MESSAGE_FLAGS,
  MESSAGE_HEAD_BYTES,
  NOTHING_PERSONAL,
  personalRecord,
  reactionCounts,
  type ChangeRecord,
  type ConversationRecord,
  type MemberRecord,
  type PersonalRecord,
  type ReactionCounts,
  type ThreadRecord,
  threadRecord,
  type Watermark,
} from '../engine/records.ts';

export type Tables = LaneEnvironment['tables'];

/**
 * The record, also of a deleted conversation, or undefined when there never was one. Its floor is above everything that
 * is over its time by now: whoever reads by the record that this answers shows none of that.
 */
export function readRecord(tables: Tables, id: string): ConversationRecord | undefined {
  const value = tables.conversations.get(key(id));
  if (value === undefined) return undefined;
  const record = conversationRecord.decode(value);
  const floorSeq = expiredUpTo(record, (seq) => tables.messages.get(numbered(seq, id)));
  if (floorSeq === record.floorSeq) return record;
  return { ...record, floorSeq, floorRev: revOfPost(record, floorSeq, (rev) => changeFrom(tables, record, rev)) };
}

/** Whether a conversation holds what is over its time and lies above its floor still. */
export function isExpiring(tables: Tables, id: string): boolean {
  const value = tables.conversations.get(key(id));
  if (value === undefined) return false;
  const record = conversationRecord.decode(value);
  return expiredUpTo(record, (seq) => tables.messages.get(numbered(seq, id))) > record.floorSeq;
}

/** How many messages that may be read now would be over their time by a rule, those deleted among them. */
export function countExpiring(tables: Tables, id: string, rule: RetentionRule): number {
  const value = tables.conversations.get(key(id));
  if (value === undefined) return 0;
  const record = conversationRecord.decode(value);
  const stored = (seq: number) => tables.messages.get(numbered(seq, id));
  const now = undefined;
  return Math.max(0, expiredUpTo(record, stored, now, rule) - expiredUpTo(record, stored));
}

/** The first change in the log from a rev on. */
function changeFrom(tables: Tables, { id, rev: last }: ConversationRecord, rev: number): LoggedChange | undefined {
  const range = { start: numbered(rev, id), end: numbered(last + 1, id), limit: 1 };
  for (const entry of tables.changes.getRange(range)) {
    return { rev: numberOf(entry.key), head: changeRecord.decode(entry.value).head };
  }
  return undefined;
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

/** Whether somebody does not take part since others took them out, and not since they left or the conversation went. */
export function wasRemoved(tables: Tables, id: string, user: string): boolean {
  const value = tables.memberships.get(key(user, id));
  return value !== undefined && membershipRecord.decode(value).removed === true;
}

export function readWatermark(tables: Tables, id: string, user: string): Watermark {
  const value = tables.watermarks.get(key(id, user));
  return value === undefined ? { delivered: 0, read: 0 } : { delivered: numberAt(value), read: numberAt(value, 1) };
}

export function readPersonal(tables: Tables, id: string, user: string): PersonalRecord {
  const value = tables.personal.get(key(user, id));
  return value === undefined ? NOTHING_PERSONAL : personalRecord.decode(value);
}

/** Whether the person hid the conversation from their inbox, and no message has come since. */
export function isHidden({ headSeq }: Pick<ConversationRecord, 'headSeq'>, { hiddenSeq }: PersonalRecord): boolean {
  return hiddenSeq !== undefined && headSeq <= hiddenSeq;
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
    ...roomView(record),
    created_at: record.createdAt,
    created_by: record.createdBy,
    head_seq: record.headSeq,
    rev: record.rev,
    epoch,
    participant_count: record.participantCount,
    ...(record.retention === undefined ? {} : { retention_seconds: record.retention }),
    ...(listed ? { participants: people() } : {}),
  };
}

/** What a room says of itself beyond its title. */
export function roomView({
  room,
}: ConversationRecord): Pick<Conversation, 'topic' | 'purpose' | 'avatar' | 'visibility' | 'archived_at'> {
  if (room === undefined) return {};
  const { archivedAt, avatar, isPublic, purpose, topic } = room;
  return {
    ...(topic === undefined ? {} : { topic }),
    ...(purpose === undefined ? {} : { purpose }),
    ...(avatar === undefined ? {} : { avatar }),
    ...(isPublic ? { visibility: 'organisation' } : {}),
    ...(archivedAt === undefined ? {} : { archived_at: archivedAt }),
  };
}

/** The conversation as a reader gets it now. */
export function conversationView(tables: Tables, record: ConversationRecord, epoch: string): Conversation {
  return toConversation(record, epoch, () => readParticipants(tables, record.id, EVENT_PARTICIPANTS_MAX));
}

/** A stored message as JSON, with its reactions and what is behind it in its thread, where its flags say it has any. */
export function messageJson(tables: Tables, id: string, seq: number, stored: Buffer): string {
  const json = messageRecord.json(stored);
  const flags = messageRecord.flags(stored);
  if ((flags & DRESSED) === 0) return json;
  return withThread(withReactions(json, countsOf(tables, id, seq, flags)), threadOf(tables, id, seq, flags));
}

/** What stands beside a message and is shown with it. */
const DRESSED = MESSAGE_FLAGS.reactions | MESSAGE_FLAGS.replies;

function countsOf(tables: Tables, id: string, seq: number, flags: number): ReactionCounts {
  const counts = (flags & MESSAGE_FLAGS.reactions) === 0 ? undefined : tables.reactionCounts.get(numbered(seq, id));
  return counts === undefined ? [] : reactionCounts.decode(counts);
}

function threadOf(tables: Tables, id: string, seq: number, flags: number): ThreadRecord | undefined {
  const thread = (flags & MESSAGE_FLAGS.replies) === 0 ? undefined : tables.threads.get(numbered(seq, id));
  return thread === undefined ? undefined : threadRecord.decode(thread);
}

/** The same, put into a page. The stored bytes may be gone afterwards. */
function putMessage(page: JsonPage, tables: Tables, id: string, seq: number, stored: Buffer): void {
  const flags = messageRecord.flags(stored);
  page.copy(stored, MESSAGE_HEAD_BYTES, stored.length);
  if ((flags & DRESSED) === 0) return;
  page.dropLast();
  page.text(withThread(withReactions('}', countsOf(tables, id, seq, flags)), threadOf(tables, id, seq, flags)));
}

/** Puts what is behind the root of a thread into its JSON. */
export function withThread(json: string, thread: ThreadRecord | undefined): string {
  if (thread === undefined) return json;
  return `${json.slice(0, -1)},"reply_count":${thread.count},"last_reply_seq":${thread.last}}`;
}

/** Puts reactions into a message's JSON, which ends with the closing brace of its object. */
export function withReactions(json: string, counts: ReactionCounts): string {
  if (counts.length === 0) return json;
  const reactions = counts.map(([emoji, count, users]) => ({ emoji, count, users }));
  return `${json.slice(0, -1)},"reactions":${JSON.stringify(reactions)}}`;
}

export function readMessage(tables: Tables, record: ConversationRecord, seq: number): string | undefined {
  // A number beyond the head may not even be one that a key can hold.
  if (seq <= record.floorSeq || seq > record.headSeq) return undefined;
  const stored = tables.messages.get(numbered(seq, record.id));
  return stored === undefined ? undefined : messageJson(tables, record.id, seq, stored);
}

/** The same. @throws StorageFault for one between floor and head that is not there. */
export function readPromised(tables: Tables, record: ConversationRecord, seq: number): string | undefined {
  const json = readMessage(tables, record, seq);
  if (json === undefined && seq > record.floorSeq && seq <= record.headSeq) throw missingMessage(record.id, seq);
  return json;
}

function missingMessage(id: string, seq: number): StorageFault {
  return new StorageFault(`Message ${seq} of ${id} is missing.`);
}

export interface HistoryQuery {
  readonly afterSeq?: number | undefined;
  readonly beforeSeq?: number | undefined;
  readonly limit: number;
}

/**
 * Puts a page of history into `page`, in seq order, and answers the seq to go on from, or undefined at the end.
 * @throws StorageFault where the page does not reach what the record promises: seqs have no gaps between floor and head.
 */
export function putHistory(
  page: JsonPage,
  tables: Tables,
  { id, floorSeq, headSeq }: ConversationRecord,
  { afterSeq, beforeSeq = headSeq + 1, limit }: HistoryQuery,
): number | undefined {
  // Behind the head there is nothing, however far behind it a query looks.
  const near = afterSeq === undefined ? Math.min(beforeSeq - 1, headSeq) : Math.max(afterSeq, floorSeq) + 1;
  const there = Math.max(0, afterSeq === undefined ? near - floorSeq : headSeq - near + 1);
  const count = Math.min(limit, there);
  const first = afterSeq === undefined ? near - count + 1 : near;
  let seq = first;
  walkMessages(tables, id, { first, count }, (stored) => {
    page.beginItem();
    putMessage(page, tables, id, seq, stored);
    page.endItem();
    seq += 1;
  });
  if (count === there) return undefined;
  return afterSeq === undefined ? first : first + count - 1;
}

/** The same page as texts. @throws StorageFault as `putHistory` does. */
export function readHistory(
  tables: Tables,
  record: ConversationRecord,
  query: HistoryQuery,
): { items: string[]; next?: number } {
  return withPage((page) => {
    const next = putHistory(page, tables, record, query);
    return { items: page.items(), ...(next === undefined ? {} : { next }) };
  });
}

function withPage<T>(use: (page: JsonPage) => T): T {
  const page = new JsonPage();
  try {
    return use(page);
  } finally {
    page.release();
  }
}

/**
 * Puts the changes behind a rev into `page`, each in the envelope of its event, in order. False when they are not all there any
 * more, or more than one answer holds; the page may have some of them then.
 */
export function putChanges(
  page: JsonPage,
  tables: Tables,
  record: ConversationRecord,
  epoch: string,
  afterRev: number,
): boolean {
  const missing = record.rev - afterRev;
  if (missing < 0 || missing > CHANGES_REPLY_MAX || afterRev < record.floorRev) return false;
  const range = { start: numbered(afterRev + 1, record.id), end: numbered(record.rev + 1, record.id) };
  const rows = [...tables.changes.getRange(range)].map(({ key: itemKey, value }) => ({
    rev: numberOf(itemKey),
    change: changeRecord.decode(value),
  }));
  const posts = new PostEvents(page, tables, record.id);
  // Revs without a record are new messages, one after the other up to the head.
  let seq = record.headSeq - (missing - rows.length);
  let rev = afterRev;
  const tellPosts = (upTo: number): void => {
    walkMessages(tables, record.id, { first: seq + 1, count: upTo - rev }, (stored) => {
      posts.put((rev += 1), (seq += 1), stored);
    });
  };
  for (const row of rows) {
    tellPosts(row.rev - 1);
    rev = row.rev;
    // A record that is gone would pass for a message: then the log is not whole.
    if (row.change.head !== seq) return false;
    page.beginItem();
    page.text(changeEvent(tables, record, epoch, row.rev, row.change));
    page.endItem();
  }
  tellPosts(record.rev);
  return true;
}

/** The same changes as texts; undefined where `putChanges` answers false. */
export function readChanges(
  tables: Tables,
  record: ConversationRecord,
  epoch: string,
  afterRev: number,
): string[] | undefined {
  return withPage((page) => (putChanges(page, tables, record, epoch, afterRev) ? page.items() : undefined));
}

/** As few messages are looked up one by one: a range has to be begun and ended. */
const FEW = 4;

/**
 * Hands over so many messages from a seq on as they are stored; each holds until the next read of any table.
 * @throws StorageFault for the first that is not there.
 */
function walkMessages(
  { messages }: Tables,
  id: string,
  { first, count }: { readonly first: number; readonly count: number },
  take: (stored: Buffer) => void,
): void {
  // Behind the last there can be is no number that a key could hold.
  if (count === 0) return;
  const one = numbered(first, id);
  const isRange = count > FEW;
  const walked = isRange ? messages.walkValues({ start: one, end: numbered(first + count, id) }, take) : 0;
  // Of so many keys there are as many rows where none is missing.
  if (walked === count) return;
  for (let seq = first; seq < first + count; seq += 1) {
    setNumber(one, seq);
    const stored = messages.getBinaryFast(one);
    if (stored === undefined) throw missingMessage(id, seq);
    if (!isRange) take(stored);
  }
  if (isRange) throw missingMessage(id, first + walked);
}

/** Puts the events of messages' posts into a page, each with the message as it now stands. */
class PostEvents {
  readonly #page: JsonPage;
  readonly #tables: Tables;
  readonly #id: string;
  readonly #head: Buffer;

  constructor(page: JsonPage, tables: Tables, id: string) {
    [this.#page, this.#tables, this.#id] = [page, tables, id];
    this.#head = Buffer.from(`{"type":"message.new","conv":"${id}","seq":`);
  }

  /** As `encodeEvent` has it. */
  put(rev: number, seq: number, stored: Buffer): void {
    const page = this.#page;
    page.beginItem();
    page.copy(this.#head, 0, this.#head.length);
    page.number(seq);
    page.copy(TS, 0, TS.length);
    page.number(unixSeconds(messageTime(stored)));
    page.copy(DATA, 0, DATA.length);
    putMessage(page, this.#tables, this.#id, seq, stored);
    page.copy(REV, 0, REV.length);
    page.number(rev);
    page.copy(END, 0, END.length);
    page.endItem();
  }
}

const [TS, DATA, REV, END] = [',"ts":', ',"data":', ',"rev":', ',"rev_count":1}'].map((part) => Buffer.from(part)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];

function changeEvent(
  tables: Tables,
  record: ConversationRecord,
  epoch: string,
  rev: number,
  { type, seq, ts, data }: ChangeRecord,
): string {
  // What was done to a message that is gone: all there is to tell is that it is.
  if (seq !== undefined && seq <= record.floorSeq) {
    return encodeEvent({ type: 'purge', conv: record.id, ts, rev, rev_count: 1 }, purgeData(record));
  }
  const head = { type: type as EventType, conv: record.id, ts, rev, rev_count: 1 };
  return encodeEvent(seq === undefined ? head : { ...head, seq }, data ?? changeData(tables, record, epoch, seq));
}

/** What the event `purge` tells: everything in front of that seq is gone. */
export function purgeData({ id, floorSeq }: Pick<ConversationRecord, 'id' | 'floorSeq'>): string {
  return JSON.stringify({ conversation_id: id, before_seq: floorSeq + 1 });
}

/** What a change without data of its own tells: the message or the conversation as it now stands. */
function changeData(tables: Tables, record: ConversationRecord, epoch: string, seq: number | undefined): string {
  if (seq === undefined) return JSON.stringify(conversationView(tables, record, epoch));
  const json = readMessage(tables, record, seq);
  if (json === undefined) throw missingMessage(record.id, seq);
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

/**
 * The other participants who have read a message, among the `limit` behind `after` who have a watermark, by username; and
 * the last who was looked at, undefined at the end.
 */
export function readReaders(
  tables: Tables,
  id: string,
  { seq, except, after, limit }: { seq: number; except: string; after: string | undefined; limit: number },
): { readonly readers: string[]; readonly last: string | undefined } {
  const range = under(id);
  const start = after === undefined ? range.start : key(id, after, '');
  const looked = [...tables.watermarks.getRange({ start, end: range.end, limit })];
  const readers = looked.flatMap((entry) => {
    const user = lastPart(entry.key);
    return numberAt(entry.value, 1) < seq || user === except ? [] : [user];
  });
  const last = looked.at(-1);
  return { readers, last: looked.length < limit || last === undefined ? undefined : lastPart(last.key) };
}

/**
 * Up to where everybody but the reader has read; who came later has nothing to read before that. Undefined where there
 * is nobody else, and in rooms of more than HINT_PARTICIPANTS_MAX.
 */
export function readLastCommonRead(tables: Tables, record: ConversationRecord, reader: string): number | undefined {
  if (record.participantCount > HINT_PARTICIPANTS_MAX) return undefined;
  let lowest: number | undefined;
  for (const entry of tables.members.getRange(under(record.id))) {
    const user = lastPart(entry.key);
    if (user === reader) continue;
    const { read } = readWatermark(tables, record.id, user);
    const from = Math.max(read, memberRecord.decode(entry.value).joinedSeq);
    lowest = Math.min(lowest ?? from, from);
  }
  return lowest;
}

/** Who came, went or changed roles, in order behind a rev: the event's data as JSON, with the head it happened at. */
export function readRoster(
  tables: Tables,
  { id, rev: last, emptiedSeq }: ConversationRecord,
  afterRev: number,
  limit: number,
): { readonly rev: number; readonly head: number; readonly ts: number; readonly data: string }[] {
  const range = { start: numbered(afterRev + 1, id), end: numbered(last + 1, id), limit };
  return [...tables.roster.getRange(range)].map((entry) => {
    const { head, ts, data = '{}' } = changeRecord.decode(entry.value);
    // What a deletion ended is no part of what began behind it.
    return { rev: numberOf(entry.key), head: Math.max(head, emptiedSeq), ts, data };
  });
}
