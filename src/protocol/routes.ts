/**
 * The HTTP forms of the messaging service and of sign-in, as data: the servers register from these tables, the
 * OpenAPI document is generated from them, and the client SDK names its calls by them. A route that is not here
 * does not exist.
 */
import { CALL_ROUTES } from './calls/call-routes.ts';
import * as conversations from './conversations/conversations.ts';
import type { ErrorCode } from './errors.ts';
import { INTEGRATION_ROUTES } from './bots/integration-routes.ts';
import { MARKING_ROUTES } from './conversations/marking-routes.ts';
import { MESSAGE_LINK_ROUTES } from './conversations/message-link-routes.ts';
import { editMessage, message, postMessage } from './conversations/messages.ts';
import { pushReply, putPush } from './push/push.ts';
import { route, type Route } from './route.ts';
import { RETENTION_ROUTES } from './conversations/retention-routes.ts';
import { ROOM_INVITATION_ROUTES } from './conversations/room-invitation-routes.ts';
import { ROOM_LINK_ROUTES } from './conversations/room-link-routes.ts';
import { ROOM_ROUTES } from './conversations/room-routes.ts';
import { rightsReply } from './conversations/rights.ts';
import { searchQuery, searchReply } from './conversations/search.ts';
import * as sessions from './sessions/sessions.ts';

const forbidden = 'conversation_forbidden';
const right = 'right_missing';
const archived = 'conversation_archived';

export const MESSAGING_ROUTES = {
  ...INTEGRATION_ROUTES,
  createConversation: route.post(
    '/v1/conversations',
    'Creates a conversation. A direct one is unique per pair: asking again answers the one that exists.',
    {
      rate: 'create',
      body: conversations.createConversation,
      replies: { 200: conversations.conversation, 201: conversations.addedReply },
      errors: ['participant_unknown', 'conversation_full', 'invitations_full', 'quota_exceeded', right],
    },
  ),
  readConversation: route.get('/v1/conversations/:id', 'Reads a conversation.', {
    replies: { 200: conversations.conversationReply },
    errors: [forbidden],
  }),
  changeConversation: route.patch(
    '/v1/conversations/:id',
    'Changes what a room says of itself: title, topic, purpose, who may find it, and whether it is archived.',
    {
      body: conversations.changeConversation,
      replies: { 200: conversations.conversation },
      errors: [forbidden, right, archived],
    },
  ),
  deleteConversation: route.delete('/v1/conversations/:id', 'Deletes a conversation for everyone in it.', {
    replies: { 204: null },
    errors: [forbidden, right],
  }),
  readParticipants: route.get('/v1/conversations/:id/participants', 'Pages through the participants, by username.', {
    query: conversations.participantsQuery,
    replies: { 200: conversations.participantsReply },
    errors: [forbidden, 'cursor_invalid'],
  }),
  addParticipants: route.post(
    '/v1/conversations/:id/participants',
    'Adds people to a room, or asks them first. Those who take part already stay as they are.',
    {
      body: conversations.addParticipants,
      replies: { 200: conversations.addedReply },
      errors: [
        forbidden,
        right,
        archived,
        'participant_unknown',
        'participants_fixed',
        'conversation_full',
        'invitation_declined',
        'invitations_full',
      ],
    },
  ),
  ...ROOM_INVITATION_ROUTES,
  ...ROOM_LINK_ROUTES,
  changeParticipant: route.patch('/v1/conversations/:id/participants/:username', "Changes a participant's role.", {
    body: conversations.changeParticipant,
    replies: { 200: conversations.conversation },
    errors: [forbidden, right, 'participant_not_found', 'participants_fixed', 'owner_required'],
  }),
  removeParticipant: route.delete(
    '/v1/conversations/:id/participants/:username',
    'Removes a participant, or leaves when the caller names itself.',
    {
      replies: { 204: null },
      errors: [forbidden, right, 'participant_not_found', 'participants_fixed', 'owner_required'],
    },
  ),
  postMessage: route.post(
    '/v1/conversations/:id/messages',
    'Posts a message. 201 for a new one, 200 with the first one for a repeated client_msg_id.',
    {
      rate: 'post',
      body: postMessage,
      replies: { 200: message, 201: message },
      errors: [
        forbidden,
        right,
        archived,
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
        'message_removed',
        'quota_exceeded',
      ],
    },
  ),
  readMessages: route.get(
    '/v1/conversations/:id/messages',
    'Reads a page of history: the newest, or the one after or before a seq. Items are in seq order.',
    { query: conversations.historyQuery, replies: { 200: conversations.historyReply }, errors: [forbidden] },
  ),
  readMessage: route.get('/v1/conversations/:id/messages/:seq', 'Reads one message.', {
    replies: { 200: message },
    errors: [forbidden, 'message_not_found'],
  }),
  editMessage: route.patch('/v1/conversations/:id/messages/:seq', "Changes the body of one's own message.", {
    body: editMessage,
    replies: { 200: message },
    errors: [
      forbidden,
      right,
      archived,
      'attachment_not_found',
      'mention_unknown',
      'message_not_found',
      'message_deleted',
      'call_step_is_signalling',
    ],
  }),
  deleteMessage: route.delete(
    '/v1/conversations/:id/messages/:seq',
    'Deletes a message. Its seq stays, its body does not.',
    { replies: { 200: message }, errors: [forbidden, right, 'message_not_found'] },
  ),
  ...RETENTION_ROUTES,
  ...MARKING_ROUTES,
  putDraft: route.put(
    '/v1/conversations/:id/draft',
    "Keeps the caller's unsent text, for all of the caller's devices.",
    { body: conversations.putDraft, replies: { 200: conversations.draftReply }, errors: [forbidden] },
  ),
  readDraft: route.get('/v1/conversations/:id/draft', "Reads the caller's unsent text.", {
    replies: { 200: conversations.draftReply },
    errors: [forbidden, 'draft_not_found'],
  }),
  deleteDraft: route.delete('/v1/conversations/:id/draft', "Drops the caller's unsent text.", {
    replies: { 204: null },
    errors: [forbidden],
  }),
  putMute: route.put(
    '/v1/conversations/:id/mute',
    'Mutes the conversation for the caller until an instant, or unmutes it.',
    { body: conversations.putMute, replies: { 200: conversations.muteReply }, errors: [forbidden] },
  ),
  putHidden: route.put(
    '/v1/conversations/:id/hidden',
    "Hides the conversation from the caller's own inbox until the next message, or shows it again.",
    { body: conversations.putHidden, replies: { 200: conversations.hiddenReply }, errors: [forbidden] },
  ),
  postReceipt: route.post(
    '/v1/conversations/:id/receipts',
    'Moves the delivered or read watermark. It never moves back; read implies delivered.',
    {
      body: conversations.postReceipt,
      replies: { 200: conversations.watermark },
      errors: [forbidden, 'receipt_beyond_head'],
    },
  ),
  readRights: route.get('/v1/conversations/:id/rights', "The caller's rights in this conversation.", {
    replies: { 200: rightsReply },
    errors: [forbidden],
  }),
  readChanges: route.get(
    '/v1/conversations/:id/changes',
    'Everything stored after a rev, in order and whole, or where to start afresh.',
    { query: conversations.changesQuery, replies: { 200: conversations.changesReply }, errors: [forbidden] },
  ),
  readInbox: route.get('/v1/inbox', "The caller's conversations, or those that changed since an earlier walk.", {
    query: conversations.inboxQuery,
    replies: { 200: conversations.inboxReply },
    errors: ['cursor_invalid'],
  }),
  readPresence: route.get(
    '/v1/presence',
    'Who is online or away, of the people whose presence the caller is told of.',
    { rate: 'search', replies: { 200: conversations.presenceReply } },
  ),
  readConversationPresence: route.get(
    '/v1/conversations/:id/presence',
    'How many of a conversation are online or away, and the newest of them.',
    { rate: 'search', replies: { 200: conversations.conversationPresenceReply }, errors: [forbidden] },
  ),
  searchMessages: route.get('/v1/search', 'Finds messages that the caller may read, the newest first.', {
    query: searchQuery,
    rate: 'search',
    replies: { 200: searchReply },
    errors: [forbidden, 'cursor_invalid', 'search_disabled', 'search_too_short'],
  }),
  readCapabilities: route.get(
    '/v1/me/capabilities',
    "The caller's account-wide rights. Advice: every request is checked all the same.",
    { replies: { 200: rightsReply } },
  ),
  putPush: route.put(
    '/v1/push',
    "Registers where the session's own device is reached while no app of the person is awake.",
    { body: putPush, replies: { 200: pushReply }, errors: ['target_private'] },
  ),
  readPush: route.get('/v1/push', 'Where this device is reached, and what a browser subscribes with.', {
    replies: { 200: pushReply },
  }),
  deletePush: route.delete('/v1/push', 'Ends pushes to this device.', { replies: { 204: null } }),
  ...CALL_ROUTES,
  ...MESSAGE_LINK_ROUTES,
  ...ROOM_ROUTES,
} as const satisfies Record<string, Route>;

