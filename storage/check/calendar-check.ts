/** Checks the calendar file: that calendars, objects, their bytes, the indexes, the log and what is on its way agree. */
import { existsSync } from 'node:fs';
import { unpairedAlarms } from '../calendars/calendar-alarms.ts';
import { checkAnswers } from '../calendars/calendar-answers.ts';
import { unpairedMeetings } from '../calendars/calendar-meetings.ts';
import { strayRegistrations } from '../calendars/calendar-registrations.ts';
import { unpairedRefreshes } from '../calendars/calendar-subscriptions.ts';
import { checkMails } from '../calendars/calendar-mails.ts';
import {
  calendarRecord,
  changeRecord,
  deliveryRecord,
  bytesEtagOf,
  etagOf,
  isInbox,
  tombstoneRecord,
  messageRecord,
  nameInTimeKey,
  objectRecord,
  propertiesRecord,
  openCalendars,
  SCHEDULING_QUEUE,
  timeKeys,
  uidKey,
  type CalendarEnvironment,
  type CalendarRecord,
} from '../calendars/calendar-records.ts';
import type { Findings } from '../engine/findings.ts';
import { folderPaths } from '../engine/folder.ts';
import { checkCalendarUse } from './usage-check.ts';
import { key, lastPart, numberAt, numbered, numberOf, under } from '../engine/keys.ts';

type Tables = CalendarEnvironment['tables'];

/** Looks for what does not go together in the calendars of a stopped server. A folder that never had any is sound. */
export async function checkCalendars(folder: string, findings: Findings): Promise<void> {
  if (!existsSync(folderPaths(folder).calendar)) return;
  const environment = openCalendars(folder);
  try {
    const { tables } = environment;
    for (const { key: itemKey, value } of tables.calendars.getRange()) {
      const id = itemKey.toString();
      const record = findings.attempt('calendars', [id], () => calendarRecord.decode(value));
      if (record !== undefined) checkCalendar(tables, record, findings);
    }
    checkStrays(tables, findings);
    checkProperties(tables, findings);
    checkScheduling(tables, findings);
    checkAnswers(environment, findings);
    checkMails(environment, findings);
    for (const alarm of unpairedAlarms(environment)) {
      findings.add('alarms', [alarm.calendar, alarm.name], 'stands on one side of its index alone');
    }
    for (const calendar of unpairedRefreshes(environment)) {
      findings.add('subscriptions', [calendar], 'stands on one side of its index alone, or is of no calendar');
    }
    for (const place of strayRegistrations(environment)) {
      findings.add('registrations', place, 'is counted otherwise than there are, or is of no calendar');
    }
    for (const meeting of unpairedMeetings(environment)) {
      findings.add('meetings', [meeting], 'does not know of an entry that it is bound to');
    }
    if (findings.problems.length === 0) checkCalendarUse(environment, findings);
  } finally {
    await environment.close();
  }
}

function checkCalendar(tables: Tables, record: CalendarRecord, findings: Findings): void {
  const { id, owner, name } = record;
  const listed = isInbox(record) ? tables.meta.get(key('inbox', owner)) : tables.owned.get(key(owner, name));
  if (listed?.toString() !== id) findings.add('calendars', [id], 'is not in its owner’s list');
  const { bytes, count } = checkObjects(tables, record, findings);
  if (count !== record.objects) findings.add('calendars', [id], `counts ${record.objects} objects and has ${count}`);
  if (bytes !== record.bytes) findings.add('calendars', [id], `counts ${record.bytes} bytes and has ${bytes}`);
  const removed = checkLog(tables, record, findings);
  if (removed !== record.removed)
    findings.add('calendars', [id], `counts ${record.removed} removals and has ${removed}`);
  let shares = 0;
  for (const entry of tables.shares.getRange(under(id))) {
    shares += 1;
    const user = lastPart(Buffer.from(entry.key));
    if (tables.shared.get(key(user, id))?.toString() !== entry.value.toString()) {
      findings.add('shares', [id, user], 'is not in the list of whom it is for');
    }
  }
  if (shares !== record.shares) findings.add('calendars', [id], `counts ${record.shares} shares and has ${shares}`);
}

function checkObjects(
  tables: Tables,
  { id, syncSeq }: CalendarRecord,
  findings: Findings,
): { readonly count: number; readonly bytes: number } {
  let count = 0;
  let sum = 0;
  for (const entry of tables.objects.getRange(under(id))) {
    count += 1;
    const name = entry.key.toString('utf8', id.length + 1);
    const record = findings.attempt('objects', [id, name], () => objectRecord.decode(entry.value));
    if (record === undefined) continue;
    sum += record.bytes;
    const bytes = tables.bodies.get(key(id, name));
    if (bytes === undefined) findings.add('objects', [id, name], 'has no bytes');
    else if (etagOf(bytes) !== bytesEtagOf(record.etag) || bytes.length !== record.bytes) {
      findings.add('objects', [id, name], 'has bytes that are not those of its etag');
    }
    if (tables.uids.get(uidKey(id, record.uid))?.toString() !== name) {
      findings.add('objects', [id, name], 'is not found by its UID');
    }
    if (timeKeys(id, name, record).some((itemKey) => tables.times.get(itemKey) === undefined)) {
      findings.add('objects', [id, name], 'is not found by its time');
    }
    const change = tables.changes.get(numbered(record.seq, id));
    if (record.seq > syncSeq || change === undefined || changeRecord.decode(change).name !== name) {
      findings.add('objects', [id, name], 'is not in the log of changes');
    }
    for (const seq of record.revisions) {
      if (tables.revisions.get(numbered(seq, id)) === undefined) {
        findings.add('revisions', [id, seq], 'is missing');
      }
    }
  }
  for (const entry of tables.sources.getRange(under(id))) {
    const entryId = lastPart(Buffer.from(entry.key));
    if (tables.uids.get(key(id, entryId)) === undefined) findings.add('sources', [id, entryId], 'is of no object');
  }
  return { count, bytes: sum };
}

