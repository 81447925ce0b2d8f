/** What the exceptions of a series take over of a change that is made for all of it. */
import { isDeepStrictEqual } from 'node:util';
import type { AddressBook } from '../address-book.ts';
import { type Component, propertiesOf, type Property } from '../icalendar/component.ts';
import { changeProperties } from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import type { PropertyChanges } from './entry-form.ts';

/** Words of a series that an exception has until it says others. */
const FOLLOWED = ['SUMMARY', 'DESCRIPTION', 'LOCATION', 'STATUS', 'CATEGORIES'] as const;

/**
 * An object whose exceptions have what was changed for all of it: words that they had of the series, and its people. An answer to
 * one occurrence makes an exception of it as well, which nobody sees as one.
 * @param before the series before the change. @throws CalendarFault.
 */
export function followSeries(
  bytes: Uint8Array,
  before: Component,
  changes: PropertyChanges,
  book: Pick<AddressBook, 'userOf'>,
): Uint8Array {
  return readCalendarObject(bytes).overrides.reduce((text, _, at) => {
    const object = readCalendarObject(text);
    const override = object.overrides[at] as Component;
    const words = FOLLOWED.flatMap((name) => {
      const lines = changes[name];
      return lines !== undefined && saysSame(override, before, name) ? [[name, lines] as const] : [];
    });
    const followed = { ...Object.fromEntries(words), ...peopleOf(override, before, changes, book) };
    return Object.keys(followed).length === 0 ? text : changeProperties(object, override, followed);
  }, bytes);
}

function saysSame(one: Component, other: Component, name: string): boolean {
  const [own, others] = [one, other].map((component) => propertiesOf(component, name).map(({ value }) => value));
  return isDeepStrictEqual(own, others);
}

/** The people of an exception: whoever is new to the series comes, and whoever is taken out of it goes. */
function peopleOf(
  override: Component,
  before: Component,
  { ATTENDEE: lines, ORGANIZER = [] }: PropertyChanges,
  book: Pick<AddressBook, 'userOf'>,
): PropertyChanges {
  if (lines === undefined) return {};
  const identityOf = ({ value }: Property) => book.userOf(value) ?? value.trim().toLowerCase();
  const known = new Set(propertiesOf(before, 'ATTENDEE').map(identityOf));
  const now = new Set(lines.map(identityOf));
  const kept = propertiesOf(override, 'ATTENDEE').filter(
    (line) => now.has(identityOf(line)) || !known.has(identityOf(line)),
  );
  const there = new Set(kept.map(identityOf));
  const added = lines.filter((line) => !known.has(identityOf(line)) && !there.has(identityOf(line)));
  // Nobody is left of a series that is a meeting no more.
  return { ORGANIZER, ATTENDEE: now.size === 0 ? [] : [...kept, ...added] };
}
