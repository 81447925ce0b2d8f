/** Checks what people are said to have used against a full count of what is there. */
import type { AttachmentEnvironment } from '../attachments/attachment-records.ts';
import { attachmentRecord } from '../attachments/attachment-records.ts';
import { chargeOf } from '../attachments/upload-admission.ts';
import { calendarRecord, isInbox, type CalendarEnvironment } from '../calendars/calendar-records.ts';
import { key, numberAt, numberOf, numbered, under } from '../engine/keys.ts';
import type { Findings } from '../engine/findings.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { conversationRecord, messageRecord } from '../engine/records.ts';
import { dayOf, EVERYBODY } from '#src/protocol/quotas.ts';

/** How somebody is called in a finding. */
const nameOf = (who: string): string => (who === EVERYBODY ? 'everybody' : who);

/** Rooms by whoever made them, and messages of the day that is counted, in one lane. */
export function checkLaneUse(tables: LaneEnvironment['tables'], findings: Findings): void {
  const rooms = new Map<string, number>();
  for (const { value } of tables.conversations.getRange()) {
    const { createdBy, deleted, kind } = conversationRecord.decode(value);
    if (kind !== 'room' || deleted) continue;
    for (const who of [createdBy, EVERYBODY]) rooms.set(who, (rooms.get(who) ?? 0) + 1);
  }
  for (const { key: itemKey, value } of tables.meta.getRange(under('rooms'))) {
    const who = itemKey.toString('utf8', 'rooms\0'.length);
    compare(findings, ['rooms', nameOf(who)], numberAt(value), rooms.get(who) ?? 0, 'rooms');
    rooms.delete(who);
  }
  for (const [who, count] of rooms) compare(findings, ['rooms', nameOf(who)], 0, count, 'rooms');
  checkPosted(tables, findings);
}

/** What was removed since still counts: it was written that day. So there may be fewer, and never more. */
function checkPosted(tables: LaneEnvironment['tables'], findings: Findings): void {
  const counted = new Map(
    [...tables.meta.getRange(under('posted'))].map(({ key: itemKey, value }) => [
      itemKey.toString('utf8', 'posted\0'.length),
      { day: numberAt(value), messages: numberAt(value, 1), found: 0 },
    ]),
  );
  if (counted.size === 0) return;
  for (const { value } of tables.messages.getRange()) {
    const { sender, created_at: at } = JSON.parse(messageRecord.json(value)) as { sender: string; created_at: string };
    const day = dayOf(Date.parse(at));
    for (const who of [sender, EVERYBODY]) {
      const use = counted.get(who);
      if (use?.day === day) use.found += 1;
    }
  }
  for (const [who, { found, messages }] of counted) {
    if (found > messages)
      findings.add('meta', ['posted', nameOf(who)], `counts ${messages} messages of the day, and there are ${found}`);
  }
}

/** Entries and bytes of calendars by their owners. */
export function checkCalendarUse({ tables }: CalendarEnvironment, findings: Findings): void {
  const uses = new Map<string, { entries: number; bytes: number }>();
  for (const { value } of tables.calendars.getRange()) {
    const { bytes, id, objects, owner, subscribed } = calendarRecord.decode(value);
    if (subscribed === true || isInbox({ id }) || objects === 0) continue;
    for (const who of [owner, EVERYBODY]) {
      const use = uses.get(who) ?? { entries: 0, bytes: 0 };
      uses.set(who, { entries: use.entries + objects, bytes: use.bytes + bytes });
    }
  }
  for (const { key: itemKey, value } of tables.meta.getRange(under('usage'))) {
    const who = itemKey.toString('utf8', 'usage\0'.length);
    const { entries, bytes } = uses.get(who) ?? { entries: 0, bytes: 0 };
    compare(findings, ['usage', nameOf(who)], numberAt(value), entries, 'entries');
    compare(findings, ['usage', nameOf(who)], numberAt(value, 1), bytes, 'bytes');
    uses.delete(who);
  }
  for (const [who, { entries }] of uses) compare(findings, ['usage', nameOf(who)], 0, entries, 'entries');
}

/** Bytes uploaded by the day. A file that was removed was sent, and still counts. */
export function checkUploadUse({ tables }: AttachmentEnvironment, findings: Findings): void {
  const there = new Map<string, number>();
  for (const { value } of tables.attachments.getRange()) {
    const { bytes, createdAt, owner } = attachmentRecord.decode(value);
    const name = numbered(dayOf(createdAt), owner).toString('latin1');
    there.set(name, (there.get(name) ?? 0) + chargeOf(bytes));
  }
  const sums = new Map<number, number>();
  const ofAll: [number, number][] = [];
  for (const { key: itemKey, value } of tables.uploaded.getRange()) {
    const [name, day, bytes] = [itemKey.toString('latin1'), numberOf(itemKey), numberAt(value)];
    const who = itemKey.toString('utf8', 0, itemKey.length - DAY_BYTES);
    if (who === EVERYBODY) {
      ofAll.push([day, bytes]);
      continue;
    }
    sums.set(day, (sums.get(day) ?? 0) + bytes);
    if ((there.get(name) ?? 0) > bytes) findings.add('uploaded', [who, day], 'counts less than what is there');
    there.delete(name);
  }
  for (const name of there.keys())
    findings.add('uploaded', [name.slice(0, -DAY_BYTES)], 'does not count what is there');
  for (const [day, bytes] of ofAll) {
    compare(findings, ['everybody', day], bytes, sums.get(day) ?? 0, 'bytes', 'uploaded');
    sums.delete(day);
  }
  for (const [day, bytes] of sums) compare(findings, ['everybody', day], 0, bytes, 'bytes', 'uploaded');
}

/** What stands behind a name in a numbered key: a NUL and six bytes. */
const DAY_BYTES = key('', '').length + 6;

function compare(
  findings: Findings,
  where: readonly (string | number)[],
  counted: number,
  found: number,
  what: string,
  table = 'meta',
): void {
  if (counted !== found) findings.add(table, [...where], `counts ${counted} ${what} and there are ${found}`);
}
