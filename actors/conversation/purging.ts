/** Takes what lies below the floor, and what a hold that is over kept, off the disk, in blocks small enough that nobody notices. */
import { purgeData } from '#storage/conversations/conversation-reader.ts';
import { removeKey, removeMember, writeChange, writePurge } from '#storage/conversations/conversation-writes.ts';
import { removeReference } from '#storage/conversations/attachment-references.ts';
import { calledBy, mentionKey, removeMention } from '#storage/conversations/mention-records.ts';
import { invitationNamed, removeInvitation } from '#storage/conversations/room-invitations.ts';
import { lastPart, numberAt, numbered, numberOf, under } from '#storage/engine/keys.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { changeRecord, messageRecord } from '#storage/engine/records.ts';
import { isOnHold } from '#storage/conversations/retention.ts';
import { chunkKey, segmentOf } from '#storage/search/search-records.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Effect } from '../runtime/actor.ts';
import type { ConversationState } from './conversation.state.ts';
import { releaseVersions } from './holding.ts';

/** Records per block: about a millisecond of this thread, and one commit among the others. */
const PURGE_BLOCK = 500;
/** Messages per block: each is read for what it says of others, and each may be large. */
const PURGE_MESSAGES = 100;
/** A pause between blocks leaves the lane to the living. */
const PURGE_PAUSE_MILLIS = 10;
/** In front of a message's body: one without it mentions nobody. */
const MENTIONS_FIELD = '"mentions":';

/** What a block took off the disk. */
export interface Purged {
  readonly messages: number;
  /** Of the records of these messages. */
  readonly bytes: number;
}

/** The next block, and a wake-up for the one after; when nothing is left, the mark goes. */
export function purge(state: ConversationState, report?: (purged: Purged) => void): readonly Effect[] {
  const { record } = state;
  // The sweep asks again; under a hold nothing goes off the disk, whoever hid it.
  if (record === undefined || isOnHold(record)) return [];
  const released = releaseVersions(state);
  if (released.length === 0 && record.floorRev === 0) return [];
  const writes = released.length > 0 ? released : (purgeMessages(state, report) ?? purgeBlock(state));
  if (writes.length === 0) return [{ kind: 'append', writes: [writePurge(state.id, null)] }];
  return [
    { kind: 'append', writes },
    { kind: 'wake', after: PURGE_PAUSE_MILLIS, message: { kind: 'purge' } },
  ];
}

/** Messages go with whom they mention; undefined when none is left. */
function purgeMessages(state: ConversationState, report?: (purged: Purged) => void): LaneWrite[] | undefined {
  const { id, view } = state;
  const { floorSeq = 0 } = state.record ?? {};
  const range = { start: under(id).start, end: numbered(floorSeq + 1, id) };
  const keys = view.keys('messages', range, PURGE_MESSAGES);
  if (keys.length === 0) return undefined;
  let bytes = 0;
  const writes = keys.flatMap((itemKey) => {
    const stored = view.get('messages', itemKey);
    if (stored === undefined) return [];
    bytes += stored.length;
    return [removeKey('messages', itemKey), ...removeMentions(state, numberOf(itemKey), stored)];
  });
  report?.({ messages: keys.length, bytes });
  return writes;
}

function removeMentions({ id, view }: ConversationState, seq: number, stored: Buffer): LaneWrite[] {
  if (!stored.includes(MENTIONS_FIELD)) return [];
  const { mentions, sender } = JSON.parse(messageRecord.json(stored)) as Message;
  return calledBy(mentions, sender).flatMap((who) => {
    const itemKey = mentionKey(id, who, seq);
    const value = view.get('mentions', itemKey);
    return value === undefined ? [] : removeMention(itemKey, value);
  });
}

