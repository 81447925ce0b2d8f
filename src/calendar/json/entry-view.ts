/** A stored object as JSON shows it. */
import { formatInstant } from '#src/base/time.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { entryIdOf, type CalendarRecord, type NamedObject } from '#storage/calendars/calendar-records.ts';
import type { AddressBook } from '../address-book.ts';
import { componentsOf, participationOf, type Participation } from '../objects/derivation.ts';
import type { CalendarObject } from '../icalendar/calendar-object.ts';
import { classificationOf } from '../icalendar/classification.ts';
import { propertiesOf, propertyOf, textOf, unescapeText, type Component } from '../icalendar/component.ts';
import { timingOf } from '../icalendar/timing.ts';
import { timesOf, writeDate, writeDateTime, writeInstant } from '../icalendar/values.ts';
import { meetingIn, type EntryMeetings } from '../meetings/entry-meetings.ts';
import { extentOf, placeAt } from '../recurrence/extent.ts';
import { Series } from '../recurrence/series.ts';
import { detailsView, dueView } from './entry-details.ts';
import { ruleView } from './rule-form.ts';
import { wallOf } from '../zones/zone.ts';

const STATUSES: Readonly<Record<string, NonNullable<EntryView['status']>>> = {
  TENTATIVE: 'tentative',
  CONFIRMED: 'confirmed',
  CANCELLED: 'cancelled',
  'NEEDS-ACTION': 'needs_action',
  'IN-PROCESS': 'in_process',
  COMPLETED: 'completed',
  DRAFT: 'draft',
  FINAL: 'final',
};
const STANDINGS: Readonly<Record<string, EntryView['attendees'][number]['answer']>> = {
  ACCEPTED: 'accepted',
  DECLINED: 'declined',
  TENTATIVE: 'tentative',
  DELEGATED: 'delegated',
};

/** What STATUS says, in JSON's words; undefined for none and for one that nobody defined. */
export function statusView(status: string | undefined): EntryView['status'] {
  return STATUSES[status ?? ''];
}

/** The STATUS that JSON's word means. */
export function statusValue(status: NonNullable<EntryView['status']>): string {
  return status.toUpperCase().replace('_', '-');
}

/** One occurrence of a series, as it takes place. */
export interface ShownOccurrence {
  readonly recurrenceId: string;
  readonly component: Component;
}

/** The whole view of an object: its master, or its first override where it has none. */
export function entryView(
  calendar: Pick<CalendarRecord, 'id' | 'zone'>,
  stored: NamedObject,
  object: CalendarObject,
  book: AddressBook,
  meetings: Pick<EntryMeetings, 'read'>,
  occurrence?: ShownOccurrence,
): EntryView {
  const series = new Series(object, calendar.zone);
  // What has no master has an override: the model refuses an object of neither.
  const [first] = componentsOf(object) as [Component];
  const { component = first, recurrenceId } = occurrence ?? {};
  const text = (name: 'DESCRIPTION' | 'LOCATION') => textOf(component, name);
  const [description, location] = [text('DESCRIPTION'), text('LOCATION')];
  const status = statusView(propertyOf(component, 'STATUS')?.value.trim().toUpperCase());
  const { changed, excluded } = exceptionsOf(series);
  const meeting = meetingIn(component, meetings);
  return {
    id: entryIdOf(stored.uid),
    calendar_id: calendar.id,
    uid: stored.uid,
    kind: stored.kind,
    ...timeView(component, series),
    ...(recurrenceId === undefined ? {} : { recurrence_id: recurrenceId }),
    title: textOf(component, 'SUMMARY') ?? '',
    ...(description === undefined ? {} : { description }),
    ...(location === undefined ? {} : { location }),
    ...(status === undefined ? {} : { status }),
    transparency: isTransparent(component) ? 'transparent' : 'opaque',
    visibility: classificationOf(componentsOf(object)),
    categories: categoriesOf(component),
    ...detailsView(component),
    ...peopleView(participationOf(component), book, stored.scheduled),
    ...(meeting === undefined ? {} : { meeting }),
    recurring: stored.recurring,
    ...(occurrence === undefined ? ruleOf(component, series) : {}),
    changed,
    excluded,
    etag: stored.etag,
    sync_seq: stored.seq,
    created_at: formatInstant(stored.createdAt),
    changed_at: formatInstant(stored.changedAt),
  };
}

/** Each once, of all lines: a value may be a list, whose commas stand without a backslash. */
function categoriesOf(component: Component): string[] {
  const texts = propertiesOf(component, 'CATEGORIES').flatMap(({ value }) => value.match(/(?:\\[^]|[^,\\])+/g) ?? []);
  return [...new Set(texts.map((text) => unescapeText(text).trim()).filter((text) => text !== ''))];
}

