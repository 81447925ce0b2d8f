/**
 * What is in a calendar as one person may see it: the boundary that everything passes that is read for somebody, by CalDAV,
 * JSON or as a file. What is hidden from them is not there, and of what shows its time alone there are other bytes, under
 * another etag (RFC 5545, 3.8.1.3).
 */
import type { Access, Classification, NamedObject } from '#storage/calendars/calendar-records.ts';
import type { AccessibleCalendar, RemovedObject, SyncPage, SyncPosition } from '#storage/calendars/calendar-reader.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import type { CalendarObject, Window } from '../icalendar/calendar-object.ts';
import { BUSY_TITLE, classificationOf, disclosureOf, timeOfObject } from '../icalendar/classification.ts';
import type { Audience, Disclosure } from '../icalendar/classification.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { ObjectText, TextPage, type Screen } from '../icalendar/whole-text.ts';
import { componentsOf, type DerivedExpansion, type ExpansionLimits } from './derivation.ts';
import { readStored } from './object-cache.ts';
import { storedOccurrences, type StoredObjects } from './stored-occurrences.ts';

declare const disclosed: unique symbol;

/** An object that somebody may see, whole or its time alone. `CalendarContents` alone gives this type. */
export interface ShownObject extends NamedObject {
  readonly disclosure: Exclude<Disclosure, 'hidden'>;
  /** As it is stored: for whoever reads it in their place. */
  readonly stored: NamedObject;
  readonly [disclosed]: true;
}

/** Objects that were looked at. */
export interface ScreenedPage {
  readonly count: number;
  /** Those that may have what is looked for. */
  readonly objects: readonly ShownObject[];
  /** Name of the last that was looked at. */
  readonly last: string | undefined;
  /** Whether there is nothing behind it. */
  readonly isWhole: boolean;
}

/** Objects judged at a time. */
const SCREENED_PER_READ = 64;

/** What is looked through: by one at a time, from its first object to its last without a pause. */
const looked = new TextPage();

const AUDIENCES: Readonly<Record<Access, Audience>> = {
  ...{ owner: 'insider', delegate: 'insider', write: 'sharee', read: 'sharee', free_busy: 'onlooker' },
};

export function audienceOf(access: Access): Audience {
  return AUDIENCES[access];
}

/** The class of a stored object: kept in its row, or read of one that was stored before it was kept there. */
export function classOf(
  calendars: Pick<Calendars, 'bytesOf'>,
  calendar: string,
  object: Pick<NamedObject, 'classification' | 'etag' | 'name'>,
): Classification {
  if (object.classification !== undefined) return object.classification;
  try {
    const stored = readStored({ calendars }, calendar, object);
    return stored === undefined ? 'private' : classificationOf(componentsOf(stored));
  } catch (error) {
    // What no reader takes any more may say anything.
    if (error instanceof CalendarFault) return 'private';
    throw error;
  }
}

export class CalendarContents {
  readonly #calendars: Calendars;
  readonly #accessible: AccessibleCalendar;
  readonly #audience: Audience;

  constructor(calendars: Calendars, accessible: AccessibleCalendar) {
    this.#calendars = calendars;
    this.#accessible = accessible;
    this.#audience = audienceOf(accessible.access);
  }

  /**
   * What cursors are of: the calendar, or the part of it that is shown. Whoever comes to see more or less of it reads it
   * from the start, since no change says what they have too little or too much of.
   */
  get scope(): string {
    return this.#audience === 'insider' ? this.#id : `${this.#id}-shown`;
  }

  /** Undefined for what is not there for them. */
  object(name: string): ShownObject | undefined {
    const object = this.#calendars.object(this.#id, name);
    return object === undefined ? undefined : this.#shown({ name, ...object });
  }

