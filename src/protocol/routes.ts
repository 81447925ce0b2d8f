/**
 * The HTTP forms of the messaging service and of sign-in, as data: the servers register from these tables, the
 * OpenAPI document is generated from them, and the client SDK names its calls by them. A route that is not here
 * does not exist.
 */
import type { z } from 'zod';
import { CALL_ROUTES } from './calls/call-routes.ts';
import * as conversations from './conversations/conversations.ts';
import type { ErrorCode } from './errors.ts';
import { INTEGRATION_ROUTES } from './bots/integration-routes.ts';
import { MARKING_ROUTES } from './conversations/marking-routes.ts';
import { MESSAGE_LINK_ROUTES } from './conversations/message-link-routes.ts';
import { editMessage, message, postMessage } from './conversations/messages.ts';
import { pushReply, putPush } from './push/push.ts';
import type { RateName } from './rate-limits.ts';
import { RETENTION_ROUTES } from './conversations/retention-routes.ts';
import { rightsReply } from './conversations/rights.ts';
import { searchQuery, searchReply } from './conversations/search.ts';
import * as sessions from './sessions/sessions.ts';

export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** With `:name` for a path parameter. */
  readonly path: string;
  /** One sentence for the API document. */
  readonly summary: string;
  /**
   * `session` wants `Authorization: Bearer`; `renewable` also takes one that has expired; `service` wants a service
   * token there instead; `none` wants nothing.
   */
  readonly auth: 'session' | 'renewable' | 'service' | 'none';
  readonly body?: z.ZodType;
  readonly bodyBytesMax?: number;
  /** Its JSON may also come as the field of that name in a form of `application/x-www-form-urlencoded`. */
  readonly formField?: string;
  readonly formBytesMax?: number;
  /** The bucket that its requests count in, if it is not `read` for a GET and `change` for anything else. */
  readonly rate?: RateName;
  readonly query?: z.ZodType;
  /** Status of success → shape of the answer; null where there is no body. */
  readonly replies: Readonly<Record<number, z.ZodType | null>>;
  /** Codes of this route beyond those that every route may answer. */
  readonly errors: readonly ErrorCode[];
}

const forbidden = 'conversation_forbidden';
const right = 'right_missing';