function purgeBlock(state: ConversationState): LaneWrite[] {
  const { id, view } = state;
  const { floorSeq = 0, floorRev = 0 } = state.record ?? {};
  const { start } = under(id);
  const upTo = (number: number) => ({ start, end: numbered(number + 1, id) });
  for (const table of ['deleted', 'reactionCounts', 'pins', 'reactions'] as const) {
    const keys = view.keys(table, upTo(floorSeq), PURGE_BLOCK);
    if (keys.length > 0) return keys.map((itemKey) => removeKey(table, itemKey));
  }
  const attached = view.keys('attachments', upTo(floorSeq), PURGE_BLOCK / 4);
  if (attached.length > 0) {
    return attached.flatMap((itemKey) => {
      const attachment = view.get('attachments', itemKey)?.toString() ?? '';
      return removeReference(id, numberOf(itemKey), attachment);
    });
  }
  for (const table of ['replies', 'threads'] as const) {
    const keys = view.keys(table, upTo(floorSeq), PURGE_BLOCK);
    if (keys.length > 0) return keys.map((itemKey) => removeKey(table, itemKey));
  }
  const changes = view.keys('changes', upTo(floorRev), PURGE_BLOCK);
  if (changes.length > 0) return changes.map((itemKey) => removeKey('changes', itemKey));
  const blanked = blankChanges(state);
  if (blanked.length > 0) return blanked;
  const emptied = Math.floor(floorSeq / POSTED_BLOCK);
  for (const table of ['senders', 'signatures'] as const) {
    const blocks = view.keys(table, upTo(emptied), PURGE_BLOCK);
    if (blocks.length > 0) return blocks.map((itemKey) => removeKey(table, itemKey));
  }
  // A segment that goes on behind the floor is needed for what is behind it.
  const kept = segmentOf(emptied + 1);
  const segments = view.keys('segments', { start, end: chunkKey(id, kept, 0) }, PURGE_BLOCK);
  if (segments.length > 0) return segments.map((itemKey) => removeKey('segments', itemKey));
  return state.isEmptying ? purgeEmptied(state) : [];
}

/** Changes behind the floor that tell of messages below it say from now on only that those are gone. */
function blankChanges({ id, record, view }: ConversationState): LaneWrite[] {
  if (record === undefined) return [];
  const { floorSeq, floorRev } = record;
  const range = { start: numbered(floorRev + 1, id), end: under(id).end };
  return view.keys('changes', range).flatMap((itemKey) => {
    const stored = view.get('changes', itemKey);
    const change = stored === undefined ? undefined : changeRecord.decode(stored);
    if (change?.seq === undefined || change.seq > floorSeq) return [];
    const blank = { ...change, type: 'purge', seq: undefined, data: purgeData(record) };
    return [writeChange(id, numberOf(itemKey), blank)];
  });
}

/** What a deletion takes and a raised floor leaves: whom it is remembered for that something was posted, and people. */
function purgeEmptied({ id, record, view }: ConversationState): LaneWrite[] {
  const { deleted = false, emptiedSeq = 0, kind } = record ?? {};
  const { start, end } = under(id);
  // These are not ordered by seq, so what a new beginning wrote stands among what has to go.
  const mentions = view.keys('mentions', { start, end }).filter((itemKey) => numberOf(itemKey) <= emptiedSeq);
  if (mentions.length > 0) {
    return mentions.slice(0, PURGE_BLOCK / 2).flatMap((itemKey) => {
      const value = view.get('mentions', itemKey);
      return value === undefined ? [] : removeMention(itemKey, value);
    });
  }
  for (const table of ['idempotency', 'outcomes'] as const) {
    const posted = view.keys(table, { start, end }).filter((itemKey) => {
      const seq = view.get(table, itemKey);
      return seq !== undefined && numberAt(seq) <= emptiedSeq;
    });
    if (posted.length > 0) return posted.slice(0, PURGE_BLOCK).map((itemKey) => removeKey(table, itemKey));
  }
  const roster = view.keys('roster', { start, end }).filter((itemKey) => {
    const stored = view.get('roster', itemKey);
    return deleted || (stored !== undefined && changeRecord.decode(stored).head < emptiedSeq);
  });
  if (roster.length > 0) return roster.slice(0, PURGE_BLOCK).map((itemKey) => removeKey('roster', itemKey));
  if (record === undefined || !deleted || kind !== 'room') return [];
  const links = view.keys('roomLinks', { start, end }, PURGE_BLOCK);
  if (links.length > 0) return links.map((itemKey) => removeKey('roomLinks', itemKey));
  const invitations = view.keys('roomInvitations', { start, end }, PURGE_BLOCK / 2);
  if (invitations.length > 0) {
    return invitations.flatMap((itemKey) => removeInvitation(invitationNamed(itemKey)));
  }
  // With the stamp of the deletion: whoever was told of that is not told again (SOC-11).
  return view
    .keys('members', { start, end }, PURGE_BLOCK / 4)
    .flatMap((itemKey) => removeMember(id, lastPart(itemKey), record.stamp));
}