function isTransparent(component: Component): boolean {
  return propertyOf(component, 'TRANSP')?.value.trim().toUpperCase() === 'TRANSPARENT';
}

function timeView(component: Component, series: Series): Pick<EntryView, 'all_day'> & Partial<EntryView> {
  const extent = extentOf(component, series.zones);
  const due = dueView(component, series);
  if (extent === undefined) return { all_day: false };
  // A task that is due and begins at no time.
  if (due !== undefined && propertyOf(component, 'DTSTART') === undefined)
    return { all_day: extent.start.isDate, ...due };
  const { start, end } = placeAt(extent.zone, extent.start.wall, extent.length);
  const when = occurrenceTime({ start, end, isAllDay: extent.start.isDate, ...localOf(timingOf(extent)) });
  const { due_at: at } = due ?? {};
  return at === undefined ? when : { ...when, due_at: at };
}

function localOf({ start, tz }: { readonly start: string; readonly tz?: string }) {
  return { localStart: start, tz };
}

/** When something is, as JSON shows it. */
export function occurrenceTime(when: {
  readonly start: number;
  readonly end: number;
  readonly isAllDay: boolean;
  readonly localStart: string;
  readonly tz: string | undefined;
}): Pick<EntryView, 'all_day' | 'start_at' | 'end_at' | 'local_start' | 'tz' | 'date' | 'days'> {
  const instants = { start_at: formatInstant(when.start), end_at: formatInstant(when.end) };
  if (when.isAllDay) {
    const days = Math.max(1, Math.round((when.end - when.start) / 86_400_000));
    return { all_day: true, ...instants, date: when.localStart.slice(0, 10), days };
  }
  return {
    all_day: false,
    ...instants,
    local_start: when.localStart,
    ...(when.tz === undefined ? {} : { tz: when.tz }),
  };
}

function ruleOf(component: Component, { zones }: Series): Pick<EntryView, 'rule'> {
  const rules = propertiesOf(component, 'RRULE');
  const extent = extentOf(component, zones);
  const [only, ...more] = rules;
  if (only === undefined || extent === undefined || more.length > 0) return {};
  const { start, zone } = extent;
  const isFloating = !start.isUtc && start.tzid === undefined;
  const rule = ruleView(only.value, { isDate: start.isDate, zone: isFloating ? undefined : zone });
  return rule === undefined ? {} : { rule };
}

/** Occurrences that are changed and those that are left out, as the series names them. */
function exceptionsOf(series: Series): { changed: string[]; excluded: string[] } {
  const { master } = series;
  if (master === undefined) {
    const ids = series.object.overrides.map((one) => propertyOf(one, 'RECURRENCE-ID')?.value.trim() ?? '');
    return { changed: ids, excluded: [] };
  }
  const { start, zone } = master;
  const nameOf = (key: number): string => {
    if (start.isDate) return writeDate(key);
    return start.isUtc ? writeInstant(key) : writeDateTime(wallOf(zone, key));
  };
  const changed = series.overrides().map(({ key, isDay }) => (isDay ? writeDate(key) : nameOf(key)));
  const excluded = propertiesOf(master.component, 'EXDATE')
    .flatMap(timesOf)
    .map((time) => (series.isDayKey(time) ? writeDate(time.wall) : nameOf(series.keyOf(time))));
  return { changed, excluded: [...new Set(excluded)] };
}

function peopleView(
  { organizer, organizerName, organizerSentBy, attendees }: Participation,
  book: AddressBook,
  isScheduled: boolean,
): Pick<EntryView, 'organizer' | 'attendees'> {
  const person = (address: string, name: string | undefined) => {
    // What the server does not schedule names people in the words of its writer, whom it vouches for nowhere.
    const user = isScheduled ? book.userOf(address) : undefined;
    // The directory's name counts where there is one: a client could have written any.
    const shown = user === undefined ? name : book.nameOf(user);
    return {
      ...(user === undefined ? {} : { user }),
      address,
      ...(shown === undefined ? {} : { name: shown }),
    };
  };
  // Of what is organised elsewhere nobody here knows who sent it for whom.
  const isOurs = isScheduled && organizer !== undefined && book.userOf(organizer) !== undefined;
  const sentBy = (address: string | undefined) =>
    address === undefined ? {} : { sent_by: isOurs ? person(address, undefined) : { address } };
  return {
    ...(organizer === undefined
      ? {}
      : { organizer: { ...person(organizer, organizerName), ...sentBy(organizerSentBy) } }),
    attendees: attendees.map(({ address, comment, name, partstat, sentBy: delegate }) => ({
      ...person(address, name),
      ...sentBy(delegate),
      answer: STANDINGS[partstat] ?? 'needs_action',
      ...(comment === undefined ? {} : { comment }),
    })),
  };
}
