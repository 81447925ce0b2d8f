/** What people want to be told of, as it is stored, and what of it holds for a message at an instant. */
import type { NotificationLevel, Notifications, QuietHours } from '#src/protocol/account/notifications.ts';
import type { AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { phraseOf } from '#storage/search/word-phrases.ts';
import { personalFieldsOf } from './personal-fields.ts';

/** Who says nothing is told of everything. */
const EVERYTHING: Notifications = { level: 'all', quiet: null, conversations: {} };

/** As it is stored: with the keywords in the form in which they are looked for. */
interface StoredNotifications extends Notifications {
  readonly watched?: readonly string[];
}

/** Username → theirs. */
const preferences = defineCollection<StoredNotifications>('notifications', { version: 1 });

type View = Pick<AccountsDraft, 'document'>;

export function notificationsOf(view: View, username: string): Notifications {
  const stored: StoredNotifications = view.document(preferences, username) ?? EVERYTHING;
  const { watched: _watched, ...wanted } = stored;
  return wanted;
}

/**
 * Stores what a person wants, in the place of what they wanted before, as part of a change, and answers it. Keywords that
 * are left out stay, since a client that knows of none would take them away.
 */
export function putNotifications(draft: AccountsDraft, username: string, wanted: Notifications): Notifications {
  const keywords = wanted.keywords ?? draft.document(preferences, username)?.keywords ?? [];
  const watched = [...new Set(keywords.map(phraseOf))];
  const { keywords: _before, ...rest } = wanted;
  draft.putDocument(preferences, username, keywords.length === 0 ? rest : { ...rest, keywords, watched });
  return keywords.length === 0 ? rest : { ...rest, keywords };
}

/** What a person watches for in what others write, in the form that `saysAny` takes. */
export function watchedBy(view: View, username: string): readonly string[] {
  return view.document(preferences, username)?.watched ?? [];
}

export function removeNotifications(draft: AccountsDraft, username: string): void {
  draft.removeDocument(preferences, username);
}

/** Of what a person is told in a conversation at an instant, in milliseconds: of nothing in their quiet hours. */
export function levelAt(view: View, username: string, conversation: string, nowMillis: number): NotificationLevel {
  const { conversations, level, quiet } = notificationsOf(view, username);
  if (quiet !== null) {
    const zone = quiet.time_zone ?? personalFieldsOf(view, username).time_zone ?? 'UTC';
    if (isQuiet(quiet, wallClock(zone, nowMillis))) return 'none';
  }
  return conversations[conversation] ?? level;
}

/** A day of the week, 1 for Monday, and the minute of it. */
interface WallClock {
  readonly day: number;
  readonly minute: number;
}

function isQuiet({ days, from, until }: QuietHours, { day, minute }: WallClock): boolean {
  const [start, end] = [minuteOf(from), minuteOf(until)];
  const counts = (which: number) => days === undefined || days.includes(which);
  if (start < end) return counts(day) && minute >= start && minute < end;
  // Over midnight: the evening of today, or the morning after yesterday's.
  return (counts(day) && minute >= start) || (counts(day === 1 ? 7 : day - 1) && minute < end);
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];
/** Zone in lower case → what writes its time: making one takes a millisecond. Some 600 zones, each in any letters. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function wallClock(zone: string, nowMillis: number): WallClock {
  const name = zone.toLowerCase();
  const clock =
    clocks.get(name) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
  clocks.set(name, clock);
  const parts = Object.fromEntries(clock.formatToParts(nowMillis).map(({ type, value }) => [type, value]));
  return {
    day: DAYS.indexOf(parts['weekday'] ?? '') + 1,
    minute: Number(parts['hour']) * 60 + Number(parts['minute']),
  };
}
