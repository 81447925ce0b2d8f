/** The HTTP forms of an installation’s own emoji on the coordinator: bodies of pictures are bytes. */
import { customEmoji, customEmojiReply } from './custom-emoji.ts';
import { route, type Route } from '../route.ts';

export const CUSTOM_EMOJI_ROUTES = {
  listEmoji: route.get('/v1/emoji', "The installation's own emoji, by name: all of them, under an ETag.", {
    replies: { 200: customEmojiReply, 304: null },
  }),
  readEmoji: route.get(
    '/v1/emoji/:name/:picture',
    'The picture of one as WebP, at most 128 pixels wide and high: what it answers never changes.',
    { replies: { 200: null }, errors: ['emoji_not_found'] },
  ),
  putEmoji: route.put(
    '/v1/emoji/:name',
    'Makes one of a picture (its bytes, up to 1 MiB), for whom the installation lets: right `emoji.create`.',
    {
      replies: { 201: customEmoji },
      errors: ['emoji_full', 'emoji_invalid', 'emoji_taken', 'right_missing'],
    },
  ),
  removeEmoji: route.delete(
    '/v1/emoji/:name',
    'Takes one away that the caller made. Reactions with it stay, as its name.',
    { replies: { 204: null }, errors: ['emoji_not_found', 'right_missing'] },
  ),
} as const satisfies Record<string, Route>;
