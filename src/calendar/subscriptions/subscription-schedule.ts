/**
 * Refreshes feeds when they are due: a few at once, one of each person, each on its own.
 *
 *     due ─► fetched ─► read and compared on a thread ─► taken in by small commits ─► [outcome, next]
 *
 * The next time is written when all of it is done, so that what a stop or a crash interrupts is due at the next start.
 */
import { setTimeout as later } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { oneSample } from '#src/telemetry/metrics.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import {
  dueSubscriptions,
  nextRefresh,
  putSubscription,
  subscriptionOf,
  type SubscriptionRecord,
} from '#storage/calendars/calendar-subscriptions.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { DerivationPool } from '../objects/derivation-pool.ts';
import { applyFeed, FeedSuperseded, knownEntries } from './feed-applying.ts';
import { FeedFailed, fetchFeed, type FetchOptions } from './feed-fetch.ts';
import type { FeedAnswer, FeedQuestion } from './feed-reading.ts';
import type { FeedUrls } from './feed-urls.ts';
import { afterFailure, afterSuccess, RETRY_SECONDS_MAX } from './refresh-plan.ts';

/** Feeds refreshed at once: each may take twenty megabytes for a while. The others wait for their turn. */
export const REFRESHES_AT_ONCE_MAX = 4;
/** Feeds that are due and looked at for one that may begin: as many as those of the people who are busy with others. */
const LOOKED_AT = 128;
/** The longest that the schedule sleeps: a clock that is set shows by then. */
const SLEEP_MILLIS_MAX = 60_000;
/** How long a feed waits whose refresh could not be noted: the disk is full, say. */
const RETRY_MILLIS = 60_000;

export interface SubscriptionScheduleOptions extends FetchOptions {
  readonly calendars: Calendars;
  readonly urls: FeedUrls;
  /** Whether somebody is there to read it. */
  readonly isPerson: (user: string) => boolean;
  readonly clock: Clock;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
}

