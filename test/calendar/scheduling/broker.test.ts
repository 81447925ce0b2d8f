/** Who is told what of a change: organiser and attendee, by every kind of change, in every writing of a time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { propertyOf } from '#src/calendar/icalendar/component.ts';
import { componentsOf, participationOf } from '#src/calendar/objects/derivation.ts';
import { answer } from '#src/calendar/scheduling/itip-reply.ts';
import { apply } from '#src/calendar/scheduling/itip-application.ts';
import { organize, type Scheduled } from '#src/calendar/scheduling/itip-request.ts';
import type { Recipients } from '#src/calendar/scheduling/people.ts';
import { calendarText } from '../calendar-text.ts';

const person = (identity: string, status = '1.2') => ({ identity, status, isReachable: status.startsWith('1') });
const PEOPLE: Recipients = {
  'mailto:ann@example.org': person('ann'),
  'mailto:bob@example.org': person('bob'),
  'urn:uuid:bob': person('bob'),
  'mailto:cy@example.org': person('cy'),
  'mailto:nobody@example.org': person('mailto:nobody@example.org', '3.7'),
};
const ORGANIZER = 'ORGANIZER:mailto:ann@example.org';
const ANN = 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:ann@example.org';
const [BOB, CY] = ['ATTENDEE:mailto:bob@example.org', 'ATTENDEE:mailto:cy@example.org'];
const ZONE = 'Europe/Berlin';
const NOW = Date.parse('2026-11-01T00:00:00Z');

/** Ways to write 2026-11-23 09:00 in Berlin, and the same hour a week later. */
const ZONES: Readonly<Record<string, readonly [start: string, next: string, moved: string]>> = {
  zone: ['DTSTART;TZID=Europe/Berlin:20261123T090000', ';TZID=Europe/Berlin:20261130T090000', '20261123T110000'],
  utc: ['DTSTART:20261123T080000Z', ':20261130T080000Z', '20261123T100000Z'],
  floating: ['DTSTART:20261123T090000', ':20261130T090000', '20261123T110000'],
  day: ['DTSTART;VALUE=DATE:20261123', ';VALUE=DATE:20261130', '20261124'],
};

function bytesOf(...components: (readonly string[])[]): Uint8Array {
  return Buffer.from(calendarText(...components.map((lines) => lines.join('\n'))));
}

function organized(before: Uint8Array | undefined, after: Uint8Array | undefined): Scheduled {
  return organize({ before, after, zone: ZONE, now: NOW, recipients: PEOPLE, mailRoom: 0 }, 'ann');
}

function answeredBy(before: Uint8Array | undefined, after: Uint8Array | undefined): Scheduled {
  return answer({ before, after, zone: ZONE, now: NOW, recipients: PEOPLE, mailRoom: 0 }, 'bob');
}

/** `METHOD to,to: instance/partstat of bob …` of each message. */
function told({ messages }: Scheduled): string[] {
  return messages.map(({ method, recipients, bytes }) => {
    const object = readCalendarObject(bytes, { isMessage: true });
    assert.equal(object.method, method);
    const parts = componentsOf(object).map((component) => {
      const { attendees, recurrenceId = 'all' } = participationOf(component);
      const bob = attendees.find(({ address }) => /bob/.test(address))?.partstat ?? '-';
      return `${recurrenceId}/${bob}/${propertyOf(component, 'STATUS')?.value ?? '-'}`;
    });
    return `${method} ${recipients.join(',')}: ${parts.join(' ')}`;
  });
}

