/** The forms about what ties messages to people, to each other and to pages: mentions, threads, who read what, previews. */
import { historyReply, mentionsQuery, mentionsReply, readByQuery, readByReply, repliesQuery } from './conversations.ts';
import { message } from './messages.ts';
import { route, type Route } from '../route.ts';

export const MESSAGE_LINK_ROUTES = {
  removePreview: route.delete(
    '/v1/conversations/:id/messages/:seq/preview',
    "Takes the preview of a link off a message: one's own, or anybody's for who may delete it.",
    { replies: { 200: message }, errors: ['conversation_forbidden', 'right_missing', 'message_not_found'] },
  ),
  readMentions: route.get(
    '/v1/mentions',
    'Pages through the messages that mention the caller, the newest mention first.',
    { query: mentionsQuery, replies: { 200: mentionsReply }, errors: ['cursor_invalid'] },
  ),
  readReplies: route.get(
    '/v1/conversations/:id/messages/:seq/replies',
    'Pages through the thread that began with a message, in seq order.',
    { query: repliesQuery, replies: { 200: historyReply }, errors: ['conversation_forbidden', 'message_not_found'] },
  ),
  readReadBy: route.get(
    '/v1/conversations/:id/messages/:seq/read-by',
    'Pages through the participants other than its sender who have read a message, by username; the first page says how many.',
    {
      query: readByQuery,
      replies: { 200: readByReply },
      errors: ['conversation_forbidden', 'cursor_invalid', 'message_not_found'],
      rate: 'search',
    },
  ),
} as const satisfies Record<string, Route>;
