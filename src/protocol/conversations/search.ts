/** Search: what may be asked, and what comes back. */
import { z } from 'zod';
import { isSoundText } from '#src/base/json.ts';
import { parseInstant } from '#src/base/time.ts';
import { SEARCH_LENGTH_MAX } from '../limits.ts';
import { message, MESSAGE_KINDS } from './messages.ts';
import { conversationId, username } from '../names.ts';

/** Words and phrases of one query, each of which narrows it: more than a sentence of that length has. [query_invalid] */
export const SEARCH_TERMS_MAX = 64;

/** Messages in one page of results: what somebody looks through before they say more. [query_invalid] */
export const SEARCH_PAGE_MAX = 50;
export const SEARCH_PAGE_DEFAULT = 20;

/** Places marked in one message. The message is whole all the same; what lies behind is not marked. */
export const SEARCH_HIGHLIGHTS_MAX = 32;

/** An instant as RFC 3339 writes it. */
const instant = z
  .string()
  .refine((text) => parseInstant(text) !== undefined)
  .meta({ format: 'date-time' });

/** GET /v1/search. `after` is the first instant that counts, `before` the first that does not any more. */
export const searchQuery = z.strictObject({
  q: z.string().min(1).max(SEARCH_LENGTH_MAX).refine(isSoundText),
  conversation: conversationId.optional(),
  sender: username.optional(),
  kind: z.enum(MESSAGE_KINDS).optional(),
  after: instant.optional(),
  before: instant.optional(),
  limit: z
    .string()
    .regex(/^\d{1,3}$/)
    .transform(Number)
    .pipe(z.number().min(1).max(SEARCH_PAGE_MAX))
    .default(SEARCH_PAGE_DEFAULT),
  cursor: z.string().max(512).optional(),
});
export type SearchForm = z.infer<typeof searchQuery>;

/** A message that was found. `highlights` are places in its searched text, from and up to, in UTF-16 units. */
export const searchItem = message
  .extend({ highlights: z.array(z.tuple([z.int().min(0), z.int().min(1)])).max(SEARCH_HIGHLIGHTS_MAX) })
  .meta({ id: 'SearchItem' });

export const searchReply = z
  .strictObject({ items: z.array(searchItem), next: z.string().nullable() })
  .meta({ id: 'SearchReply' });
