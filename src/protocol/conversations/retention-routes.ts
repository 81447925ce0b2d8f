/** The forms by which people say how long messages are kept, and take them away. */
import { conversation, purgeQuery, putRetention } from './conversations.ts';
import { route, type Route } from '../route.ts';

export const RETENTION_ROUTES = {
  putRetention: route.put(
    '/v1/conversations/:id/retention',
    'Says how long messages are kept here. What is older is unreadable at once and off the disk soon after.',
    { body: putRetention, replies: { 200: conversation }, errors: ['conversation_forbidden', 'right_missing'] },
  ),
  purgeMessages: route.delete(
    '/v1/conversations/:id/messages',
    'Takes all messages in front of a seq away, for everyone. Their seqs are not used again.',
    {
      query: purgeQuery,
      replies: { 204: null },
      errors: ['conversation_forbidden', 'right_missing', 'conversation_held'],
    },
  ),
} as const satisfies Record<string, Route>;
