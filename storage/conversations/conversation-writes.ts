/** What a conversation's changes put on disk: one function per record, values ready for the lane. */
import type { LaneWrite } from '../engine/lane.ts';
import { key, numbered, numberedThen, numberValue } from '../engine/keys.ts';
import {
  changeRecord,
  conversationRecord,
  memberRecord,
  membershipRecord,
  messageRecord,
  personalRecord,
  pinRecord,
  reactionCounts,
  senderCounts,
  type ChangeRecord,
  type ConversationRecord,
  type MemberRecord,
  type PersonalRecord,
  type PinRecord,
  type ReactionCounts,
  type SenderCounts,
  type Watermark,
} from '../engine/records.ts';

const PRESENT = Buffer.from([1]);

export function writeConversation(record: ConversationRecord): LaneWrite {
  return { table: 'conversations', key: key(record.id), value: conversationRecord.encode(record) };
}

/** A message as readers get it. */
export function writeMessage(conversation: string, seq: number, json: string, flags: number): LaneWrite {
  return { table: 'messages', key: numbered(seq, conversation), value: messageRecord.encode(json, flags) };
}

/** Who posted how many messages of a block: so that one's own are left out of one's unread count. */
export function writeSenders(conversation: string, block: number, counts: SenderCounts): LaneWrite {
  return { table: 'senders', key: numbered(block, conversation), value: senderCounts.encode(counts) };
}

export function writeDeleted(conversation: string, seq: number, sender: string): LaneWrite {
  return { table: 'deleted', key: numbered(seq, conversation), value: key(sender) };
}

export function writeIdempotency(conversation: string, sender: string, clientMsgId: string, seq: number): LaneWrite {
  return { table: 'idempotency', key: key(conversation, sender, clientMsgId), value: numberValue(seq) };
}

export function writeChange(conversation: string, rev: number, change: ChangeRecord): LaneWrite {
  return { table: 'changes', key: numbered(rev, conversation), value: changeRecord.encode(change) };
}

/**
 * Who came, went or changed roles: the change as the log has it, for as long as the conversation is there. The log
 * forgets it, and an export has to say who was there when something was said.
 */
export function writeRoster(conversation: string, rev: number, change: ChangeRecord): LaneWrite {
  return { table: 'roster', key: numbered(rev, conversation), value: changeRecord.encode(change) };
}

/** A membership in both directions: who takes part here, and where a person takes part. */
export function writeMember(conversation: string, user: string, member: MemberRecord, stamp: number): LaneWrite[] {
  return [
    { table: 'members', key: key(conversation, user), value: memberRecord.encode(member) },
    writeMembership(conversation, user, false, stamp),
  ];
}

/**
 * The end of a membership: the person's direction stays as `gone`, for their other devices to learn of, and says whether
 * they were `removed`, for whoever would let them in again.
 */
export function removeMember(conversation: string, user: string, stamp: number, removed?: true): LaneWrite[] {
  return [
    { table: 'members', key: key(conversation, user), value: null },
    { table: 'watermarks', key: key(conversation, user), value: null },
    { table: 'personal', key: key(user, conversation), value: null },
    writeMembership(conversation, user, true, stamp, removed),
  ];
}

export function writeMembership(
  conversation: string,
  user: string,
  gone: boolean,
  stamp: number,
  removed?: true,
): LaneWrite {
  const value = membershipRecord.encode({ gone, stamp, removed });
  return { table: 'memberships', key: key(user, conversation), value };
}

export function writeWatermark(conversation: string, user: string, watermark: Watermark): LaneWrite {
  const value = numberValue(watermark.delivered, watermark.read);
  return { table: 'watermarks', key: key(conversation, user), value };
}

export function writePersonal(conversation: string, user: string, record: PersonalRecord): LaneWrite {
  return { table: 'personal', key: key(user, conversation), value: personalRecord.encode(record) };
}

export function writePin(conversation: string, seq: number, pin: PinRecord | null): LaneWrite {
  return { table: 'pins', key: numbered(seq, conversation), value: pin === null ? null : pinRecord.encode(pin) };
}

export function writeReaction(
  conversation: string,
  seq: number,
  emoji: string,
  user: string,
  present: boolean,
): LaneWrite {
  const itemKey = numberedThen(seq, conversation, emoji, user);
  return { table: 'reactions', key: itemKey, value: present ? PRESENT : null };
}

export function writeReactionCounts(conversation: string, seq: number, counts: ReactionCounts): LaneWrite {
  const value = counts.length === 0 ? null : reactionCounts.encode(counts);
  return { table: 'reactionCounts', key: numbered(seq, conversation), value };
}

/**
 * What is to be purged of a conversation: all of it, after a deletion, or what lies below its raised floor. A block of
 * such work looks at more after a deletion.
 */
export type PurgeKind = 'emptied' | 'raised';
const PURGE_MARKS = { emptied: PRESENT, raised: Buffer.from([2]) } as const satisfies Record<PurgeKind, Buffer>;

/** Marks a conversation whose contents are still to be purged, or takes the mark away. */
export function writePurge(conversation: string, kind: PurgeKind | null): LaneWrite {
  return { table: 'meta', key: purgeKey(conversation), value: kind === null ? null : PURGE_MARKS[kind] };
}

export function purgeKey(conversation: string): Buffer {
  return key('purge', conversation);
}

/** What the mark under `purgeKey` says; undefined where there is none. */
export function readPurgeKind(mark: Buffer | undefined): PurgeKind | undefined {
  if (mark === undefined) return undefined;
  return mark.equals(PURGE_MARKS.raised) ? 'raised' : 'emptied';
}

/** Marks a conversation with a retention of its own, so that the sweep finds it, or takes the mark away. */
export function writeRetention(conversation: string, isSet: boolean): LaneWrite {
  return { table: 'meta', key: key('retention', conversation), value: isSet ? PRESENT : null };
}

/** Removes a record by its key, for work that walks a range. */
export function removeKey(table: LaneWrite['table'], itemKey: Buffer): LaneWrite {
  return { table, key: itemKey, value: null };
}
