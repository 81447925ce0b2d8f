/** Handlers of messages and what people put on them. */
import type { z } from 'zod';
import { parseInstant } from '#src/base/time.ts';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import { customEmojiOf } from '#src/protocol/conversations/custom-emoji.ts';
import { Refusal, statusOf } from '#src/protocol/errors.ts';
import { MUTE_MILLIS_MAX } from '#src/protocol/limits.ts';
import {
  isEmoji,
  type editMessage as editForm,
  type ForwardMessage,
  type ForwardOrigin,
  type Message,
  type PostMessage,
} from '#src/protocol/conversations/messages.ts';
import { readEmoji } from '#storage/accounts/custom-emoji.ts';
import {
  putChanges,
  putHistory,
  readMessage,
  readPromised,
  readPersonal,
  readWatermarks,
} from '#storage/conversations/conversation-reader.ts';
import { nameOfAttempt } from '#storage/conversations/call-sealing.ts';
import { JsonPage } from '#storage/conversations/json-page.ts';
import { readPinnedSeqs } from '#storage/conversations/inbox-reader.ts';
import { requireTrueOutcome } from '../calls/call-handlers.ts';
import {
  askConversation,
  pathConversation,
  pathSeq,
  readable,
  type ClientRequest,
  type Handler,
  type Reply,
} from '../http/caller.ts';
import { readForwarded } from './message-forwards.ts';

export const postMessage: Handler = async (request) => {
  const posted = request.body as PostMessage | ForwardMessage;
  request.service.access.requireMessage(request, pathConversation(request));
  const refusal = refusalByQuota(request, posted);
  if (refusal !== undefined) return await refusePost(request, posted, refusal);
  // What most posts are waits for nothing here.
  if ('kind' in posted && posted.kind === 'text')
    return preview(request, await askConversation(request, { kind: 'post', form: posted }), 201);
  let post: Prepared;
  try {
    post = await prepare(request, posted);
  } catch (error) {
    if (!(error instanceof Refusal) || statusOf(error.code) >= 500) throw error;
    return await refusePost(request, posted, error);
  }
  const reply = await askConversation(request, { kind: 'post', ...post });
  request.service.attachments.notePosted(post.form);
  return preview(request, reply, 201);
};

type Posted = PostMessage | ForwardMessage;

