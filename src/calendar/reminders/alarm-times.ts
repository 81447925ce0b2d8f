/**
 * When the alarms of an object go off (RFC 5545, 3.6.6; RFC 9074), within a span of time and behind it. An alarm that
 * somebody has seen already, by ACKNOWLEDGED or by Thunderbird's X-MOZ-LASTACK, does not go off; one of an occurrence
 * that is cancelled, done or declined does not either. Repetitions are not kept.
 */
import { expand } from '../recurrence/occurrences.ts';
import { readCalendarObject, MAX_INSTANCES } from '../icalendar/object-reader.ts';
import { type CalendarObject, type Occurrence } from '../icalendar/calendar-object.ts';
import {
  parameterOf,
  propertiesOf,
  propertyOf,
  textOf,
  type Component,
  type Property,
} from '../icalendar/component.ts';
import { readDuration, readTime } from '../icalendar/values.ts';
import { canonicalAddress } from '../address-book.ts';

/** Alarms of one component that go off: the first ones. */
export const ALARMS_PER_COMPONENT_MAX = 16;

/** Alarms of one object that are told at once, as after a downtime: the last ones. */
export const ALARMS_AT_ONCE_MAX = 32;

/** How far ahead the next alarm is looked for, step by step; what is farther than the last is nobody's reminder. */
const DAY_MILLIS = 86_400_000;
const HORIZONS = [8, 64, 512, 4_096, 15_000].map((days) => days * DAY_MILLIS);

/** What an alarm does. By e-mail it writes to the calendar's owner, and to nobody whom the object names. */
export type AlarmAction = 'display' | 'audio' | 'email';
const ACTIONS: ReadonlySet<string> = new Set<AlarmAction>(['display', 'audio', 'email']);

export interface DueAlarm {
  /** When it goes off, milliseconds since 1970. */
  readonly at: number;
  /** When the occurrence begins; undefined for an alarm at an instant of its own. */
  readonly start: number | undefined;
  readonly recurrenceId: string | undefined;
  /** Which alarm of its component: its UID, or its number. */
  readonly alarm: string;
  readonly action: AlarmAction;
  readonly title: string;
  readonly location: string | undefined;
}

export interface AlarmQuestion {
  readonly bytes: Uint8Array;
  readonly zone: string;
  /** What goes off behind `after`, up to `until`; and the first one behind that. */
  readonly after: number;
  readonly until: number;
  /** Addresses of whom the calendar belongs to. */
  readonly addresses: readonly string[];
}

export interface AlarmAnswer {
  /** By time; the last ALARMS_AT_ONCE_MAX. */
  readonly due: readonly DueAlarm[];
  readonly next: number | null;
}

interface Trigger {
  readonly alarm: string;
  readonly action: AlarmAction;
  readonly millis: number;
  readonly isOfEnd: boolean;
  /** The instant, where it has one of its own. */
  readonly at: number | undefined;
  /** What went off by then was seen. */
  readonly seenAt: number;
}

/** @throws CalendarFault for bytes that are no calendar object resource. */
export function answerAlarms({ bytes, zone, after, until, addresses }: AlarmQuestion): AlarmAnswer {
  const object = readCalendarObject(bytes);
  const triggers = new Map(componentsOf(object).map((component) => [component, triggersOf(component, object)]));
  if ([...triggers.values()].every((list) => list.length === 0)) return { due: [], next: null };
  const isOff = (component: Component) => isOver(component) || isDeclined(component, addresses);
  const between = (from: number, to: number) => alarmsBetween(object, triggers, isOff, zone, from, to);
  const due = until > after ? between(after, until).slice(-ALARMS_AT_ONCE_MAX) : [];
  for (const horizon of HORIZONS) {
    const [next] = between(until, until + horizon);
    if (next !== undefined) return { due, next: next.at };
  }
  return { due, next: null };
}

