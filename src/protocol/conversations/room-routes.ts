/** The HTTP forms of public rooms, as data: see `routes.ts`. */
import { conversation } from './conversations.ts';
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
} as const satisfies Record<string, Route>;
