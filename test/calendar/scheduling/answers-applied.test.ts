/** What the answers of others make of a copy (CAL-03): their lines, an occurrence of its own for one, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply } from '#src/calendar/scheduling/itip-application.ts';

const recipients = Object.fromEntries(
  ['alice', 'carol'].map((user) => [
    `mailto:${user}@example.org`,
    { identity: user, status: '1.2', isReachable: true },
  ]),
);

const person = (name: string, partstat: string, more = '') =>
  `ATTENDEE;PARTSTAT=${partstat}${more}:mailto:${name}@example.org`;

const event = (...lines: string[]) => [
  ...['BEGIN:VEVENT', 'UID:talk', 'DTSTAMP:20261121T080000Z', 'SUMMARY:Talk', 'SEQUENCE:4'],
  ...['ORGANIZER:mailto:alice@example.org', ...lines, 'END:VEVENT'],
];
const whole = (...lines: string[]) =>
  event('DTSTART:20261123T090000Z', 'DTEND:20261123T100000Z', 'RRULE:FREQ=DAILY;COUNT=5', ...lines);
const second = (...lines: string[]) =>
  event('RECURRENCE-ID:20261124T090000Z', 'DTSTART:20261124T090000Z', 'DURATION:PT1H', ...lines);
const calendar = (...events: string[][]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', ...events.flat(), 'END:VCALENDAR', ''].join('\r\n');

/** Carol's copy after what Alice's object says; a word where it stays as it is. */
function shown(organizers: string, copy: string | undefined): string {
  const applied = apply({
    ...{ message: Buffer.from(organizers), copy: copy === undefined ? undefined : Buffer.from(copy) },
    ...{ zone: 'UTC', recipients, from: 'alice', to: 'carol' },
  });
  return typeof applied === 'string' ? applied : Buffer.from(applied).toString();
}

test('CAL-03 the answers of others come, and every other byte stays', () => {
  const own = [
    ...[
      'X-OWN:1',
      'TRANSP:TRANSPARENT',
      person('bob', 'NEEDS-ACTION', ';RSVP=TRUE;CN=Bob'),
      person('carol', 'TENTATIVE'),
    ],
    ...['BEGIN:VALARM', 'TRIGGER:-PT5M', 'ACTION:DISPLAY', 'END:VALARM', 'ATTENDEE:mailto:zoe@example.net'],
  ];
  const copy = calendar(whole(...own));
  const zoe = 'ATTENDEE;PARTSTAT=DECLINED;X-PARLEY-REPLIED=20261121T080000Z:mailto:zoe@example.net';
  const organizers = calendar(
    whole(person('bob', 'ACCEPTED', ';SCHEDULE-STATUS=2.0'), person('carol', 'ACCEPTED'), zoe, 'DESCRIPTION:Newer'),
  );
  const expected = copy
    .replace('ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE;CN=Bob:', 'ATTENDEE;CN=Bob;PARTSTAT=ACCEPTED:')
    .replace('ATTENDEE:mailto:zoe', 'ATTENDEE;PARTSTAT=DECLINED:mailto:zoe');
  assert.equal(shown(organizers, copy), expected);
  assert.equal(shown(organizers, expected), 'unchanged');
  assert.equal(shown(organizers, undefined), 'unchanged');
});

test('CAL-03 who answered for somebody comes with the answer, and goes with the next one that they give themselves', () => {
  const [own, by] = [person('carol', 'TENTATIVE'), ';SENT-BY="mailto:dave@example.org"'];
  const copy = calendar(whole(person('bob', 'NEEDS-ACTION'), own));
  const delegates = calendar(whole(person('bob', 'ACCEPTED', by), own));
  const told = shown(delegates, copy).replaceAll('\r\n ', '');
  assert.equal(told, copy.replace(person('bob', 'NEEDS-ACTION'), person('bob', 'ACCEPTED', by)));
  const declined = person('bob', 'DECLINED');
  assert.equal(shown(calendar(whole(declined, own)), told), calendar(whole(declined, own)));
});

