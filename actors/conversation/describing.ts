/** What a conversation says of itself: title, topic, purpose, picture, who may find it, and whether it is archived. */
import { withoutNames } from '#src/base/name-forms.ts';
import { formatInstant } from '#src/base/time.ts';
import type { ConversationRight } from '#src/protocol/conversations/rights.ts';
import { ERASED_NAME } from '#src/protocol/names.ts';
import { writeRoomAvatar, type RoomPictures } from '#storage/conversations/room-avatars.ts';
import { isArchived, NO_ROOM_FACTS, writeListing } from '#storage/conversations/room-records.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import type { ConversationRecord, MemberRecord, RoomFacts } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';

type Create = Extract<ConversationMessage, { kind: 'create' }>;
type Describe = Extract<ConversationMessage, { kind: 'describe' }>;

/** What nothing is added to while a room is archived. Reading and roles go on. */
const ADDING: ReadonlySet<ConversationMessage['kind']> = new Set([
  'post',
  'edit',
  'react',
  'pin',
  'typing',
  'add',
  'makeLink',
  'putAvatar',
]);

/** Whether a room is closed to what the message would add. What takes away goes on: a reaction back, a pin off. */
export function isShutTo(record: ConversationRecord, message: ConversationMessage): boolean {
  const takesAway = (message.kind === 'react' && !message.added) || (message.kind === 'pin' && !message.pinned);
  return ADDING.has(message.kind) && !takesAway && !isOutcomeOfCall(message) && isArchived(record);
}

/** Whether a post says what became of an attempt that the server saw: no call begins in an archived room, but one may end there. */
function isOutcomeOfCall(message: ConversationMessage): boolean {
  if (message.kind !== 'post' || typeof message.form.body !== 'object') return false;
  return 'outcome' in message.form.body && (message.attempts?.length ?? 0) > 0;
}

/** What a new room says of itself; undefined for a conversation that says nothing beyond its title. */
export function roomOf({ conversation, visibility, topic, purpose }: Create): RoomFacts | undefined {
  const isPublic = visibility === 'organisation';
  if (conversation !== 'room' || !(isPublic || topic || purpose)) return undefined;
  return { ...NO_ROOM_FACTS, isPublic, topic: topic ?? undefined, purpose: purpose ?? undefined };
}

/** Changes the fields that are named; one that is not theirs to change refuses them all. */
export function describe(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { form }: Describe,
  now: number,
): readonly Effect[] {
  for (const [field, right] of Object.entries(RIGHTS)) {
    const value = form[field as keyof typeof RIGHTS];
    if (value !== undefined && !state.may(member.role, right)) return refuse('right_missing');
  }
  const before = record.room ?? NO_ROOM_FACTS;
  const after: RoomFacts = {
    ...before,
    isPublic: form.visibility === undefined ? before.isPublic : form.visibility === 'organisation',
    archivedAt: archivedAt(before, form.archived, now),
    topic: form.topic === undefined ? before.topic : (form.topic ?? undefined),
    purpose: form.purpose === undefined ? before.purpose : (form.purpose ?? undefined),
  };
  const title = form.title ?? record.title;
  if (after.isPublic && title === undefined) return refuse('field_invalid', 'title');
  // An archived room is brought back first: what is found of it afterwards is as it was left.
  if (isArchived(record) && form.archived !== false) return refuse('conversation_archived');
  const isSame = (Object.keys(after) as (keyof RoomFacts)[]).every((name) => before[name] === after[name]);
  if (isSame && title === record.title) return answered(state, record);
  record.title = title;
  record.room = isSame ? record.room : after;
  return tellUpdate(state, record, now);
}

/**
 * Puts a stand-in where the room says `@name`, or another name, of a person who is erased. A legal hold is over messages, and
 * keeps none of it.
 */
