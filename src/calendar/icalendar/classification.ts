/**
 * Who is shown what of an object, by its CLASS (RFC 5545, 3.8.1.3): the one table for every way that entries leave a
 * calendar by, and what of an object is left where its time alone is shown.
 */
import { knownZone } from '../zones/zone-resolver.ts';
import type { CalendarObject, Classification } from './calendar-object.ts';
import {
  escapeText,
  makeComponent,
  makeProperty,
  propertyOf,
  textOf,
  type Component,
  type Property,
} from './component.ts';
import { writeCalendar } from './generated-calendar.ts';

/**
 * Who looks: an `insider` is the owner or their delegate, a `sharee` has the calendar to read or to write, the `public` has
 * the URL of a feed, and an `onlooker` asks when somebody is taken, whatever by.
 */
export type Audience = 'insider' | 'sharee' | 'public' | 'onlooker';

/** The object as it is, when it takes place and nothing else, or nothing of it. */
export type Disclosure = 'whole' | 'time' | 'hidden';

const DISCLOSURES: Readonly<Record<Audience, Readonly<Record<Classification, Disclosure>>>> = {
  insider: { public: 'whole', confidential: 'whole', private: 'whole' },
  sharee: { public: 'whole', confidential: 'time', private: 'hidden' },
  public: { public: 'whole', confidential: 'time', private: 'hidden' },
  onlooker: { public: 'time', confidential: 'time', private: 'time' },
};

export function disclosureOf(audience: Audience, classification: Classification): Disclosure {
  return DISCLOSURES[audience][classification];
}

/**
 * The strictest class of these components, since one of a series names what the others are. What nobody defined is treated
 * as PRIVATE, as RFC 5545, 3.8.1.3 has it.
 */
export function classificationOf(components: readonly Component[]): Classification {
  const classes = new Set(
    components.map((component) => propertyOf(component, 'CLASS')?.value.trim().toUpperCase() ?? 'PUBLIC'),
  );
  classes.delete('PUBLIC');
  const isConfidential = classes.delete('CONFIDENTIAL');
  return classes.size > 0 ? 'private' : isConfidential ? 'confidential' : 'public';
}

/** What stands for the words of an entry whose time alone is shown. */
export const BUSY_TITLE = 'Busy';

/** Lines that say when something is. */
const TIME_LINES = new Set([
  ...['DTSTART', 'DTEND', 'DUE', 'DURATION', 'RRULE', 'RDATE', 'EXRULE', 'EXDATE', 'RECURRENCE-ID'],
  ...['DTSTAMP', 'SEQUENCE'],
]);
/** Lines that say whether it takes time, with what they may say: anything else is a word of their writer. */
const STANDING_LINES: ReadonlyMap<string, readonly string[]> = new Map([
  ['STATUS', ['TENTATIVE', 'CONFIRMED', 'CANCELLED']],
  ['TRANSP', ['OPAQUE', 'TRANSPARENT']],
]);
/** Parameters without which such a line says another time; any other may say anything. */
const TIME_PARAMETERS = new Set(['TZID', 'VALUE', 'RANGE']);
/** What a zone is computed from. */
const ZONE_LINES = new Set(['DTSTART', 'TZOFFSETFROM', 'TZOFFSETTO', 'RRULE', 'RDATE']);

/** A component, or its object, with nothing in it but when it takes place. */
export interface TimeForm {
  /** What the component is called, where that is to be another name than its own. */
  readonly name?: string;
  /** Escaped. */
  readonly uid: string;
}

/** When things take place, in zones under names that say nothing else: a TZID is a word of its writer as well. */
export class TimeWriter {
  readonly #zones: ReadonlyMap<string, Component>;
  readonly #names = new Map<string, string | undefined>();
  /** Zones that only their writer knows, by the names that stand for them. */
  readonly definitions = new Map<string, Component>();

  /** `zones` are the VTIMEZONEs of the object by TZID. */
  constructor(zones: ReadonlyMap<string, Component>) {
    this.#zones = zones;
  }

  write(component: Component, { name = component.name, uid }: TimeForm): Component {
    const lines = component.properties.flatMap((line) => {
      if (TIME_LINES.has(line.name)) return [this.#timeLine(line)];
      const value = line.value.trim().toUpperCase();
      return STANDING_LINES.get(line.name)?.includes(value) === true ? [makeProperty(line.name, value)] : [];
    });
    return makeComponent(name, [makeProperty('UID', uid), makeProperty('SUMMARY', BUSY_TITLE), ...lines]);
  }

  #timeLine(line: Property): Property {
    const parameters = line.parameters.flatMap(({ name, values }) => {
      if (name !== 'TZID') return TIME_PARAMETERS.has(name) ? [{ name, values }] : [];
      const zone = this.#nameOf(values[0] ?? '');
      return zone === undefined ? [] : [{ name, values: [zone] }];
    });
    return { ...line, parameters };
  }

  /** Undefined of a zone that nothing defines: such a time is the calendar's, as one without a zone is. */
  #nameOf(tzid: string): string | undefined {
    if (!this.#names.has(tzid)) this.#names.set(tzid, this.#newName(tzid));
    return this.#names.get(tzid);
  }

  #newName(tzid: string): string | undefined {
    const definition = this.#zones.get(tzid);
    const location = definition === undefined ? undefined : textOf(definition, 'X-LIC-LOCATION');
    const known = knownZone(tzid) ?? (location === undefined ? undefined : knownZone(location));
    if (known?.name !== undefined || definition === undefined) return known?.name;
    const name = `Zone-${this.definitions.size + 1}`;
    this.definitions.set(name, plainZone(definition, name));
    return name;
  }
}

/** A definition with nothing in it but what a zone is computed from. @param name its TZID, escaped. */
export function plainZone(definition: Component, name: string): Component {
  const onsets = definition.components
    .filter((onset) => onset.name === 'STANDARD' || onset.name === 'DAYLIGHT')
    .map((onset) => {
      const lines = onset.properties.filter((line) => ZONE_LINES.has(line.name));
      return makeComponent(
        onset.name,
        lines.map((line) => ({ ...line, parameters: line.parameters.filter((one) => one.name === 'VALUE') })),
      );
    });
  return makeComponent('VTIMEZONE', [makeProperty('TZID', name)], onsets);
}

/** An object with nothing in it but when it takes place: other bytes than its owner's, which nobody may write back. */
export function timeOfObject(
  { master, overrides, uid, zones }: CalendarObject,
  classification: Classification,
): string {
  const writer = new TimeWriter(zones);
  const components = [...(master === undefined ? [] : [master]), ...overrides].map((component) => {
    const time = writer.write(component, { uid: escapeText(uid) });
    return { ...time, properties: [...time.properties, makeProperty('CLASS', classification.toUpperCase())] };
  });
  return writeCalendar(components, { definitions: writer.definitions });
}