test('CAL-03 an answer to one occurrence gives the copy that occurrence, with what is its reader’s', () => {
  const alarm = ['BEGIN:VALARM', 'TRIGGER:-PT5M', 'ACTION:DISPLAY', 'END:VALARM'];
  const people = [person('bob', 'ACCEPTED'), person('carol', 'TENTATIVE')];
  const copy = calendar(whole('TRANSP:TRANSPARENT', ...people, ...alarm));
  const organizers = calendar(
    whole(person('bob', 'ACCEPTED'), person('carol', 'NEEDS-ACTION')),
    second(person('bob', 'DECLINED'), person('carol', 'NEEDS-ACTION')),
  );
  const one = shown(organizers, copy);
  assert.ok(one.startsWith(copy.slice(0, copy.indexOf('END:VCALENDAR'))), one);
  const made = one.slice(copy.indexOf('END:VCALENDAR')).split('\r\n');
  for (const line of [
    ...['RECURRENCE-ID:20261124T090000Z', 'DTSTART:20261124T090000Z', 'DURATION:PT1H', 'SEQUENCE:4'],
    ...['TRANSP:TRANSPARENT', 'TRIGGER:-PT5M', person('bob', 'DECLINED'), person('carol', 'TENTATIVE')],
  ]) {
    assert.ok(made.includes(line), `${line} in\n${made.join('\n')}`);
  }
  assert.equal(shown(organizers, one), 'unchanged');
  // What is the same as of the series needs none.
  const same = organizers.replace('PARTSTAT=DECLINED', 'PARTSTAT=ACCEPTED');
  assert.equal(shown(same, copy), 'unchanged');
  // Compared with what the series says after this very update.
  const both = same.replace(person('bob', 'ACCEPTED'), person('bob', 'TENTATIVE'));
  assert.match(shown(both, copy), /PARTSTAT=TENTATIVE:mailto:bob[^]*PARTSTAT=ACCEPTED:mailto:bob[^]*RECURRENCE-ID/);
});

test('CAL-03 an occurrence that the copy alone has by itself shows what the others answered to its series', () => {
  const own = person('carol', 'TENTATIVE');
  const people = [person('bob', 'NEEDS-ACTION'), own];
  const copy = calendar(whole(...people), second(...people));
  const declined = [person('bob', 'DECLINED'), own];
  assert.equal(shown(calendar(whole(...declined)), copy), calendar(whole(...declined), second(...declined)));
  // Not so where it is at another time, or the organiser has it by itself as well.
  const later = copy.replace('DTSTART:20261124T090000Z', 'DTSTART:20261124T110000Z');
  const kept = calendar(whole(...declined), second(...people)).replace(
    'DTSTART:20261124T090000Z',
    'DTSTART:20261124T110000Z',
  );
  assert.equal(shown(calendar(whole(...declined)), later), kept);
  assert.equal(
    shown(calendar(whole(...declined), second(...people)), copy),
    calendar(whole(...declined), second(...people)),
  );
});

test('CAL-03 what somebody took out, has at other times or is not invited to stays as it is', () => {
  const people = [person('bob', 'NEEDS-ACTION'), person('carol', 'ACCEPTED')];
  const told = [person('bob', 'DECLINED'), person('carol', 'ACCEPTED')];
  const one = calendar(whole(...people), second(...told));
  assert.equal(shown(one, calendar(whole('EXDATE:20261124T090000Z', ...people))), 'unchanged');
  const later = one.replace('DTSTART:20261124T090000Z', 'DTSTART:20261124T110000Z');
  assert.equal(shown(later, calendar(whole(...people))), 'unchanged');
  assert.equal(
    shown(calendar(whole(...people), second(person('bob', 'DECLINED'))), calendar(whole(...people))),
    'unchanged',
  );
  const all = calendar(whole(...told));
  assert.match(shown(all, calendar(whole(...people))), /DECLINED/);
  assert.equal(shown(all, calendar(whole(...people)).replaceAll('T090000Z', 'T093000Z')), 'unchanged');
  const byClient = all.replace(
    'PARTSTAT=ACCEPTED:mailto:carol',
    'PARTSTAT=ACCEPTED;SCHEDULE-AGENT=CLIENT:mailto:carol',
  );
  assert.equal(shown(byClient, calendar(whole(...people))), 'unchanged');
  assert.equal(
    shown(all, calendar(whole(...people)).replace('ORGANIZER:mailto:alice', 'ORGANIZER:mailto:dave')),
    'foreign',
  );
});
