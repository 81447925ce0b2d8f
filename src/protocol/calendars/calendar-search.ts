/** Search over entries: what may be asked, and what comes back. */
import { z } from 'zod';
import { isSoundText } from '#src/base/json.ts';
import { SEARCH_PAGE_DEFAULT, SEARCH_PAGE_MAX } from '../conversations/search.ts';
import { SEARCH_LENGTH_MAX } from '../limits.ts';
import { calendarId, invitation } from './calendars.ts';

/** Entries looked through for one answer: a quarter of a second of work. Where there are more, `next` goes on behind them. */
export const ENTRIES_SEARCHED_MAX = 25_000;

/** Words and "quoted phrases", all of which an entry has, in any case of letters and with or without accents. */
export const entrySearchQuery = z.strictObject({
  q: z.string().min(1).max(SEARCH_LENGTH_MAX).refine(isSoundText),
  /** Of one calendar alone. */
  calendar: calendarId.optional(),
  after: z.string().min(1).max(600).optional(),
  limit: z.coerce.number().int().min(1).max(SEARCH_PAGE_MAX).default(SEARCH_PAGE_DEFAULT),
});
export type EntrySearchQuery = z.infer<typeof entrySearchQuery>;

/** A page may be short, or empty, before the last one, whose `next` is null. */
export const entrySearchReply = z.strictObject({ items: z.array(invitation), next: z.string().nullable() });
