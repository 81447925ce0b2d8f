/** What goes by its time or by an owner's word: everything up to a seq, hidden with one write and purged behind it. */
import { purgeData } from '#storage/conversations/conversation-reader.ts';
import { writeIdempotency, writePurge, writeRetention } from '#storage/conversations/conversation-writes.ts';
import { numbered, numberOf, under } from '#storage/engine/keys.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import { indexedUpTo } from '#storage/conversations/posted-blocks.ts';
import { changeRecord, messageRecord, type ConversationRecord, type MemberRecord } from '#storage/engine/records.ts';
import { expiredUpTo, isOnHold, revOfPost, secondsKept, type LoggedChange } from '#storage/conversations/retention.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';

type Of<Kind extends ConversationMessage['kind']> = Extract<ConversationMessage, { kind: Kind }>;

/**
 * What is over its time goes off the disk when the oldest of it is so by this part of its lifetime, or by an hour: so a
 * conversation tells of it some two dozen times in a lifetime, and not with every message.
 */
const OVERDUE_PART = 24;
const OVERDUE_MILLIS_MAX = 3_600_000;

/** Sets how long messages are kept here, and takes away what is over that time by now. */
export function retain(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { seconds }: Of<'retain'>,
  now: number,
): readonly Effect[] {
  if (!state.may(member.role, 'retention.change')) return refuse('right_missing');
  const answer = (): Effect => ({
    kind: 'answer',
    value: { status: 200, json: JSON.stringify(state.toWire(record)) },
  });
  if ((record.retention ?? null) === seconds) return [answer()];
  record.retention = seconds ?? undefined;
  state.expire(now);
  const raised = raiseFloor(state, record, state.floorSeq, now);
  // The record in the event carries the rev of the change itself.
  const wire = JSON.stringify({ ...state.toWire(record), rev: record.rev + 1 });
  const change = makeChange(record, state.view, now, { type: 'conversation.updated', data: wire, keepData: false });
  const writes = [...change.writes, writeRetention(state.id, seconds !== null)];
  return [
    ...raised,
    { kind: 'append', writes },
    { kind: 'publish', topic: state.id, type: 'conversation.updated', event: change.event },
    answer(),
  ];
}

/** Takes away everything in front of a seq, for everyone. */
export function purgeBefore(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { beforeSeq }: Of<'purgeBefore'>,
  now: number,
): readonly Effect[] {
  if (!state.may(member.role, 'conversation.delete')) return refuse('right_missing');
  if (isOnHold(record)) return refuse('conversation_held');
  const raised = raiseFloor(state, record, Math.min(beforeSeq - 1, record.headSeq), now);
  return [...raised, { kind: 'answer', value: { status: 204, json: '' } }];
}

/** Takes away what is over its time, once that is worth it; on the sweep's word. */
export function expire(state: ConversationState, now: number): readonly Effect[] {
  const record = state.living;
  const seconds = record === undefined ? undefined : secondsKept(record);
  if (record === undefined || seconds === undefined) return [];
  const overdue = Math.min((seconds * 1000) / OVERDUE_PART, OVERDUE_MILLIS_MAX);
  if (expiredUpTo(record, (seq) => state.stored(seq), now - overdue) === record.floorSeq) return [];
  return raiseFloor(state, record, state.floorSeq, now);
}

/** Raises the floor: unreadable with this commit, told with one event, off the disk by `purge`. */
function raiseFloor(
  state: ConversationState,
  record: ConversationRecord,
  floorSeq: number,
  now: number,
): readonly Effect[] {
  const from = record.floorSeq;
  if (floorSeq <= from) return [];
  const keys = keysOfRecent(state, record, floorSeq);
  const pins = state.view.keys('pins', { start: numbered(from + 1, state.id), end: numbered(floorSeq + 1, state.id) });
  record.floorRev = revOfPost(record, floorSeq, (rev) => changeFrom(state, rev));
  record.floorSeq = floorSeq;
  record.pinCount -= pins.length;
  const data = purgeData(record);
  const change = makeChange(record, state.view, now, { type: 'purge', data, keepData: true });
  state.expire(now);
  return [
    {
      kind: 'append',
      writes: [...change.writes, ...keys, ...(state.isEmptying ? [] : [writePurge(state.id, 'raised')])],
    },
    { kind: 'publish', topic: state.id, type: 'purge', event: change.event },
    { kind: 'wake', after: 0, message: { kind: 'purge' } },
  ];
}

/**
 * The client_msg_ids of messages that are to go and are in no index yet, since their block is not whole: a repeat must
 * be known for one for ever.
 */
function keysOfRecent(state: ConversationState, record: ConversationRecord, floorSeq: number): LaneWrite[] {
  const writes: LaneWrite[] = [];
  for (let seq = Math.max(indexedUpTo(record.headSeq), record.floorSeq) + 1; seq <= floorSeq; seq += 1) {
    const stored = state.stored(seq);
    if (stored === undefined) continue;
    const { sender, clientMsgId } = messageRecord.facts(stored);
    if (clientMsgId !== undefined) writes.push(writeIdempotency(state.id, sender, clientMsgId, seq));
  }
  return writes;
}

/** The first change in the log from a rev on. */
function changeFrom(state: ConversationState, rev: number): LoggedChange | undefined {
  const [first] = state.view.keys('changes', { start: numbered(rev, state.id), end: under(state.id).end }, 1);
  const stored = first === undefined ? undefined : state.view.get('changes', first);
  if (first === undefined || stored === undefined) return undefined;
  return { rev: numberOf(first), head: changeRecord.decode(stored).head };
}