/** Every line of the log is an object's last change or a removal that is remembered. Answers how many removals are. */
function checkLog(tables: Tables, { id, floorSeq }: CalendarRecord, findings: Findings): number {
  for (const entry of tables.changes.getRange(under(id))) {
    const seq = numberOf(entry.key);
    const change = findings.attempt('changes', [id, seq], () => changeRecord.decode(entry.value));
    if (change === undefined) continue;
    const stored = tables.objects.get(key(id, change.name));
    const isCurrent = change.removed
      ? tables.graves.get(numbered(seq, id)) !== undefined
      : stored !== undefined && objectRecord.decode(stored).seq === seq;
    if (!isCurrent) findings.add('changes', [id, seq], 'tells of nothing that is there');
  }
  let removed = 0;
  for (const entry of tables.graves.getRange(under(id))) {
    removed += 1;
    const seq = numberOf(entry.key);
    if (findings.attempt('graves', [id, seq], () => tombstoneRecord.decode(entry.value)) === undefined) continue;
    if (tables.changes.get(numbered(seq, id)) === undefined)
      findings.add('graves', [id, seq], 'is not in the log of changes');
    if (seq <= floorSeq) findings.add('graves', [id, seq], 'should be forgotten');
  }
  for (const entry of tables.removals.getRange(under(id))) {
    const name = entry.key.toString('utf8', id.length + 1);
    const stored = tables.graves.get(numbered(numberAt(entry.value), id));
    if (stored === undefined || tombstoneRecord.decode(stored).name !== name) {
      findings.add('removals', [id, name], 'names no removal');
    }
  }
  return removed;
}

/** Looks for index entries whose object or calendar is not there, and is not being removed either. */
function checkStrays(tables: Tables, findings: Findings): void {
  const isPurged = (id: string) => tables.meta.get(key('purge', id)) !== undefined;
  for (const entry of tables.owned.getRange()) {
    const id = entry.value.toString();
    if (tables.calendars.get(key(id)) === undefined) findings.add('owned', [id], 'is no calendar');
  }
  for (const entry of tables.meta.getRange(under('inbox'))) {
    const id = entry.value.toString();
    if (tables.calendars.get(key(id)) === undefined) findings.add('meta', ['inbox', id], 'is no inbox');
  }
  for (const table of ['objects', 'bodies', 'uids', 'times', 'changes'] as const) {
    let last = '';
    for (const entry of tables[table].getRange()) {
      const itemKey = Buffer.from(entry.key);
      const id = itemKey.toString('latin1', 0, itemKey.indexOf(0));
      if (id !== last && tables.calendars.get(key(id)) === undefined && !isPurged(id)) {
        findings.add(table, [id], 'is of no calendar');
      }
      last = id;
      const name = nameIn(table, id, itemKey, entry.value);
      if (name === undefined || isPurged(id) || tables.objects.get(key(id, name)) !== undefined) continue;
      findings.add(table, [id, name], 'is of no object');
    }
  }
}

/** Properties of an object are gone when it is. Those of calendars stand under `[calendar, user]`. */
function checkProperties(tables: Tables, findings: Findings): void {
  for (const entry of tables.properties.getRange()) {
    const itemKey = Buffer.from(entry.key);
    const [id = '', name = '', user] = itemKey.toString().split('\0');
    findings.attempt('properties', [id, name], () => propertiesRecord.decode(entry.value));
    if (user === undefined || tables.meta.get(key('purge', id)) !== undefined) continue;
    if (tables.objects.get(key(id, name)) === undefined) findings.add('properties', [id, name], 'are of no object');
  }
}

/** Every recipient that waits has its message, and every message one last recipient, who takes it along. */
function checkScheduling(tables: Tables, findings: Findings): void {
  const ended = new Set<number>();
  for (const entry of tables.deliveries.getRange()) {
    const seq = numberOf(Buffer.from(entry.key));
    const delivery = findings.attempt('deliveries', [seq], () => deliveryRecord.decode(entry.value));
    if (delivery === undefined) continue;
    const { isLast, message, to } = delivery;
    if (tables.messages.get(numbered(message, SCHEDULING_QUEUE)) === undefined)
      findings.add('deliveries', [seq, to], 'has no message');
    if (ended.has(message)) findings.add('deliveries', [seq, to], 'comes behind the last one of its message');
    if (isLast) ended.add(message);
  }
  for (const entry of tables.messages.getRange()) {
    const message = numberOf(Buffer.from(entry.key));
    findings.attempt('messages', [message], () => messageRecord.decode(entry.value));
    if (!ended.has(message)) findings.add('messages', [message], 'has no last recipient');
  }
}

/** The object that an index entry is for; undefined where the entry is checked from the other side. */
function nameIn(table: string, id: string, itemKey: Buffer, value: Buffer): string | undefined {
  if (table === 'times') return nameInTimeKey(itemKey, id);
  if (table === 'uids') return value.toString();
  return table === 'bodies' ? itemKey.toString('utf8', id.length + 1) : undefined;
}
