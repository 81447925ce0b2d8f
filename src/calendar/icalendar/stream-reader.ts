/** Splits an import file into calendar objects, one per UID. */
import { CalendarFault } from './calendar-fault.ts';
import { type StreamFault, type StreamObject } from './calendar-object.ts';
import { type Component, propertyOf, unescapeText } from './component.ts';
import { bytesOf, readComponents, sourceOf } from './component-reader.ts';
import { PRODUCT_ID, zoneNamesIn } from './generated-calendar.ts';
import { type BrokenItem, salvage } from './stream-salvage.ts';
import { kindOf } from './component-kinds.ts';
import { checkVersion, readCalendarObject, uidOf } from './object-reader.ts';

/** Bytes of an import file; an account's calendars of ten years with their pictures are smaller. */
export const MAX_STREAM_BYTES = 16 * 1024 * 1024;

/** Items of an import file; the rest are reported as one fault. */
export const MAX_STREAM_OBJECTS = 20_000;

/** Components of one UID, or one that cannot be kept, where it begins in the file. */
interface Item {
  readonly start: number;
  readonly components: readonly Component[];
  readonly uid: string | undefined;
  readonly fault: CalendarFault | undefined;
}

/** What is kept of a component: its lines from BEGIN to END, each with its end. */
export interface BodyOf {
  (component: Component, source: string): string;
}

/**
 * Splits an import file of many UIDs into objects whose components have the bytes of the file; each is checked, and one
 * that is refused is a fault with its UID and its line in the file. Throws CalendarFault only where the whole is not
 * iCalendar or larger than `MAX_STREAM_BYTES`.
 */
export function readCalendarStream(
  bytes: Uint8Array,
  bodyOf: BodyOf = ({ start, end }, source) => textBetween(source, start, end),
): {
  readonly objects: readonly StreamObject[];
  readonly faults: readonly StreamFault[];
} {
  if (bytes.length > MAX_STREAM_BYTES)
    throw new CalendarFault('max-resource-size', `The file is larger than ${MAX_STREAM_BYTES} bytes`);
  const { source, calendars, broken } = readWhatCan(sourceOf(bytes));
  const objects: StreamObject[] = [];
  const faults: StreamFault[] = [];
  const { items, zones } = itemsOf(calendars);
  const zoneTexts = new Map([...zones].map(([tzid, { start, end }]) => [tzid, textBetween(source, start, end)]));
  const all = [...items, ...broken.map((item) => ({ ...item, components: [] }))].toSorted((a, b) => a.start - b.start);
  for (const [index, { components, uid, fault }] of all.entries()) {
    const [first] = components;
    if (fault !== undefined && faults.length < MAX_STREAM_OBJECTS) {
      faults.push({ index, uid, fault });
    } else if (first === undefined) {
      break;
    } else if (objects.length + faults.length >= MAX_STREAM_OBJECTS) {
      const message = `the file has more than ${MAX_STREAM_OBJECTS} objects; this one and all after it are left out`;
      faults.push({ index, uid, fault: new CalendarFault('max-resource-size', message, first.line) });
      break;
    } else {
      try {
        objects.push({ index, line: first.line, ...objectOf(source, components, zoneTexts, bodyOf) });
      } catch (error) {
        if (!(error instanceof CalendarFault)) throw error;
        faults.push({ index, uid, fault: inFile(error, first) });
      }
    }
  }
  return { objects, faults };
}

/** The calendars of a file; what of it cannot be read is taken out first where there is such. */
function readWhatCan(source: string): {
  readonly source: string;
  readonly calendars: readonly Component[];
  readonly broken: readonly BrokenItem[];
} {
  try {
    return { source, calendars: readComponents(source), broken: [] };
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    const salvaged = salvage(source);
    return { ...salvaged, calendars: readComponents(salvaged.source) };
  }
}

/** Components by UID, in the order of the file, and the zones of all its calendars. */
function itemsOf(calendars: readonly Component[]) {
  const items = new Map<string, Item & { readonly components: Component[] }>();
  const zones = new Map<string, Component>();
  for (const calendar of calendars) {
    checkVersion(calendar);
    for (const component of calendar.components) {
      const tzid = component.name === 'VTIMEZONE' ? propertyOf(component, 'TZID')?.value : undefined;
      if (tzid !== undefined) zones.set(unescapeText(tzid), component);
      const isBusyTime = component.name === 'VFREEBUSY';
      if (kindOf(component.name) === undefined && !isBusyTime) continue;
      const { line, start } = component;
      const uid = uidOf(component) || undefined;
      // Each of those without a UID is an item of its own, to be reported by its line.
      const key = uid === undefined || isBusyTime ? `\n${line}` : uid;
      const known = items.get(key);
      const fault = isBusyTime
        ? new CalendarFault('supported-calendar-component', 'VFREEBUSY is not supported', line)
        : undefined;
      if (known === undefined) items.set(key, { start, uid, fault, components: [component] });
      else known.components.push(component);
    }
  }
  return { items: items.values(), zones };
}

function objectOf(
  source: string,
  components: readonly Component[],
  zoneTexts: ReadonlyMap<string, string>,
  bodyOf: BodyOf,
): Omit<StreamObject, 'index' | 'line'> {
  const names = components.reduce((all, component) => zoneNamesIn(component, all), new Set<string>());
  const texts = [...names].map((name) => zoneTexts.get(name) ?? '');
  const bodies = components.map((component) => bodyOf(component, source));
  const head = `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:${PRODUCT_ID}\r\n`;
  const bytes = bytesOf(`${head}${[...texts, ...bodies].join('')}END:VCALENDAR\r\n`);
  const { uid, kind } = readCalendarObject(bytes);
  return { uid, kind, bytes };
}

/** A part of the source, ended by the end of a line. */
export function textBetween(source: string, start: number, end: number): string {
  const text = source.slice(start, end);
  return /[\r\n]$/.test(text) ? text : `${text}\r\n`;
}

/** The lines of a split object are not those of the file: its first line there is what helps. */
function inFile(fault: CalendarFault, { line }: Component): CalendarFault {
  return new CalendarFault(fault.precondition, fault.message.replace(/^Line \d+: /, ''), line);
}
