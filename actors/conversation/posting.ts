/** Messages of a conversation: posting, editing, deleting. */
import { formatInstant } from '#src/base/time.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import {
  attachmentOf,
  holdReference,
  removeReference,
  writeReference,
} from '#storage/conversations/attachment-references.ts';
import {
  removeKey,
  writeDeleted,
  writeMessage,
  writePin,
  writeReactionCounts,
} from '#storage/conversations/conversation-writes.ts';
import { underNumber } from '#storage/engine/keys.ts';
import { blockEndingAt } from '#storage/conversations/posted-blocks.ts';
import { countPost } from '#storage/conversations/usage-records.ts';
import { MESSAGE_FLAGS, type ConversationRecord, type MemberRecord } from '#storage/engine/records.ts';
import { isOnHold } from '#storage/conversations/retention.ts';
import { indexBlock, indexEdit, isSearched } from '#storage/search/search-index.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage, Reply } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';
import { keepVersion } from './holding.ts';
import { isPlain, link, linkWrites, NOTHING_LINKED } from './message-references.ts';
import { mentionWrites, refuseMentions } from './mentioning.ts';

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
  member: MemberRecord,
  message: Of<'post'>,
  now: number,
): readonly Effect[] {
  const { form, user } = message;
  const clientMsgId = form.client_msg_id;
  const first = clientMsgId === undefined ? undefined : state.seqOf(user, clientMsgId);
  const { recent } = state;
  if (first !== undefined) return repeated(state, first);
  const linked = isPlain(message) ? NOTHING_LINKED : link(state, member, message);
  if ('refused' in linked) return linked.refused;
  if ('posted' in linked) return repeated(state, linked.posted);
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
    ...linked.fields,
    // Last, so that readers of the others need not look at it.
    body: form.body,
  };
  const json = JSON.stringify(posted);
  const change = makeChange(record, state.view, now, { type: 'message.new', seq, data: json, keepData: false });
  recent.add(seq, user, clientMsgId);
  const written = writeMessage(state.id, seq, json, 0);
  const counted = countPost(state.view, user, written.value?.length ?? 0, now);
  const writes = [...change.writes, written, ...counted, ...recent.settle(state.id, seq)];
  const block = blockEndingAt(seq);
  if (block !== undefined && state.isIndexed) {
    writes.push(...indexBlock(state.view, { conversation: state.id, block, floorSeq: record.floorSeq, last: json }));
  }
  const attachment = attachmentOf(form.body);
  if (attachment !== undefined) writes.push(...writeReference(state.id, seq, attachment));
  if (linked !== NOTHING_LINKED) writes.push(...linkWrites(state, seq, user, linked, now));
  return [
    { kind: 'append', writes },
    answer(201, json),
    { kind: 'publish', topic: state.id, type: 'message.new', event: change.event },
  ];
}

/** Answers a repeat with the first message, or says that it is there no more: it is not posted again either way. */
function repeated(state: ConversationState, seq: number): readonly Effect[] {
  return state.message(seq) === undefined ? refuse('message_removed') : [answer(200, currentJson(state, seq))];
}

