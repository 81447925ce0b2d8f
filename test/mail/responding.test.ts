/** What somebody answers by a link, in objects of all forms: the series, its exceptions, an exception alone (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { respond } from '#src/calendar/scheduling/itip-reply.ts';
import { apply } from '#src/calendar/scheduling/itip-application.ts';
import { describe } from '#src/calendar/scheduling/describing.ts';
import { calendarText } from '../calendar/calendar-text.ts';
import { whenOf } from '#src/calendar/mail/words.ts';

const ZONE = 'Europe/Berlin';
const ZOE = 'mailto:zoe@example.net';
const organizer = 'ORGANIZER:mailto:alice@example.org';
const recipients = { 'mailto:alice@example.org': { identity: 'alice', status: '1.2', isReachable: true } };
const series = [
  'UID:talk',
  'DTSTART;TZID=Europe/Berlin:20270329T090000',
  'DURATION:PT1H',
  'RRULE:FREQ=WEEKLY',
  organizer,
];
const override = [
  ...['UID:talk', 'RECURRENCE-ID:20270405T070000Z', 'DTSTART;TZID=Europe/Berlin:20270405T110000', 'DURATION:PT1H'],
  organizer,
];

function answered(components: string[][], partstat: 'ACCEPTED' | 'TENTATIVE' | 'DECLINED'): string | undefined {
  const copy = Buffer.from(calendarText(...components.map((lines) => lines.join('\n'))));
  const message = respond({ bytes: copy, zone: ZONE, now: 0, address: ZOE, partstat, comment: '' });
  if (message === undefined) return undefined;
  const applied = apply({ message, copy, zone: ZONE, recipients, from: ZOE, to: 'alice' });
  return typeof applied === 'string'
    ? applied
    : Buffer.from(applied)
        .toString()
        .replaceAll(/\r?\n /g, '');
}

const linesOf = (text = '') => text.split(/\r?\n/).filter((line) => line.includes('zoe@'));

test('CAL-03 an answer is to the series and to every exception that one is invited to', () => {
  const invited = `ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:${ZOE}`;
  const other = 'ATTENDEE:mailto:yan@example.net';
  const all = answered(
    [
      [...series, invited, other],
      [...override, invited],
    ],
    'ACCEPTED',
  );
  assert.deepEqual(
    linesOf(all),
    Array.from(
      { length: 2 },
      () => `ATTENDEE;PARTSTAT=ACCEPTED;SCHEDULE-STATUS=2.0;X-PARLEY-REPLIED=19700101T000000Z:${ZOE}`,
    ),
  );
  const one = answered(
    [
      [...series, other],
      [...override, invited],
    ],
    'DECLINED',
  );
  assert.deepEqual(linesOf(one), [
    `ATTENDEE;PARTSTAT=DECLINED;SCHEDULE-STATUS=2.0;X-PARLEY-REPLIED=19700101T000000Z:${ZOE}`,
  ]);
  const alone = answered([[...override, `ATTENDEE:${ZOE.toUpperCase().replace('MAILTO', 'mailto')}`]], 'TENTATIVE');
  assert.match(
    alone ?? '',
    /ATTENDEE;PARTSTAT=TENTATIVE;SCHEDULE-STATUS=2\.0;X-PARLEY-REPLIED=19700101T000000Z:mailto:ZOE@EXAMPLE\.NET/,
  );
  assert.equal(answered([[...series, other]], 'ACCEPTED'), undefined);
  assert.equal(answered([[...series, `ATTENDEE;PARTSTAT=ACCEPTED:${ZOE}`]], 'ACCEPTED'), 'unchanged');
});

test('CAL-03 times are shown on the clock of the entry', () => {
  const shown = (...lines: string[]) => {
    const bytes = Buffer.from(calendarText(['UID:x', ...lines].join('\n')));
    const { when } = describe({ bytes, zone: ZONE });
    return when === undefined ? '' : whenOf(when, { locale: 'en-GB' }).replaceAll('day,', 'day');
  };
  assert.equal(
    shown('DTSTART;TZID=America/New_York:20270329T230000', 'DURATION:PT2H'),
    'Monday 29 March 2027, 23:00 – Tuesday 30 March 2027, 01:00 (America/New_York)',
  );
  assert.equal(shown('DTSTART:20270329T070000Z'), 'Monday 29 March 2027, 07:00 (UTC)');
  assert.equal(shown('DTSTART:20270329T090000', 'DURATION:PT1H'), 'Monday 29 March 2027, 09:00–10:00');
  assert.equal(shown('DTSTART;VALUE=DATE:20270329'), 'Monday 29 March 2027');
  assert.equal(
    shown('DTSTART;VALUE=DATE:20270329', 'DTEND;VALUE=DATE:20270331'),
    'Monday 29 March 2027 – Tuesday 30 March 2027',
  );
});
