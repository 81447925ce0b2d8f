/** Published feeds: made and revoked by a calendar's owner, found by their token, and read as often as their pace allows. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { makeId } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { feedsOf, putFeed, removeFeed } from '#storage/calendars/calendar-feeds.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { CalendarRecord, FeedRecord } from '#storage/calendars/calendar-records.ts';
import type { CalendarServices } from '../calendar-services.ts';

const SECRET_BYTES = 32;

/** The file's name in a feed's path: the calendar's id without its prefix, the secret, `.ics`. */
const FILE = /^([0-9a-z]{22})([\w-]{43})\.ics$/;

export class Feeds {
  readonly #plane: CalendarServices;

  constructor(services: CalendarServices) {
    this.#plane = services;
  }

  list(calendar: string): readonly FeedRecord[] {
    return feedsOf(this.#plane.calendars, calendar);
  }

  /** Publishes a feed; its path is not to be had again. @throws Refusal `calendar_not_found`, `feeds_full`. */
  async publish(
    calendar: string,
    form: Pick<FeedRecord, 'detail' | 'note'>,
    by: AuditActor,
  ): Promise<{ readonly feed: FeedRecord; readonly path: string }> {
    const now = this.#plane.clock.now();
    const secret = randomBytes(SECRET_BYTES).toString('base64url');
    const feed = { ...form, id: makeId('feed', now), hash: hashOf(secret), createdAt: now };
    await this.#plane.calendars.change((draft) => putFeed(draft, calendar, feed, by));
    return { feed, path: `/feeds/${calendar.slice('cal_'.length)}${secret}.ics` };
  }

  /** @throws Refusal `calendar_not_found`, `feed_not_found`. */
  async revoke(calendar: string, feed: string, by: AuditActor): Promise<void> {
    await this.#plane.calendars.change((draft) => removeFeed(draft, calendar, feed, by));
  }

  /**
   * The feed that a file's name is for, counted as read once.
   * @throws Refusal `feed_not_found` for one that never was, was revoked, or whose owner is gone; `rate_limited`.
   */
  open(file: string): { readonly calendar: CalendarRecord; readonly feed: FeedRecord } {
    const { calendars, isPerson, limiter } = this.#plane;
    const [, id = '', secret = ''] = FILE.exec(file) ?? [];
    calendars.refresh();
    const calendar = calendars.calendar(`cal_${id}`);
    const hash = Buffer.from(hashOf(secret));
    const feed =
      calendar === undefined
        ? undefined
        : feedsOf(calendars, calendar.id).find((one) => timingSafeEqual(Buffer.from(one.hash), hash));
    if (calendar === undefined || feed === undefined || !isPerson(calendar.owner)) throw new Refusal('feed_not_found');
    limiter.take('feed_read', feed.id);
    return { calendar, feed };
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
