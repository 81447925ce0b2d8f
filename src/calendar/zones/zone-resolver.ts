/** Which zone a TZID means: the database first, then Windows, then the object's own definition, then the calendar. */
import { type Component, textOf } from '../icalendar/component.ts';
import { StepBudget } from '../recurrence/step-budget.ts';
import { embeddedZone, MAX_ONSETS, type ZoneBudget } from './embedded-zone.ts';
import { ianaZone } from './iana-zone.ts';
import { WINDOWS_ZONES } from './windows-zones.ts';
import { UTC, type Zone } from './zone.ts';

/** Steps for the rules of all embedded zones of one object, apart from those of its instances. */
const ZONE_STEPS = 100_000;

/**
 * The database's zone that a TZID means: by its name, by the name at the end of a path
 * (`/freeassociation.sourceforge.net/Europe/Berlin`), by the name that Windows gives it. Undefined for any other.
 */
export function knownZone(tzid: string): Zone | undefined {
  const text = tzid.trim();
  const direct = ianaZone(text) ?? windowsZone(text);
  if (direct !== undefined || !text.includes('/')) return direct;
  const segments = text.split('/');
  for (const count of [3, 2, 1]) {
    const zone = segments.length > count ? ianaZone(segments.slice(-count).join('/')) : undefined;
    if (zone !== undefined) return zone;
  }
  return windowsZone(segments.at(-1) ?? '');
}

function windowsZone(text: string): Zone | undefined {
  // Outlook numbers a zone that it meets twice: `W. Europe Standard Time 1`.
  const name = WINDOWS_ZONES.get(text.toLowerCase()) ?? WINDOWS_ZONES.get(text.toLowerCase().replace(/ \d+$/, ''));
  return name === undefined ? undefined : ianaZone(name);
}

/** Finds the zones of one object, within one budget. */
export class ZoneResolver {
  /** The zone of floating times, of days, and of TZIDs that nothing defines. */
  readonly calendarZone: Zone;
  readonly #definitions: ReadonlyMap<string, Component>;
  readonly #found = new Map<string, Zone>();
  readonly #unknown = new Set<string>();
  readonly #budget: ZoneBudget = { onsets: MAX_ONSETS, steps: new StepBudget(ZONE_STEPS) };

  /** `definitions` are the object's VTIMEZONE components by TZID; an unknown `calendarZone` is read as UTC. */
  constructor(definitions: ReadonlyMap<string, Component>, calendarZone: string) {
    this.#definitions = definitions;
    this.calendarZone = knownZone(calendarZone) ?? UTC;
  }

  /** TZIDs that nothing defines, met so far. */
  get unknownZones(): readonly string[] {
    return [...this.#unknown];
  }

  /** The zone of a time. */
  zoneOf(time: { readonly isUtc: boolean; readonly tzid: string | undefined }): Zone {
    if (time.isUtc) return UTC;
    return time.tzid === undefined ? this.calendarZone : this.resolve(time.tzid);
  }

  /** The zone that a TZID means; the calendar's, and noted as unknown, where nothing defines it. */
  resolve(tzid: string): Zone {
    let zone = this.#found.get(tzid);
    if (zone === undefined) {
      zone = this.#find(tzid);
      this.#found.set(tzid, zone);
    }
    return zone;
  }

  #find(tzid: string): Zone {
    const known = knownZone(tzid);
    if (known !== undefined) return known;
    const definition = this.#definitions.get(tzid);
    const location = definition === undefined ? undefined : textOf(definition, 'X-LIC-LOCATION');
    const defined =
      (location === undefined ? undefined : knownZone(location)) ??
      (definition === undefined ? undefined : embeddedZone(definition, this.#budget));
    if (defined !== undefined) return defined;
    this.#unknown.add(tzid);
    return this.calendarZone;
  }
}
