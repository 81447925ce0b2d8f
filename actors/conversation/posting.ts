/** Messages of a conversation: posting, editing, deleting. */
import { formatInstant } from '#src/base/time.ts';
import type { Message } from '#src/protocol/messages.ts';
import { attachmentOf, removeReference, writeReference } from '#storage/attachment-references.ts';
import { withReactions } from '#storage/conversation-reader.ts';
import { removeKey, writeDeleted, writeMessage, writePin, writeReactionCounts } from '#storage/conversation-writes.ts';
import { underNumber } from '#storage/keys.ts';
import { MESSAGE_FLAGS, type ConversationRecord, type MemberRecord } from '#storage/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage, Reply } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';

type Of<Kind extends ConversationMessage['kind']> = Extract<ConversationMessage, { kind: Kind }>;

const answer = (status: Reply['status'], json: string): Effect => ({ kind: 'answer', value: { status, json } });

/**
 * Posts a message: gives it the next seq and writes it with its conversation as one; the index of client_msg_ids is
 * written a block of messages at a time, and until then the writer knows them. A repeated client_msg_id answers with
 * the first message, whatever the repeat says (MSG-03).
 */
export function post(
  state: ConversationState,
  record: ConversationRecord,
  message: Of<'post'>,
  now: number,
): readonly Effect[] {
  const { form, user } = message;
  const clientMsgId = form.client_msg_id;
  const first = clientMsgId === undefined ? undefined : state.seqOf(user, clientMsgId);
  const { recent } = state;
  if (first !== undefined) return [answer(200, currentJson(state, first))];
  // Judged here and not before, since a repeat is answered with the first message whatever became of its file.
  if (message.refused !== undefined) return refuse(message.refused, 'body.attachment');
  record.headSeq += 1;
  record.activeAt = now;
  const seq = record.headSeq;
  const posted: Message = {
    conversation_id: state.id,
    seq,
    kind: form.kind,
    sender: user,
    ...(clientMsgId === undefined ? {} : { client_msg_id: clientMsgId }),
    created_at: formatInstant(now),
    // Last, so that readers of the others need not look at it.
    body: form.body,
  };
  const json = JSON.stringify(posted);
  const change = makeChange(record, state.view, now, { type: 'message.new', seq, data: json, keepData: false });
  recent.add(seq, user, clientMsgId);
  const writes = [...change.writes, writeMessage(state.id, seq, json, 0), ...recent.settle(state.id, seq)];
  const attachment = attachmentOf(form.body);
  if (attachment !== undefined) writes.push(...writeReference(state.id, seq, attachment));
  return [
    { kind: 'append', writes },
    answer(201, json),
    { kind: 'publish', topic: state.id, type: 'message.new', event: change.event },
  ];
}

/** Replaces the body of one's own message (MSG-10). The new body must be one that the message's kind can have. */
export function edit(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'edit'>,
  now: number,
): readonly Effect[] {
  const found = state.message(message.seq);
  if (found === undefined) return refuse('message_not_found');
  const old = JSON.parse(found.json) as Message;
  if (old.sender !== message.user || !state.may(member.role, 'message.edit.own')) return refuse('right_missing');
  if (old.deleted_at !== undefined) return refuse('message_deleted');
  // Outcomes are the record of a call: written once.
  if (old.kind === 'call' || old.kind === 'system') return refuse('right_missing');
  if (!sameShape(old, message.body)) return refuse('field_invalid', 'body');
  // An edit changes what is said of a file. Another file is another message.
  if (attachmentOf(old.body) !== attachmentOf(message.body)) return refuse('field_invalid', 'body.attachment');
  const json = JSON.stringify({ ...old, body: message.body, edited_at: formatInstant(now) });
  const data = withReactions(json, state.reactions(message.seq));
  const change = makeChange(record, state.view, now, {
    type: 'message.edit',
    seq: message.seq,
    data,
    keepData: false,
  });
  return [
    { kind: 'append', writes: [...change.writes, writeMessage(state.id, message.seq, json, found.flags)] },
    answer(200, data),
    { kind: 'publish', topic: state.id, type: 'message.edit', event: change.event },
  ];
}

/** Deletes a message: the stub keeps its seq, sender and times; body, reactions and pin go (MSG-10). */
export function deleteMessage(
  state: ConversationState,
  record: ConversationRecord,
  member: MemberRecord,
  message: Of<'deleteMessage'>,
  now: number,
): readonly Effect[] {
  const { seq } = message;
  const found = state.message(seq);
  if (found === undefined) return refuse('message_not_found');
  const old = JSON.parse(found.json) as Message;
  const right = old.sender === message.user ? 'message.delete.own' : 'message.delete.any';
  if (!state.may(member.role, right)) return refuse('right_missing');
  if (old.deleted_at !== undefined) return [answer(200, found.json)];
  const { body: _gone, edited_at: _when, ...stub } = old;
  const json = JSON.stringify({ ...stub, deleted_at: formatInstant(now) });
  const unpins = state.isPinned(seq);
  if (unpins) record.pinCount -= 1;
  const change = makeChange(record, state.view, now, { type: 'message.delete', seq, data: json, keepData: false });
  const writes = [
    ...change.writes,
    writeMessage(state.id, seq, json, MESSAGE_FLAGS.deleted),
    writeDeleted(state.id, seq, old.sender),
    writeReactionCounts(state.id, seq, []),
    ...state.view.keys('reactions', underNumber(seq, state.id)).map((itemKey) => removeKey('reactions', itemKey)),
  ];
  if (unpins) writes.push(writePin(state.id, seq, null));
  const attachment = attachmentOf(old.body);
  if (attachment !== undefined) writes.push(...removeReference(state.id, seq, attachment));
  return [
    { kind: 'append', writes },
    answer(200, json),
    { kind: 'publish', topic: state.id, type: 'message.delete', event: change.event },
  ];
}

/** A message as readers get it now. */
export function currentJson(state: ConversationState, seq: number): string {
  const found = state.message(seq);
  if (found === undefined) throw new Error(`Message ${seq} of ${state.id} is missing.`);
  return (found.flags & MESSAGE_FLAGS.reactions) === 0 ? found.json : withReactions(found.json, state.reactions(seq));
}

/** Whether a new body has the shape the message's kind gives it: text for text, the same kind of object otherwise. */
function sameShape(old: Message, body: Of<'edit'>['body']): boolean {
  if (old.kind === 'text') return typeof body === 'string';
  if (typeof body !== 'object') return false;
  const mark = { media: 'attachment', location: 'latitude', contact: 'name', call: 'outcome', system: 'outcome' };
  return mark[old.kind] in body && (old.kind === 'media') === 'attachment' in body;
}
