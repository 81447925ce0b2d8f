/**
 * Search over the entries that somebody may see: through `CalendarContents` alone, so that what is hidden from them is not found, and
 * what shows them its time has no words. Most objects are passed over by their bytes, unread.
 */
import { fold } from '#storage/search/search-folding.ts';
import type { AccessibleCalendar } from '#storage/calendars/calendar-reader.ts';
import type { AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { CalendarObject } from '../icalendar/calendar-object.ts';
import { textOf, type Component } from '../icalendar/component.ts';
import { Screen, screenOf } from '../icalendar/whole-text.ts';
import type { TimeSlicer } from '../time-slicer.ts';
import type { CalendarContents, ShownObject } from './calendar-contents.ts';
import { componentsOf, participationOf } from './derivation.ts';

/** Where a search goes on behind. */
export interface SearchPlace {
  readonly calendar: string;
  readonly name: string;
}

export interface EntrySearch {
  /** Folded words and phrases. */
  readonly terms: readonly string[];
  readonly after: SearchPlace | undefined;
  /** How many are found at most, and how many looked at. */
  readonly limit: number;
  readonly most: number;
}

export interface FoundObject extends AccessibleCalendar {
  readonly contents: CalendarContents;
  readonly object: ShownObject;
}

/** People of a name whose addresses are looked for; of a name that more have, it is looked for as it is written. */
const NAMESAKES_MAX = 50;

/** What was found in the order of calendars and names; the place to go on behind, undefined at the end. */
export async function searchEntries(
  { book, contentsOf }: SearchedBy,
  calendars: readonly AccessibleCalendar[],
  { after, limit, most, terms }: EntrySearch,
  slicer: TimeSlicer,
): Promise<{ readonly found: FoundObject[]; readonly next: SearchPlace | undefined }> {
  const found: FoundObject[] = [];
  const screen = Screen.all(terms.map((term) => screenFor(book, term)));
  let looked = 0;
  const ordered = calendars.toSorted((one, other) => (one.calendar.id < other.calendar.id ? -1 : 1));
  for (const accessible of ordered) {
    const { id } = accessible.calendar;
    if (after !== undefined && id < after.calendar) continue;
    const contents = contentsOf(accessible);
    let behind = id === after?.calendar ? after.name : undefined;
    for (let isWhole = false; !isWhole;) {
      if (slicer.isOver) await slicer.pass();
      const page = contents.screened(screen, { after: behind, limit: most - looked });
      for (const object of page.objects) {
        if (slicer.isOver) await slicer.pass();
        const isFound = object.disclosure === 'whole' && holds(contents, object, terms, book);
        if (isFound) found.push({ ...accessible, contents, object });
        if (found.length >= limit) return { found, next: { calendar: id, name: object.name } };
      }
      looked += page.count;
      if (looked >= most && page.last !== undefined) return { found, next: { calendar: id, name: page.last } };
      ({ isWhole, last: behind } = page);
    }
  }
  return { found, next: undefined };
}

export interface SearchedBy {
  readonly book: Pick<AddressBook, 'addressesOf' | 'nameOf' | 'search' | 'userOf'>;
  readonly contentsOf: (accessible: AccessibleCalendar) => CalendarContents;
}

/** What has that term has its words, or an address of somebody who is called so. */
function screenFor(book: SearchedBy['book'], term: string): Screen {
  const words = term.split(' ').map(hasFolded);
  const addresses = addressesOf(book, term).map((address) => hasFolded(fold(address)));
  return Screen.any([Screen.all(words), ...addresses]);
}

function hasFolded(word: string): Screen {
  // A circumflex may stand for another character within a parameter (RFC 6868), which is looked at closely.
  return screenOf(word, (whole) => whole.includes('^') || fold(whole).includes(word));
}

function addressesOf(book: SearchedBy['book'], term: string): string[] {
  const people: string[] = [];
  for (const user of book.search(term)) {
    people.push(user);
    if (people.length > NAMESAKES_MAX) return [];
  }
  return people.flatMap((user) => [...book.addressesOf(user), `/dav/principals/${user}`]);
}

function holds(
  contents: CalendarContents,
  object: ShownObject,
  terms: readonly string[],
  book: SearchedBy['book'],
): boolean {
  try {
    const read = contents.read(object);
    return read !== undefined && termsAreIn(wordsOf(read, book), terms);
  } catch (error) {
    // What no reader takes any more has no words.
    if (error instanceof CalendarFault) return false;
    throw error;
  }
}

function termsAreIn(words: string, terms: readonly string[]): boolean {
  const folded = fold(words).replaceAll(/ +/g, ' ');
  return terms.every((term) => folded.includes(term));
}

/** Title, place, description and categories, and who takes part as JSON calls them. */
function wordsOf(object: CalendarObject, book: SearchedBy['book']): string {
  return componentsOf(object)
    .flatMap((component) => [...textsOf(component), ...peopleOf(component, book)])
    .join('\n');
}

function textsOf(component: Component): string[] {
  return ['SUMMARY', 'LOCATION', 'DESCRIPTION', 'CATEGORIES'].map((name) => textOf(component, name) ?? '');
}

function peopleOf(component: Component, book: SearchedBy['book']): string[] {
  const { attendees, organizer, organizerName } = participationOf(component);
  const all = [...attendees, ...(organizer === undefined ? [] : [{ address: organizer, name: organizerName }])];
  return all.flatMap(({ address, name }) => {
    const user = book.userOf(address);
    const shown = address.replace(/^mailto:/, '');
    return user === undefined ? [shown, name ?? ''] : [shown, user, book.nameOf(user)];
  });
}