export function eraseNames(
  state: ConversationState,
  { names, user }: Extract<ConversationMessage, { kind: 'eraseNames' }>,
  now: number,
): readonly Effect[] {
  const { living: record } = state;
  if (record === undefined) return refuse('conversation_forbidden');
  const without = (text: string | undefined) =>
    text === undefined ? undefined : withoutNames(text, { user, names, standIn: ERASED_NAME });
  const title = without(record.title);
  const room = record.room && {
    ...record.room,
    topic: without(record.room.topic),
    purpose: without(record.room.purpose),
  };
  const isSame = title === record.title && room?.topic === record.room?.topic && room?.purpose === record.room?.purpose;
  if (isSame) return [{ kind: 'answer', value: false }];
  record.title = title;
  record.room = room;
  const told = tellUpdate(state, record, now).filter(({ kind }) => kind !== 'answer');
  return [...told, { kind: 'answer', value: true }];
}

/** Archives a room or brings it back, whoever asked for it. */
export function putArchived(
  state: ConversationState,
  record: ConversationRecord,
  isWanted: boolean,
  now: number,
): readonly Effect[] {
  const before = record.room ?? NO_ROOM_FACTS;
  if (isWanted === isArchived(record)) return answered(state, record);
  record.room = { ...before, archivedAt: archivedAt(before, isWanted, now) };
  return tellUpdate(state, record, now);
}

const RIGHTS = {
  title: 'title.change',
  topic: 'title.change',
  purpose: 'title.change',
  visibility: 'visibility.change',
  archived: 'conversation.archive',
} as const satisfies Partial<Record<keyof Describe['form'], ConversationRight>>;

function archivedAt({ archivedAt: since }: RoomFacts, archived: boolean | undefined, now: number): string | undefined {
  if (archived === undefined || archived === (since !== undefined)) return since;
  return archived ? formatInstant(now) : undefined;
}

function answered(state: ConversationState, record: ConversationRecord): readonly Effect[] {
  return [{ kind: 'answer', value: { status: 200, json: JSON.stringify(state.toWire(record)) } }];
}

/** The change of a record, as its event and its answer tell it, with what is written beside it. */
function tellUpdate(
  state: ConversationState,
  record: ConversationRecord,
  now: number,
  writes: readonly LaneWrite[] = [],
): readonly Effect[] {
  // The record in the event carries the rev of the change itself.
  const wire = JSON.stringify({ ...state.toWire(record), rev: record.rev + 1 });
  const change = makeChange(record, state.view, now, { type: 'conversation.updated', data: wire, keepData: false });
  const listed = record.kind === 'room' ? [writeListing(record)] : [];
  return [
    { kind: 'append', writes: [...change.writes, ...listed, ...writes] },
    { kind: 'answer', value: { status: 200, json: wire } },
    { kind: 'publish', topic: state.id, type: 'conversation.updated', event: change.event },
  ];
}

/** Gives a room another picture, or takes it away: whoever may name the room may. */
export function putAvatar(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { pictures }: { readonly pictures: RoomPictures | null },
  now: number,
): readonly Effect[] {
  if (!state.may(member.role, 'title.change')) return refuse('right_missing');
  const { avatar, effects } = replace(state, record, pictures, now);
  const value = avatar === undefined ? GONE : ({ status: 200, json: JSON.stringify({ avatar }) } as const);
  return [...effects, { kind: 'answer', value }];
}

/** Takes the picture away, whoever asked for it. */
export function takeAvatar(
  state: ConversationState,
  record: ConversationRecord | undefined,
  now: number,
): readonly Effect[] {
  if (record === undefined) return refuse('conversation_forbidden');
  return [...replace(state, record, null, now).effects, { kind: 'answer', value: GONE }];
}

const GONE = { status: 204, json: '' } as const;

function replace(
  state: ConversationState,
  record: ConversationRecord,
  pictures: RoomPictures | null,
  now: number,
): { readonly avatar: number | undefined; readonly effects: readonly Effect[] } {
  const before = record.room ?? NO_ROOM_FACTS;
  if (pictures === null && before.avatar === undefined) return { avatar: undefined, effects: [] };
  // Under one number there is one picture, since no change has another's rev.
  const avatar = pictures === null ? undefined : record.rev + 1;
  record.room = { ...before, avatar };
  const told = tellUpdate(state, record, now, writeRoomAvatar(state.id, pictures));
  return { avatar, effects: told.filter(({ kind }) => kind !== 'answer') };
}
