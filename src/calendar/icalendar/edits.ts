/** Edits of a stored object that change the lines they must and leave every other byte as its client wrote it. */
import { endRule } from '../recurrence/rule.ts';
import { type Override, Series } from '../recurrence/series.ts';
import { instantOf } from '../zones/zone.ts';
import { type CalendarObject } from './calendar-object.ts';
import { type Component, parameterOf, propertiesOf, propertyOf, type Property } from './component.ts';
import { bytesOf } from './component-reader.ts';
import { writeComponent, writeProperty } from './component-writer.ts';
import { instanceProperty } from './timing.ts';
import { type CalendarTime, readTime, timesOf } from './values.ts';

/** Replaces the bytes from start to end, which may be none, by a text. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Parameters to set by name in upper case; undefined takes one out. */
export type ParameterChanges = Readonly<Record<string, string | undefined>>;

/**
 * Sets parameters (PARTSTAT, SCHEDULE-STATUS, RSVP) of the ATTENDEE or ORGANIZER lines of one calendar address, in
 * those components, or in all of them. Undefined when no line is of that address.
 */
export function changePerson(
  object: CalendarObject,
  person: { readonly name: 'ATTENDEE' | 'ORGANIZER'; readonly address: string },
  changes: ParameterChanges,
  components: readonly Component[] = describedBy(object),
): Uint8Array | undefined {
  const address = person.address.trim().toLowerCase();
  const lines = components
    .flatMap((component) => propertiesOf(component, person.name))
    .filter(({ value }) => value.trim().toLowerCase() === address);
  if (lines.length === 0) return undefined;
  return splice(
    object,
    lines.map((line) => replaced(line, withParameters(line, changes))),
  );
}

/** Puts other lines in place of these, all at once. A line of no length puts one in front of what is there. */
export function replaceLines(
  object: CalendarObject,
  lines: readonly (readonly [line: Pick<Property, 'start' | 'end'>, by: Property])[],
): Uint8Array {
  return splice(
    object,
    lines.map(([{ start, end }, by]) => ({ start, end, text: writeProperty(by) })),
  );
}

/**
 * Sets properties of one component: those of each name are replaced by the ones given, or taken out for an empty list.
 * A line that would say the same is not touched.
 */
export function changeProperties(
  object: CalendarObject,
  component: Component,
  changes: Readonly<Record<string, readonly Property[]>>,
): Uint8Array {
  const splices: Splice[] = [];
  const end = component.properties.at(-1)?.end ?? component.start;
  for (const [name, wanted] of Object.entries(changes)) {
    const present = propertiesOf(component, name);
    wanted.forEach((property, at) => {
      const old = present[at];
      if (old === undefined) splices.push({ start: end, end, text: writeProperty(property) });
      else if (!isSame(old, property)) splices.push(replaced(old, property));
    });
    for (const old of present.slice(wanted.length)) splices.push({ start: old.start, end: old.end, text: '' });
  }
  return splice(object, splices);
}

/** Has the master hold these components, such as alarms; those that it has already stay as they are written. */
export function replaceSubcomponents(object: CalendarObject, components: readonly Component[]): Uint8Array {
  const { master } = object;
  if (master === undefined) return bytesOf(object.source);
  const end = master.properties.at(-1)?.end ?? master.start;
  const kept = master.components.filter((one) => components.includes(one));
  const gone = master.components.filter((one) => !kept.includes(one)).map(removed);
  const made = components
    .filter((one) => !kept.includes(one))
    .map((one) => ({ start: end, end, text: writeComponent(one) }));
  return splice(object, [...gone, ...made]);
}

/**
 * Takes one instance out: an EXDATE in the master, and its override away. `recurrenceId` is an occurrence's. Undefined
 * when the object has no master or the text is no time.
 */
export function excludeInstance(object: CalendarObject, recurrenceId: string, zone: string): Uint8Array | undefined {
  const series = new Series(object, zone);
  const { master } = series;
  if (master === undefined) return undefined;
  const excluded = instanceProperty('EXDATE', recurrenceId, master.start);
  if (excluded === undefined) return undefined;
  const after = propertyOf(master.component, 'RRULE') ?? propertyOf(master.component, 'DTSTART');
  const at = after?.end ?? master.component.start;
  const override = overrideOf(series, recurrenceId);
  return splice(object, [
    { start: at, end: at, text: writeProperty(excluded) },
    ...(override === undefined ? [] : [removed(override.component)]),
  ]);
}

/** Puts an override in place of the one of the same instance, or after the last component. */
export function putOverride(
  object: CalendarObject,
  recurrenceId: string,
  component: Component,
  zone: string,
): Uint8Array {
  const known = overrideOf(new Series(object, zone), recurrenceId)?.component;
  const end = Math.max(...describedBy(object).map((it) => it.end));
  const at = known ?? { start: end, end };
  return splice(object, [{ start: at.start, end: at.end, text: writeComponent(component) }]);
}

