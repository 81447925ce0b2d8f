/** Rooms that are public within the organisation: finding them and coming in. */
import { z } from 'zod';
import { PAGE_LENGTH_DEFAULT, PAGE_LENGTH_MAX, SEARCHED_NAME_LENGTH_MAX } from '../limits.ts';
import { count } from '../names.ts';

/** GET /v1/rooms: the newest first, or those in whose title every word of `q` begins a word. */
export const roomsQuery = z.strictObject({
  q: z.string().trim().min(1).max(SEARCHED_NAME_LENGTH_MAX).optional(),
  after: z.string().max(512).optional(),
  limit: z.coerce.number().int().min(1).max(PAGE_LENGTH_MAX).default(PAGE_LENGTH_DEFAULT),
});
export type RoomsQuery = z.infer<typeof roomsQuery>;

/** A public room as somebody sees it who need not be in it: nothing of what is said there. */
export const publicRoom = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    topic: z.string().optional(),
    purpose: z.string().optional(),
    /** The number of its picture; left out while it has none. */
    avatar: count.optional(),
    created_at: z.string(),
    participant_count: count,
    /** Whether the caller takes part. */
    joined: z.boolean(),
  })
  .meta({ id: 'PublicRoom' });
export type PublicRoom = z.infer<typeof publicRoom>;

/** A page may be shorter than `limit` while there are more: go on until `next` is null. */
export const roomsReply = z
  .strictObject({ items: z.array(publicRoom), next: z.string().nullable() })
  .meta({ id: 'PublicRooms' });
