/** Subscriptions to feeds as their owners make, change and read them. */
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import {
  FEED_SUCCESSES,
  type ChangeSubscription,
  type FeedOutcome,
  type FeedSource,
  type SubscriptionView,
} from '#src/protocol/calendars/calendar-subscriptions.ts';
import { ERRORS, Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { CALENDAR_SUBSCRIPTIONS_MAX } from '#src/protocol/limits.ts';
import type { CalendarForm } from '#storage/calendars/calendar-draft.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import {
  changeSubscription,
  putSubscription,
  subscribe,
  subscriptionOf,
  subscriptionsOf,
  type SubscriptionRecord,
} from '#storage/calendars/calendar-subscriptions.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { FeedUrls } from './feed-urls.ts';
import { intervalOf } from './refresh-plan.ts';

export interface SubscriptionsOptions {
  readonly calendars: Calendars;
  readonly urls: FeedUrls;
  readonly clock: Clock;
  readonly limiter: Limiter;
  /** Has what is due looked for. */
  readonly wake: () => void;
  /** Whether a feed is being fetched or taken in. */
  readonly isRefreshing: (calendar: string) => boolean;
}

export class Subscriptions {
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /**
   * Makes a calendar that follows a feed, which is asked for at once.
   * @throws Refusal `field_invalid`, `target_private`, `calendar_subscriptions_full`, `calendars_full`, `rate_limited`,
   *   `encryption_locked`.
   */
  async create(
    form: Omit<CalendarForm, 'name' | 'subscribed'>,
    source: FeedSource,
    by: AuditActor,
  ): Promise<CalendarRecord> {
    const { calendars, clock, urls, wake } = this.#options;
    const url = urls.read(source.url, 'source.url');
    calendars.refresh();
    // Before anything is counted; the change itself looks once more.
    if (subscriptionsOf(calendars, form.owner) >= CALENDAR_SUBSCRIPTIONS_MAX) {
      throw new Refusal('calendar_subscriptions_full');
    }
    this.#options.limiter.take('calendar_fetch', form.owner);
    const now = clock.now();
    const name = makeId('cal', now).slice('cal_'.length);
    const record: SubscriptionRecord = {
      url: await urls.seal(name, url),
      generation: 1,
      refreshSeconds: source.refresh_seconds ?? null,
      ...UNREAD,
      ...{ outcome: null, line: null, failures: 0, missingSince: null, attemptedAt: null, succeededAt: null },
      nextAt: now,
    };
    const calendar = await calendars.change((draft) => {
      const made = draft.createCalendar({ ...form, name, subscribed: true }, by);
      subscribe(draft, made, record, by);
      return made;
    });
    wake();
    return calendar;
  }

  /** @throws Refusal `calendar_subscription_not_found`, `encryption_locked`. */
  read(calendar: CalendarRecord): SubscriptionView {
    const { calendars, urls } = this.#options;
    calendars.refresh();
    const record = found(subscriptionOf(calendars, calendar.id));
    return this.#view(calendar, record, urls.open(calendar.name, record.url));
  }

  /** @throws Refusal `calendar_subscription_not_found`, `field_invalid`, `target_private`, `rate_limited`, `encryption_locked`. */
  async change(calendar: CalendarRecord, form: ChangeSubscription, by: AuditActor): Promise<SubscriptionView> {
    const { calendars, clock, urls, wake } = this.#options;
    const url = form.url === undefined ? undefined : urls.read(form.url, 'url');
    found(subscriptionOf(calendars, calendar.id));
    if (url !== undefined) this.#options.limiter.take('calendar_fetch', calendar.owner);
    const sealed = url === undefined ? undefined : await urls.seal(calendar.name, url);
    const now = clock.now();
    await calendars.change((draft) => {
      const before = found(subscriptionOf(draft, calendar.id));
      const { refresh_seconds: refreshSeconds = before.refreshSeconds } = form;
      const wished = { ...before, refreshSeconds };
      // Another interval counts from the last success; what failed goes on waiting.
      const waits = before.failures === 0 && before.succeededAt !== null && before.nextAt !== null;
      const nextAt = waits ? (before.succeededAt ?? now) + intervalOf(wished) * 1_000 : before.nextAt;
      const after = sealed === undefined ? { ...wished, nextAt } : moved(wished, sealed, now);
      changeSubscription(draft, calendar.id, after, by);
    });
    wake();
    return this.read(calendar);
  }

  /** Has it asked for at once, also one that is given up. @throws Refusal `calendar_subscription_not_found`, `rate_limited`. */
  async refresh(calendar: CalendarRecord): Promise<SubscriptionView> {
    const { calendars, clock, wake } = this.#options;
    found(subscriptionOf(calendars, calendar.id));
    this.#options.limiter.take('calendar_fetch', calendar.owner);
    await calendars.change((draft) => {
      const before = found(subscriptionOf(draft, calendar.id));
      putSubscription(draft, calendar.id, { ...before, nextAt: clock.now() });
    });
    wake();
    return this.read(calendar);
  }

  #view({ id }: CalendarRecord, record: SubscriptionRecord, url: string): SubscriptionView {
    const { clock, isRefreshing } = this.#options;
    const { attemptedAt, failed, failures, faults, line, nextAt, refreshSeconds, succeededAt } = record;
    return {
      calendar_id: id,
      url,
      refresh_seconds: refreshSeconds,
      interval_seconds: intervalOf(record),
      state: stateOf(record),
      refreshing: isRefreshing(id) || (nextAt !== null && nextAt <= clock.now()),
      outcome: record.outcome as FeedOutcome | null,
      line,
      failures,
      attempted_at: instantOf(attemptedAt),
      succeeded_at: instantOf(succeededAt),
      next_attempt_at: instantOf(nextAt),
      failed,
      faults: faults.map((fault) => ({ ...fault, error: ERRORS[fault.code as ErrorCode].error })),
    };
  }
}

/** Nothing of a feed was read yet; its entries, if there are any, are of another one. */
const UNREAD = { feedSeconds: null, etag: null, lastModified: null, digest: null, failed: 0, faults: [] } as const;

/** At another address: the entries stay until the feed there was read, and are compared with it. */
function moved(record: SubscriptionRecord, url: Uint8Array, now: number): SubscriptionRecord {
  const generation = record.generation + 1;
  return { ...record, ...UNREAD, url, generation, line: null, failures: 0, missingSince: null, nextAt: now };
}

function stateOf({ nextAt, outcome }: SubscriptionRecord): SubscriptionView['state'] {
  if (outcome === null) return 'new';
  if (nextAt === null) return 'dead';
  return FEED_SUCCESSES.some((success) => success === outcome) ? 'fresh' : 'failing';
}

function found(record: SubscriptionRecord | undefined): SubscriptionRecord {
  if (record === undefined) throw new Refusal('calendar_subscription_not_found');
  return record;
}

function instantOf(millis: number | null): string | null {
  return millis === null ? null : formatInstant(millis);
}
