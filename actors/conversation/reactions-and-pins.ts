/** What people put on messages and conversations: reactions, pins, receipts, drafts, mutes, typing. */
import { unixSeconds } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import {
  HINT_PARTICIPANTS_MAX,
  PINS_MAX,
  REACTION_USERS_MAX,
  REACTIONS_PER_MESSAGE_MAX,
  TYPING_INTERVAL_MILLIS,
} from '#src/protocol/limits.ts';
import {
  writeConversation,
  writeMembership,
  writeMessage,
  writePersonal,
  writePin,
  writeReaction,
  writeReactionCounts,
  writeWatermark,
} from '#storage/conversations/conversation-writes.ts';
import { isHidden, withReactions, withThread } from '#storage/conversations/conversation-reader.ts';
import { lastPart, numberedThen } from '#storage/engine/keys.ts';
import {
  MESSAGE_FLAGS,
  type ConversationRecord,
  type MemberRecord,
  type ReactionCounts,
} from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage, Reply } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';
import { currentJson } from './posting.ts';

type Of<Kind extends ConversationMessage['kind']> = Extract<ConversationMessage, { kind: Kind }>;

const answer = (status: Reply['status'], json: string): Effect => ({ kind: 'answer', value: { status, json } });

/** Adds or takes back one emoji. Doing what is done already changes nothing and raises no event. */
export function react(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'react'>,
  now: number,
): readonly Effect[] {
  const { seq, emoji, user, added } = message;
  if (!state.may(member.role, 'reaction.add')) return refuse('right_missing');
  const found = state.message(seq);
  if (found === undefined) return refuse('message_not_found');
  if ((found.flags & MESSAGE_FLAGS.deleted) !== 0) {
    return added ? refuse('message_deleted') : [answer(200, currentJson(state, seq))];
  }
  const present = state.view.get('reactions', numberedThen(seq, state.id, emoji, user)) !== undefined;
  if (present === added) return [answer(200, currentJson(state, seq))];
  const counts = state.reactions(seq);
  const next = added ? withOne(counts, emoji, user) : withoutOne(state, seq, counts, emoji, user);
  if (next.length > REACTIONS_PER_MESSAGE_MAX) return refuse('reactions_full');
  const [, count, users] = next.find(([one]) => one === emoji) ?? [emoji, 0, []];
  const data = JSON.stringify({ seq, user, emoji, added, count, users });
  const change = makeChange(record, state.view, now, { type: 'reaction', seq, data, keepData: true });
  const writes = [
    ...change.writes,
    writeReaction(state.id, seq, emoji, user, added),
    writeReactionCounts(state.id, seq, next),
  ];
  if ((found.flags & MESSAGE_FLAGS.reactions) === 0) {
    writes.push(writeMessage(state.id, seq, found.json, found.flags | MESSAGE_FLAGS.reactions));
  }
  const json = withThread(withReactions(found.json, next), state.thread(seq));
  return [
    { kind: 'append', writes },
    answer(200, json),
    { kind: 'publish', topic: state.id, type: 'reaction', event: change.event },
  ];
}

function withOne(counts: ReactionCounts, emoji: string, user: string): ReactionCounts {
  if (!counts.some(([one]) => one === emoji)) return [...counts, [emoji, 1, [user]]];
  return counts.map(([one, count, users]) =>
    one === emoji
      ? [one, count + 1, users.length < REACTION_USERS_MAX ? [...users, user] : users]
      : [one, count, users],
  );
}

function withoutOne(
  state: ConversationState,
  seq: number,
  counts: ReactionCounts,
  emoji: string,
  user: string,
): ReactionCounts {
  return counts.flatMap(([one, count, users]): ReactionCounts => {
    if (one !== emoji) return [[one, count, users]];
    if (count <= 1) return [];
    if (!users.includes(user)) return [[one, count - 1, users]];
    // A listed name goes, so one that was not listed moves up.
    const start = numberedThen(seq, state.id, emoji, '');
    const end = Buffer.concat([numberedThen(seq, state.id, emoji), Buffer.from([1])]);
    const others = state.view.keys('reactions', { start, end }).map((itemKey) => lastPart(itemKey));
    const rest = users.filter((other) => other !== user);
    const next = others.find((other) => other !== user && !rest.includes(other));
    return [[one, count - 1, next === undefined ? rest : [...rest, next]]];
  });
}

/** Pins or unpins a message for everyone. */
export function pin(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'pin'>,
  now: number,
): readonly Effect[] {
  const { seq, user, pinned } = message;
  if (!state.may(member.role, 'pin.change')) return refuse('right_missing');
  const found = state.message(seq);
  if (found === undefined) return refuse('message_not_found');
  if (pinned && (found.flags & MESSAGE_FLAGS.deleted) !== 0) return refuse('message_deleted');
  if (state.isPinned(seq) === pinned) return [answer(204, '')];
  if (pinned && record.pinCount >= PINS_MAX) return refuse('pins_full');
  record.pinCount += pinned ? 1 : -1;
  const data = JSON.stringify({ seq, user, pinned });
  const change = makeChange(record, state.view, now, { type: 'pin', seq, data, keepData: true });
  return [
    { kind: 'append', writes: [...change.writes, writePin(state.id, seq, pinned ? { by: user, at: now } : null)] },
    answer(204, ''),
    { kind: 'publish', topic: state.id, type: 'pin', event: change.event },
  ];
}

