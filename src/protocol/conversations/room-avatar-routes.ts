/** The HTTP forms of rooms' pictures on the messaging service: their bodies are bytes, so they are a table of their own. */
import { avatarQuery, avatarReply } from '../account/avatars.ts';
import { route, type Route } from '../route.ts';

const forbidden = 'conversation_forbidden';

export const ROOM_AVATAR_ROUTES = {
  putRoomAvatar: route.put(
    '/v1/conversations/:id/avatar',
    'Gives a room another picture (its bytes, up to 8 MiB); it is made square and small, and nothing else of it is kept.',
    {
      rate: 'create',
      replies: { 200: avatarReply },
      errors: [forbidden, 'right_missing', 'conversation_archived', 'avatar_invalid'],
    },
  ),
  removeRoomAvatar: route.delete('/v1/conversations/:id/avatar', "Takes a room's picture away.", {
    replies: { 204: null },
    errors: [forbidden, 'right_missing', 'conversation_archived'],
  }),
  readRoomAvatar: route.get(
    '/v1/conversations/:id/avatar/:avatar',
    'A picture of a room as WebP, of 64 or 256 pixels, for those in it and for whoever may find it.',
    { query: avatarQuery, replies: { 200: null, 304: null }, errors: [forbidden, 'avatar_not_found'] },
  ),
} as const satisfies Record<string, Route>;
export type RoomAvatarRoute = keyof typeof ROOM_AVATAR_ROUTES;
