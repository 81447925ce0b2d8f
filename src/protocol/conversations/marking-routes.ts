/** The forms of what people put on messages: reactions and pins. */
import { pinsReply } from './conversations.ts';
import { message } from './messages.ts';
import type { Route } from '../route.ts';

export const MARKING_ROUTES = {
  addReaction: {
    method: 'put',
    path: '/v1/conversations/:id/messages/:seq/reactions/:emoji',
    summary: 'Reacts to a message with one emoji.',
    auth: 'session',
    replies: { 200: message },
    errors: ['conversation_forbidden', 'right_missing', 'message_not_found', 'message_deleted', 'reactions_full'],
  },
  removeReaction: {
    method: 'delete',
    path: '/v1/conversations/:id/messages/:seq/reactions/:emoji',
    summary: "Takes one's own reaction back.",
    auth: 'session',
    replies: { 200: message },
    errors: ['conversation_forbidden', 'right_missing', 'message_not_found'],
  },
  readPins: {
    method: 'get',
    path: '/v1/conversations/:id/pins',
    summary: 'Lists the pinned messages.',
    auth: 'session',
    replies: { 200: pinsReply },
    errors: ['conversation_forbidden'],
  },
  addPin: {
    method: 'put',
    path: '/v1/conversations/:id/pins/:seq',
    summary: 'Pins a message for everyone.',
    auth: 'session',
    replies: { 204: null },
    errors: ['conversation_forbidden', 'right_missing', 'message_not_found', 'message_deleted', 'pins_full'],
  },
  removePin: {
    method: 'delete',
    path: '/v1/conversations/:id/pins/:seq',
    summary: 'Unpins a message.',
    auth: 'session',
    replies: { 204: null },
    errors: ['conversation_forbidden', 'right_missing', 'message_not_found'],
  },
} as const satisfies Record<string, Route>;
