/**
 * What others say of a person who was erased, in one message: a forward of their words becomes a stub, and where they are
 * mentioned or on a contact card, a stand-in takes the place of their name.
 */
import { atForm } from '#src/base/name-forms.ts';
import { ERASED_NAME } from '#src/protocol/names.ts';
import type { Mention, Message } from '#src/protocol/conversations/messages.ts';
import { writeMessage } from '#storage/conversations/conversation-writes.ts';
import { MESSAGE_FLAGS, type ConversationRecord } from '#storage/engine/records.ts';
import { isOnHold } from '#storage/conversations/retention.ts';
import { indexEdit, isSearched } from '#storage/search/search-index.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';
import { mentionWrites } from './mentioning.ts';
import { emptyMessage } from './posting.ts';

/** What came of it; `held` where a legal hold keeps the message as it is. */
export type TraceOutcome = 'none' | 'forward' | 'name' | 'held';

/** One message at a time: what it writes of the search index, the next one has to read. */
export function eraseTrace(
  state: ConversationState,
  { user, seq }: Extract<ConversationMessage, { kind: 'eraseTrace' }>,
  now: number,
): readonly Effect[] {
  const { living: record } = state;
  if (record === undefined) return refuse('conversation_forbidden');
  const found = state.message(seq);
  if (found === undefined || (found.flags & MESSAGE_FLAGS.deleted) !== 0) return [answer('none')];
  const old = JSON.parse(found.json) as Message;
  const isForward = old.forward?.sender === user;
  const renamed = isForward ? undefined : withoutName(old, user);
  if (!isForward && renamed === undefined) return [answer('none')];
  if (isOnHold(record)) return [answer('held')];
  if (renamed !== undefined)
    return [...rename(state, record, { old, renamed, flags: found.flags }, now), answer('name')];
  return [...emptyMessage(state, record, { seq, old, flags: found.flags }, now).effects, answer('forward')];
}

const answer = (value: TraceOutcome): Effect => ({ kind: 'answer', value });

interface Renamed {
  readonly old: Message;
  readonly renamed: Message;
  readonly flags: number;
}

/** Puts the message with the stand-in in place. It changes without having been edited: whoever wrote it did not. */
function rename(
  state: ConversationState,
  record: ConversationRecord,
  { old, renamed, flags }: Renamed,
  now: number,
): readonly Effect[] {
  const { sender, seq } = old;
  const json = JSON.stringify(renamed);
  const data = state.dress(seq, json, flags);
  const change = makeChange(record, state.view, now, { type: 'message.edit', seq, data, keepData: false });
  const writes = [
    ...change.writes,
    writeMessage(state.id, seq, json, flags),
    ...mentionWrites(state, { seq, sender, before: old.mentions, after: renamed.mentions, now }),
    ...(isSearched(record.kind) ? indexEdit(state.view, renamed, record.headSeq) : []),
  ];
  return [
    { kind: 'append', writes },
    { kind: 'publish', topic: state.id, type: 'message.edit', event: change.event },
  ];
}

/** A message without that name; undefined where it does not have it. Its body stays last. */
function withoutName(message: Message, user: string): Message | undefined {
  const { body, mentions = [], ...kept } = message;
  if (typeof body === 'object' && 'name' in body && 'username' in body && body.username === user) {
    return { ...message, body: { name: ERASED_NAME } };
  }
  if (typeof body !== 'string') return undefined;
  const places = placesOf(body, mentions, user);
  if (places.length === 0) return undefined;
  const others = mentions.filter((mention) => !isOf(mention, user));
  const moved = others.map((mention) => ({ ...mention, offset: mention.offset + shiftAt(places, mention.offset) }));
  let text = body;
  for (const { offset, length } of places.toReversed()) {
    text = `${text.slice(0, offset)}${STAND_IN}${text.slice(offset + length)}`;
  }
  return { ...kept, ...(moved.length === 0 ? {} : { mentions: moved }), body: text };
}

const STAND_IN = `@${ERASED_NAME}`;

interface Place {
  readonly offset: number;
  readonly length: number;
}

/** Where a text names somebody, in order: at mentions of them, whatever those say, and where it says `@username`. */
function placesOf(text: string, mentions: readonly Mention[], user: string): Place[] {
  const called = mentions.filter((mention) => isOf(mention, user));
  const written = [...text.matchAll(atForm(user))];
  const beside = written
    .map((match) => ({ offset: match.index, length: match[0].length }))
    // What another mention covers is theirs.
    .filter((place) => !mentions.some((mention) => overlaps(mention, place)));
  return [...called, ...beside].toSorted((a, b) => a.offset - b.offset);
}

function isOf(mention: Mention, user: string): boolean {
  return 'username' in mention && mention.username === user;
}

function overlaps(one: Place, other: Place): boolean {
  return one.offset < other.offset + other.length && other.offset < one.offset + one.length;
}

/** How far what begins at an offset moves when everything in front of it is replaced. */
function shiftAt(places: readonly Place[], offset: number): number {
  const before = places.filter((place) => place.offset < offset);
  return before.reduce((sum, { length }) => sum + STAND_IN.length - length, 0);
}
