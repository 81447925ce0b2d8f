/** When a feed is asked for next, and when it is given up: what follows from an outcome, without doing it. */
import type { SubscriptionRecord } from '#storage/calendars/calendar-subscriptions.ts';
import type { FeedFailure, FeedOutcome } from '#src/protocol/calendars/calendar-subscriptions.ts';
import { CALENDAR_REFRESH_SECONDS_MAX, CALENDAR_REFRESH_SECONDS_MIN } from '#src/protocol/limits.ts';

/** How often a feed is asked for that nobody said anything about. */
export const REFRESH_SECONDS_DEFAULT = 3_600;
/** How long after a first failure it is tried again; twice as long after each further one. */
export const RETRY_SECONDS_MIN = 900;
/** The longest wait between two tries. */
export const RETRY_SECONDS_MAX = 86_400;
/** How long a feed may be missing, without a break, until it is given up: longer than a holiday of who repairs it. */
export const MISSING_MILLIS_MAX = 14 * 86_400_000;
/** Waits are up to a tenth longer, so that feeds that were asked for together spread by and by. */
const JITTER = 0.1;

type Wishes = Pick<SubscriptionRecord, 'refreshSeconds' | 'feedSeconds'>;

/** How long after a success it is asked for again: the owner's wish, the feed's within bounds, or an hour. */
export function intervalOf({ refreshSeconds, feedSeconds }: Wishes): number {
  if (refreshSeconds !== null) return refreshSeconds;
  if (feedSeconds === null) return REFRESH_SECONDS_DEFAULT;
  return Math.min(Math.max(feedSeconds, CALENDAR_REFRESH_SECONDS_MIN), CALENDAR_REFRESH_SECONDS_MAX);
}

/** The subscription after a refresh that went well. `random` is from 0 up to 1. */
export function afterSuccess(
  record: SubscriptionRecord,
  outcome: FeedOutcome,
  now: number,
  random: number,
): SubscriptionRecord {
  return {
    ...record,
    ...{ outcome, line: null, failures: 0, missingSince: null, attemptedAt: now, succeededAt: now },
    nextAt: now + waitMillis(intervalOf(record), random),
  };
}

/** The subscription after one that failed. `retrySeconds` is how long the server asks to be left alone. */
export function afterFailure(
  record: SubscriptionRecord,
  { outcome, line, retrySeconds }: { outcome: FeedFailure; line: number | null; retrySeconds: number | null },
  now: number,
  random: number,
): SubscriptionRecord {
  const failures = record.failures + 1;
  const isMissing = outcome === 'not_found' || outcome === 'gone';
  const missingSince = isMissing ? (record.missingSince ?? now) : null;
  const isDead = missingSince !== null && now - missingSince >= MISSING_MILLIS_MAX;
  const backOff = Math.min(RETRY_SECONDS_MIN * 2 ** Math.min(failures - 1, 20), RETRY_SECONDS_MAX);
  const wait = Math.min(Math.max(backOff, retrySeconds ?? 0), RETRY_SECONDS_MAX);
  const nextAt = isDead ? null : now + waitMillis(wait, random);
  return { ...record, outcome, line, failures, missingSince, attemptedAt: now, nextAt };
}

function waitMillis(seconds: number, random: number): number {
  return Math.round(seconds * 1_000 * (1 + JITTER * random));
}
