/** The parts of an object that people are invited to: the series and its overrides, each under the instant it stands for. */
import { type CalendarObject } from '../icalendar/calendar-object.ts';
import {
  type Component,
  makeProperty,
  parameterOf,
  propertiesOf,
  type Property,
  propertyOf,
} from '../icalendar/component.ts';
import { timesOf, writeTime } from '../icalendar/values.ts';
import { type Extent, placeAt } from '../recurrence/extent.ts';
import { type EndingRule, endsWithin } from '../recurrence/rule-walk.ts';
import { Series } from '../recurrence/series.ts';
import { wallOf } from '../zones/zone.ts';

/** The key of the master: all that no override stands for. */
export const WHOLE = '';

/**
 * The SEQUENCE with which an organiser's object got the times that it has, where it is an earlier one: a date that was left out,
 * or new words, raise SEQUENCE (RFC 5546, 2.1.4), and what people had answered by then still counts. It goes to nobody else.
 */
export const ASKED_SEQUENCE = 'X-PARLEY-ASKED-SEQUENCE';

/**
 * The dates that an attendee's copy leaves out by its organiser's word, by their keys. Any other was left out by the attendee, and stays
 * out when the organiser says the series anew; these come back when the organiser does not leave them out any more. It goes to nobody else.
 */
export const LEFT_OUT = 'X-PARLEY-LEFT-OUT';

/** The series, or one instance of it that has a component of its own. */
export interface Instance {
  /** WHOLE, or which instance it is, the same however the RECURRENCE-ID is written. */
  readonly key: string;
  readonly component: Component;
  /** Equal for two states of it that take place at the same times. */
  readonly timing: string;
  /** Of a series with one RRULE: what is equal for two states that differ in where they end alone, and how it is that it ends. */
  readonly ending: (EndingRule & { readonly pattern: string; readonly start: number }) | undefined;
  readonly sequence: number;
  /** The SEQUENCE since which it takes place at these times: an answer to an earlier one is to what was before. */
  readonly askedSequence: number;
  readonly isCancelled: boolean;
}

/** A date that the series leaves out. */
export interface Exclusion {
  readonly key: string;
  /** Its EXDATE line, with this date alone. */
  readonly property: Property;
}

/** The master first, where there is one. A component without a time takes part as the series that it is. */
export function instancesOf(object: CalendarObject, zone: string): Instance[] {
  const series = new Series(object, zone);
  const { master } = object;
  const whole =
    master === undefined ? [] : [instanceOf(WHOLE, master, seriesTiming(master, series), endingOf(master, series))];
  const single = series.overrides().map((override) => {
    const { component, extent, recurrenceId, isDay } = override;
    const isDate = isDay || recurrenceId.isDate || series.master?.start.isDate === true;
    const at = isDay || (isDate && series.master === undefined) ? recurrenceId.wall : override.key;
    return instanceOf(`${isDate ? 'd' : 't'}${at}`, component, spanOf(extent));
  });
  return [...whole, ...single];
}

/** What the series leaves out by EXDATE. */
export function exclusionsOf(object: CalendarObject, zone: string): Exclusion[] {
  const series = new Series(object, zone);
  const { master } = series;
  if (master === undefined) return [];
  return propertiesOf(master.component, 'EXDATE').flatMap((property) => {
    const parts = property.value.split(',').filter((part) => part.trim() !== '');
    return timesOf(property).map((time, at) => {
      const isDate = time.isDate || master.start.isDate;
      const key = series.isDayKey(time) ? time.wall : series.keyOf(time);
      return { key: `${isDate ? 'd' : 't'}${key}`, property: { ...property, value: (parts[at] ?? '').trim() } };
    });
  });
}

/** Keys of what a copy leaves out by its organiser's word; undefined where it does not say. */
export function leftOutOf(master: Component): ReadonlySet<string> | undefined {
  const value = propertyOf(master, LEFT_OUT)?.value;
  return value === undefined ? undefined : new Set(value.split(',').filter((key) => key !== ''));
}

/** A master that says what it leaves out by its organiser's word; not so one that says nothing of it and has nothing to say. */
export function leavingOut(master: Component, keys: Iterable<string>): Component {
  const others = master.properties.filter(({ name }) => name !== LEFT_OUT);
  const value = [...keys].toSorted().join(',');
  const isSaid = value !== '' || others.length < master.properties.length;
  return { ...master, properties: isSaid ? [...others, makeProperty(LEFT_OUT, value)] : others };
}

