/** Published feeds of a calendar: who has the token reads it, until it is revoked. Tokens are kept as hashes. */
import { Refusal } from '#src/protocol/errors.ts';
import type { CalendarWriteSet } from './calendar-write-set.ts';
import type { AuditActor } from '../accounts/audit-chain.ts';
import type { CalendarView } from './calendar-reader.ts';
import { pendingAuditRecord, feedsRecord, type CalendarRecord, type FeedRecord } from './calendar-records.ts';
import { key, numberedThen } from '../engine/keys.ts';

/** Feeds of one calendar: one for each who gets one, so that each is revoked by itself. [feeds_full] */
export const FEEDS_PER_CALENDAR_MAX = 20;

/** The feeds of a calendar, the oldest first. */
export function feedsOf(view: CalendarView, calendar: string): readonly FeedRecord[] {
  const stored = view.read('feeds', feedsKey(calendar));
  return stored === undefined ? [] : feedsRecord.decode(stored).feeds;
}

/** Publishes a feed. @throws Refusal `calendar_not_found`, `feeds_full`. */
export function putFeed(draft: CalendarWriteSet, id: string, feed: FeedRecord, by: AuditActor): void {
  const calendar = calendarIn(draft, id);
  const feeds = feedsOf(draft, id);
  if (feeds.length >= FEEDS_PER_CALENDAR_MAX) throw new Refusal('feeds_full');
  draft.put('feeds', feedsKey(id), feedsRecord.encode({ feeds: [...feeds, feed] }));
  putDeed(draft, calendar, 'calendar.feed_published', feed, by);
}

/** Revokes a feed: its URL is nothing any more. @throws Refusal `calendar_not_found`, `feed_not_found`. */
export function removeFeed(draft: CalendarWriteSet, id: string, feedId: string, by: AuditActor): void {
  const calendar = calendarIn(draft, id);
  const feeds = feedsOf(draft, id);
  const feed = feeds.find((one) => one.id === feedId);
  if (feed === undefined) throw new Refusal('feed_not_found');
  const left = feeds.filter((one) => one !== feed);
  draft.put('feeds', feedsKey(id), left.length === 0 ? null : feedsRecord.encode({ feeds: left }));
  putDeed(draft, calendar, 'calendar.feed_revoked', feed, by);
}

/** Under the calendar's id, so that it goes with the calendar. */
function feedsKey(calendar: string): Buffer {
  return key(calendar, 'feeds');
}

function calendarIn(draft: CalendarWriteSet, id: string): CalendarRecord {
  const calendar = draft.calendar(id);
  if (calendar === undefined) throw new Refusal('calendar_not_found');
  return calendar;
}

function putDeed(draft: CalendarWriteSet, calendar: CalendarRecord, event: string, feed: FeedRecord, by: AuditActor) {
  const details = { name: calendar.name, feed: feed.id, detail: feed.detail };
  const form = { event, actor: by.actor, address: by.address, subject: `calendar:${calendar.id}`, details };
  draft.isAudited = true;
  draft.put('deeds', numberedThen(draft.now, 'd', calendar.id, `${event}:${feed.id}`), pendingAuditRecord.encode(form));
}