export const MESSAGING_ROUTES = {
  ...INTEGRATION_ROUTES,
  createConversation: {
    method: 'post',
    path: '/v1/conversations',
    summary: 'Creates a conversation. A direct one is unique per pair: asking again answers the one that exists.',
    auth: 'session',
    rate: 'create',
    body: conversations.createConversation,
    replies: { 200: conversations.conversation, 201: conversations.conversation },
    errors: ['participant_unknown', 'conversation_full', right],
  },
  readConversation: {
    method: 'get',
    path: '/v1/conversations/:id',
    summary: 'Reads a conversation.',
    auth: 'session',
    replies: { 200: conversations.conversationReply },
    errors: [forbidden],
  },
  changeConversation: {
    method: 'patch',
    path: '/v1/conversations/:id',
    summary: 'Renames a room.',
    auth: 'session',
    body: conversations.changeConversation,
    replies: { 200: conversations.conversation },
    errors: [forbidden, right],
  },
  deleteConversation: {
    method: 'delete',
    path: '/v1/conversations/:id',
    summary: 'Deletes a conversation for everyone in it.',
    auth: 'session',
    replies: { 204: null },
    errors: [forbidden, right],
  },
  readParticipants: {
    method: 'get',
    path: '/v1/conversations/:id/participants',
    summary: 'Pages through the participants, by username.',
    auth: 'session',
    query: conversations.participantsQuery,
    replies: { 200: conversations.participantsReply },
    errors: [forbidden, 'cursor_invalid'],
  },
  addParticipants: {
    method: 'post',
    path: '/v1/conversations/:id/participants',
    summary: 'Adds people to a room. Those who take part already stay as they are.',
    auth: 'session',
    body: conversations.addParticipants,
    replies: { 200: conversations.conversation },
    errors: [forbidden, right, 'participant_unknown', 'participants_fixed', 'conversation_full'],
  },
  changeParticipant: {
    method: 'patch',
    path: '/v1/conversations/:id/participants/:username',
    summary: "Changes a participant's role.",
    auth: 'session',
    body: conversations.changeParticipant,
    replies: { 200: conversations.conversation },
    errors: [forbidden, right, 'participant_not_found', 'participants_fixed', 'owner_required'],
  },
  removeParticipant: {
    method: 'delete',
    path: '/v1/conversations/:id/participants/:username',
    summary: 'Removes a participant, or leaves when the caller names itself.',
    auth: 'session',
    replies: { 204: null },
    errors: [forbidden, right, 'participant_not_found', 'participants_fixed', 'owner_required'],
  },
  postMessage: {
    method: 'post',
    path: '/v1/conversations/:id/messages',
    summary: 'Posts a message. 201 for a new one, 200 with the first one for a repeated client_msg_id.',
    auth: 'session',
    rate: 'post',
    body: postMessage,
    replies: { 200: message, 201: message },
    errors: [
      forbidden,
      right,
      'message_kind_unknown',
      'system_kind_forbidden',
      'call_step_is_signalling',
      'call_outcome_contradicts',
      'call_outcome_posted',
      'attachment_not_found',
      'attachment_unfinished',
      'forward_forbidden',
      'mention_unknown',
      'message_not_found',
      'message_deleted',
      'message_purged',
    ],
  },
  readMessages: {
    method: 'get',
    path: '/v1/conversations/:id/messages',
    summary: 'Reads a page of history: the newest, or the one after or before a seq. Items are in seq order.',
    auth: 'session',
    query: conversations.historyQuery,
    replies: { 200: conversations.historyReply },
    errors: [forbidden],
  },
  readMessage: {
    method: 'get',
    path: '/v1/conversations/:id/messages/:seq',
    summary: 'Reads one message.',
    auth: 'session',
    replies: { 200: message },
    errors: [forbidden, 'message_not_found'],
  },
  editMessage: {
    method: 'patch',
    path: '/v1/conversations/:id/messages/:seq',
    summary: "Changes the body of one's own message.",
    auth: 'session',
    body: editMessage,
    replies: { 200: message },
    errors: [
      forbidden,
      right,
      'attachment_not_found',
      'mention_unknown',
      'message_not_found',
      'message_deleted',
      'call_step_is_signalling',
    ],
  },
  deleteMessage: {
    method: 'delete',
    path: '/v1/conversations/:id/messages/:seq',
    summary: 'Deletes a message. Its seq stays, its body does not.',
    auth: 'session',
    replies: { 200: message },
    errors: [forbidden, right, 'message_not_found'],
  },
  ...RETENTION_ROUTES,
  ...MARKING_ROUTES,
  putDraft: {
    method: 'put',
    path: '/v1/conversations/:id/draft',
    summary: "Keeps the caller's unsent text, for all of the caller's devices.",
    auth: 'session',
    body: conversations.putDraft,
    replies: { 200: conversations.draftReply },
    errors: [forbidden],
  },
  readDraft: {
    method: 'get',
    path: '/v1/conversations/:id/draft',
    summary: "Reads the caller's unsent text.",
    auth: 'session',
    replies: { 200: conversations.draftReply },
    errors: [forbidden, 'draft_not_found'],
  },
  deleteDraft: {
    method: 'delete',
    path: '/v1/conversations/:id/draft',
    summary: "Drops the caller's unsent text.",
    auth: 'session',
    replies: { 204: null },
    errors: [forbidden],
  },
  putMute: {
    method: 'put',
    path: '/v1/conversations/:id/mute',
    summary: 'Mutes the conversation for the caller until an instant, or unmutes it.',
    auth: 'session',
    body: conversations.putMute,
    replies: { 200: conversations.muteReply },
    errors: [forbidden],
  },
  postReceipt: {
    method: 'post',
    path: '/v1/conversations/:id/receipts',
    summary: 'Moves the delivered or read watermark. It never moves back; read implies delivered.',
    auth: 'session',
    body: conversations.postReceipt,
    replies: { 200: conversations.watermark },
    errors: [forbidden, 'receipt_beyond_head'],
  },
  readRights: {
    method: 'get',
    path: '/v1/conversations/:id/rights',
    summary: "The caller's rights in this conversation.",
    auth: 'session',
    replies: { 200: rightsReply },
    errors: [forbidden],
  },
  readChanges: {
    method: 'get',
    path: '/v1/conversations/:id/changes',
    summary: 'Everything stored after a rev, in order and whole, or where to start afresh.',
    auth: 'session',
    query: conversations.changesQuery,
    replies: { 200: conversations.changesReply },
    errors: [forbidden],
  },
  readInbox: {
    method: 'get',
    path: '/v1/inbox',
    summary: "The caller's conversations, or those that changed since an earlier walk.",
    auth: 'session',
    query: conversations.inboxQuery,
    replies: { 200: conversations.inboxReply },
    errors: ['cursor_invalid'],
  },
  readPresence: {
    method: 'get',
    path: '/v1/presence',
    summary: 'Who is online or away, of the people whose presence the caller is told of.',
    auth: 'session',
    rate: 'search',
    replies: { 200: conversations.presenceReply },
    errors: [],
  },
  searchMessages: {
    method: 'get',
    path: '/v1/search',
    summary: 'Finds messages that the caller may read, the newest first.',
    auth: 'session',
    query: searchQuery,
    rate: 'search',
    replies: { 200: searchReply },
    errors: [forbidden, 'cursor_invalid', 'search_disabled', 'search_too_short'],
  },
  readCapabilities: {
    method: 'get',
    path: '/v1/me/capabilities',
    summary: "The caller's account-wide rights. Advice: every request is checked all the same.",
    auth: 'session',
    replies: { 200: rightsReply },
    errors: [],
  },
  putPush: {
    method: 'put',
    path: '/v1/push',
    summary: "Registers where the session's own device is reached while no app of the person is awake.",
    auth: 'session',
    body: putPush,
    replies: { 200: pushReply },
    errors: ['target_private'],
  },
  readPush: {
    method: 'get',
    path: '/v1/push',
    summary: 'Where this device is reached, and what a browser subscribes with.',
    auth: 'session',
    replies: { 200: pushReply },
    errors: [],
  },
  deletePush: {
    method: 'delete',
    path: '/v1/push',
    summary: 'Ends pushes to this device.',
    auth: 'session',
    replies: { 204: null },
    errors: [],
  },
  ...CALL_ROUTES,
  ...MESSAGE_LINK_ROUTES,
} as const satisfies Record<string, Route>;

