/** Calendar files: what an import reports, and feeds that are published (CAL-02). */
import { z } from 'zod';

/** Faults that one report lists. More are counted, and `is_cut` says so. */
export const IMPORT_FAULTS_MAX = 1_000;

const importFault = z.strictObject({
  /** Which item of the file it is, from 0: components of one UID are one item. */
  index: z.int(),
  uid: z.string().optional(),
  /** The line of the file that it begins in, or that is wrong. */
  line: z.int().optional(),
  code: z.string(),
  error: z.string(),
});
export type ImportFault = z.infer<typeof importFault>;

export const importReport = z
  .strictObject({
    imported: z.int(),
    replaced: z.int(),
    /** Items that the calendar has already, as they are. */
    skipped: z.int(),
    failed: z.int(),
    faults: z.array(importFault),
    is_cut: z.boolean(),
  })
  .meta({ id: 'CalendarImportReport' });
export type ImportReport = z.infer<typeof importReport>;

/** How many items of a file have been looked at and, where they could be, written, of how many. */
export interface ImportProgress {
  readonly done: number;
  readonly of: number;
}

/** A line of an import that is told as it goes; the last one is `report` or `refused`. */
export type ImportLine =
  | { readonly progress: ImportProgress }
  | { readonly report: ImportReport }
  | { readonly refused: { readonly code: string; readonly error: string } };

export const FEED_DETAILS = ['full', 'free_busy'] as const;

export const publishFeed = z
  .strictObject({
    /** `full` without addresses of people, alarms and files, and private entries as busy time; or busy time alone. */
    detail: z.enum(FEED_DETAILS).default('full'),
    /** For whom it is. */
    note: z.string().trim().max(100).default(''),
  })
  .meta({ id: 'PublishFeed' });

const shape = { id: z.string(), detail: z.enum(FEED_DETAILS), note: z.string(), created_at: z.string() };

export const feed = z.strictObject(shape).meta({ id: 'CalendarFeed' });
export type FeedView = z.infer<typeof feed>;

/** `path` is shown this once: under the calendar service's address it is the feed, for whoever has it. */
export const publishedFeed = z.strictObject({ ...shape, path: z.string() }).meta({ id: 'PublishedCalendarFeed' });

export const feedsReply = z.strictObject({ items: z.array(feed), next: z.null() });
