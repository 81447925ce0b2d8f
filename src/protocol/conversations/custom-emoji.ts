/** Emoji of the installation’s own: their names, and how clients learn of them. In a reaction each is `:name:`. */
import { z } from 'zod';
import { count } from '../names.ts';

/** What an emoji is called: as its colons would have it in Slack and Mattermost. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** The name of an emoji, as a path segment. */
export function isEmojiName(text: string): boolean {
  return NAME.test(text);
}

/** The name in `:name:`; undefined for what is no emoji of an installation’s own. */
export function customEmojiOf(text: string): string | undefined {
  const name = text.length > 2 && text.startsWith(':') && text.endsWith(':') ? text.slice(1, -1) : undefined;
  return name !== undefined && isEmojiName(name) ? name : undefined;
}

/** `picture` is a part of the hash of the picture's bytes, so that what it answers under that never changes. */
const fields = { name: z.string(), picture: z.string(), is_moving: z.boolean(), created_at: z.string() };

export const customEmoji = z.strictObject(fields).meta({ id: 'CustomEmoji' });
export type CustomEmoji = z.infer<typeof customEmoji>;

export const customEmojiReply = z
  .strictObject({ items: z.array(customEmoji), next: z.null() })
  .meta({ id: 'CustomEmojiList' });

/** One as the console shows it: with who made it, an actor of the audit trail, and what it takes. */
export const madeEmoji = z.strictObject({ ...fields, made_by: z.string(), bytes: count }).meta({ id: 'MadeEmoji' });
export type MadeEmoji = z.infer<typeof madeEmoji>;
