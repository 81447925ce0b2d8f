/** What is written of an entry before it is sent: read from an entry, and made the body of a call. */
import type { CalendarCallInput, CalendarReplyOf } from '#src/client/calendar-api.ts';
import { addDays, addMinutes, daysBetween, instantOf, minutesBetween, wallOf } from '../time.ts';
import { movedRule, noRepeat, repeatOf, ruleOf, type Repeat } from './repeat.ts';

export type Entry = CalendarReplyOf<'readEntry'>;
export type CreateBody = NonNullable<CalendarCallInput<'createEntry'>['body']>;
export type ChangeBody = NonNullable<CalendarCallInput<'changeEntry'>['body']>;
export type Scope = NonNullable<ChangeBody['scope']>;
export type Visibility = NonNullable<CreateBody['visibility']>;

/** Minutes of a new entry. */
export const NEW_MINUTES = 60;

export interface EntryForm {
  readonly calendar: string;
  readonly title: string;
  readonly isAllDay: boolean;
  /** Wall time of `zone`: `YYYY-MM-DDTHH:mm`. Of an all-day entry the days count, the last one included. */
  readonly start: string;
  readonly end: string;
  readonly zone: string;
  readonly place: string;
  readonly description: string;
  readonly repeat: Repeat;
  /** Minutes before the start. */
  readonly reminders: readonly number[];
  readonly visibility: Visibility;
  readonly isBusy: boolean;
  /** Usernames, and `mailto:` addresses of whoever is elsewhere; whose entry it is is none of them. */
  readonly attendees: readonly string[];
  readonly hasMeeting: boolean;
}

/** When a form says that it is. */
export type FormTimes = Pick<EntryForm, 'end' | 'isAllDay' | 'start' | 'zone'>;

/** Wall times of a new entry, and where it goes. */
export interface NewEntry {
  readonly calendar: string;
  readonly start: string;
  readonly end?: string | undefined;
  readonly isAllDay?: boolean;
  readonly zone: string;
}

export function newForm({ calendar, start, end, isAllDay = false, zone }: NewEntry): EntryForm {
  return {
    calendar,
    title: '',
    isAllDay,
    start,
    end: end ?? addMinutes(start, NEW_MINUTES),
    zone,
    place: '',
    description: '',
    repeat: noRepeat(start),
    reminders: isAllDay ? [] : [10],
    visibility: 'public',
    isBusy: true,
    attendees: [],
    hasMeeting: false,
  };
}

/** How an entry, or one occurrence of it, stands in the form. `series` has the rule. */
export function formOf(entry: Entry, series: Entry, ownZone: string, me: string): EntryForm {
  const zone = entry.tz ?? ownZone;
  const times = timesOf(entry, zone);
  return {
    calendar: entry.calendar_id,
    title: entry.title,
    isAllDay: entry.all_day,
    ...times,
    zone,
    place: entry.location ?? '',
    description: entry.description ?? '',
    repeat: repeatOf(series.rule, series.recurring, timesOf(series, zone).start),
    reminders: entry.reminders.flatMap(minutesOf).toSorted((one, other) => one - other),
    visibility: entry.visibility,
    isBusy: entry.transparency === 'opaque',
    attendees: attendeesOf(entry, me),
    hasMeeting: entry.meeting !== undefined,
  };
}

/** Wall times; of whole days from nine to ten, for when they become hours. */
function timesOf(entry: Entry, zone: string): { start: string; end: string } {
  if (entry.all_day && entry.date !== undefined) {
    const last = addDays(entry.date, (entry.days ?? 1) - 1);
    return { start: `${entry.date}T09:00`, end: `${last}T10:00` };
  }
  const start = wallOf(entry.start_at ?? new Date().toISOString(), zone);
  return { start, end: entry.end_at === undefined ? start : wallOf(entry.end_at, zone) };
}

/** A reminder that is so long before the start; what else there is has no word in the form. */
function minutesOf({ offset_seconds: seconds, related, action }: Entry['reminders'][number]): number[] {
  const isBefore = seconds !== undefined && seconds <= 0 && related !== 'end' && action === 'display';
  return isBefore ? [Math.round(-seconds / 60)] : [];
}

function attendeesOf({ attendees, organizer }: Entry, me: string): string[] {
  const own = organizer?.user ?? me;
  return attendees.filter(({ user }) => user === undefined || user !== own).map(({ address, user }) => user ?? address);
}

type Times = Pick<ChangeBody, 'date' | 'days' | 'start_at' | 'end_at' | 'tz'>;

