/**
 * An erased person in the entries of others: the lines of who organises and who attends call them by the address that follows
 * from their username, and by no name. What others wrote in texts of their own is theirs. Whatever is done stays done, so it
 * may be begun again at any time.
 */
import { ERASED_NAME } from '#src/protocol/names.ts';
import type { ObjectPlace } from '#storage/calendars/calendar-erasure.ts';
import { forgetStates, readPlaces, readStates } from '#storage/calendars/calendar-erasure.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { canonicalAddress, uuidAddress, type AddressBook } from '../address-book.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { Component, Parameter, Property } from '../icalendar/component.ts';
import { replaceLines } from '../icalendar/edits.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';

/** Objects looked at in one go: a few milliseconds, unless most of them name the person. */
const LOOKED_AT = 50;
/** Times that an object is read anew because somebody changed it in between; the next pass finds it. */
const TIMES_MAX = 4;

/** Parameters of a line that call a person something; those that are addresses are compared instead. */
const NAMING = new Set(['CN', 'EMAIL', 'DIR', 'X-CALENDARSERVER-EMAIL']);

/**
 * Takes the person out of the lines of every entry, and forgets earlier states of entries that have such lines.
 * `names` are e-mail addresses among others; one that somebody else has is theirs. False when `isStopping` says so meanwhile.
 * @throws Refusal `busy`, `storage_full`.
 */
export async function erasePerson(
  { book, calendars }: { readonly book: AddressBook; readonly calendars: Calendars },
  user: string,
  names: readonly string[],
  isStopping: () => boolean,
): Promise<boolean> {
  const mails = names.filter((name) => name.includes('@')).map((name) => `mailto:${canonicalAddress(name)}`);
  const own = mails.filter((mail) => [undefined, user].includes(book.userOf(mail)));
  const person = new ErasedPerson(user, own);
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (let after: ObjectPlace | undefined; ;) {
      if (isStopping()) return false;
      calendars.refresh();
      const places = readPlaces(calendars, after, LOOKED_AT);
      for (const place of places) if (await eraseIn(calendars, place, person)) isChanged = true;
      after = places.at(-1);
      if (after === undefined) break;
      await new Promise(setImmediate);
    }
  }
  return true;
}

/** Answers whether there was something to erase. */
async function eraseIn(calendars: Calendars, place: ObjectPlace, person: ErasedPerson): Promise<boolean> {
  const { calendar, name } = place;
  const isKnownBefore = readStates(calendars, place).some((bytes) => person.isIn(bytes));
  if (isKnownBefore) await calendars.change((draft) => forgetStates(draft, place));
  if (place.isRemoved) return isKnownBefore;
  for (let times = 0; times < TIMES_MAX; times += 1) {
    const [record, bytes] = [calendars.object(calendar, name), calendars.bytesOf(calendar, name)];
    const erased = bytes === undefined ? undefined : person.takenOut(bytes);
    if (record === undefined || erased === undefined) return isKnownBefore;
    const isDone = await calendars.change((draft) => {
      if (draft.object(calendar, name)?.etag !== record.etag) return false;
      draft.putObject(calendar, name, erased, record, { keepScheduleTag: true });
      // The state before this one has the lines as they were.
      forgetStates(draft, place);
      return true;
    });
    if (isDone) return true;
    calendars.refresh();
  }
  return true;
}

class ErasedPerson {
  readonly #addresses: ReadonlySet<string>;
  readonly #marks: readonly string[];
  readonly #address: string;

  constructor(user: string, mails: readonly string[]) {
    this.#address = uuidAddress(user);
    const principal = `/dav/principals/${encodeURIComponent(user)}`;
    this.#addresses = new Set([...mails, this.#address, principal, `${principal}/`]);
    this.#marks = [...this.#addresses].map((address) => latin1(address.replace(/^mailto:/, '')).toLowerCase());
  }

  /** Whether the bytes hold an address of theirs beside a name, before it is read where. */
  isIn(bytes: Uint8Array): boolean {
    return this.takenOut(bytes) !== undefined;
  }

  /** The object without what its lines call the person; undefined where they call them nothing. */
  takenOut(bytes: Uint8Array): Uint8Array | undefined {
    const unfolded = Buffer.from(bytes)
      .toString('latin1')
      .replaceAll(/\r?\n[ \t]/g, '')
      .toLowerCase();
    if (!this.#marks.some((mark) => unfolded.includes(mark))) return undefined;
    try {
      const object = readCalendarObject(bytes, { isMessage: true });
      const lines = linesOf(object.calendar).flatMap((line) => {
        const by = this.#renamed(line);
        return by === undefined ? [] : [[line, by] as const];
      });
      return lines.length === 0 ? undefined : replaceLines(object, lines);
    } catch (error) {
      // It was stored by an earlier version; no door shows any of it.
      if (error instanceof CalendarFault) return undefined;
      throw error;
    }
  }

  /** The line as it is to be; undefined for one that stays. */
  #renamed(line: Property): Property | undefined {
    const isTheirs = this.#isAddress(line.value);
    const parameters = line.parameters.flatMap((parameter) => this.#renamedParameter(parameter, isTheirs));
    const by = { ...line, parameters, ...(isTheirs ? { value: this.#address } : {}) };
    return JSON.stringify(by) === JSON.stringify(line) ? undefined : by;
  }

  #renamedParameter(parameter: Parameter, isTheirs: boolean): readonly Parameter[] {
    const { name, values } = parameter;
    if (isTheirs && name === 'CN') return [{ name, values: [ERASED_NAME] }];
    if (isTheirs && NAMING.has(name)) return [];
    return [{ name, values: values.map((value) => (this.#isAddress(value) ? this.#address : value)) }];
  }

  #isAddress(value: string): boolean {
    const address = canonicalAddress(value);
    return this.#addresses.has(address) || this.#addresses.has(address.replace(/^https?:\/\/[^/]*/, ''));
  }
}

/** The lines that may name people, of a component and of those in it. */
function linesOf({ components, properties }: Component): Property[] {
  return [
    ...properties.filter(({ parameters, value }) => parameters.length > 0 || value.includes(':')),
    ...components.flatMap(linesOf),
  ];
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
