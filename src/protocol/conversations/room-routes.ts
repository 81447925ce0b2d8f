/** The HTTP forms of public rooms, and of where somebody keeps a conversation, as data: see `routes.ts`. */
import { conversation, placement } from './conversations.ts';
import { roomsQuery, roomsReply } from './rooms.ts';
import { route, type Route } from '../route.ts';

export const ROOM_ROUTES = {
  listRooms: route.get(
    '/v1/rooms',
    'Pages through the rooms that are public within the organisation, the newest first, or searches their titles.',
    { rate: 'search', query: roomsQuery, replies: { 200: roomsReply }, errors: ['cursor_invalid'] },
  ),
  joinRoom: route.post('/v1/rooms/:id/join', 'Comes into a public room. Who takes part already stays as they are.', {
    replies: { 200: conversation },
    errors: ['conversation_forbidden', 'conversation_full'],
  }),
  putPlacement: route.put(
    '/v1/conversations/:id/placement',
    'Where the caller keeps a conversation: with the favourites, under a category of their own. Their devices are told.',
    { body: placement, replies: { 200: placement }, errors: ['conversation_forbidden'] },
  ),
} as const satisfies Record<string, Route>;
