/** When alarms go off: relative and absolute, of occurrences and overrides, seen, declined and cancelled ones (CAL-02). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALARMS_AT_ONCE_MAX, ALARMS_PER_COMPONENT_MAX, answerAlarms } from '#src/calendar/reminders/alarm-times.ts';
import { calendarText } from '../calendar-text.ts';

const alarm = (trigger: string, ...lines: string[]) =>
  ['BEGIN:VALARM', trigger, ...(lines.length === 0 ? ['ACTION:DISPLAY'] : lines), 'END:VALARM'].join('\n');

function ask(components: readonly string[], after: string, until = after, addresses: readonly string[] = []) {
  const bytes = Buffer.from(calendarText(...components));
  const { due, next } = answerAlarms({
    bytes,
    zone: 'Europe/Berlin',
    after: Date.parse(after),
    until: Date.parse(until),
    addresses,
  });
  return {
    due: due.map(({ at, start, alarm: which }) => [minute(at), start === undefined ? '' : minute(start), which]),
    next: next === null ? null : minute(next),
  };
}

const minute = (millis: number) => new Date(millis).toISOString().slice(0, 16);

test('CAL-02 a relative alarm goes off before or after the start or the end, on the wall clock of the series', () => {
  const weekly = (trigger: string) =>
    `DTSTART;TZID=Europe/Berlin:20261019T090000\nDTEND;TZID=Europe/Berlin:20261019T100000\nRRULE:FREQ=WEEKLY;COUNT=3\n${alarm(trigger)}`;
  // The clocks change on 25 October.
  const both = ask([weekly('TRIGGER:-PT15M')], '2026-10-01T00:00Z', '2026-10-31T00:00Z');
  assert.deepEqual(both, {
    due: [
      ['2026-10-19T06:45', '2026-10-19T07:00', '0'],
      ['2026-10-26T07:45', '2026-10-26T08:00', '0'],
    ],
    next: '2026-11-02T07:45',
  });
  assert.equal(ask([weekly('TRIGGER;RELATED=END:PT5M')], '2026-10-01T00:00Z').next, '2026-10-19T08:05');
  assert.equal(ask([weekly('TRIGGER:-P1W')], '2026-10-12T07:00Z').next, '2026-10-19T08:00');
  assert.equal(ask([weekly('TRIGGER:-PT15M')], '2026-11-02T07:45Z').next, null);
  // Exactly at its instant it is due, and not behind it.
  assert.equal(ask([weekly('TRIGGER:PT0S')], '2026-10-19T06:59:59Z').next, '2026-10-19T07:00');
  assert.equal(ask([weekly('TRIGGER:PT0S')], '2026-10-19T07:00Z').next, '2026-10-26T08:00');
});

test('CAL-02 an absolute alarm goes off once, an all-day one by the calendar’s zone, and years ahead', () => {
  const absolute = alarm('TRIGGER;VALUE=DATE-TIME:20261120T080000Z', 'ACTION:AUDIO', 'UID:own-1');
  const series = `DTSTART:20261123T090000Z\nRRULE:FREQ=DAILY;COUNT=5\n${absolute}`;
  assert.deepEqual(ask([series], '2026-11-01T00:00Z', '2026-12-01T00:00Z'), {
    due: [['2026-11-20T08:00', '', 'own-1']],
    next: null,
  });
  assert.equal(
    ask([`DTSTART;VALUE=DATE:20261224\n${alarm('TRIGGER:-PT12H')}`], '2026-11-01T00:00Z').next,
    '2026-12-23T11:00',
  );
  const birthday = `DTSTART;VALUE=DATE:19800229\nRRULE:FREQ=YEARLY\n${alarm('TRIGGER:PT9H')}`;
  assert.equal(ask([birthday], '2026-11-01T00:00Z').next, '2028-02-29T08:00');
  const todo = `BEGIN:VTODO\nUID:t\nDUE:20261123T090000Z\n${alarm('TRIGGER;RELATED=END:-PT1H')}\nEND:VTODO`;
  assert.equal(ask([todo], '2026-11-01T00:00Z').next, '2026-11-23T08:00');
});

test('CAL-02 an override has its own alarms, and one that is cancelled, declined or done has none', () => {
  const master = `DTSTART:20261123T090000Z\nRRULE:FREQ=DAILY;COUNT=3\n${alarm('TRIGGER:-PT10M')}`;
  const override = (lines: string) => `RECURRENCE-ID:20261124T090000Z\nDTSTART:20261124T120000Z\n${lines}`;
  const all = (lines: string, addresses: string[] = []) =>
    ask([master, override(lines)], '2026-11-22T00:00Z', '2026-12-01T00:00Z', addresses).due.map(([at]) => at);
  assert.deepEqual(all(alarm('TRIGGER:-PT30M')), ['2026-11-23T08:50', '2026-11-24T11:30', '2026-11-25T08:50']);
  const rest = ['2026-11-23T08:50', '2026-11-25T08:50'];
  assert.deepEqual(all(''), rest);
  assert.deepEqual(all(`STATUS:CANCELLED\n${alarm('TRIGGER:-PT30M')}`), rest);
  const declined = `ATTENDEE;PARTSTAT=DECLINED:mailto:Me@Example.org\n${alarm('TRIGGER:-PT30M')}`;
  assert.deepEqual(all(declined, ['mailto:me@example.org']), rest);
  assert.equal(all(declined, ['mailto:you@example.org']).length, 3);
  const done = `BEGIN:VTODO\nUID:t\nDUE:20261123T090000Z\nSTATUS:COMPLETED\n${alarm('TRIGGER:PT0S')}\nEND:VTODO`;
  assert.equal(ask([done], '2026-11-01T00:00Z').next, null);
});

test('CAL-02 what was acknowledged is not told again: ACKNOWLEDGED of the alarm, X-MOZ-LASTACK of the entry', () => {
  const series = (lines: string, trigger: string) =>
    `DTSTART:20261123T090000Z\nRRULE:FREQ=DAILY;COUNT=3\n${lines}${trigger}`;
  const acknowledged = alarm('TRIGGER:-PT10M', 'ACTION:DISPLAY', 'ACKNOWLEDGED:20261124T085000Z');
  assert.equal(ask([series('', acknowledged)], '2026-11-01T00:00Z').next, '2026-11-25T08:50');
  assert.equal(
    ask([series('X-MOZ-LASTACK:20261123T090000Z\n', alarm('TRIGGER:-PT10M'))], '2026-11-01T00:00Z').next,
    '2026-11-24T08:50',
  );
});

test('CAL-02 alarms of no kind and of no sense are passed over; one more than the most is', () => {
  const event = (lines: string) => `DTSTART:20261123T090000Z\n${lines}`;
  for (const odd of [
    alarm('TRIGGER;VALUE=DATE-TIME:19760401T005545Z', 'ACTION:NONE'),
    alarm('TRIGGER:soon'),
    alarm('X-NOTHING:1'),
  ]) {
    assert.equal(ask([event(odd)], '2026-11-01T00:00Z').next, null, odd);
  }
  const many = Array.from({ length: ALARMS_PER_COMPONENT_MAX + 1 }, (_, at) => alarm(`TRIGGER:-PT${at}M`)).join('\n');
  assert.equal(ask([event(many)], '2026-11-01T00:00Z', '2026-12-01T00:00Z').due.length, ALARMS_PER_COMPONENT_MAX);
  const often = `DTSTART:20261101T090000Z\nRRULE:FREQ=DAILY;COUNT=${ALARMS_AT_ONCE_MAX + 1}\n${alarm('TRIGGER:PT0S')}`;
  const { due } = ask([often], '2026-11-01T00:00Z', '2026-12-31T00:00Z');
  assert.deepEqual([due.length, due[0]?.[0]], [ALARMS_AT_ONCE_MAX, '2026-11-02T09:00']);
});