export const SESSION_ROUTES = {
  login: route.post('/v1/auth/login', 'Signs a person in. One answer and one timing for every way to fail.', {
    auth: 'none',
    body: sessions.login,
    replies: { 200: sessions.session },
    errors: [
      'directory_unavailable',
      'encryption_locked',
      'login_failed',
      'origin_forbidden',
      'quota_exceeded',
      'rate_limited',
      'sign_in_by_identity',
    ],
  }),
  renew: route.post('/v1/auth/renew', 'Prolongs a session until `rnw`: by its refresh token, which is replaced.', {
    auth: 'renewable',
    body: sessions.renew,
    replies: { 200: sessions.session },
    errors: [
      'origin_forbidden',
      'refresh_token_missing',
      'session_cookie_invalid',
      'session_over',
      'session_reused',
      'session_revoked',
    ],
  }),
  logout: route.post('/v1/auth/logout', 'Ends the session and closes its socket.', {
    auth: 'renewable',
    body: sessions.logout,
    replies: { 200: sessions.logoutReply },
    errors: ['origin_forbidden', 'session_cookie_invalid'],
  }),
  exchangeInvitation: route.post('/v1/enroll/:invitation', 'Exchanges a single-use invitation for an account.', {
    auth: 'none',
    body: sessions.exchangeInvitation,
    replies: { 201: sessions.exchangeReply },
    errors: [...sessions.PASSWORD_POLICY_ERRORS, 'invitation_used', 'phone_taken', 'username_taken'],
  }),
} as const satisfies Record<string, Route>;

export type MessagingRoute = keyof typeof MESSAGING_ROUTES;

/** Codes that any route may answer, whatever it does. */
export const COMMON_ERRORS: readonly ErrorCode[] = [
  'body_invalid_json',
  'body_invalid_utf8',
  'body_not_json',
  'body_too_large',
  'bot_conversation_limited',
  'bot_revoked',
  'bot_token_ended',
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
  'storage_damaged',
  'storage_full',
  'token_expired',
  'token_invalid',
  'token_missing',
  'two_factor_enrollment_required',
  'unavailable',
];
