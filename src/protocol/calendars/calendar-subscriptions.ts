/** Calendars that follow a feed elsewhere: what is said of the feed, and how its refreshes went (CAL-02). */
import { z } from 'zod';
import { CALENDAR_REFRESH_SECONDS_MAX, CALENDAR_REFRESH_SECONDS_MIN } from '../limits.ts';
import { count } from '../names.ts';

/** Characters of a feed's address. [field_invalid] */
export const FEED_URL_LENGTH_MAX = 2_000;

/** Faults of a feed that its state lists. More are counted. */
export const FEED_FAULTS_MAX = 20;

const url = z.string().trim().min(1).max(FEED_URL_LENGTH_MAX).meta({
  description: '`https://…`, or `webcal://…`, which means the same. It may carry a secret, and is kept as one.',
});
const refreshSeconds = z.int().min(CALENDAR_REFRESH_SECONDS_MIN).max(CALENDAR_REFRESH_SECONDS_MAX);

/** What a new calendar follows. Without `refresh_seconds` it is asked for as often as the feed says, or every hour. */
export const feedSource = z
  .strictObject({ url, refresh_seconds: refreshSeconds.optional() })
  .meta({ id: 'CalendarFeedSource' });
export type FeedSource = z.infer<typeof feedSource>;

/** Fields that are left out stay. `null` leaves it to the feed how often it is asked for. */
export const changeSubscription = z
  .strictObject({ url: url.optional(), refresh_seconds: refreshSeconds.nullable().optional() })
  .meta({ id: 'ChangeCalendarSubscription' });
export type ChangeSubscription = z.infer<typeof changeSubscription>;

/** How a refresh went well. */
export const FEED_SUCCESSES = ['changed', 'unchanged', 'not_modified'] as const;

/** How one failed; the entries of the last good one stay. */
export const FEED_FAILURES = [
  'timeout',
  'unreachable',
  'target_private',
  'redirect_refused',
  'not_found',
  'gone',
  'access_refused',
  'rate_limited',
  'server_error',
  'status_unexpected',
  'too_large',
  'too_many_entries',
  'too_costly',
  'not_calendar',
  'truncated',
  'encryption_locked',
  'internal',
] as const;
export type FeedFailure = (typeof FEED_FAILURES)[number];
export type FeedOutcome = FeedFailure | (typeof FEED_SUCCESSES)[number];

export const feedFault = z.strictObject({
  uid: z.string().optional(),
  /** The line of the feed that it begins in, or that is wrong. */
  line: z.int().optional(),
  code: z.string(),
  error: z.string(),
});

/** For the owner of the calendar alone. */
export const subscription = z
  .strictObject({
    calendar_id: z.string(),
    url: z.string(),
    /** What the owner chose; null where it is the feed's to say. */
    refresh_seconds: z.int().nullable(),
    /** How long after a success it is asked for again. */
    interval_seconds: z.int(),
    /** `dead`: nothing was there for two weeks. It is asked for again when somebody wants it to be. */
    state: z.enum(['new', 'fresh', 'failing', 'dead']),
    /** Whether it is to be asked for now, or being asked. */
    refreshing: z.boolean(),
    /** The last outcome, in a word of this list. */
    outcome: z.enum([...FEED_SUCCESSES, ...FEED_FAILURES]).nullable(),
    /** The line of the feed that is no calendar. */
    line: z.int().nullable(),
    /** Failures in a row. */
    failures: count,
    attempted_at: z.string().nullable(),
    succeeded_at: z.string().nullable(),
    next_attempt_at: z.string().nullable(),
    /** Entries of the feed that could not be read the last time; what was known of them before stays. */
    failed: count,
    faults: z.array(feedFault),
  })
  .meta({ id: 'CalendarSubscription' });
export type SubscriptionView = z.infer<typeof subscription>;