/** What goes off behind `from`, up to `to`, by time. */
function alarmsBetween(
  object: CalendarObject,
  triggers: ReadonlyMap<Component, readonly Trigger[]>,
  isOff: (component: Component) => boolean,
  zone: string,
  from: number,
  to: number,
): DueAlarm[] {
  const found: DueAlarm[] = [];
  const take = (component: Component, trigger: Trigger, at: number, occurrence: Occurrence | undefined) => {
    if (at <= from || at > to || at <= trigger.seenAt || isOff(component)) return;
    const { alarm, action } = trigger;
    const { start, recurrenceId } = occurrence ?? { start: undefined, recurrenceId: undefined };
    const title = textOf(component, 'SUMMARY') ?? '';
    found.push({ at, start, recurrenceId, alarm, action, title, location: textOf(component, 'LOCATION') });
  };
  const relative = [...triggers.values()].flat().filter(({ at }) => at === undefined);
  for (const [component, list] of triggers) {
    for (const trigger of list) if (trigger.at !== undefined) take(component, trigger, trigger.at, undefined);
  }
  if (relative.length > 0) {
    const offsets = relative.map(({ millis }) => millis);
    const window = { from: from - Math.max(0, ...offsets), to: to - Math.min(0, ...offsets) + 1 };
    const { occurrences } = expand(object, window, { zone, most: MAX_INSTANCES });
    for (const occurrence of occurrences) {
      for (const trigger of triggers.get(occurrence.component) ?? []) {
        const base = trigger.isOfEnd ? occurrence.end : occurrence.start;
        if (trigger.at === undefined) take(occurrence.component, trigger, base + trigger.millis, occurrence);
      }
    }
  }
  return found.toSorted((a, b) => a.at - b.at);
}

function componentsOf({ master, overrides }: CalendarObject): Component[] {
  return master === undefined ? [...overrides] : [master, ...overrides];
}

function triggersOf(component: Component, { master }: CalendarObject): Trigger[] {
  const seen = [component, master].map((one) => instantOf(one && propertyOf(one, 'X-MOZ-LASTACK')));
  const alarms = component.components.filter(({ name }) => name === 'VALARM').slice(0, ALARMS_PER_COMPONENT_MAX);
  return alarms.flatMap((alarm, index) => {
    const action = propertyOf(alarm, 'ACTION')?.value.trim().toLowerCase() ?? 'display';
    const trigger = propertyOf(alarm, 'TRIGGER');
    if (!isAction(action) || trigger === undefined) return [];
    const at = instantOf(trigger);
    const duration = at === undefined ? readDuration(trigger.value) : { days: 0, seconds: 0 };
    if (duration === undefined) return [];
    const seenAt = Math.max(0, ...[...seen, instantOf(propertyOf(alarm, 'ACKNOWLEDGED'))].map((it) => it ?? 0));
    const isOfEnd = parameterOf(trigger, 'RELATED')?.toUpperCase() === 'END';
    const millis = duration.days * DAY_MILLIS + duration.seconds * 1000;
    return [{ alarm: textOf(alarm, 'UID') ?? String(index), action, millis, isOfEnd, at, seenAt }];
  });
}

function isAction(action: string): action is AlarmAction {
  return ACTIONS.has(action);
}

/** The instant of a time in UTC; undefined for anything else. */
function instantOf(property: Property | undefined): number | undefined {
  const time = property === undefined ? undefined : readTime(property.value.trim());
  return time?.isUtc === true ? time.wall * 1000 : undefined;
}

function isOver(component: Component): boolean {
  const status = propertyOf(component, 'STATUS')?.value.trim().toUpperCase() ?? '';
  return ['CANCELLED', 'COMPLETED'].includes(status) || propertyOf(component, 'COMPLETED') !== undefined;
}

function isDeclined(component: Component, addresses: readonly string[]): boolean {
  return propertiesOf(component, 'ATTENDEE').some(
    (attendee) =>
      parameterOf(attendee, 'PARTSTAT')?.toUpperCase() === 'DECLINED' &&
      addresses.includes(canonicalAddress(attendee.value)),
  );
}