  /** The objects by name behind `after`; the name to go on behind, undefined at the end. */
  page(limit: number, after?: string): { readonly objects: readonly ShownObject[]; readonly next: string | undefined } {
    const page = this.#calendars.objects(this.#id, { limit, ...(after === undefined ? {} : { after }) });
    return { objects: this.#shownOf(page), next: page.length < limit ? undefined : page.at(-1)?.name };
  }

  /** Those that may have something between two instants: see `objectsBetween` of the store. */
  between({ from, to }: Window, limit?: number): ShownObject[] {
    return this.#shownOf(this.#calendars.objectsBetween(this.#id, from, to, limit));
  }

  /** As `between`, one by one: see `eachBetween` of the store. */
  *eachBetween({ from, to }: Window): Generator<ShownObject> {
    for (const object of this.#calendars.eachBetween(this.#id, from, to)) {
      const shown = this.#shown(object);
      if (shown !== undefined) yield shown;
    }
  }

  /** See `changesSince` of the store. What became hidden was removed for those who may have it. */
  changesSince(position: SyncPosition, limit: number): SyncPage<ShownObject> | 'expired' {
    const page = this.#calendars.changesSince(this.#id, position, limit);
    if (page === 'expired') return page;
    const changed: ShownObject[] = [];
    const removed: RemovedObject[] = [];
    // What was hidden before a reader asked last, or began, they have no more, and hear nothing more of it.
    const known = Math.max(position.after, position.base);
    const isHad = ({ hiddenAt, wasShown }: Pick<NamedObject, 'hiddenAt' | 'wasShown'>) =>
      wasShown !== false && (hiddenAt === undefined || hiddenAt > known);
    for (const object of page.changed) {
      const shown = this.#shown(object);
      // Whoever reads the calendar for the first time has nothing that is to go.
      const isFirst = position.after === 0 || (position.base > position.after && object.seq <= position.base);
      if (shown !== undefined) changed.push(shown);
      else if (!isFirst && isHad(object)) {
        const { hiddenAt, name, uid } = object;
        removed.push({ name, uid, isReplaced: false, wasShown: true, hiddenAt });
      }
    }
    removed.push(...page.removed.filter((one) => this.#audience === 'insider' || isHad(one)));
    return { ...page, changed, removed };
  }

  /** The name of the object of that UID, where it is there for them. */
  nameByUid(uid: string): string | undefined {
    return this.#visible(this.#calendars.nameByUid(this.#id, uid));
  }

  /** The name of the object with that entry id, where it is there for them. */
  nameByEntry(entry: string): string | undefined {
    return this.#visible(this.#calendars.nameByEntry(this.#id, entry));
  }

  /** Undefined for one that is gone since it was found. @throws CalendarFault for what cannot be shown without its words. */
  bytesOf(object: ShownObject): Buffer | undefined {
    if (object.disclosure === 'whole') return this.#calendars.bytesOf(this.#id, object.name);
    const stored = readStored({ calendars: this.#calendars }, this.#id, object.stored);
    return stored === undefined ? undefined : Buffer.from(timeOfObject(stored, this.#classOf(object.stored)));
  }

  /** An object's words as one text, unread; undefined where its time alone is shown, and of one that is gone. */
  textOf(object: ShownObject): ObjectText | undefined {
    const bytes = object.disclosure === 'whole' ? this.#calendars.bytesOf(this.#id, object.name) : undefined;
    return bytes === undefined ? undefined : new ObjectText(bytes);
  }

  /**
   * Some objects by name behind `after`, and those of them that may have what the screen looks for. Whoever sees all of a calendar has
   * their texts looked at as they lie, one behind the other, and no row is read of what has not; others have each judged first.
   */
  screened(
    screen: Screen,
    { after, limit }: { readonly after?: string | undefined; readonly limit?: number } = {},
  ): ScreenedPage {
    const range = { after, limit: limit ?? Infinity };
    return this.#audience === 'insider' ? this.#looked(screen, range) : this.#judged(screen, range);
  }

  #looked(screen: Screen, range: { readonly after: string | undefined; readonly limit: number }): ScreenedPage {
    looked.clear();
    const { names, ...place } = this.#calendars.lookThrough(this.#id, (bytes) => looked.add(bytes), range);
    const having = looked.having(screen);
    looked.clear();
    const all = having.length === 0 ? [] : names();
    return { ...place, objects: having.flatMap((at) => this.object(all[at] ?? '') ?? []) };
  }

  #judged(
    screen: Screen,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): ScreenedPage {
    const { next, objects: shown } = this.page(Math.min(SCREENED_PER_READ, limit), after);
    const objects = shown.filter((object) => {
      const text = this.textOf(object);
      // What shows its time alone has other words than its bytes.
      return object.disclosure === 'time' || (text !== undefined && screen.has(text));
    });
    return { count: shown.length, objects, last: next ?? shown.at(-1)?.name, isWhole: next === undefined };
  }

  /** As `bytesOf`, read. @throws CalendarFault. */
  read(object: ShownObject): CalendarObject | undefined {
    if (object.disclosure === 'whole') return readStored({ calendars: this.#calendars }, this.#id, object.stored);
    const bytes = this.bytesOf(object);
    return bytes === undefined ? undefined : readCalendarObject(bytes);
  }

  /** The occurrences of an object: see `storedOccurrences`. */
  async occurrences(
    pool: StoredObjects['pool'],
    object: ShownObject,
    window: Window,
    limits: ExpansionLimits,
  ): Promise<DerivedExpansion | undefined> {
    const stored = { calendars: this.#calendars, pool };
    const found = await storedOccurrences(stored, this.#accessible.calendar, object.stored, window, limits);
    if (found === undefined || object.disclosure === 'whole') return found;
    const occurrences = found.occurrences.map((one) => ({ ...one, title: BUSY_TITLE, location: undefined }));
    return { ...found, occurrences };
  }

  /** What clients keep on an object, for everybody who sees all of it. */
  propertiesOf(object: ShownObject): Readonly<Record<string, string>> {
    return object.disclosure === 'whole' ? this.#calendars.objectProperties(this.#id, object.name) : {};
  }

  get #id(): string {
    return this.#accessible.calendar.id;
  }

  #classOf(object: NamedObject): Classification {
    return classOf(this.#calendars, this.#id, object);
  }

  #visible(name: string | undefined): string | undefined {
    return name === undefined || this.object(name) === undefined ? undefined : name;
  }

  #shownOf(objects: readonly NamedObject[]): ShownObject[] {
    return objects.flatMap((object) => this.#shown(object) ?? []);
  }

  #shown(object: NamedObject): ShownObject | undefined {
    const disclosure = this.#audience === 'insider' ? 'whole' : disclosureOf(this.#audience, this.#classOf(object));
    if (disclosure === 'hidden') return undefined;
    if (disclosure === 'whole') return { ...object, disclosure, stored: object } as ShownObject;
    // Another etag, since the same state has other bytes for whoever sees all of it; by number and time, since a digest of what
    // is not shown could be held against a guess of it.
    const etag = `${object.seq}-${object.changedAt.toString(36)}-time`;
    return { ...object, etag, scheduleTag: etag, disclosure, stored: object } as ShownObject;
  }
}
