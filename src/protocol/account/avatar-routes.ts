/** The HTTP forms of people’s pictures on the coordinator: their bodies are bytes, so they are a table of their own. */
import { avatarQuery, avatarReply } from './avatars.ts';
import { route, type Route } from '../route.ts';

export const AVATAR_ROUTES = {
  putAvatar: route.put(
    '/v1/me/avatar',
    'Gives the caller another picture (its bytes, up to 8 MiB); it is made square and small, and nothing else of it is kept.',
    { replies: { 200: avatarReply }, errors: ['avatar_invalid', 'field_managed'] },
  ),
  removeAvatar: route.delete('/v1/me/avatar', "Takes the caller's picture away.", {
    replies: { 204: null },
    errors: ['field_managed'],
  }),
  readAvatar: route.get(
    '/v1/avatars/:username/:avatar',
    'A picture of a person as WebP, of 64 or 256 pixels: what it answers under a number never changes.',
    { query: avatarQuery, replies: { 200: null, 304: null }, errors: ['avatar_not_found'] },
  ),
} as const satisfies Record<string, Route>;