/**
 * Moves a watermark forward (RCP-01): never back, never past the head, and read implies delivered. A receipt that
 * moves nothing raises no event (RCP-03).
 */
export function receipt(
  state: ConversationState,
  record: ConversationRecord,
  message: Of<'receipt'>,
  now: number,
): readonly Effect[] {
  const { seq, user } = message;
  if (seq > record.headSeq) return refuse('receipt_beyond_head', 'seq');
  const old = state.watermark(user);
  const next = {
    delivered: Math.max(old.delivered, seq),
    read: message.state === 'read' ? Math.max(old.read, seq) : old.read,
  };
  const reply = answer(200, JSON.stringify({ user, ...next }));
  if (next.delivered === old.delivered && next.read === old.read) return [reply];
  const stamp = state.view.nextStamp();
  const writes = [writeWatermark(state.id, user, next), writeMembership(state.id, user, false, stamp)];
  const data = JSON.stringify({ user, conversation_id: state.id, seq, state: message.state });
  const event = encodeEvent({ type: 'receipt', conv: state.id, seq, ts: unixSeconds(now) }, data);
  if (record.participantCount > HINT_PARTICIPANTS_MAX) {
    const told = state.hints.addReceipt({ user, seq, state: message.state }, now);
    return [{ kind: 'append', writes }, reply, { kind: 'publishTo', users: [user], type: 'receipt', event }, ...told];
  }
  // Everyone shows it, so everyone who was away must find the conversation among what changed.
  record.stamp = stamp;
  writes.push(writeConversation(record));
  return [{ kind: 'append', writes }, reply, { kind: 'publish', topic: state.id, type: 'receipt', event }];
}

/** Keeps or drops the person's unsent text; only their own devices hear of it. */
export function draft(state: ConversationState, message: Of<'draft'>, now: number): readonly Effect[] {
  const { user, device, body } = message;
  const updatedAt = formatInstant(now);
  const old = state.personal(user);
  if (body === null && old.draft === undefined) return [answer(204, '')];
  const record = { ...old, draft: body === null ? undefined : { body, updatedAt } };
  const data = JSON.stringify({ conversation_id: state.id, body, updated_at: updatedAt });
  const event = encodeEvent({ type: 'draft', conv: state.id, ts: unixSeconds(now) }, data);
  return [
    { kind: 'append', writes: [writePersonal(state.id, user, record), touch(state, user)] },
    body === null ? answer(204, '') : answer(200, JSON.stringify({ body, updated_at: updatedAt })),
    { kind: 'publishTo', users: [user], type: 'draft', event, except: { device } },
  ];
}

/** Mutes the conversation for the person. In no event (SOC-10): their other devices read it with the inbox. */
export function mute(state: ConversationState, message: Of<'mute'>): readonly Effect[] {
  const { user, until } = message;
  const record = { ...state.personal(user), mutedUntil: until ?? undefined };
  return [
    { kind: 'append', writes: [writePersonal(state.id, user, record), touch(state, user)] },
    answer(200, JSON.stringify({ until })),
  ];
}

/**
 * Hides the conversation from the person's own inbox, or shows it again. A message behind the seq shows it by itself: whoever
 * hid what they saw misses nothing. Their other devices hear that it stands otherwise with them, and read how: an event
 * carries nothing that depends on who reads it (SOC-10).
 */
export function hide(
  state: ConversationState,
  record: ConversationRecord,
  { device, seq, user }: Of<'hide'>,
  now: number,
): readonly Effect[] {
  const old = state.personal(user);
  const hiddenSeq = seq === null ? undefined : Math.min(seq, record.headSeq);
  const personal = { ...old, hiddenSeq };
  const reply = answer(200, JSON.stringify({ hidden: isHidden(record, personal) }));
  if (old.hiddenSeq === hiddenSeq) return [reply];
  const wire = JSON.stringify(state.toWire(record));
  const event = encodeEvent({ type: 'inbox', conv: state.id, ts: unixSeconds(now) }, wire);
  return [
    { kind: 'append', writes: [writePersonal(state.id, user, personal), touch(state, user)] },
    reply,
    { kind: 'publishTo', users: [user], type: 'inbox', event, except: { device } },
  ];
}

/** Marks the person's side as changed, so that an inbox walk since an earlier one finds it. */
function touch(state: ConversationState, user: string) {
  return writeMembership(state.id, user, false, state.view.nextStamp());
}

/** Passes typing on to the others: at most once per interval and person, and in large rooms with that of others. */
export function typing(
  state: ConversationState,
  record: ConversationRecord,
  message: Of<'typing'>,
  now: number,
): readonly Effect[] {
  const last = state.typing.get(message.user);
  // A clock set back must not silence anybody, so the distance counts in both directions.
  if (last !== undefined && Math.abs(now - last) < TYPING_INTERVAL_MILLIS) return [];
  state.typing.set(message.user, now);
  if (record.participantCount > HINT_PARTICIPANTS_MAX) return state.hints.addTyping(message.user, now);
  const event = encodeEvent(
    { type: 'typing', conv: state.id, ts: unixSeconds(now) },
    JSON.stringify({ user: message.user }),
  );
  return [{ kind: 'publish', topic: state.id, type: 'typing', event, except: { user: message.user } }];
}