export const SESSION_ROUTES = {
  login: {
    method: 'post',
    path: '/v1/auth/login',
    summary: 'Signs a person in. One answer and one timing for every way to fail.',
    auth: 'none',
    body: sessions.login,
    replies: { 200: sessions.session },
    errors: ['login_failed', 'rate_limited'],
  },
  renew: {
    method: 'post',
    path: '/v1/auth/renew',
    summary: 'Prolongs a session whose token is valid or has expired, until `rnw`.',
    auth: 'renewable',
    replies: { 200: sessions.session },
    errors: ['session_over', 'session_revoked'],
  },
  logout: {
    method: 'post',
    path: '/v1/auth/logout',
    summary: 'Ends the session and closes its socket.',
    auth: 'renewable',
    replies: { 200: sessions.logoutReply },
    errors: [],
  },
  exchangeInvitation: {
    method: 'post',
    path: '/v1/enroll/:invitation',
    summary: 'Exchanges a single-use invitation for an account.',
    auth: 'none',
    body: sessions.exchangeInvitation,
    replies: { 201: sessions.exchangeReply },
    errors: ['invitation_used', 'phone_taken', 'username_taken'],
  },
} as const satisfies Record<string, Route>;

export type MessagingRoute = keyof typeof MESSAGING_ROUTES;
export type SessionRoute = keyof typeof SESSION_ROUTES;

/** Codes that any route may answer, whatever it does. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'body_invalid_json',
  'body_invalid_utf8',
  'body_not_json',
  'body_too_large',
  'bot_conversation_limited',
  'bot_revoked',
  'busy',
  'client_too_old',
  'field_invalid',
  'field_unknown',
  'internal',
  'method_not_found',
  'path_not_found',
  'query_invalid',
  'rate_limited',
  'request_malformed',
  'session_revoked',
  'storage_full',
  'token_expired',
  'token_invalid',
  'token_missing',
  'unavailable',
];
