/** The forms about what ties messages to people, to each other and to pages: mentions, threads, who read what, previews. */
import { historyReply, mentionsQuery, mentionsReply, readByQuery, readByReply, repliesQuery } from './conversations.ts';
import { message } from './messages.ts';
import type { Route } from '../route.ts';

export const MESSAGE_LINK_ROUTES = {
  removePreview: {
    method: 'delete',
    path: '/v1/conversations/:id/messages/:seq/preview',
    summary: "Takes the preview of a link off a message: one's own, or anybody's for who may delete it.",
    auth: 'session',
    replies: { 200: message },
    errors: ['conversation_forbidden', 'right_missing', 'message_not_found'],
  },
  readMentions: {
    method: 'get',
    path: '/v1/mentions',
    summary: 'Pages through the messages that mention the caller, the newest mention first.',
    auth: 'session',
    query: mentionsQuery,
    replies: { 200: mentionsReply },
    errors: ['cursor_invalid'],
  },
  readReplies: {
    method: 'get',
    path: '/v1/conversations/:id/messages/:seq/replies',
    summary: 'Pages through the thread that began with a message, in seq order.',
    auth: 'session',
    query: repliesQuery,
    replies: { 200: historyReply },
    errors: ['conversation_forbidden', 'message_not_found'],
  },
  readReadBy: {
    method: 'get',
    path: '/v1/conversations/:id/messages/:seq/read-by',
    summary: 'Pages through the participants other than its sender who have read a message, by username.',
    auth: 'session',
    query: readByQuery,
    replies: { 200: readByReply },
    errors: ['conversation_forbidden', 'cursor_invalid', 'message_not_found', 'read_by_hidden'],
  },
} as const satisfies Record<string, Route>;
