/** Emoji of the installation's own: who made which, making one, and taking any of them away. */
import { z } from 'zod';
import type { CustomEmojis } from '#src/emoji/custom-emoji.ts';
import { customEmoji, isEmojiName, madeEmoji } from '#src/protocol/conversations/custom-emoji.ts';
import { EMOJI_BYTES_MAX } from '#src/protocol/limits.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

/** Characters of base 64 for so many bytes (RFC 4648, section 4). */
const PICTURE_LENGTH_MAX = Math.ceil(EMOJI_BYTES_MAX / 3) * 4;
/** What else stands in the form: names of fields, quotes, a name. */
const FORM_BYTES = 1_024;

const makeEmoji = z
  .strictObject({
    name: z.string().refine(isEmojiName, 'Up to 32 lower-case letters, digits, hyphens and underscores.'),
    picture: z.base64().min(1).max(PICTURE_LENGTH_MAX).meta({ description: 'The bytes of the picture in base 64.' }),
  })
  .meta({ id: 'MakeEmoji' });

const missing = 'emoji_not_found';

export const customEmojiRoutes = {
  listCustomEmoji: consoleRoute.get('/emoji', "The installation's own emoji, by name, and who made them.", {
    access: 'settings:read',
    vendor: 'closed',
    replies: { 200: z.strictObject({ items: z.array(madeEmoji), next: z.null() }).meta({ id: 'MadeEmojiList' }) },
  }),
  makeCustomEmoji: consoleRoute.post('/emoji', 'Makes one of a picture, also while no setting lets people do it.', {
    access: 'settings:write',
    vendor: 'closed',
    audit: 'emoji.created',
    body: makeEmoji,
    bodyBytesMax: PICTURE_LENGTH_MAX + FORM_BYTES,
    replies: { 201: customEmoji },
    errors: ['emoji_full', 'emoji_invalid', 'emoji_taken'],
  }),
  readCustomEmoji: consoleRoute.get('/emoji/:emoji', 'The picture of one, small as it is kept.', {
    access: 'settings:read',
    vendor: 'closed',
    replies: {
      200: z
        .strictObject({
          type: z.literal('image/webp'),
          picture: z.base64().meta({ description: 'The bytes of the picture in base 64.' }),
        })
        .meta({ id: 'EmojiPicture' }),
    },
    errors: [missing],
  }),
  removeCustomEmoji: consoleRoute.delete(
    '/emoji/:emoji',
    'Takes one away, whoever made it. Reactions with it stay, as its name.',
    { access: 'settings:write', vendor: 'closed', audit: 'emoji.removed', replies: { 204: null }, errors: [missing] },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeCustomEmojiPage({ customEmojis }: { readonly customEmojis: CustomEmojis }): ConsolePage {
  return page(customEmojiRoutes, {
    listCustomEmoji: () => ({ status: 200, body: { items: customEmojis.listMade(), next: null } }),
    makeCustomEmoji: async ({ body, by }) => {
      const picture = Buffer.from(body.picture, 'base64');
      return { status: 201, body: await customEmojis.make(body.name, picture, by, () => undefined) };
    },
    readCustomEmoji: ({ parameters }) => {
      const picture = Buffer.from(customEmojis.readLatest(parameters.emoji)).toString('base64');
      return { status: 200, body: { type: 'image/webp', picture } };
    },
    removeCustomEmoji: async ({ by, parameters }) => {
      await customEmojis.remove(parameters.emoji, by, false);
      return { status: 204 };
    },
  });
}
