/**
 * When each object's next alarm is due, in the order of time, so that nobody looks through calendars for it:
 *
 *     alarms   ['a', due, calendar, name]   the next alarm of an object; due in milliseconds since 1970
 *     alarmed  [calendar, name]             the same the other way round
 *     alarmed  [calendar, '']               up to which of the calendar's changes alarms are worked out: a position, and
 *                                           since when none was told
 *     behind   [calendar]                   that there are changes beyond; written in the commit of each
 */
import type { CalendarWriteSet } from './calendar-write-set.ts';
import type { CalendarEnvironment } from './calendar-records.ts';
import { type CalendarReader, type SyncPosition, SYNC_START } from './calendar-reader.ts';
import { key, lastPart, numberAt, numbered, numberedThen, numberValue, under } from '../engine/keys.ts';

/** Where the number ends in a key of `alarms`. */
const NAMED_FROM = 2 + 6;

export interface PendingAlarm {
  readonly due: number;
  readonly calendar: string;
  readonly name: string;
}

/** What is due by an instant, the earliest first. */
export function dueAlarms({ environment }: CalendarReader, until: number, limit: number): PendingAlarm[] {
  const range = { start: numbered(0, 'a'), end: numbered(until + 1, 'a'), limit };
  return [...environment.tables.alarms.getKeys(range)].map((itemKey) => alarmOf(Buffer.from(itemKey)));
}

/** When the next alarm of all is due. */
export function nextDue({ environment }: CalendarReader): number | undefined {
  for (const itemKey of environment.tables.alarms.getKeys({ limit: 1 })) return alarmOf(Buffer.from(itemKey)).due;
  return undefined;
}

/** When an object's next alarm is due, as it is known. */
export function dueOf(reader: CalendarReader, calendar: string, name: string): number | undefined {
  const stored = reader.read('alarmed', key(calendar, name));
  return stored === undefined ? undefined : numberAt(stored);
}

/** Sets when an object's next alarm is due; null for none. */
export function putAlarm(draft: CalendarWriteSet, calendar: string, name: string, due: number | null): void {
  const stored = draft.read('alarmed', key(calendar, name));
  if (stored !== undefined) draft.put('alarms', numberedThen(numberAt(stored), 'a', calendar, name), null);
  if (stored === undefined && due === null) return;
  draft.put('alarmed', key(calendar, name), due === null ? null : numberValue(due));
  if (due !== null) draft.put('alarms', numberedThen(due, 'a', calendar, name), Buffer.of(1));
}

/** Calendars with changes whose alarms are not worked out, some of them. */
export function calendarsBehind({ environment }: CalendarReader, limit: number): string[] {
  return [...environment.tables.behind.getKeys({ limit })].map((itemKey) => Buffer.from(itemKey).toString());
}

/** Up to which change a calendar's alarms are worked out; nothing that was due by `since` is told any more. */
export interface AlarmPosition extends SyncPosition {
  readonly since: number;
}

export function alarmPosition(reader: CalendarReader, calendar: string): AlarmPosition {
  const stored = reader.read('alarmed', key(calendar, ''));
  if (stored === undefined) return { ...SYNC_START, since: 0 };
  return { after: numberAt(stored), base: numberAt(stored, 1), since: numberAt(stored, 2) };
}

/** Notes how far a calendar's alarms are worked out, and whether that is all of it. */
export function moveAlarmPosition(draft: CalendarWriteSet, calendar: string, position: AlarmPosition): void {
  const { after, base, since } = position;
  draft.put('alarmed', key(calendar, ''), numberValue(after, base, since));
  if (draft.calendar(calendar)?.syncSeq === after) draft.put('behind', key(calendar), null);
}

/** Has all alarms of a calendar worked out afresh, from now on: its zone is another one. */
export function resetAlarms(draft: CalendarWriteSet, calendar: string): void {
  draft.put('alarmed', key(calendar, ''), numberValue(0, 0, draft.now));
}

/** Forgets some of the alarms of a calendar that is gone; answers whether there may be more. */
export function forgetAlarms(
  reader: CalendarReader,
  draft: CalendarWriteSet,
  calendar: string,
  limit: number,
): boolean {
  const found = [...reader.environment.tables.alarmed.getKeys({ ...under(calendar), limit })].map((itemKey) =>
    lastPart(Buffer.from(itemKey)),
  );
  for (const name of found) {
    if (name === '') draft.put('alarmed', key(calendar, ''), null);
    else putAlarm(draft, calendar, name, null);
  }
  if (found.length === 0) draft.put('behind', key(calendar), null);
  return found.length > 0;
}

/** Alarms that are not on both sides of their index. */
export function* unpairedAlarms({ tables }: CalendarEnvironment): Generator<PendingAlarm> {
  for (const itemKey of tables.alarms.getKeys()) {
    const alarm = alarmOf(Buffer.from(itemKey));
    const stored = tables.alarmed.get(key(alarm.calendar, alarm.name));
    if (stored === undefined || numberAt(stored) !== alarm.due) yield alarm;
  }
  for (const entry of tables.alarmed.getRange()) {
    const [calendar = '', name = ''] = entry.key.toString('utf8').split('\0');
    const due = numberAt(entry.value);
    if (name === '' || tables.alarms.get(numberedThen(due, 'a', calendar, name)) !== undefined) continue;
    yield { due, calendar, name };
  }
}

function alarmOf(itemKey: Buffer): PendingAlarm {
  const [calendar = '', name = ''] = itemKey.toString('utf8', NAMED_FROM).split('\0');
  return { due: itemKey.readUIntBE(2, 6), calendar, name };
}
