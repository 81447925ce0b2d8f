/** Reminders, attachments by reference and the due time of a task: as JSON says them, to and from a component. */
import { parseInstant, formatInstant } from '#src/base/time.ts';
import {
  ATTACHMENT_NAME,
  ATTACHMENT_NAME_LENGTH_MAX,
  ATTACHMENT_TYPE,
  ATTACHMENT_URL,
  ATTACHMENT_URL_LENGTH_MAX,
  ENTRY_ATTACHMENTS_MAX,
  type ChangeEntry,
  type EntryView,
} from '#src/protocol/calendars/calendars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  type Component,
  escapeText,
  makeComponent,
  makeProperty,
  parameterOf,
  propertiesOf,
  type Property,
  propertyOf,
  textOf,
} from '../icalendar/component.ts';
import {
  readDuration,
  readLocal,
  readTime,
  timeOf,
  writeDate,
  writeDuration,
  writeInstant,
  writeLocal,
  writeTime,
} from '../icalendar/values.ts';
import { isZone } from '../objects/derivation.ts';
import type { Series } from '../recurrence/series.ts';
import { knownZone } from '../zones/zone-resolver.ts';
import { instantOf, UTC } from '../zones/zone.ts';

/** As `PropertyChanges` of `entry-form.ts`, which reads what this file has shown. */
type Changes = Readonly<Record<string, readonly Property[]>>;
type Reminders = NonNullable<ChangeEntry['reminders']>;
type Attachments = NonNullable<ChangeEntry['attachments']>;
type Due = Pick<ChangeEntry, 'due_at' | 'due_date' | 'local_due' | 'tz'>;

/** What the details of a component are, in JSON's words; what JSON has no words for is left out. */
export function detailsView(component: Component): Pick<EntryView, 'attachments' | 'reminders'> {
  return {
    reminders: component.components.filter(({ name }) => name === 'VALARM').flatMap((alarm) => reminderIn(alarm) ?? []),
    attachments: referencesIn(component).map(attachmentOf),
  };
}

/** The properties that the details of a form set. @throws Refusal `field_invalid`. */
export function detailChanges(form: Pick<ChangeEntry, 'attachments'> & Due, component: Component, zone: string) {
  const { attachments } = form;
  const changes: Changes = attachments === undefined ? {} : { ATTACH: attachmentLines(attachments, component) };
  return { ...changes, ...dueChanges(form, component, zone) };
}

/** A component with these reminders instead of all that it has; as it is, where nothing is said of them. */
export function withReminders(component: Component, reminders: Reminders | undefined, address: string): Component {
  if (reminders === undefined) return component;
  const others = component.components.filter(({ name }) => name !== 'VALARM');
  return { ...component, components: [...others, ...alarmsFor(component, reminders, address)] };
}

/** The alarms that a form asks for. @param address of whose calendar it is, whom alarms by e-mail name. */
export function alarmsFor(component: Component, reminders: Reminders, address: string): Component[] {
  const title = textOf(component, 'SUMMARY')?.trim() || 'Reminder';
  const words = makeProperty('DESCRIPTION', escapeText(title));
  // What has no start has its alarms from when it is due (RFC 5545, 3.8.6.3).
  const isDueAlone = propertyOf(component, 'DTSTART') === undefined;
  return reminders.map(({ action, at, offset_seconds: offset, related }) => {
    const instant = at === undefined ? undefined : parseInstant(at);
    const trigger =
      instant === undefined
        ? makeProperty('TRIGGER', offsetText(offset ?? 0), related === 'end' || isDueAlone ? [['RELATED', 'END']] : [])
        : makeProperty('TRIGGER', writeInstant(instant), [['VALUE', 'DATE-TIME']]);
    const mail = [makeProperty('SUMMARY', escapeText(title)), makeProperty('ATTENDEE', address)];
    return makeComponent('VALARM', [
      makeProperty('ACTION', action.toUpperCase()),
      trigger,
      ...(action === 'audio' ? [] : [words]),
      ...(action === 'email' ? mail : []),
    ]);
  });
}

function offsetText(seconds: number): string {
  const text = writeDuration({ days: 0, seconds: Math.abs(seconds) });
  return seconds < 0 ? `-${text}` : text;
}

function reminderIn(alarm: Component): EntryView['reminders'][number] | undefined {
  const action = propertyOf(alarm, 'ACTION')?.value.trim().toLowerCase() ?? 'display';
  const trigger = propertyOf(alarm, 'TRIGGER');
  if (trigger === undefined || !isAction(action)) return undefined;
  const time = readTime(trigger.value.trim());
  if (time?.isUtc === true) return { action, at: formatInstant(time.wall * 1000) };
  const duration = readDuration(trigger.value);
  if (duration === undefined) return undefined;
  const related = parameterOf(trigger, 'RELATED')?.toUpperCase() === 'END' ? 'end' : 'start';
  return { action, offset_seconds: duration.days * 86_400 + duration.seconds, related };
}