/** Refuses a post for the surface's reason, unless it repeats one that was not refused then (MSG-03). */
export function refusePost(
  state: ConversationState,
  { clientMsgId, code, field, user }: Of<'refusePost'>,
): readonly Effect[] {
  // What crossed a thread comes as null where it was left out.
  const first = typeof clientMsgId === 'string' ? state.seqOf(user, clientMsgId) : undefined;
  return first === undefined ? refuse(code, field ?? undefined) : repeated(state, first);
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
  // Nobody changes the words of somebody else whom the message names.
  if (old.forward !== undefined) return refuse('right_missing');
  if (!sameShape(old, message.body)) return refuse('field_invalid', 'body');
  // An edit changes what is said of a file. Another file is another message.
  if (attachmentOf(old.body) !== attachmentOf(message.body)) return refuse('field_invalid', 'body.attachment');
  const { seq, user } = message;
  // A preview is of the link that the old words had; the new ones get theirs.
  const { body: _old, mentions: before, preview: _shown, ...kept } = old;
  // What crossed a thread comes as null where it was left out.
  const mentions = message.mentions ?? undefined;
  const refused = mentions === undefined ? undefined : refuseMentions(state, member, mentions, before);
  if (refused !== undefined) return refused;
  const edited: Message = {
    ...kept,
    edited_at: formatInstant(now),
    ...(mentions === undefined ? {} : { mentions }),
    body: message.body,
  };
  const json = JSON.stringify(edited);
  const data = state.dress(seq, json, found.flags);
  const change = makeChange(record, state.view, now, {
    type: 'message.edit',
    seq,
    data,
    keepData: false,
  });
  const writes = [
    ...change.writes,
    ...keepVersion(state, record, { seq, change: 'edit', by: user, json: found.json }, now),
    writeMessage(state.id, seq, json, found.flags),
    ...mentionWrites(state, { seq, sender: user, before, after: mentions, now }),
    ...(isSearched(record.kind) ? indexEdit(state.view, edited, record.headSeq) : []),
  ];
  return [
    { kind: 'append', writes },
    answer(200, data),
    { kind: 'publish', topic: state.id, type: 'message.edit', event: change.event },
  ];
}

/** Deletes a message: the stub keeps seq, sender, times and thread; body, mentions, reactions and pin go (MSG-10). */
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
  if (old.deleted_at !== undefined) return [answer(200, currentJson(state, seq))];
  const { data, effects } = emptyMessage(state, record, { seq, old, flags: found.flags }, now);
  const kept = keepVersion(state, record, { seq, change: 'delete', by: message.user, json: found.json }, now);
  return [{ kind: 'append', writes: kept }, ...effects, answer(200, data)];
}

/** A stored message that is to become a stub. */
interface Emptied {
  readonly seq: number;
  readonly old: Message;
  readonly flags: number;
}

/** Leaves the stub of a message; answers it as readers get it, and what makes it so. */
export function emptyMessage(
  state: ConversationState,
  record: ConversationRecord,
  { seq, old, flags: before }: Emptied,
  now: number,
): { readonly data: string; readonly effects: readonly Effect[] } {
  const { body: _gone, edited_at: _when, mentions, forward: _whose, preview: _shown, ...stub } = old;
  const json = JSON.stringify({ ...stub, deleted_at: formatInstant(now) });
  const flags = MESSAGE_FLAGS.deleted | (before & MESSAGE_FLAGS.replies);
  const data = state.dress(seq, json, flags);
  const unpins = state.isPinned(seq);
  if (unpins) record.pinCount -= 1;
  const change = makeChange(record, state.view, now, { type: 'message.delete', seq, data, keepData: false });
  const writes = [
    ...change.writes,
    writeMessage(state.id, seq, json, flags),
    ...mentionWrites(state, { seq, sender: old.sender, before: mentions, now }),
    writeDeleted(state.id, seq, old.sender),
    writeReactionCounts(state.id, seq, []),
    ...state.view.keys('reactions', underNumber(seq, state.id)).map((itemKey) => removeKey('reactions', itemKey)),
  ];
  if (unpins) writes.push(writePin(state.id, seq, null));
  const attachment = attachmentOf(old.body);
  if (attachment !== undefined) {
    const end = isOnHold(record) ? holdReference : removeReference;
    writes.push(...end(state.id, seq, attachment));
  }
  const publish: Effect = { kind: 'publish', topic: state.id, type: 'message.delete', event: change.event };
  return { data, effects: [{ kind: 'append', writes }, publish] };
}

/** A message as readers get it now. */
export function currentJson(state: ConversationState, seq: number): string {
  const found = state.message(seq);
  if (found === undefined) throw new Error(`Message ${seq} of ${state.id} is missing.`);
  return state.dress(seq, found.json, found.flags);
}

/** Whether a new body has the shape the message's kind gives it: text for text, the same kind of object otherwise. */
function sameShape(old: Message, body: Of<'edit'>['body']): boolean {
  if (old.kind === 'text') return typeof body === 'string';
  if (typeof body !== 'object') return false;
  const mark = { media: 'attachment', location: 'latitude', contact: 'name', call: 'outcome', system: 'outcome' };
  return mark[old.kind] in body && (old.kind === 'media') === 'attachment' in body;
}