/** Why a post is beyond its sender's quota, or that of all people; undefined where it is not. */
function refusalByQuota({ service, session, user }: ClientRequest, posted: Posted): Refusal | undefined {
  // What is stored around it comes on top when it is counted.
  const body = 'body' in posted ? posted.body : '';
  const bytes = Buffer.byteLength(typeof body === 'string' ? body : JSON.stringify(body));
  try {
    service.quotas.requirePost(user, session === undefined, bytes);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/**
 * Refuses a post, unless it repeats one that was taken: a repeat is answered with the first message, whatever became of its
 * file, its call, its origin or a quota since. @throws Refusal.
 */
async function refusePost(request: ClientRequest, { client_msg_id: clientMsgId }: Posted, refusal: Refusal) {
  const { code, field } = refusal;
  try {
    return await askConversation(request, { kind: 'refusePost', clientMsgId, code, field });
  } catch (error) {
    throw error instanceof Refusal && error.code === code ? refusal : error;
  }
}

/** Has the message's link looked at, behind the answer, when the message is new by this status. Passes the answer on. */
export function preview(request: ClientRequest, reply: Reply, status: Reply['status']): Reply {
  if (reply.status === status) request.service.previews?.note(reply.json);
  return reply;
}

interface Prepared {
  readonly form: PostMessage;
  readonly origin?: ForwardOrigin;
  readonly attempts?: readonly string[];
  readonly about?: string;
}

/** What a form becomes by what the server knows of its file, its call, or the message that it passes on. @throws Refusal. */
async function prepare(request: ClientRequest, posted: PostMessage | ForwardMessage): Promise<Prepared> {
  if ('forward' in posted) {
    const { form, origin } = readForwarded(request, posted);
    return { form: await prepareAttachment(request, form, 'forward'), origin };
  }
  const nameOf = (call: string) => nameOfAttempt(request.service.idKey, call);
  const attempts = (await requireTrueOutcome(request, posted)).map(nameOf);
  const { body } = posted;
  const about =
    typeof body === 'object' && 'outcome' in body && body.call !== undefined ? { about: nameOf(body.call) } : {};
  return { form: await prepareAttachment(request, posted, 'body.attachment'), attempts, ...about };
}

/** @throws Refusal as the attachment's door does, with the field to blame. */
async function prepareAttachment(request: ClientRequest, form: PostMessage, field: string): Promise<PostMessage> {
  try {
    return await request.service.attachments.prepare(request, form);
  } catch (error) {
    if (error instanceof Refusal && statusOf(error.code) < 500) throw new Refusal(error.code, { field });
    throw error;
  }
}

export const editMessage: Handler = async (request) => {
  const { body, mentions } = request.body as z.infer<typeof editForm>;
  request.service.access.requireMessage(request, pathConversation(request));
  const edited = { body: request.service.attachments.describe(body), mentions };
  return preview(request, await askConversation(request, { kind: 'edit', seq: pathSeq(request), ...edited }), 200);
};

export const deleteMessage: Handler = (request) => {
  requireWords(request);
  return askConversation(request, { kind: 'deleteMessage', seq: pathSeq(request) });
};

export const removePreview: Handler = (request) => {
  requireWords(request);
  return askConversation(request, { kind: 'removePreview', seq: pathSeq(request) });
};

/**
 * Whoever may not message the other of two takes back what they said themselves, and leaves alone what the other said.
 * @throws Refusal `right_missing`.
 */
function requireWords(request: ClientRequest): void {
  const { access } = request.service;
  if (access.mayMessageIn(pathConversation(request), request.user)) return;
  const { record, tables } = readable(request);
  const json = readMessage(tables, record, pathSeq(request));
  if (json === undefined) throw new Refusal('message_not_found');
  if ((JSON.parse(json) as Message).sender !== request.user) throw new Refusal('right_missing');
}

export const readMessages: Handler = (request) => {
  const { record, tables } = readable(request);
  const { after_seq: afterSeq, before_seq: beforeSeq, limit } = request.query as z.infer<typeof forms.historyQuery>;
  const page = new JsonPage();
  page.text('{"items":[');
  const next = putHistory(page, tables, record, { afterSeq, beforeSeq, limit });
  page.text(`],"next":${next === undefined ? 'null' : `"${next}"`}}`);
  return { status: 200, json: page };
};

export const readOneMessage: Handler = (request) => {
  const { record, tables } = readable(request);
  const json = readPromised(tables, record, pathSeq(request));
  if (json === undefined) throw new Refusal('message_not_found');
  return { status: 200, json };
};

export const addReaction: Handler = (request) => {
  const { access, accounts } = request.service;
  access.requireMessage(request, pathConversation(request));
  const emoji = pathEmoji(request);
  const name = customEmojiOf(emoji);
  if (name !== undefined) {
    accounts.refresh();
    if (readEmoji(accounts, name) === undefined) throw new Refusal('emoji_unknown', { field: 'emoji' });
  }
  return askConversation(request, { kind: 'react', seq: pathSeq(request), emoji, added: true });
};

export const removeReaction: Handler = (request) =>
  askConversation(request, { kind: 'react', seq: pathSeq(request), emoji: pathEmoji(request), added: false });

function pathEmoji(request: ClientRequest): string {
  const { emoji = '' } = request.params;
  if (!isEmoji(emoji) && customEmojiOf(emoji) === undefined) throw new Refusal('field_invalid', { field: 'emoji' });
  return emoji;
}

export const readPins: Handler = (request) => {
  const { record, tables } = readable(request);
  const items = readPinnedSeqs(tables, record.id).map((seq) => readMessage(tables, record, seq));
  return { status: 200, json: `{"items":[${items.filter((json) => json !== undefined).join(',')}],"next":null}` };
};

export const addPin: Handler = (request) => {
  request.service.access.requireMessage(request, pathConversation(request));
  return askConversation(request, { kind: 'pin', seq: pathSeq(request), pinned: true });
};

export const removePin: Handler = (request) => {
  request.service.access.requireMessage(request, pathConversation(request));
  return askConversation(request, { kind: 'pin', seq: pathSeq(request), pinned: false });
};

export const putDraft: Handler = (request) => {
  const { body } = request.body as z.infer<typeof forms.putDraft>;
  return askConversation(request, { kind: 'draft', body });
};

export const deleteDraft: Handler = (request) => askConversation(request, { kind: 'draft', body: null });

export const readDraft: Handler = (request) => {
  const { record, tables } = readable(request);
  const { draft } = readPersonal(tables, record.id, request.user);
  if (draft === undefined) throw new Refusal('draft_not_found');
  return { status: 200, json: JSON.stringify({ body: draft.body, updated_at: draft.updatedAt }) };
};

export const putMute: Handler = (request) => {
  const { until } = request.body as z.infer<typeof forms.putMute>;
  const at = until === null ? null : parseInstant(until);
  if (at === undefined || (at !== null && at > request.service.now() + MUTE_MILLIS_MAX)) {
    throw new Refusal('field_invalid', { field: 'until' });
  }
  return askConversation(request, { kind: 'mute', until });
};

export const putHidden: Handler = (request) => {
  const { seq } = request.body as z.infer<typeof forms.putHidden>;
  return askConversation(request, { kind: 'hide', seq });
};

export const postReceipt: Handler = (request) => {
  const { state, seq } = request.body as z.infer<typeof forms.postReceipt>;
  return askConversation(request, { kind: 'receipt', state, seq });
};

/** Catch-up: everything behind a rev or where to start afresh, with the watermarks either way (SOC-11). */
export const listChanges: Handler = (request) => {
  const { record, tables } = readable(request);
  const { after_rev: afterRev } = request.query as z.infer<typeof forms.changesQuery>;
  const page = new JsonPage();
  page.text('{"complete":true,"items":[');
  if (!putChanges(page, tables, record, request.service.epoch, afterRev)) {
    page.clear();
    page.text('{"complete":false,"items":[');
  }
  const rest = JSON.stringify({
    rev: record.rev,
    head_seq: record.headSeq,
    epoch: request.service.epoch,
    watermarks: readWatermarks(tables, record, request.user),
  });
  page.text(`],${rest.slice(1)}`);
  return { status: 200, json: page };
};
