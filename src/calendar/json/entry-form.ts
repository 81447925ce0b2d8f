/** What JSON says of an entry, as properties of a component. */
import { parseInstant } from '#src/base/time.ts';
import type { ChangeEntry, CreateEntry } from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { canonicalAddress, type AddressBook } from '../address-book.ts';
import { statusValue } from './entry-view.ts';
import { escapeText, makeProperty, propertiesOf, type Component, type Property } from '../icalendar/component.ts';
import { timingProperties, type Timing } from '../icalendar/timing.ts';
import { readLocal, writeDuration, writeInstant, writeLocal } from '../icalendar/values.ts';
import { extentOf } from '../recurrence/extent.ts';
import type { Series } from '../recurrence/series.ts';
import { ruleValue, type RulePlace } from './rule-form.ts';
import { isZone } from '../objects/derivation.ts';
import { knownZone } from '../zones/zone-resolver.ts';
import { instantOf, wallOf, type Zone } from '../zones/zone.ts';

/** Properties to set, by name: those listed replace those that are there, and an empty list takes them away. */
export type PropertyChanges = Record<string, readonly Property[]>;

type When = Pick<
  CreateEntry,
  'local_start' | 'local_end' | 'tz' | 'start_at' | 'end_at' | 'date' | 'days' | 'local_due'
>;
type Words = Pick<
  ChangeEntry,
  'title' | 'description' | 'location' | 'status' | 'transparency' | 'visibility' | 'categories'
>;

/** The properties of the words that are said. An empty text takes the property away. */
export function wordChanges({
  title,
  description,
  location,
  status,
  transparency,
  visibility,
  categories,
}: Words): PropertyChanges {
  const text = (name: string, value: string | undefined): PropertyChanges =>
    value === undefined ? {} : { [name]: value === '' ? [] : [makeProperty(name, escapeText(value))] };
  return {
    ...text('SUMMARY', title),
    ...text('DESCRIPTION', description),
    ...text('LOCATION', location),
    ...(status === undefined ? {} : { STATUS: [makeProperty('STATUS', statusValue(status))] }),
    ...(transparency === undefined ? {} : { TRANSP: [makeProperty('TRANSP', transparency.toUpperCase())] }),
    ...(visibility === undefined ? {} : { CLASS: classLines(visibility) }),
    ...(categories === undefined ? {} : { CATEGORIES: categoryLines(categories) }),
  };
}

/** The CLASS line of a visibility; none for what everybody may see, which an entry without one is. */
export function classLines(visibility: NonNullable<Words['visibility']>): Property[] {
  return visibility === 'public' ? [] : [makeProperty('CLASS', visibility.toUpperCase())];
}

function categoryLines(categories: readonly string[]): Property[] {
  return categories.length === 0 ? [] : [makeProperty('CATEGORIES', categories.map(escapeText).join(','))];
}

/**
 * DTSTART and DURATION of what is said about when; undefined where nothing is. `kept` is the duration that stays where
 * only the start is said. @throws Refusal `field_invalid` with its field.
 */
export function timeChanges(form: When, calendarZone: string, kept: string | undefined): PropertyChanges | undefined {
  const timing = timingFrom(form, calendarZone, kept);
  if (timing === undefined) return undefined;
  const properties = timingProperties(timing);
  const field = form.date !== undefined ? 'date' : form.start_at !== undefined ? 'start_at' : 'local_start';
  if (typeof properties === 'string') throw new Refusal('field_invalid', { field });
  const [start, duration] = properties;
  return { DTSTART: [start], DURATION: [duration], DTEND: [], DUE: [] };
}

function timingFrom(form: When, calendarZone: string, kept: string | undefined): Timing | undefined {
  const { tz = calendarZone } = form;
  if (!isZone(tz)) throw new Refusal('field_invalid', { field: 'tz' });
  const zone = knownZone(tz) as Zone;
  if (form.date !== undefined) {
    const keptDays = kept?.includes('T') === false ? kept : 'P1D';
    return { start: form.date, duration: form.days === undefined ? keptDays : `P${form.days}D` };
  }
  const start = form.start_at === undefined ? undefined : instantIn(form.start_at, 'start_at');
  const local = start === undefined ? form.local_start : writeLocal(wallOf(zone, start), false);
  if (local === undefined) {
    if (form.tz !== undefined && form.local_due === undefined) throw new Refusal('field_invalid', { field: 'tz' });
    return undefined;
  }
  const begin = start ?? localInstant(local, zone, 'local_start');
  const [endField, end] =
    form.end_at === undefined
      ? ([
          'local_end',
          form.local_end === undefined ? undefined : localInstant(form.local_end, zone, 'local_end'),
        ] as const)
      : (['end_at', instantIn(form.end_at, 'end_at')] as const);
  if (end !== undefined && end < begin) throw new Refusal('field_invalid', { field: endField });
  const seconds = end === undefined ? undefined : Math.round((end - begin) / 1000);
  return { start: local, tz, duration: seconds === undefined ? (kept ?? 'PT0S') : writeDuration({ days: 0, seconds }) };
}