/** An instance's RECURRENCE-ID as its master writes times; undefined without a master to write it for. */
export function recurrenceIdOf(object: CalendarObject, key: string, zone: string): string | undefined {
  const { master } = new Series(object, zone);
  const at = Number(key.slice(1));
  if (master === undefined || key === WHOLE) return undefined;
  if (master.start.isDate) return writeTime({ wall: at, isDate: true, isUtc: false });
  if (key.startsWith('d')) return undefined;
  return writeTime({ wall: wallOf(master.zone, at), isDate: false, isUtc: master.start.isUtc });
}

function instanceOf(key: string, component: Component, timing: string, ending?: Instance['ending']): Instance {
  const sequence = numberIn(component, 'SEQUENCE') ?? 0;
  const askedSequence = Math.min(sequence, numberIn(component, ASKED_SEQUENCE) ?? sequence);
  const isCancelled = propertyOf(component, 'STATUS')?.value.trim().toUpperCase() === 'CANCELLED';
  return { key, component, timing, ending, sequence, askedSequence, isCancelled };
}

function numberIn(component: Component, name: string): number | undefined {
  const value = propertyOf(component, name)?.value;
  const number = value === undefined ? undefined : Number(value);
  return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
}

/** Whether all of an instance takes place as it did before: at the same times, or of a series that only ends sooner at those that are left. */
export function takesPlaceAs({ ending, timing }: Instance, before: Instance): boolean {
  if (timing === before.timing) return true;
  const isEnding = ending !== undefined && before.ending !== undefined && ending.pattern === before.ending.pattern;
  return isEnding && endsWithin(ending, before.ending, ending.start);
}

/** Whether an override takes place when the series has its instance: nobody has to answer anew for it. */
export function isInPlace(override: Instance, object: CalendarObject, zone: string): boolean {
  const { master } = new Series(object, zone);
  const at = Number(override.key.slice(1));
  if (master === undefined) return true;
  const wall = master.start.isDate || override.key.startsWith('d') ? at : wallOf(master.zone, at);
  return override.timing === spanOf({ ...master, start: { ...master.start, wall } });
}

function endingOf(component: Component, series: Series): Instance['ending'] {
  const [rule, ...others] = series.rules('RRULE');
  if (series.master === undefined || rule === undefined || others.length > 0) return undefined;
  const pattern = seriesTiming(component, series, isOfEnd);
  return { rule, until: series.untilWall(rule), pattern, start: series.master.start.wall };
}

function isOfEnd(part: string): boolean {
  return /^(?:COUNT|UNTIL)\s*=/.test(part);
}

/** @param isLeftOut parts of rules that do not count. */
function seriesTiming(
  component: Component,
  series: Series,
  isLeftOut: (part: string) => boolean = () => false,
): string {
  const { master } = series;
  if (master === undefined) return 'none';
  const rules = ['RRULE', 'EXRULE', 'RDATE'].flatMap((name) =>
    propertiesOf(component, name).map((property) => ruleText(property, isLeftOut)),
  );
  if (rules.length === 0) return spanOf(master);
  const { start, zone, length } = master;
  const where = start.isDate ? 'day' : (zone.name ?? start.tzid ?? 'floating');
  return [where, start.wall, length.days, length.seconds, ...rules.toSorted()].join('|');
}

function ruleText({ name, value, parameters }: Property, isLeftOut: (part: string) => boolean): string {
  const parts = value.toUpperCase().split(name === 'RDATE' ? ',' : ';');
  const zone = name === 'RDATE' ? (parameters.find((it) => it.name === 'TZID')?.values[0] ?? '') : '';
  return `${name}:${zone}:${parts
    .map((part) => part.trim())
    .filter((part) => part !== '' && part !== 'INTERVAL=1' && !isLeftOut(part))
    .toSorted()
    .join(';')}`;
}

function spanOf({ start, zone, length }: Extent): string {
  if (start.isDate) return `day|${start.wall}|${length.days}`;
  const span = placeAt(zone, start.wall, length);
  return `${span.start}|${span.end}`;
}

/** The value of a line's parameter in upper case, or what stands for it when there is none. */
export function said(property: Property, name: string, otherwise: string): string {
  return (parameterOf(property, name) ?? otherwise).trim().toUpperCase();
}