/** Puts components behind the last one that describes something. */
export function addComponents(object: CalendarObject, components: readonly Component[]): Uint8Array {
  const end = Math.max(...describedBy(object).map((it) => it.end));
  return splice(object, [{ start: end, end, text: components.map(writeComponent).join('') }]);
}

/** Takes the override of an instance away, so that it is as the series has it; undefined when there is none. */
export function removeOverride(object: CalendarObject, recurrenceId: string, zone: string): Uint8Array | undefined {
  const known = overrideOf(new Series(object, zone), recurrenceId);
  return known === undefined ? undefined : splice(object, [removed(known.component)]);
}

/** The component that stands for one instance, if the object has one; found by instant, however it is written. */
export function overrideFor(object: CalendarObject, recurrenceId: string, zone: string): Component | undefined {
  return overrideOf(new Series(object, zone), recurrenceId)?.component;
}

/**
 * Ends a series before an instance (the first half of changing this and all after it): its rules get an UNTIL, and what
 * it has from there on by RDATE, EXDATE or override goes. Undefined when it has no master, or the instance is its first,
 * so that nothing would be left.
 */
export function endSeriesBefore(object: CalendarObject, recurrenceId: string, zone: string): Uint8Array | undefined {
  const series = new Series(object, zone);
  const { master } = series;
  const time = master === undefined ? undefined : readTime(recurrenceId, master.start.tzid);
  if (master === undefined || time === undefined) return undefined;
  const key = series.keyOf(time);
  if (key <= series.keyAt(master.start.wall)) return undefined;
  const until = lastBefore(time, series);
  const rules = propertiesOf(master.component, 'RRULE').map((property) =>
    replaced(property, { ...property, value: endRule(property.value, until) }),
  );
  const isLater = (it: CalendarTime) => (series.isDayKey(it) ? it.wall >= time.wall : series.keyOf(it) >= key);
  const dates = ['RDATE', 'EXDATE'].flatMap((name) =>
    propertiesOf(master.component, name).flatMap((property) => withoutLater(property, isLater)),
  );
  const overrides = series.overrides().filter((override) => isLater(override.recurrenceId));
  return splice(object, [...rules, ...dates, ...overrides.map(({ component }) => removed(component))]);
}

/** The UNTIL that ends a series before a time: in UTC for times with a zone (RFC 5545, 3.3.10). */
function lastBefore(time: CalendarTime, series: Series): Pick<CalendarTime, 'wall' | 'isDate' | 'isUtc'> {
  if (time.isDate) return { wall: time.wall - 86_400, isDate: true, isUtc: false };
  if (!time.isUtc && time.tzid === undefined) return { wall: time.wall - 1, isDate: false, isUtc: false };
  return { wall: instantOf(series.zones.zoneOf(time), time.wall) / 1000 - 1, isDate: false, isUtc: true };
}

function withoutLater(property: Property, isLater: (time: CalendarTime) => boolean): Splice[] {
  const parts = property.value.split(',').filter((part) => part.trim() !== '');
  const times = timesOf(property);
  const kept = parts.filter((_, at) => {
    const time = times[at];
    return time !== undefined && !isLater(time);
  });
  if (kept.length === parts.length) return [];
  if (kept.length === 0) return [{ start: property.start, end: property.end, text: '' }];
  return [replaced(property, { ...property, value: kept.join(',') })];
}

function overrideOf(series: Series, recurrenceId: string): Override | undefined {
  const time = readTime(recurrenceId, series.master?.start.tzid);
  if (time === undefined) return undefined;
  const key = series.keyOf(time);
  return series
    .overrides()
    .findLast((it) => (it.isDay ? it.key === Math.floor(time.wall / 86_400) * 86_400 : it.key === key));
}

function describedBy(object: CalendarObject): readonly Component[] {
  return object.master === undefined ? object.overrides : [object.master, ...object.overrides];
}

function withParameters(property: Property, changes: ParameterChanges): Property {
  const parameters = property.parameters.flatMap((parameter) => {
    if (!(parameter.name in changes)) return [parameter];
    const value = changes[parameter.name];
    return value === undefined ? [] : [{ name: parameter.name, values: [value] }];
  });
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined && parameterOf(property, name) === undefined) parameters.push({ name, values: [value] });
  }
  return { ...property, parameters };
}

function isSame(a: Property, b: Property): boolean {
  return writeProperty(a) === writeProperty(b);
}

function replaced({ start, end }: Property, by: Property): Splice {
  return { start, end, text: writeProperty(by) };
}

function removed({ start, end }: Component): Splice {
  return { start, end, text: '' };
}

/** The object's bytes with the splices, whose lines end as the object's first line does. */
function splice({ source }: CalendarObject, splices: readonly Splice[]): Uint8Array {
  const isBare = source[source.indexOf('\n') - 1] !== '\r';
  let [result, at] = ['', 0];
  for (const { start, end, text } of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    const bytes = Buffer.from(isBare ? text.replaceAll('\r\n', '\n') : text).toString('latin1');
    result += source.slice(at, start) + bytes;
    at = end;
  }
  return bytesOf(result + source.slice(at));
}
