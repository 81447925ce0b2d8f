/** The forms of what people put on messages: reactions and pins. */
import { pinsReply } from './conversations.ts';
import { message } from './messages.ts';
import { route, type Route } from '../route.ts';

export const MARKING_ROUTES = {
  addReaction: route.put(
    '/v1/conversations/:id/messages/:seq/reactions/:emoji',
    'Reacts to a message with one emoji, or with `:name:` of one of the installation’s own.',
    {
      replies: { 200: message },
      errors: [
        'conversation_archived',
        'conversation_forbidden',
        'right_missing',
        'emoji_unknown',
        'message_not_found',
        'message_deleted',
        'reactions_full',
      ],
    },
  ),
  removeReaction: route.delete(
    '/v1/conversations/:id/messages/:seq/reactions/:emoji',
    "Takes one's own reaction back.",
    {
      replies: { 200: message },
      errors: ['conversation_archived', 'conversation_forbidden', 'right_missing', 'message_not_found'],
    },
  ),
  readPins: route.get('/v1/conversations/:id/pins', 'Lists the pinned messages.', {
    replies: { 200: pinsReply },
    errors: ['conversation_forbidden'],
  }),
  addPin: route.put('/v1/conversations/:id/pins/:seq', 'Pins a message for everyone.', {
    replies: { 204: null },
    errors: [
      'conversation_archived',
      'conversation_forbidden',
      'right_missing',
      'message_not_found',
      'message_deleted',
      'pins_full',
    ],
  }),
  removePin: route.delete('/v1/conversations/:id/pins/:seq', 'Unpins a message.', {
    replies: { 204: null },
    errors: ['conversation_archived', 'conversation_forbidden', 'right_missing', 'message_not_found'],
  }),
} as const satisfies Record<string, Route>;
