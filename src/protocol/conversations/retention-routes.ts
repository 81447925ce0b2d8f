/** The forms by which people say how long messages are kept, and take them away. */
import { conversation, purgeQuery, putRetention } from './conversations.ts';
import type { Route } from '../route.ts';

export const RETENTION_ROUTES = {
  putRetention: {
    method: 'put',
    path: '/v1/conversations/:id/retention',
    summary: 'Says how long messages are kept here. What is older is unreadable at once and off the disk soon after.',
    auth: 'session',
    body: putRetention,
    replies: { 200: conversation },
    errors: ['conversation_forbidden', 'right_missing'],
  },
  purgeMessages: {
    method: 'delete',
    path: '/v1/conversations/:id/messages',
    summary: 'Takes all messages in front of a seq away, for everyone. Their seqs are not used again.',
    auth: 'session',
    query: purgeQuery,
    replies: { 204: null },
    errors: ['conversation_forbidden', 'right_missing', 'conversation_held'],
  },
} as const satisfies Record<string, Route>;
