/** A whole calendar as one VCALENDAR, written in pieces: each object as it is stored, each zone once, before it is named. */
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { CalendarFault } from '../icalendar/calendar-fault.ts';
import { escapeText, makeProperty } from '../icalendar/component.ts';
import { writeComponent, writeProperty } from '../icalendar/component-writer.ts';
import { PRODUCT_ID, zoneDefinition } from '../icalendar/generated-calendar.ts';
import { renameZone, type Detail, type FlatObject } from './flattening.ts';

/** Objects whose rows are looked up at a time. */
const PAGE = 200;
/** Bytes of objects that are read together. */
const PIECE_BYTES = 256 * 1024;
/** How often whoever subscribes to a published calendar is asked to look: an hour (RFC 7986, 5.7). */
const REFRESHED = 'PT1H';

/**
 * The pieces of the file. What is written meanwhile may or may not be in it; nothing that was there and stays is left out.
 * @param salt of busy times: see `flatten`.
 */
export async function* writeCalendarFile(
  { calendars, pool }: Pick<CalendarServices, 'calendars' | 'pool'>,
  calendar: CalendarRecord,
  detail: Detail,
  salt = '',
): AsyncGenerator<Buffer> {
  yield Buffer.from(headOf(calendar, detail));
  const zones = new ZoneWriter();
  const { id } = calendar;
  for (let after: string | undefined; ;) {
    calendars.refresh();
    const page = calendars.objects(id, { ...(after === undefined ? {} : { after }), limit: PAGE });
    const last = page.at(-1);
    let bodies: Buffer[] = [];
    let size = 0;
    for (const object of page) {
      const bytes = calendars.bytesOf(id, object.name);
      if (bytes !== undefined) bodies.push(bytes);
      size += bytes?.length ?? 0;
      if (size < PIECE_BYTES && object !== last) continue;
      for (const flat of await flattenAll(pool, bodies, detail, salt)) yield* zones.write(flat);
      [bodies, size] = [[], 0];
    }
    if (last === undefined || page.length < PAGE) break;
    after = last.name;
  }
  yield Buffer.from('END:VCALENDAR\r\n');
}

/** A person's own calendars, those that follow feeds too, each with the pieces of its file. */
export function* filesOf(services: Pick<CalendarServices, 'calendars' | 'pool'>, user: string) {
  services.calendars.refresh();
  for (const calendar of services.calendars.ownedBy(user)) {
    const { displayname, id } = calendar;
    yield { calendar: { id, displayname }, pieces: writeCalendarFile(services, calendar, 'whole') };
  }
}

const LINE_END = Buffer.from('\r\n');

/** An object that nobody can read any more keeps none of the others out of the file. */
async function flattenAll(
  pool: CalendarServices['pool'],
  bodies: readonly Buffer[],
  detail: Detail,
  salt: string,
): Promise<FlatObject[]> {
  if (bodies.length === 0) return [];
  try {
    return await pool.flatten(Buffer.concat(bodies.flatMap((bytes) => [bytes, LINE_END])), detail, salt);
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    const halves = [bodies.slice(0, bodies.length >> 1), bodies.slice(bodies.length >> 1)];
    if (bodies.length === 1) return [];
    return (await Promise.all(halves.map((half) => flattenAll(pool, half, detail, salt)))).flat();
  }
}

function headOf({ displayname, zone }: CalendarRecord, detail: Detail): string {
  const properties = [
    makeProperty('VERSION', '2.0'),
    makeProperty('PRODID', PRODUCT_ID),
    makeProperty('CALSCALE', 'GREGORIAN'),
    makeProperty('NAME', escapeText(displayname)),
    makeProperty('X-WR-CALNAME', escapeText(displayname)),
    makeProperty('X-WR-TIMEZONE', zone),
    ...(detail === 'whole' || detail === 'shared'
      ? []
      : [
          makeProperty('REFRESH-INTERVAL', REFRESHED, [['VALUE', 'DURATION']]),
          makeProperty('X-PUBLISHED-TTL', REFRESHED),
        ]),
  ];
  return `BEGIN:VCALENDAR\r\n${properties.map(writeProperty).join('')}`;
}

/** Remembers which zones the file has by now. */
class ZoneWriter {
  readonly #written = new Set<string>();
  /** TZID → its definition in the file, of zones that only programs know. */
  readonly #own = new Map<string, string>();

  /** The zones that are new, and the object behind them. */
  *write({ text, zones, definitions }: FlatObject): Generator<Buffer> {
    let body = text;
    for (const [tzid, definition] of definitions) {
      if (!zones.includes(tzid)) continue;
      const name = this.#nameFor(tzid, definition);
      const own = name === tzid ? definition : renameZone(definition, tzid, name);
      if (name !== tzid) body = renameZone(body, tzid, name);
      if (this.#own.has(name)) continue;
      this.#own.set(name, definition);
      this.#written.add(name);
      yield Buffer.from(own, 'latin1');
    }
    for (const tzid of zones) {
      if (this.#written.has(tzid)) continue;
      this.#written.add(tzid);
      const definition = zoneDefinition(tzid);
      if (definition !== undefined) yield Buffer.from(writeComponent(definition));
    }
    if (body !== '') yield Buffer.from(body, 'latin1');
  }

  /** The TZID itself, or with a number behind it where the file has another zone of that name. */
  #nameFor(tzid: string, definition: string): string {
    let name = tzid;
    for (let number = 2; (this.#own.get(name) ?? definition) !== definition; number += 1) name = `${tzid} (${number})`;
    return name;
  }
}