function instantIn(text: string, field: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw new Refusal('field_invalid', { field });
  return instant;
}

function localInstant(text: string, zone: Zone, field: string): number {
  const local = readLocal(text);
  if (local === undefined || local.isDate) throw new Refusal('field_invalid', { field });
  return instantOf(zone, local.wall);
}

/** The RRULE of an entry that has this DTSTART. @throws Refusal `field_invalid`: there is no time, or no sense in it. */
export function ruleChange(rule: Parameters<typeof ruleValue>[0], place: RulePlace | undefined): Property {
  if (place === undefined) throw new Refusal('field_invalid', { field: 'rule' });
  return makeProperty('RRULE', ruleValue(rule, place));
}

/** Where a rule of a component is written; undefined for one without a time. */
export function rulePlaceOf(component: Component, series: Series): RulePlace | undefined {
  const extent = extentOf(component, series.zones);
  if (extent === undefined) return undefined;
  const { start, zone } = extent;
  return { isDate: start.isDate, zone: start.isUtc || start.tzid !== undefined ? zone : undefined };
}

/** In whose name people are invited. */
export interface Organizing {
  readonly book: AddressBook;
  /** Usernames of those whom the writer may organise as: first the one who organises what nobody does yet. */
  readonly organizers: readonly string[];
  readonly mayInvite: (organizer: string, user: string) => boolean;
}

/**
 * ORGANIZER and ATTENDEE lines for these people. Who was invited before keeps the line that is there, with the answer in it.
 * @throws Refusal `participant_unknown`, `organizer_forbidden`.
 */
export function peopleChanges(
  { book, mayInvite, organizers }: Organizing,
  people: readonly string[],
  before: Component | undefined,
): PropertyChanges {
  const organizer = before === undefined ? undefined : propertiesOf(before, 'ORGANIZER')[0];
  const user = organizer === undefined ? organizers[0] : book.userOf(organizer.value);
  if (user === undefined || !organizers.includes(user)) throw new Refusal('organizer_forbidden');
  const [own = ''] = book.addressesOf(user);
  const known = new Map(
    (before === undefined ? [] : propertiesOf(before, 'ATTENDEE')).map((line) => [identityOf(book, line.value), line]),
  );
  const addresses = people.map((person) => {
    if (person.includes(':')) return canonicalAddress(person);
    if (person !== user && !mayInvite(user, person)) throw new Refusal('participant_unknown', { field: 'attendees' });
    return book.addressesOf(person)[0] ?? '';
  });
  const unique = new Map(addresses.map((address) => [identityOf(book, address), address]));
  unique.delete(user);
  if (unique.size === 0) return { ORGANIZER: [], ATTENDEE: [] };
  const lines = [...unique].map(([identity, address]) => known.get(identity) ?? attendee(book, address));
  const self = known.get(user) ?? attendee(book, own, 'ACCEPTED');
  return {
    ORGANIZER: [organizer ?? makeProperty('ORGANIZER', own, [['CN', book.nameOf(user)]])],
    ATTENDEE: [self, ...lines],
  };
}

function identityOf(book: AddressBook, address: string): string {
  return book.userOf(address) ?? canonicalAddress(address);
}

function attendee(book: AddressBook, address: string, partstat = 'NEEDS-ACTION'): Property {
  const user = book.userOf(address);
  const name: [string, string][] = user === undefined ? [] : [['CN', book.nameOf(user)]];
  return makeProperty('ATTENDEE', address, [
    ...name,
    ['CUTYPE', user === undefined ? 'INDIVIDUAL' : book.typeOf(user)],
    ['PARTSTAT', partstat],
    ...(partstat === 'ACCEPTED' ? [] : [['RSVP', 'TRUE'] as [string, string]]),
  ]);
}

/** The properties that every change of a component brings along. */
export function stampChanges(now: number): PropertyChanges {
  const stamp = writeInstant(now);
  return { DTSTAMP: [makeProperty('DTSTAMP', stamp)], 'LAST-MODIFIED': [makeProperty('LAST-MODIFIED', stamp)] };
}

/** A component with those properties set. */
export function withChanges(component: Component, changes: PropertyChanges): Component {
  const kept = component.properties.filter(({ name }) => !(name in changes));
  return { ...component, properties: [...kept, ...Object.values(changes).flat()] };
}
