/** Handlers of messages and what people put on them. */
import type { z } from 'zod';
import { parseInstant } from '#src/base/time.ts';
import type * as forms from '#src/protocol/conversations.ts';
import { Refusal, statusOf, type ErrorCode } from '#src/protocol/errors.ts';
import { MUTE_MILLIS_MAX } from '#src/protocol/limits.ts';
import { isEmoji, type editMessage as editForm, type PostMessage } from '#src/protocol/messages.ts';
import { readChanges, readHistory, readMessage, readPersonal, readWatermarks } from '#storage/conversation-reader.ts';
import { readPinnedSeqs } from '#storage/inbox-reader.ts';
import { requireTrueOutcome } from './call-handlers.ts';
import { askConversation, pathConversation, pathSeq, readable, type Call, type Handler } from './caller.ts';

export const postMessage: Handler = async (call) => {
  const posted = call.body as PostMessage;
  call.service.access.requireMessage(call, pathConversation(call));
  // What most posts are waits for nothing here.
  if (posted.kind === 'text') return await askConversation(call, { kind: 'post', form: posted });
  await requireTrueOutcome(call, posted);
  const { form, refused } = await prepareForm(call, posted);
  // Between threads an undefined field would arrive as null.
  const post = { kind: 'post' as const, form, ...(refused === undefined ? {} : { refused }) };
  const reply = await askConversation(call, post);
  if (refused === undefined) call.service.attachments.notePosted(form);
  return reply;
};

/** The form with its attachment as the server knows it, or why that may not be posted: for the conversation to judge. */
async function prepareForm(call: Call, form: PostMessage): Promise<{ form: PostMessage; refused?: ErrorCode }> {
  try {
    return { form: await call.service.attachments.prepare(call, form) };
  } catch (error) {
    if (error instanceof Refusal && statusOf(error.code) !== 503) return { form, refused: error.code };
    throw error;
  }
}

export const editMessage: Handler = (call) => {
  const { body } = call.body as z.infer<typeof editForm>;
  call.service.access.requireMessage(call, pathConversation(call));
  return askConversation(call, { kind: 'edit', seq: pathSeq(call), body: call.service.attachments.describe(body) });
};

export const deleteMessage: Handler = (call) => askConversation(call, { kind: 'deleteMessage', seq: pathSeq(call) });

export const readMessages: Handler = (call) => {
  const { record, tables } = readable(call);
  const { after_seq: afterSeq, before_seq: beforeSeq, limit } = call.query as z.infer<typeof forms.historyQuery>;
  const page = readHistory(tables, record, { afterSeq, beforeSeq, limit });
  const next = page.next === undefined ? 'null' : `"${page.next}"`;
  return { status: 200, json: `{"items":[${page.items.join(',')}],"next":${next}}` };
};

export const readOneMessage: Handler = (call) => {
  const { record, tables } = readable(call);
  const json = readMessage(tables, record, pathSeq(call));
  if (json === undefined) throw new Refusal('message_not_found');
  return { status: 200, json };
};

export const addReaction: Handler = (call) =>
  askConversation(call, { kind: 'react', seq: pathSeq(call), emoji: pathEmoji(call), added: true });

export const removeReaction: Handler = (call) =>
  askConversation(call, { kind: 'react', seq: pathSeq(call), emoji: pathEmoji(call), added: false });

function pathEmoji(call: Call): string {
  const { emoji = '' } = call.params;
  if (!isEmoji(emoji)) throw new Refusal('field_invalid', { field: 'emoji' });
  return emoji;
}

export const readPins: Handler = (call) => {
  const { record, tables } = readable(call);
  const items = readPinnedSeqs(tables, record.id).map((seq) => readMessage(tables, record, seq));
  return { status: 200, json: `{"items":[${items.filter((json) => json !== undefined).join(',')}],"next":null}` };
};

export const addPin: Handler = (call) => askConversation(call, { kind: 'pin', seq: pathSeq(call), pinned: true });

export const removePin: Handler = (call) => askConversation(call, { kind: 'pin', seq: pathSeq(call), pinned: false });

export const putDraft: Handler = (call) => {
  const { body } = call.body as z.infer<typeof forms.putDraft>;
  return askConversation(call, { kind: 'draft', body });
};

export const deleteDraft: Handler = (call) => askConversation(call, { kind: 'draft', body: null });

export const readDraft: Handler = (call) => {
  const { record, tables } = readable(call);
  const { draft } = readPersonal(tables, record.id, call.user);
  if (draft === undefined) throw new Refusal('draft_not_found');
  return { status: 200, json: JSON.stringify({ body: draft.body, updated_at: draft.updatedAt }) };
};

export const putMute: Handler = (call) => {
  const { until } = call.body as z.infer<typeof forms.putMute>;
  const at = until === null ? null : parseInstant(until);
  if (at === undefined || (at !== null && at > call.service.now() + MUTE_MILLIS_MAX)) {
    throw new Refusal('field_invalid', { field: 'until' });
  }
  return askConversation(call, { kind: 'mute', until });
};

export const postReceipt: Handler = (call) => {
  const { state, seq } = call.body as z.infer<typeof forms.postReceipt>;
  return askConversation(call, { kind: 'receipt', state, seq });
};

/** Catch-up: everything behind a rev or where to start afresh, with the watermarks either way (SOC-11). */
export const listChanges: Handler = (call) => {
  const { record, tables } = readable(call);
  const { after_rev: afterRev } = call.query as z.infer<typeof forms.changesQuery>;
  const items = readChanges(tables, record, call.service.epoch, afterRev);
  const rest = JSON.stringify({
    rev: record.rev,
    head_seq: record.headSeq,
    epoch: call.service.epoch,
    watermarks: readWatermarks(tables, record, call.user),
  });
  const json = `{"complete":${items !== undefined},"items":[${(items ?? []).join(',')}],${rest.slice(1)}`;
  return { status: 200, json };
};
