/** What the server read of the page behind a message's first link, put on the message and taken off it. */
import type { Message } from '#src/protocol/conversations/messages.ts';
import { firstLink } from '#src/protocol/conversations/links.ts';
import { writeMessage } from '#storage/conversations/conversation-writes.ts';
import type { ConversationRecord, MemberRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';
import { currentJson } from './posting.ts';

/**
 * Puts a preview on a text that still begins its links with that one. The message changes without having been edited:
 * nobody touched its words. Nothing is done in a secret conversation, to what was deleted or purged, or where it says
 * something else by now.
 */
export function showPreview(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { preview, seq }: Extract<ConversationMessage, { kind: 'preview' }>,
  now: number,
): readonly Effect[] {
  const found = record === undefined || record.kind === 'secret' ? undefined : state.message(seq);
  if (record === undefined || found === undefined) return [];
  const { body, preview: before, ...kept } = JSON.parse(found.json) as Message;
  if (kept.kind !== 'text' || typeof body !== 'string' || firstLink(body) !== preview.url) return [];
  if (JSON.stringify(before) === JSON.stringify(preview)) return [];
  // The body stays last, where readers of the other fields need not look at it.
  return replace(state, record, { ...kept, preview, body }, found.flags, now).effects;
}

/**
 * Takes the preview off a message: for who wrote it, and for who may delete it. Taking off what is not there changes
 * nothing; an edit brings the preview of what the message says then.
 */
export function removePreview(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  { seq, user }: Extract<ConversationMessage, { kind: 'removePreview' }>,
  now: number,
): readonly Effect[] {
  const found = state.message(seq);
  if (found === undefined) return refuse('message_not_found');
  const { preview, ...kept } = JSON.parse(found.json) as Message;
  const right = kept.sender === user ? 'message.delete.own' : 'message.delete.any';
  if (!state.may(member.role, right)) return refuse('right_missing');
  const answer = (json: string): Effect => ({ kind: 'answer', value: { status: 200, json } });
  if (preview === undefined) return [answer(currentJson(state, seq))];
  const { data, effects } = replace(state, record, kept, found.flags, now);
  return [...effects, answer(data)];
}

/** Puts the message in the place of the one that it was, as a change that edits nothing. */
function replace(
  state: ConversationState,
  record: ConversationRecord,
  message: Message,
  flags: number,
  now: number,
): { readonly data: string; readonly effects: readonly Effect[] } {
  const { seq } = message;
  const json = JSON.stringify(message);
  const data = state.dress(seq, json, flags);
  const change = makeChange(record, state.view, now, { type: 'message.edit', seq, data, keepData: false });
  const append: Effect = { kind: 'append', writes: [...change.writes, writeMessage(state.id, seq, json, flags)] };
  return { data, effects: [append, { kind: 'publish', topic: state.id, type: 'message.edit', event: change.event }] };
}
