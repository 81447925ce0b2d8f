/**
 * Rooms that are public within the organisation: the mark by which they are found, in the `meta` of their lane and in the
 * commit of what it follows from.
 */
import { key, lastPart, under } from '../engine/keys.ts';
import type { LaneEnvironment, LaneWrite } from '../engine/lane.ts';
import {
  conversationRecord,
  memberRecord,
  type ConversationRecord,
  type MemberRecord,
  type RoomFacts,
} from '../engine/records.ts';

export const NO_ROOM_FACTS: RoomFacts = {
  isPublic: false,
  archivedAt: undefined,
  topic: undefined,
  purpose: undefined,
  avatar: undefined,
};

/** Whether a room can be found: it is public, and neither archived nor deleted. */
export function isListed({ deleted, kind, room }: ConversationRecord): boolean {
  return kind === 'room' && !deleted && room?.isPublic === true && room.archivedAt === undefined;
}

/** Whether a room is archived: it is read, and nothing is added to it. */
export function isArchived({ room }: ConversationRecord): boolean {
  return room?.archivedAt !== undefined;
}

/** The mark by which a room is found, or its end: its title, which a search looks at first. */
export function writeListing(record: ConversationRecord): LaneWrite {
  const value = isListed(record) ? Buffer.from(record.title ?? '', 'utf8') : null;
  return { table: 'meta', key: listingKey(record.id), value };
}

export function listingKey(id: string): Buffer {
  return key('public', id);
}

/** Public rooms of a lane in front of an id, the newest first: ids rise with the time. */
export function readListings(
  tables: LaneEnvironment['tables'],
  before: string | undefined,
  limit: number,
): { readonly id: string; readonly title: string }[] {
  const { start, end } = under('public');
  // The range is walked backwards, and what it ends with is left out of it.
  const from = before === undefined ? end : key('public', before);
  const rows = [...tables.meta.getRange({ start: from, end: start, reverse: true, limit: limit + 1 })];
  const found = rows.map((row) => ({ id: lastPart(row.key), title: row.value.toString('utf8') }));
  return found.filter(({ id }) => id !== before).slice(0, limit);
}

/** Somebody who takes part, with what says how long. */
export interface SeatedMember extends MemberRecord {
  readonly user: string;
}

/** Who takes part, by username behind `after`, as the records have it. */
export function readMembers(
  tables: LaneEnvironment['tables'],
  id: string,
  after: string | undefined,
  limit: number,
): SeatedMember[] {
  const range = under(id);
  const start = after === undefined ? range.start : key(id, after, '');
  const rows = [...tables.members.getRange({ start, end: range.end, limit })];
  return rows.map((row) => ({ user: lastPart(row.key), ...memberRecord.decode(row.value) }));
}

/** Records of a lane's conversations behind an id, those that were deleted too. */
export function readRecords(
  tables: LaneEnvironment['tables'],
  after: string,
  limit: number,
): readonly ConversationRecord[] {
  const rows = [...tables.conversations.getRange({ start: key(after, ''), limit })];
  return rows.map(({ value }) => conversationRecord.decode(value));
}
