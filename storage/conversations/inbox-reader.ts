/**
 * The inbox: a person's conversations out of all lanes, or those that changed since an earlier walk.
 *
 * A walk's cursor is the stamp of every lane at its start. Stamps rise with the commits of a lane, so "changed since"
 * is exact whatever the clocks did, and what changes during a walk is merely told again in the next one.
 */
import { UNREAD_COUNT_MAX } from '#src/protocol/limits.ts';
import { key, lastPart, numbered, numberOf, under } from '../engine/keys.ts';
import { stampOf, type LaneEnvironment } from '../engine/lane.ts';
import {
  conversationView,
  isHidden,
  readConversation,
  readMember,
  readMessage,
  readPersonal,
  readRecord,
  readWatermark,
  type Tables,
} from './conversation-reader.ts';
import { countUnreadMentions } from './mention-reader.ts';
import { countOwn } from './posted-blocks.ts';
import { membershipRecord, type ConversationRecord } from '../engine/records.ts';

/** One conversation of the person, as found before a page is cut. */
export interface InboxEntry {
  readonly id: string;
  readonly lane: number;
  /** Undefined when the person no longer takes part. */
  readonly record: ConversationRecord | undefined;
}

/** The stamps of all lanes now. */
export function laneStamps(environments: readonly LaneEnvironment[]): number[] {
  return environments.map((environment) => stampOf(environment.tables));
}

/**
 * A person's conversations in one lane that changed after `since` (0: all of them). One record is read for each
 * conversation the person ever took part in.
 */
export function readLaneInbox(tables: Tables, lane: number, user: string, since: number): InboxEntry[] {
  const entries: InboxEntry[] = [];
  for (const entry of tables.memberships.getRange(under(user))) {
    const membership = membershipRecord.decode(entry.value);
    const id = lastPart(entry.key);
    const record = membership.gone ? undefined : readRecord(tables, id);
    const stamp = Math.max(membership.stamp, record?.stamp ?? 0);
    const living = record?.deleted === true ? undefined : record;
    // Somebody who walks from the start has nothing to forget.
    if (stamp <= since || (living === undefined && since === 0)) continue;
    entries.push({ id, lane, record: living });
  }
  return entries;
}

/** The ids of the conversations a person takes part in. */
export function readMemberships(environments: readonly LaneEnvironment[], user: string): string[] {
  return environments.flatMap(({ tables }) =>
    [...tables.memberships.getRange(under(user))].flatMap((entry) =>
      membershipRecord.decode(entry.value).gone || readConversation(tables, lastPart(entry.key)) === undefined
        ? []
        : [lastPart(entry.key)],
    ),
  );
}

/** One inbox item as JSON. */
export function inboxItemJson(tables: Tables, entry: InboxEntry, user: string, epoch: string): string {
  const { record } = entry;
  if (record === undefined) return JSON.stringify({ gone: entry.id });
  const watermark = readWatermark(tables, record.id, user);
  const personal = readPersonal(tables, record.id, user);
  const unread = countUnread(tables, record, user, watermark.read);
  const unreadAfter = readUpTo(tables, record, user, watermark.read);
  const item = {
    conversation: conversationView(tables, record, epoch),
    unread,
    unread_after: unreadAfter,
    mention_count: countUnreadMentions(tables, record, user, unreadAfter),
    ...watermark,
    muted_until: personal.mutedUntil ?? null,
    ...(isHidden(record, personal) ? { hidden: true } : {}),
    ...(personal.favourite === true ? { favourite: true } : {}),
    ...(personal.category === undefined ? {} : { category: personal.category }),
    ...(personal.draft === undefined ? {} : { draft: personal.draft.body }),
  };
  const last = readMessage(tables, record, record.headSeq);
  const json = JSON.stringify(item);
  return last === undefined ? json : `${json.slice(0, -1)},"last_message":${last}}`;
}

/**
 * How many messages a person has not read: those behind their watermark that others wrote and nobody deleted.
 * Computed from the records each time, never a counter that could drift. Counts up to UNREAD_COUNT_MAX.
 */
export function countUnread(tables: Tables, record: ConversationRecord, user: string, read: number): number {
  // What is older than UNREAD_COUNT_MAX messages is not counted.
  const from = Math.max(readUpTo(tables, record, user, read), record.headSeq - UNREAD_COUNT_MAX);
  const span = record.headSeq - from;
  if (span <= 0) return 0;
  const start = numbered(from + 1, record.id);
  const end = numbered(record.headSeq + 1, record.id);
  let deleted = 0;
  for (const entry of tables.deleted.getRange({ start, end })) {
    if (entry.value.toString() !== user) deleted += 1;
  }
  return span - countOwn(tables, record, user, from) - deleted;
}

/** The seq up to which a person has read, or did not have to: it was there before them, or it is gone. */
export function readUpTo(tables: Tables, record: ConversationRecord, user: string, read: number): number {
  const joined = readMember(tables, record.id, user)?.joinedSeq ?? 0;
  return Math.max(read, joined, record.floorSeq);
}

/** Seqs of the pinned messages, oldest first. */
export function readPinnedSeqs(tables: Tables, id: string): number[] {
  return [...tables.pins.getKeys(under(id))].map((itemKey) => numberOf(itemKey));
}

/** Whether two people share any conversation: the answer decides who may signal whom (SIG-04). */
export function shareConversation(environments: readonly LaneEnvironment[], one: string, other: string): boolean {
  return environments.some(({ tables }) => {
    for (const entry of tables.memberships.getRange(under(one))) {
      if (membershipRecord.decode(entry.value).gone) continue;
      const id = lastPart(entry.key);
      if (tables.members.get(key(id, other)) === undefined) continue;
      if (readConversation(tables, id) !== undefined) return true;
    }
    return false;
  });
}

/**
 * With whom a person shares a conversation, for asking of many: theirs are read at the first question, as they are then.
 */
export function makeSharing(environments: readonly LaneEnvironment[], one: string): (other: string) => boolean {
  let own: readonly { readonly tables: Tables; readonly id: string }[] | undefined;
  const read = () => {
    for (const environment of environments) environment.refresh();
    return environments.flatMap((environment) =>
      readMemberships([environment], one).map((id) => ({ tables: environment.tables, id })),
    );
  };
  return (other) => {
    own ??= read();
    return own.some(({ tables, id }) => tables.members.get(key(id, other)) !== undefined);
  };
}

/** Conversations of a lane that hold what is to be purged. */
export function readPurges(tables: Tables): string[] {
  return [...tables.meta.getKeys(under('purge'))].map((itemKey) => lastPart(itemKey));
}

/** Ids of a lane's conversations with a retention of their own, behind `after`. */
export function readRetained(tables: Tables, after: string, limit: number): string[] {
  const { end } = under('retention');
  return [...tables.meta.getKeys({ start: key('retention', after, ''), end, limit })].map((itemKey) =>
    lastPart(itemKey),
  );
}

/** Ids of a lane's conversations behind `after`. */
export function readConversationIds(tables: Tables, after: string, limit: number): string[] {
  return [...tables.conversations.getKeys({ start: key(after, ''), limit })].map((itemKey) => itemKey.toString());
}

/** Ids of a lane's conversations that a person takes part in or ever did, behind `after`. */
export function readMembershipIds(tables: Tables, user: string, after: string, limit: number): string[] {
  const { end } = under(user);
  return [...tables.memberships.getKeys({ start: key(user, after, ''), end, limit })].map((itemKey) =>
    lastPart(itemKey),
  );
}