export class SubscriptionSchedule {
  readonly #options: SubscriptionScheduleOptions;
  /** Its own: a large feed holds up nobody's request. */
  readonly #pool = new DerivationPool();
  readonly #ending = new AbortController();
  /** Calendar → whose it is and when its refresh is over. */
  readonly #running = new Map<string, { readonly owner: string; readonly done: Promise<void> }>();
  readonly #counts = { changed: 0, unchanged: 0, failed: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SubscriptionScheduleOptions) {
    this.#options = options;
  }

  /** For the metrics. */
  get metrics() {
    const { changed, failed, unchanged } = this.#counts;
    return {
      parley_calendar_feed_refreshes_total: [
        ...oneSample(changed, ['changed']),
        ...oneSample(unchanged, ['unchanged']),
        ...oneSample(failed, ['failed']),
      ],
      parley_calendar_feeds_refreshing: oneSample(this.#running.size),
    };
  }

  isRefreshing(calendar: string): boolean {
    return this.#running.has(calendar);
  }

  /** Begins what is due as far as there is room, and sleeps until the next. */
  wake(): void {
    if (this.#ending.signal.aborted) return;
    clearTimeout(this.#timer);
    const { calendars, clock } = this.#options;
    calendars.refresh();
    const now = clock.now();
    for (const id of dueSubscriptions(calendars, now, LOOKED_AT)) {
      if (this.#running.size >= REFRESHES_AT_ONCE_MAX) return;
      const calendar = calendars.calendar(id);
      if (calendar !== undefined && !this.#isBusy(id, calendar.owner)) this.#begin(calendar);
    }
    const next = nextRefresh(calendars, now) ?? Infinity;
    this.#timer = later(() => this.wake(), Math.min(next - now, SLEEP_MILLIS_MAX));
  }

  /** Breaks off what is under way; it is due at the next start. */
  async stop(): Promise<void> {
    this.#ending.abort();
    clearTimeout(this.#timer);
    // What is being read on it is not waited for.
    await this.#pool.close();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  #isBusy(id: string, owner: string): boolean {
    return this.#running.has(id) || [...this.#running.values()].some((one) => one.owner === owner);
  }

  #begin(calendar: CalendarRecord): void {
    const { id, owner } = calendar;
    const done = this.#refresh(calendar)
      .catch(async (error: unknown) => {
        if (this.#ending.signal.aborted) return;
        this.#options.log.warn('the refresh of a feed could not be noted', { calendar: id, error });
        // It is due still: its place stays taken, so that nobody elsewhere is asked again and again meanwhile.
        await setTimeout(RETRY_MILLIS, undefined, { signal: this.#ending.signal }).catch(() => undefined);
      })
      .then(() => {
        this.#running.delete(id);
        this.wake();
      });
    this.#running.set(id, { owner, done });
  }

  async #refresh(calendar: CalendarRecord): Promise<void> {
    const { calendars, clock, isPerson, log } = this.#options;
    const before = subscriptionOf(calendars, calendar.id);
    if (before === undefined) return;
    let after: SubscriptionRecord;
    if (isPerson(calendar.owner)) {
      try {
        after = await this.#take(calendar, before);
        this.#counts[after.outcome === 'changed' ? 'changed' : 'unchanged'] += 1;
      } catch (error) {
        if (error instanceof FeedSuperseded) return;
        // Interrupted, not failed.
        if (this.#ending.signal.aborted) throw error;
        const failure = failureOf(error);
        if (failure.outcome === 'internal') log.warn('a feed could not be taken in', { calendar: calendar.id, error });
        after = afterFailure(before, failure, clock.now(), Math.random());
        this.#counts.failed += 1;
      }
    } else {
      // Nobody reads it; whoever comes back finds it within a day.
      after = { ...before, nextAt: clock.now() + RETRY_SECONDS_MAX * 1_000 };
    }
    await calendars.change((draft) => {
      const present = subscriptionOf(draft, calendar.id);
      if (present?.generation !== before.generation) return;
      const { refreshSeconds } = present;
      // Asked for once more meanwhile: it is due at once.
      const nextAt = present.nextAt === before.nextAt ? after.nextAt : present.nextAt;
      putSubscription(draft, calendar.id, { ...after, refreshSeconds, nextAt });
    });
  }

  /** @throws FeedFailed, FeedSuperseded, Refusal. */
  async #take(calendar: CalendarRecord, before: SubscriptionRecord): Promise<SubscriptionRecord> {
    const { calendars, clock, urls } = this.#options;
    const { id, kinds, zone } = calendar;
    const { digest, generation } = before;
    const url = urls.open(calendar.name, before.url);
    const fetched = await fetchFeed(url, before, { ...this.#options, signal: this.#ending.signal });
    if (fetched === undefined) return afterSuccess(before, 'not_modified', clock.now(), Math.random());
    const { bytes, etag, lastModified } = fetched;
    const known = await knownEntries(calendars, id);
    const answer = await this.#read({ bytes, digest, known, kinds, zone });
    if (answer.kind === 'refused') throw new FeedFailed(answer.outcome, answer);
    if (answer.kind === 'same') {
      return afterSuccess({ ...before, etag, lastModified }, 'unchanged', clock.now(), Math.random());
    }
    const isChanged = await applyFeed(calendars, { calendar: id, generation, signal: this.#ending.signal }, answer);
    const { failed, faults, seconds: feedSeconds } = answer;
    const taken = { ...before, etag, lastModified, digest: answer.digest, feedSeconds, failed, faults };
    return afterSuccess(taken, isChanged ? 'changed' : 'unchanged', clock.now(), Math.random());
  }

  /** @throws FeedFailed `too_costly` for a feed whose reading had to be stopped. */
  async #read(question: FeedQuestion): Promise<FeedAnswer> {
    try {
      return await this.#pool.readFeed(question);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'busy') throw new FeedFailed('too_costly');
      throw error;
    }
  }
}

/** Why a refresh brought nothing. */
function failureOf(error: unknown): Pick<FeedFailed, 'outcome' | 'line' | 'retrySeconds'> {
  if (error instanceof FeedFailed) return error;
  const isLocked = error instanceof Refusal && error.code === 'encryption_locked';
  return { outcome: isLocked ? 'encryption_locked' : 'internal', line: null, retrySeconds: null };
}