function applied(message: Uint8Array, copy: Uint8Array | undefined, from: string, to: string) {
  return apply({ message, copy, from, to, zone: ZONE, recipients: PEOPLE });
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

test('CAL-03 whoever was written in while there was no mail is not told that it is taken back', () => {
  const zoe = 'mailto:zoe@example.net';
  const recipients = { ...PEOPLE, [zoe]: person(zoe, '1.0') };
  const removed = (parameters: string) => {
    const event = ['DTSTART:20261123T080000Z', 'SUMMARY:Talk', ORGANIZER, ANN, BOB, `ATTENDEE${parameters}:${zoe}`];
    const change = { before: bytesOf(event), after: undefined, zone: ZONE, now: NOW, recipients, mailRoom: 10 };
    return organize(change, 'ann').messages.flatMap((message) => message.recipients);
  };
  assert.deepEqual(removed(';SCHEDULE-STATUS=3.7'), ['bob']);
  // A client may have dropped what the server wrote.
  assert.deepEqual(removed(''), ['bob', zoe]);
  assert.deepEqual(removed(';SCHEDULE-STATUS=1.1'), ['bob', zoe]);
});

for (const [zone, [start, next, moved]] of Object.entries(ZONES)) {
  const series = [start, 'RRULE:FREQ=WEEKLY;COUNT=4', 'SUMMARY:Talk', ORGANIZER, ANN];
  const accepted = 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob@example.org';
  const movedStart = start.replace(/:.*$/, `:${moved}`);
  const override = [`RECURRENCE-ID${next}`, `DTSTART${next}`, 'SUMMARY:Other', ORGANIZER, ANN];
  const id = next.replace(/^.*:/, '');

  test(`CAL-02 of what the organiser does each attendee is told once: ${zone}`, () => {
    assert.deepEqual(told(organized(undefined, bytesOf([...series, BOB, CY]))), ['REQUEST bob,cy: all/NEEDS-ACTION/-']);
    assert.deepEqual(told(organized(bytesOf([...series, BOB]), bytesOf([...series, BOB]))), []);
    // Moved: the answer of before is none any more, and it is a revision.
    const move = organized(bytesOf([...series, accepted]), bytesOf([movedStart, ...series.slice(1), accepted]));
    assert.deepEqual(told(move), ['REQUEST bob: all/NEEDS-ACTION/-']);
    assert.match(text(move.bytes), /SEQUENCE:1\r\n/);
    assert.match(text(move.bytes), /PARTSTAT=NEEDS-ACTION;SCHEDULE-STATUS=1.2:mailto:bob/);
    // New words leave the answer as it is.
    const renamed = organized(bytesOf([...series, accepted]), bytesOf([...series, accepted, 'LOCATION:Room 1']));
    assert.deepEqual(told(renamed), ['REQUEST bob: all/ACCEPTED/-']);
    // An occurrence gets words of its own; one that somebody else is invited to concerns them alone.
    const one = organized(bytesOf([...series, accepted]), bytesOf([...series, accepted], [...override, accepted]));
    assert.deepEqual(told(one), [`REQUEST bob: all/ACCEPTED/- ${id}/ACCEPTED/-`]);
    const single = organized(bytesOf([...series, BOB]), bytesOf([...series, BOB], [...override, BOB, CY]));
    assert.deepEqual(told(single), [
      `REQUEST bob: all/NEEDS-ACTION/- ${id}/NEEDS-ACTION/-`,
      `REQUEST cy: ${id}/NEEDS-ACTION/-`,
    ]);
    // Bob is not asked to one of them: to him the series leaves it out.
    const without = organized(bytesOf([...series, BOB]), bytesOf([...series, BOB], [...override, CY]));
    assert.deepEqual(told(without), ['REQUEST bob: all/NEEDS-ACTION/-', `REQUEST cy: ${id}/-/-`]);
    assert.ok(text(without.messages[0]?.bytes).includes(`EXDATE${next}`));
    // Only that one was Cy's, and it is taken back.
    const lost = organized(
      bytesOf([...series, BOB], [...override, BOB, CY]),
      bytesOf([...series, BOB], [...override, BOB]),
    );
    assert.deepEqual(told(lost), [
      `REQUEST bob: all/NEEDS-ACTION/- ${id}/NEEDS-ACTION/-`,
      `CANCEL cy: ${id}/NEEDS-ACTION/CANCELLED`,
    ]);
    assert.deepEqual(told(organized(bytesOf([...series, BOB, CY]), bytesOf([...series, BOB]))), [
      'REQUEST bob: all/NEEDS-ACTION/-',
      'CANCEL cy: all/NEEDS-ACTION/CANCELLED',
    ]);
    assert.deepEqual(told(organized(bytesOf([...series, BOB, CY]), undefined)), [
      'CANCEL bob,cy: all/NEEDS-ACTION/CANCELLED',
    ]);
  });

  test(`CAL-03 a date that the organiser leaves out comes back with the organiser’s word, one that the attendee left out stays out: ${zone}`, () => {
    const exdate = `EXDATE${next}`;
    const full = bytesOf([...series, accepted]);
    const without = bytesOf([...series, accepted, exdate]);
    const asked = (before: Uint8Array | undefined, after: Uint8Array) =>
      organized(before, after).messages[0]?.bytes as Uint8Array;
    const taken = (message: Uint8Array, copy: Uint8Array | undefined) =>
      applied(message, copy, 'ann', 'bob') as Uint8Array;
    const leavesOut = (copy: Uint8Array) => /^EXDATE/m.test(text(copy));
    const first = taken(asked(undefined, full), undefined);
    assert.equal(leavesOut(first), false);
    const second = taken(asked(full, without), first);
    assert.equal(leavesOut(second), true);
    // Whatever the organiser says besides.
    const renamed = [...series.filter((line) => !line.startsWith('SUMMARY')), 'SUMMARY:Other', accepted];
    assert.equal(leavesOut(taken(asked(without, bytesOf(renamed)), second)), false);
    assert.equal(leavesOut(taken(asked(without, bytesOf([...renamed, exdate])), second)), true);
    // The attendee's own, of which the organiser was not told yet.
    const own = Buffer.from(text(first).replace('SUMMARY:Talk', `SUMMARY:Talk\r\n${exdate}`));
    assert.equal(leavesOut(taken(asked(full, bytesOf(renamed)), own)), true);
    // Taken out of one occurrence, and asked to the series without one of its own again.
    const single = bytesOf([...series, accepted], [...override, CY]);
    const out = taken(asked(full, single), first);
    assert.equal(leavesOut(out), true);
    assert.equal(leavesOut(taken(asked(single, full), out)), false);
    // Nobody else is told whose word it is.
    assert.doesNotMatch(text(asked(without, bytesOf([...renamed, 'X-PARLEY-LEFT-OUT:t1']))), /X-PARLEY-LEFT-OUT/);
  });

  test(`CAL-03 whoever takes a date out of what they declined, and then accepts the rest, is not waited for on that date: ${zone}`, () => {
    const exdate = `EXDATE${next}`;
    const [declined, waiting] = ['DECLINED', 'NEEDS-ACTION'].map(
      (partstat) => `ATTENDEE;PARTSTAT=${partstat}:mailto:bob@example.org`,
    );
    const reply = answeredBy(bytesOf([...series, declined as string, exdate]), bytesOf([...series, accepted, exdate]))
      .messages[0]?.bytes as Uint8Array;
    for (const stored of [declined, waiting]) {
      const taken = text(applied(reply, bytesOf([...series, stored as string]), 'bob', 'ann') as Uint8Array);
      const [whole = '', single = ''] = taken.split('BEGIN:VEVENT').slice(1);
      assert.match(whole, /PARTSTAT=ACCEPTED[^\n]*bob/);
      assert.match(single, new RegExp(`RECURRENCE-ID${next}`));
      assert.match(single, /PARTSTAT=DECLINED[^\n]*bob/);
    }
  });

  test(`CAL-03 a date that the organiser left out is not declined beside an answer to the series: ${zone}`, () => {
    const exdate = `EXDATE${next}`;
    const asked = organized(undefined, bytesOf([...series, BOB, exdate])).messages[0]?.bytes as Uint8Array;
    const copy = applied(asked, undefined, 'ann', 'bob') as Uint8Array;
    const says = (before: Uint8Array) =>
      told(
        answeredBy(
          before,
          Buffer.from(text(before).replace('ATTENDEE:mailto:bob', 'ATTENDEE;PARTSTAT=TENTATIVE:mailto:bob')),
        ),
      );
    assert.deepEqual(says(copy), ['REPLY ann: all/TENTATIVE/-']);
    // One that the attendee left out is.
    const own = Buffer.from(text(copy).replace(/X-PARLEY-LEFT-OUT:[^\r]*/, 'X-PARLEY-LEFT-OUT:'));
    assert.deepEqual(says(own), [`REPLY ann: all/TENTATIVE/- ${id}/DECLINED/-`]);
  });

  test(`CAL-03 of what an attendee does the organiser is told the answer alone: ${zone}`, () => {
    const copy = bytesOf([...series, BOB]);
    assert.deepEqual(told(answeredBy(copy, bytesOf([...series, accepted]))), ['REPLY ann: all/ACCEPTED/-']);
    assert.deepEqual(told(answeredBy(copy, bytesOf([...series, BOB, 'TRANSP:TRANSPARENT']))), []);
    const declined = answeredBy(
      copy,
      bytesOf([...series, BOB], [...override, 'ATTENDEE;PARTSTAT=DECLINED:mailto:bob@example.org']),
    );
    assert.deepEqual(told(declined), [`REPLY ann: ${id}/DECLINED/-`]);
    assert.match(text(declined.bytes), /ORGANIZER;SCHEDULE-STATUS=1.2:mailto:ann/);
    // Left out of the own copy: declined for that day.
    const left = answeredBy(copy, bytesOf([...series, BOB, `EXDATE${next}`]));
    assert.deepEqual(told(left), [`REPLY ann: ${id}/DECLINED/-`]);
    assert.deepEqual(told(answeredBy(copy, undefined)), ['REPLY ann: all/DECLINED/-']);
    const gone = bytesOf([...series, 'ATTENDEE;PARTSTAT=DECLINED:mailto:bob@example.org']);
    assert.deepEqual(told(answeredBy(gone, undefined)), []);
    assert.deepEqual(told(answeredBy(bytesOf([...series, BOB, 'STATUS:CANCELLED']), undefined)), []);
  });

  test(`a message comes to the copy once, and what is the attendee’s own stays: ${zone}`, () => {
    const [request] = organized(undefined, bytesOf([...series, BOB])).messages;
    const copy = applied(request?.bytes as Uint8Array, undefined, 'ann', 'bob') as Uint8Array;
    assert.equal(applied(request?.bytes as Uint8Array, copy, 'ann', 'bob'), 'unchanged');
    const own = Buffer.from(
      text(copy)
        .replace(/(ATTENDEE[^\r]*):mailto:bob/, 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob')
        .replace(
          'END:VEVENT',
          'TRANSP:TRANSPARENT\r\nX-MINE:1\r\nBEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nEND:VALARM\r\nEND:VEVENT',
        ),
    );
    const renamed = organized(bytesOf([...series, BOB]), bytesOf([...series, BOB, 'LOCATION:Room 1']));
    const merged = text(applied(renamed.messages[0]?.bytes as Uint8Array, own, 'ann', 'bob') as Uint8Array);
    for (const line of [
      'LOCATION:Room 1',
      'TRANSP:TRANSPARENT',
      'X-MINE:1',
      'TRIGGER:-PT5M',
      'PARTSTAT=ACCEPTED:mailto:bob',
    ])
      assert.ok(merged.includes(line), line);
    const move = organized(bytesOf([...series, BOB]), bytesOf([movedStart, ...series.slice(1), BOB]));
    const again = text(applied(move.messages[0]?.bytes as Uint8Array, own, 'ann', 'bob') as Uint8Array);
    assert.ok(!again.includes('PARTSTAT=ACCEPTED:mailto:bob'));
    // The answer to one occurrence makes an override of it with the organiser.
    const ask = bytesOf([...series, BOB]);
    const reply = answeredBy(ask, bytesOf([...series, BOB, `EXDATE${next}`])).messages[0]?.bytes as Uint8Array;
    const answered = applied(reply, ask, 'bob', 'ann') as Uint8Array;
    const [, other] = componentsOf(readCalendarObject(answered)).map(participationOf);
    assert.deepEqual(
      [other?.recurrenceId, other?.attendees.find(({ address }) => /bob/.test(address))?.partstat],
      [id, 'DECLINED'],
    );
    assert.equal(applied(reply, answered, 'bob', 'ann'), 'unchanged');
    // To a revision that was not seen yet it answers nothing.
    assert.equal(applied(reply, bytesOf([...series, BOB, 'SEQUENCE:1']), 'bob', 'ann'), 'unchanged');
    const [cancel] = organized(ask, undefined).messages;
    const cancelled = applied(cancel?.bytes as Uint8Array, own, 'ann', 'bob') as Uint8Array;
    assert.ok(text(cancelled).includes('STATUS:CANCELLED'));
    assert.equal(applied(cancel?.bytes as Uint8Array, cancelled, 'ann', 'bob'), 'unchanged');
  });
}

test('CAL-04 an answer by mail that the organiser’s program did not know of yet is no less an answer', () => {
  const eve = 'mailto:eve@example.net';
  const recipients = { ...PEOPLE, [eve]: person(eve, '1.0') };
  const event = (parameters: string, start = '20261123T080000Z') =>
    bytesOf([`DTSTART:${start}`, 'SUMMARY:Talk', ORGANIZER, ANN, `ATTENDEE${parameters}:${eve}`]);
  const replied = ';PARTSTAT=DECLINED;X-PARLEY-REPLIED=20261101T080000Z';
  const written = (after: Uint8Array) =>
    /PARTSTAT=(\w[\w-]*)[^:]*:mailto:eve/.exec(
      text(
        organize({ before: event(replied), after, zone: ZONE, now: NOW, recipients, mailRoom: 10 }, 'ann').bytes,
      ).replaceAll(/\r\n /g, ''),
    )?.[1];
  assert.equal(written(event(';PARTSTAT=NEEDS-ACTION')), 'DECLINED');
  assert.equal(written(event(';PARTSTAT=ACCEPTED')), 'DECLINED');
  // Whoever knows of the answer may note another one, and other times are answered anew.
  assert.equal(written(event(replied.replace('DECLINED', 'ACCEPTED'))), 'ACCEPTED');
  assert.equal(written(event(';PARTSTAT=NEEDS-ACTION', '20261123T090000Z')), 'NEEDS-ACTION');
});

test('CAL-03 an answer that crosses with a shorter series counts, and one that crosses with a longer one does not', () => {
  const eve = 'mailto:eve@example.net';
  const recipients = { ...PEOPLE, [eve]: person(eve, '1.0') };
  const series = (count: number, line: string) =>
    bytesOf(['DTSTART:20261123T080000Z', `RRULE:FREQ=WEEKLY;COUNT=${count}`, ORGANIZER, ANN, line]);
  const unanswered = 'ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:bob@example.org';
  const [before, answered] = [series(4, unanswered), series(4, unanswered.replace('NEEDS-ACTION', 'ACCEPTED'))];
  const replied = `ATTENDEE;PARTSTAT=DECLINED;X-PARLEY-REPLIED=20261101T080000Z:${eve}`;
  const answerIn = (bytes: Uint8Array | undefined, who: string) =>
    new RegExp(`PARTSTAT=([\\w-]+)[^:]*:mailto:${who}@`).exec(text(bytes).replaceAll(/\r\n /g, ''))?.[1];
  for (const [count, kept] of [
    [3, true],
    [5, false],
  ] as const) {
    // Bob answered in his copy while the organiser, who does not know it yet, wrote.
    const [message] = organized(before, series(count, unanswered)).messages;
    // Either way it is a revision (RFC 5546, 2.1.4).
    assert.match(text(message?.bytes), /^SEQUENCE:1\r$/m);
    const copy = applied(message?.bytes as Uint8Array, answered, 'ann', 'bob') as Uint8Array;
    assert.equal(answerIn(copy, 'bob'), kept ? 'ACCEPTED' : 'NEEDS-ACTION', `COUNT=${count}`);
    // Eve answered by mail, of which the organiser's program does not know.
    const after = series(count, `ATTENDEE;PARTSTAT=NEEDS-ACTION:${eve}`);
    const change = { before: series(4, replied), after, zone: ZONE, now: NOW, recipients, mailRoom: 10 };
    assert.equal(answerIn(organize(change, 'ann').bytes, 'eve'), kept ? 'DECLINED' : 'NEEDS-ACTION', `COUNT=${count}`);
  }
});

test('RECURRENCE-ID in UTC or another zone is the same occurrence', () => {
  const series = ['DTSTART;TZID=Europe/Berlin:20261123T090000', 'RRULE:FREQ=WEEKLY;COUNT=4', ORGANIZER, ANN, BOB];
  for (const id of [
    ':20261130T080000Z',
    ';TZID=America/New_York:20261130T030000',
    ';TZID=Europe/Berlin:20261130T090000',
  ]) {
    const accepted = 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob@example.org';
    const override = (line: string) => [
      `RECURRENCE-ID${id}`,
      'DTSTART;TZID=Europe/Berlin:20261130T090000',
      ORGANIZER,
      ANN,
      line,
    ];
    const stored = [';TZID=Europe/Berlin:20261130T090000'].map((own) => [
      `RECURRENCE-ID${own}`,
      ...override(BOB).slice(1),
    ])[0] as string[];
    const organizers = bytesOf(series, stored);
    assert.deepEqual(told(organized(organizers, bytesOf(series, override(BOB)))), []);
    const reply = answeredBy(bytesOf(series, override(BOB)), bytesOf(series, override(accepted))).messages[0]?.bytes;
    const answered = readCalendarObject(applied(reply as Uint8Array, organizers, 'bob', 'ann') as Uint8Array);
    assert.equal(answered.overrides.length, 1);
    assert.equal(participationOf(answered.overrides[0] as never).attendees[1]?.partstat, 'ACCEPTED');
  }
});

test('an invitation to one occurrence alone has no master, and what is not about the copy changes nothing', () => {
  const single = bytesOf(['RECURRENCE-ID:20261130T080000Z', 'DTSTART:20261130T080000Z', ORGANIZER, ANN, BOB]);
  const [request] = organized(undefined, single).messages;
  const copy = applied(request?.bytes as Uint8Array, undefined, 'ann', 'bob') as Uint8Array;
  assert.equal(readCalendarObject(copy).master, undefined);
  assert.deepEqual(told(answeredBy(copy, undefined)), ['REPLY ann: 20261130T080000Z/DECLINED/-']);
  // Somebody else's object of the same UID, or a private one, is not written over.
  assert.equal(applied(request?.bytes as Uint8Array, bytesOf(['DTSTART:20261130T080000Z']), 'ann', 'bob'), 'foreign');
  assert.equal(applied(request?.bytes as Uint8Array, copy, 'cy', 'bob'), 'foreign');
  // Whoever is not invited answers nothing.
  const reply = answeredBy(single, undefined).messages[0]?.bytes as Uint8Array;
  assert.equal(applied(reply, single, 'cy', 'ann'), 'unchanged');
});

test('SCHEDULE-AGENT and SCHEDULE-FORCE-SEND are honoured, and stay between client and server', () => {
  const event = ['DTSTART:20261123T080000Z', ORGANIZER, ANN];
  for (const agent of ['CLIENT', 'NONE']) {
    const theirs = [...event, `ATTENDEE;SCHEDULE-AGENT=${agent}:mailto:bob@example.org`];
    assert.deepEqual(told(organized(undefined, bytesOf(theirs))), []);
    assert.deepEqual(told(organized(bytesOf(theirs), undefined)), []);
    const asked = [event[0] as string, `ORGANIZER;SCHEDULE-AGENT=${agent}:mailto:ann@example.org`];
    const changed = bytesOf([...asked, 'ATTENDEE;PARTSTAT=DECLINED:mailto:bob@example.org']);
    assert.deepEqual(told(answeredBy(bytesOf([...asked, BOB]), changed)), []);
  }
  const forced = [...event, 'ATTENDEE;SCHEDULE-AGENT=SERVER;SCHEDULE-FORCE-SEND=REQUEST:mailto:bob@example.org'];
  const again = organized(bytesOf([...event, BOB]), bytesOf(forced));
  assert.deepEqual(told(again), ['REQUEST bob: all/NEEDS-ACTION/-']);
  assert.ok(!text(again.bytes).includes('FORCE-SEND'));
  assert.ok(!/SCHEDULE-/.test(text(again.messages[0]?.bytes)));
  const reply = [event[0] as string, 'ORGANIZER;SCHEDULE-FORCE-SEND=REPLY:mailto:ann@example.org', BOB];
  assert.deepEqual(told(answeredBy(bytesOf(reply), bytesOf(reply))), ['REPLY ann: all/NEEDS-ACTION/-']);
});

test('nobody who cannot be told gets a message, and the object says so; two addresses of one person are one', () => {
  const event = ['DTSTART:20261123T080000Z', ORGANIZER, ANN];
  const { bytes, messages } = organized(
    undefined,
    bytesOf([...event, 'ATTENDEE:mailto:nobody@example.org', BOB, 'ATTENDEE:urn:uuid:bob']),
  );
  assert.deepEqual(
    messages.map(({ recipients }) => recipients),
    [['bob']],
  );
  assert.match(text(bytes), /ATTENDEE;SCHEDULE-STATUS=3.7:mailto:nobody/);
  assert.match(text(bytes), /ATTENDEE;SCHEDULE-STATUS=1.2:mailto:bob/);
});

test('a message defines the zones that it names', () => {
  const [request] = organized(
    undefined,
    bytesOf(['DTSTART;TZID=Europe/Berlin:20261123T090000', ORGANIZER, ANN, BOB]),
  ).messages;
  assert.match(text(request?.bytes), /BEGIN:VTIMEZONE\r\nTZID:Europe\/Berlin/);
});

test('an instance that is taken back while another one changes is cancelled in the copy of who has single ones', () => {
  const series = ['DTSTART:20261123T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=4', 'SUMMARY:Talk', ORGANIZER, ANN];
  const single = (day: string, words: string, ...people: string[]) => [
    ...[`RECURRENCE-ID:202611${day}T090000Z`, `DTSTART:202611${day}T090000Z`, `SUMMARY:${words}`, ORGANIZER, ANN],
    ...people,
  ];
  const both = bytesOf(series, single('23', 'One', CY), single('30', 'Two', CY));
  const [request] = organized(undefined, both).messages;
  const copy = applied(request?.bytes as Uint8Array, undefined, 'ann', 'cy') as Uint8Array;
  const change = organized(both, bytesOf(series, single('23', 'Other', CY), single('30', 'Two')));
  assert.deepEqual(told(change), ['REQUEST cy: 20261123T090000Z/-/-']);
  const message = change.messages[0]?.bytes as Uint8Array;
  const changed = applied(message, copy, 'ann', 'cy') as Uint8Array;
  const shown = componentsOf(readCalendarObject(changed)).map((component) => [
    propertyOf(component, 'SUMMARY')?.value,
    propertyOf(component, 'STATUS')?.value,
  ]);
  assert.deepEqual(shown, [
    ['Other', undefined],
    ['Two', 'CANCELLED'],
  ]);
  assert.equal(applied(message, changed, 'ann', 'cy'), 'unchanged');
});

test('whoever loses a series and keeps one instance of it keeps that one', () => {
  const series = (...people: string[]) => [
    ...['DTSTART:20261123T090000Z', 'RRULE:FREQ=WEEKLY;COUNT=4', 'SUMMARY:Talk', ORGANIZER, ANN],
    ...people,
  ];
  const one = ['RECURRENCE-ID:20261130T090000Z', 'DTSTART:20261130T090000Z', 'SUMMARY:One', ORGANIZER, ANN, CY];
  const before = bytesOf(series(CY), one);
  const [request] = organized(undefined, before).messages;
  const copy = applied(request?.bytes as Uint8Array, undefined, 'ann', 'cy') as Uint8Array;
  const change = organized(before, bytesOf(series(), one));
  assert.deepEqual(told(change), ['REQUEST cy: 20261130T090000Z/-/-']);
  const kept = applied(change.messages[0]?.bytes as Uint8Array, copy, 'ann', 'cy') as Uint8Array;
  const shown = componentsOf(readCalendarObject(kept)).map((component) => [
    propertyOf(component, 'SUMMARY')?.value,
    propertyOf(component, 'STATUS')?.value,
  ]);
  assert.deepEqual(shown, [
    ['Talk', 'CANCELLED'],
    ['One', undefined],
  ]);
  assert.equal(indexOf(readCalendarObject(kept), ZONE).isCancelled, false);
});
