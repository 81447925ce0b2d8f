/** Events with alarms, imported as a person: what tests of reminders do all the time. */
import assert from 'node:assert/strict';
import { writeInstant } from '#src/calendar/icalendar/values.ts';
import { request, type Person, type TestServer } from '#test/support/server.ts';

/** An alarm at an instant of its own. */
export function alarm(at: number, ...lines: string[]): string[] {
  const trigger = `TRIGGER;VALUE=DATE-TIME:${writeInstant(at)}`;
  return ['BEGIN:VALARM', trigger, 'ACTION:DISPLAY', ...lines, 'END:VALARM'];
}

/** An event that has its UID for a title. */
export function event(uid: string, at: number, lines: readonly string[]): string[] {
  return ['BEGIN:VEVENT', `UID:${uid}`, `DTSTART:${writeInstant(at)}`, `SUMMARY:${uid}`, ...lines, 'END:VEVENT'];
}

export async function importEvents(
  server: TestServer,
  who: Person,
  calendar: string,
  ...events: string[][]
): Promise<void> {
  const text = ['BEGIN:VCALENDAR', 'VERSION:2.0', ...events.flat(), 'END:VCALENDAR', ''].join('\r\n');
  const reply = await request('POST', `${server.calendar}/v1/calendars/${calendar}/import`, {
    body: text,
    headers: { 'content-type': 'text/calendar' },
    token: who.session.token,
  });
  assert.deepEqual([reply.status, reply.body['failed']], [200, 0], reply.text);
}

/** A time in so many seconds, on a whole one, as alarms are. */
export function inSeconds(seconds: number): number {
  return Math.ceil(Date.now() / 1000 + seconds) * 1000;
}
