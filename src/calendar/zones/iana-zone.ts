/** Zones of the IANA database, by the offsets that Intl knows, cached by year. */
import { tzlib_get_timezones } from 'timezones-ical-library';
import { UTC, type Zone } from './zone.ts';

/** Probes of a year: no zone of the database moves its clock there and back within half a month. */
const PROBES = 26;
/** Years kept per zone; a query touches two or three. All go when one more comes: what is needed is found again. */
const MAX_YEARS = 64;

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** The offsets of one year: each holds from its instant on. */
type Year = readonly { readonly from: number; readonly offset: number }[];

class IanaZone implements Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #years = new Map<number, Year>();

  constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  offsetAt(instant: number): number {
    const year = this.#yearOf(new Date(instant).getUTCFullYear());
    for (let at = year.length - 1; at > 0; at -= 1) {
      const change = year[at];
      if (change !== undefined && change.from <= instant) return change.offset;
    }
    return year[0]?.offset ?? 0;
  }

  #yearOf(year: number): Year {
    let changes = this.#years.get(year);
    if (changes === undefined) {
      if (this.#years.size >= MAX_YEARS) this.#years.clear();
      changes = this.#changesOf(year);
      this.#years.set(year, changes);
    }
    return changes;
  }

  #changesOf(year: number): Year {
    const [start, end] = [startOfYear(year), startOfYear(year + 1)];
    let [before, offset] = [start, this.#probe(start)];
    const changes = [{ from: start, offset }];
    for (let probe = 1; probe <= PROBES; probe += 1) {
      const at = probe === PROBES ? end : start + Math.floor(((end - start) * probe) / PROBES / 1000) * 1000;
      const next = this.#probe(at);
      if (next !== offset) changes.push({ from: this.#findChange(before, at, offset), offset: next });
      [before, offset] = [at, next];
    }
    return changes;
  }

  /** The first second in (low, high] whose offset is no more the one at low. */
  #findChange(low: number, high: number, offset: number): number {
    let [known, changed] = [low, high];
    while (changed - known > 1000) {
      const middle = known + Math.floor((changed - known) / 2000) * 1000;
      if (this.#probe(middle) === offset) known = middle;
      else changed = middle;
    }
    return changed;
  }

  #probe(instant: number): number {
    const match = OFFSET.exec(this.#format.format(instant));
    const [, sign, hours = '0', minutes = '0', seconds = '0'] = match ?? [];
    const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return sign === '-' ? -total : total;
  }
}

/** Date.UTC reads years below 100 as of the twentieth century. */
function startOfYear(year: number): number {
  return new Date(0).setUTCFullYear(year, 0, 1);
}

const ZONES = new Map<string, Zone>();

let names: Map<string, string> | undefined;

/** Names in lower case to names as the database writes them; a table, as asking Intl with a wrong name is slow. */
function zoneNames(): Map<string, string> {
  if (names === undefined) {
    const listed = tzlib_get_timezones();
    const all = [...(Array.isArray(listed) ? listed : listed.split('\n')), ...Intl.supportedValuesOf('timeZone')];
    names = new Map(all.map((name) => [name.toLowerCase(), name]));
    for (const name of ['UTC', 'Etc/UTC', 'Etc/GMT', 'GMT', 'Z', 'Zulu', 'Etc/UCT', 'UCT'])
      names.set(name.toLowerCase(), 'UTC');
  }
  return names;
}

/** The zone of an IANA name, links included and letter case ignored; undefined for what the database has not. */
export function ianaZone(name: string): Zone | undefined {
  const known = zoneNames().get(name.toLowerCase());
  if (known === undefined) return undefined;
  if (known === 'UTC') return UTC;
  let zone = ZONES.get(known);
  if (zone === undefined) {
    try {
      zone = new IanaZone(known);
    } catch {
      // The list of names is newer than the database of this Node: to calendars there is no such zone.
      names?.delete(name.toLowerCase());
      return undefined;
    }
    ZONES.set(known, zone);
  }
  return zone;
}