/** The same as a call takes it. */
export function whenOf({ end, isAllDay, start, zone }: FormTimes): Times {
  if (isAllDay) return { date: start.slice(0, 10), days: Math.max(1, daysBetween(start, end) + 1) };
  return { start_at: instantOf(start, zone), end_at: instantOf(end, zone), tz: zone };
}

/** Whether the end is before the start. */
export function isBackwards({ end, isAllDay, start }: FormTimes): boolean {
  return isAllDay ? end.slice(0, 10) < start.slice(0, 10) : end < start;
}

const remindersOf = ({ reminders }: EntryForm) =>
  reminders.map((minutes) => ({ action: 'display' as const, offset_seconds: minutes === 0 ? 0 : -minutes * 60 }));

/** The body that makes the entry. */
export function creationOf(form: EntryForm): CreateBody {
  const rule = ruleOf(form.repeat, form.start, form.isAllDay);
  return {
    title: form.title.trim(),
    ...whenOf(form),
    ...(form.place.trim() === '' ? {} : { location: form.place }),
    ...(form.description.trim() === '' ? {} : { description: form.description }),
    ...(rule === undefined ? {} : { rule }),
    ...(form.reminders.length === 0 ? {} : { reminders: remindersOf(form) }),
    ...(form.visibility === 'public' ? {} : { visibility: form.visibility }),
    ...(form.isBusy ? {} : { transparency: 'transparent' }),
    ...(form.attendees.length === 0 ? {} : { attendees: [...form.attendees] }),
    ...(form.hasMeeting ? { meeting: true as const } : {}),
  };
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

export function isRuleChanged(before: EntryForm, after: EntryForm): boolean {
  return !isSame(before.repeat, after.repeat) && after.repeat.kind !== 'other';
}

/** What can be meant by a change of one occurrence of a series: some things are of all of it alone. */
export function scopesOf(before: EntryForm, after: EntryForm, series: Entry): Scope[] {
  if (before.visibility !== after.visibility || before.hasMeeting !== after.hasMeeting) return ['all'];
  if (isRuleChanged(before, after)) return ['this_and_following', 'all'];
  const moved = movedRule(series.rule, before.start, after.start);
  if (moved === null) return ['this'];
  return moved?.count === undefined ? ['this', 'this_and_following', 'all'] : ['this', 'all'];
}

/** The body that changes what is different, and nothing else; undefined where nothing is. Times of all of a series move as those of one did. */
export function changeOf(before: EntryForm, after: EntryForm, series: Entry, scope: Scope): ChangeBody | undefined {
  const isMoved = !isSame(whenOf(before), whenOf(after));
  const isRuled = scope !== 'this' && isRuleChanged(before, after);
  const moved = scope === 'this' || isRuled || !isMoved ? undefined : movedRule(series.rule, before.start, after.start);
  const times = scope === 'all' && series.recurring ? wholeSeries(before, after, series) : whenOf(after);
  const start = scope === 'all' && series.recurring ? wallOfTimes(times, after) : after.start;
  const body: ChangeBody = {
    ...(before.title.trim() === after.title.trim() ? {} : { title: after.title.trim() }),
    ...(isMoved ? times : {}),
    ...(before.place === after.place ? {} : { location: after.place }),
    ...(before.description === after.description ? {} : { description: after.description }),
    ...(isRuled ? { rule: ruleOf(after.repeat, start, after.isAllDay) ?? null } : {}),
    ...(moved === undefined || moved === null ? {} : { rule: moved }),
    ...(isSame(before.reminders, after.reminders) ? {} : { reminders: remindersOf(after) }),
    ...(before.visibility === after.visibility ? {} : { visibility: after.visibility }),
    ...(before.isBusy === after.isBusy ? {} : { transparency: after.isBusy ? 'opaque' : 'transparent' }),
    ...(isSame(before.attendees, after.attendees) ? {} : { attendees: [...after.attendees] }),
    ...(before.hasMeeting === after.hasMeeting ? {} : { meeting: after.hasMeeting }),
  };
  return Object.keys(body).length === 0 ? undefined : body;
}

/** The series begins as much earlier or later, by the clock, as the occurrence was moved. */
function wholeSeries(before: EntryForm, after: EntryForm, series: Entry): Times {
  const first = timesOf(series, after.zone).start;
  const start = addMinutes(first, minutesBetween(before.start, after.start));
  const end = addMinutes(start, minutesBetween(after.start, after.end));
  return whenOf({ ...after, start, end });
}

function wallOfTimes({ date, start_at: at }: Times, { start, zone }: EntryForm): string {
  if (date !== undefined) return `${date}${start.slice(10)}`;
  return at === undefined ? start : wallOf(at, zone);
}