function isAction(action: string): action is 'audio' | 'display' | 'email' {
  return action === 'audio' || action === 'display' || action === 'email';
}

/**
 * References to the web alone, as far as a form takes them: what is read can be written back. Bytes that stand in the entry are
 * the calendar programs' own, and stay; so do addresses that lead elsewhere (`file:`, `javascript:`), which come with invitations of
 * strangers and are shown to nobody who might follow them.
 */
function referencesIn(component: Component): readonly Property[] {
  return propertiesOf(component, 'ATTACH').filter(isReference).slice(0, ENTRY_ATTACHMENTS_MAX);
}

/** Those of the form, in front of what it was not shown. */
function attachmentLines(attachments: Attachments, component: Component): Property[] {
  const shown = new Set(referencesIn(component));
  const others = propertiesOf(component, 'ATTACH').filter((line) => !shown.has(line));
  const lines = attachments.map(({ media_type: type, name, url }) =>
    makeProperty('ATTACH', url, [
      ...(type === undefined ? [] : [['FMTTYPE', type] as [string, string]]),
      ...(name === undefined ? [] : [['FILENAME', name] as [string, string]]),
    ]),
  );
  return [...lines, ...others];
}

/** A name or a type that a form would refuse is left out: the file is not. */
function attachmentOf(line: Property): EntryView['attachments'][number] {
  const [name, type] = [parameterOf(line, 'FILENAME')?.trim(), parameterOf(line, 'FMTTYPE')];
  const isName = name !== undefined && name.length <= ATTACHMENT_NAME_LENGTH_MAX && ATTACHMENT_NAME.test(name);
  return {
    url: line.value.trim(),
    ...(isName ? { name } : {}),
    ...(type !== undefined && ATTACHMENT_TYPE.test(type) ? { media_type: type } : {}),
  };
}

function isReference(line: Property): boolean {
  const url = line.value.trim();
  const isBinary = parameterOf(line, 'VALUE')?.toUpperCase() === 'BINARY';
  return !isBinary && url.length <= ATTACHMENT_URL_LENGTH_MAX && ATTACHMENT_URL.test(url);
}

/** When a task is due, of one that says so; undefined for anything else. */
export function dueView(component: Component, { zones }: Series): Partial<EntryView> | undefined {
  const line = component.name === 'VTODO' ? propertyOf(component, 'DUE') : undefined;
  if (line === undefined) return undefined;
  const due = timeOf(line);
  const zone = zones.zoneOf(due);
  const due_at = formatInstant(instantOf(zone, due.wall));
  if (due.isDate) return { due_at, due_date: writeLocal(due.wall, true) };
  const isFloating = !due.isUtc && due.tzid === undefined;
  const tz = isFloating ? {} : { tz: zone.name ?? 'UTC' };
  const wall = isFloating || zone.name !== undefined ? due.wall : instantOf(zone, due.wall) / 1000;
  return { due_at, local_due: writeLocal(wall, false), ...tz };
}

/** DUE instead of all other times; nothing where none is said. @throws Refusal `field_invalid`. */
function dueChanges(form: Due, component: Component, calendarZone: string): Changes {
  const { due_at: at, due_date: date, local_due: local, tz = calendarZone } = form;
  const field = at !== undefined ? 'due_at' : date !== undefined ? 'due_date' : 'local_due';
  const text = at ?? date ?? local;
  if (text === undefined) return {};
  if (component.name !== 'VTODO') throw new Refusal('field_invalid', { field });
  if (!isZone(tz)) throw new Refusal('field_invalid', { field: 'tz' });
  const alone = { DTSTART: [], DURATION: [], DTEND: [] };
  if (at !== undefined) {
    const instant = parseInstant(at);
    if (instant === undefined) throw new Refusal('field_invalid', { field });
    return { ...alone, DUE: [makeProperty('DUE', writeInstant(instant))] };
  }
  const wall = readLocal(text);
  if (wall === undefined) throw new Refusal('field_invalid', { field });
  if (wall.isDate) return { ...alone, DUE: [makeProperty('DUE', writeDate(wall.wall), [['VALUE', 'DATE']])] };
  const isUtc = knownZone(tz) === UTC;
  const value = writeTime({ ...wall, isUtc });
  return { ...alone, DUE: [makeProperty('DUE', value, isUtc ? [] : [['TZID', tz]])] };
}
