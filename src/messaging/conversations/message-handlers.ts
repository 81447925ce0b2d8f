/** Handlers of messages and what people put on them. */
import type { z } from 'zod';
import { parseInstant } from '#src/base/time.ts';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import { Refusal, statusOf } from '#src/protocol/errors.ts';
import { MUTE_MILLIS_MAX } from '#src/protocol/limits.ts';
import {
  isEmoji,
  type editMessage as editForm,
  type ForwardMessage,
  type ForwardOrigin,
  type PostMessage,
} from '#src/protocol/conversations/messages.ts';
import {
  readChanges,
  readHistory,
  readMessage,
  readPersonal,
  readWatermarks,
} from '#storage/conversations/conversation-reader.ts';
import { readPinnedSeqs } from '#storage/conversations/inbox-reader.ts';
import { requireTrueOutcome } from '../calls/call-handlers.ts';
import {
  askConversation,
  pathConversation,
  pathSeq,
  readable,
  type Call,
  type Handler,
  type Reply,
} from '../http/caller.ts';
import { readForwarded } from './message-forwards.ts';

export const postMessage: Handler = async (call) => {
  const posted = call.body as PostMessage | ForwardMessage;
  call.service.access.requireMessage(call, pathConversation(call));
  // What most posts are waits for nothing here.
  if ('kind' in posted && posted.kind === 'text')
    return preview(call, await askConversation(call, { kind: 'post', form: posted }), 201);
  let post: Prepared;
  try {
    post = await prepare(call, posted);
  } catch (error) {
    if (!(error instanceof Refusal) || statusOf(error.code) >= 500) throw error;
    // A repeat is answered with the first message, whatever became of its file, its call or its origin.
    const { code, field } = error;
    return await askConversation(call, { kind: 'refusePost', clientMsgId: posted.client_msg_id, code, field });
  }
  const reply = await askConversation(call, { kind: 'post', ...post });
  call.service.attachments.notePosted(post.form);
  return preview(call, reply, 201);
};

/** Has the message's link looked at, behind the answer, when the message is new by this status. Passes the answer on. */
export function preview(call: Call, reply: Reply, status: Reply['status']): Reply {
  if (reply.status === status) call.service.previews?.note(reply.json);
  return reply;
}

interface Prepared {
  readonly form: PostMessage;
  readonly origin?: ForwardOrigin;
  readonly attempts?: readonly string[];
}

/** What a form becomes by what the server knows of its file, its call, or the message that it passes on. @throws Refusal. */
async function prepare(call: Call, posted: PostMessage | ForwardMessage): Promise<Prepared> {
  if ('forward' in posted) {
    const { form, origin } = readForwarded(call, posted);
    return { form: await prepareAttachment(call, form, 'forward'), origin };
  }
  const attempts = await requireTrueOutcome(call, posted);
  return { form: await prepareAttachment(call, posted, 'body.attachment'), attempts };
}

/** @throws Refusal as the attachment's door does, with the field to blame. */
async function prepareAttachment(call: Call, form: PostMessage, field: string): Promise<PostMessage> {
  try {
    return await call.service.attachments.prepare(call, form);
  } catch (error) {
    if (error instanceof Refusal && statusOf(error.code) < 500) throw new Refusal(error.code, { field });
    throw error;
  }
}

export const editMessage: Handler = async (call) => {
  const { body, mentions } = call.body as z.infer<typeof editForm>;
  call.service.access.requireMessage(call, pathConversation(call));
  const edited = { body: call.service.attachments.describe(body), mentions };
  return preview(call, await askConversation(call, { kind: 'edit', seq: pathSeq(call), ...edited }), 200);
};

export const deleteMessage: Handler = (call) => askConversation(call, { kind: 'deleteMessage', seq: pathSeq(call) });

export const removePreview: Handler = (call) => askConversation(call, { kind: 'removePreview', seq: pathSeq(call) });

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

export const addReaction: Handler = (call) => {
  call.service.access.requireMessage(call, pathConversation(call));
  return askConversation(call, { kind: 'react', seq: pathSeq(call), emoji: pathEmoji(call), added: true });
};

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
