/** Holds that an edit changes the lines it must and leaves every other byte as its client wrote it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { makeComponent, makeProperty } from '#src/calendar/icalendar/component.ts';
import {
  changePerson,
  changeProperties,
  endSeriesBefore,
  excludeInstance,
  overrideFor,
  putOverride,
  removeOverride,
} from '#src/calendar/icalendar/edits.ts';
import { busyPeriods, makeFreeBusy } from '#src/calendar/icalendar/free-busy.ts';
import { writeCalendar } from '#src/calendar/icalendar/generated-calendar.ts';
import { instanceProperty, timingOf, timingProperties } from '#src/calendar/icalendar/timing.ts';
import { Series } from '#src/calendar/recurrence/series.ts';
import { minute } from '../calendar-text.ts';

const ZONE = 'Europe/Berlin';

/** As clients write: odd case, folds, a quoted parameter that nothing needs, a blank line, a letter of two bytes. */
const SOURCE = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'X-ODD;param="quoted":kept',
  'BEGIN:VEVENT',
  'uid:series@example.org',
  'DTSTART;TZID=Europe/Berlin:20261102T090000',
  'RRULE:FREQ=WEEKLY;WKST=SU;COUNT=10',
  'EXDATE;TZID=Europe/Berlin:20261109T090000,20261130T090000',
  'ORGANIZER:mailto:boss@example.org',
  'ATTENDEE;CN="Ann; the first";PARTSTAT=NEEDS-ACTION;',
  ' RSVP=TRUE:mailto:Ann@example.org',
  'ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:ben@example.org',
  'SUMMARY:gr\u00FCn und lang, damit die Zeile an einer Stelle gefaltet wird, die',
  '  niemand sonst w\u00E4hlt',
  '',
  'END:VEVENT',
  'BEGIN:VEVENT',
  'UID:series@example.org',
  'RECURRENCE-ID:20261123T080000Z',
  'DTSTART:20261123T120000Z',
  'ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:ann@example.org',
  'END:VEVENT',
  'END:VCALENDAR',
  '',
];
const written = (lines: readonly string[], eol = '\r\n') => Buffer.from(lines.join(eol));
const object = () => readCalendarObject(written(SOURCE));

/** The lines that are in one text and not in the other, of both. */
function changed(after: Uint8Array | undefined, before: readonly string[] = SOURCE, eol = '\r\n') {
  assert.ok(after !== undefined);
  readCalendarObject(after);
  const lines = Buffer.from(after).toString().split(eol);
  return { gone: before.filter((it) => !lines.includes(it)), come: lines.filter((it) => !before.includes(it)) };
}

test('an answer changes the line of its person in every component, and nothing else', () => {
  const ann = { name: 'ATTENDEE', address: 'MAILTO:ann@example.org' } as const;
  assert.deepEqual(changed(changePerson(object(), ann, { PARTSTAT: 'ACCEPTED', RSVP: undefined })), {
    gone: [SOURCE[9], SOURCE[10], SOURCE[20]],
    come: [
      'ATTENDEE;CN="Ann; the first";PARTSTAT=ACCEPTED:mailto:Ann@example.org',
      'ATTENDEE;PARTSTAT=ACCEPTED:mailto:ann@example.org',
    ],
  });
  const once = overrideFor(object(), '20261123T090000', ZONE);
  assert.ok(once !== undefined);
  assert.deepEqual(changed(changePerson(object(), ann, { PARTSTAT: 'DECLINED' }, [once])), {
    gone: [SOURCE[20]],
    come: ['ATTENDEE;PARTSTAT=DECLINED:mailto:ann@example.org'],
  });
  assert.equal(
    changePerson(object(), { name: 'ATTENDEE', address: 'mailto:eve@example.org' }, { PARTSTAT: 'X' }),
    undefined,
  );
});

test('a delivery status is added to the one line that it is about', () => {
  const ben = { name: 'ATTENDEE', address: 'mailto:ben@example.org' } as const;
  assert.deepEqual(changed(changePerson(object(), ben, { 'SCHEDULE-STATUS': '1.2' })), {
    gone: [SOURCE[11]],
    come: ['ATTENDEE;PARTSTAT=NEEDS-ACTION;SCHEDULE-STATUS=1.2:mailto:ben@example.org'],
  });
  const boss = { name: 'ORGANIZER', address: 'mailto:boss@example.org' } as const;
  assert.deepEqual(changed(changePerson(object(), boss, { 'SCHEDULE-STATUS': '2.0;Success' })), {
    gone: [SOURCE[8]],
    come: ['ORGANIZER;SCHEDULE-STATUS="2.0;Success":mailto:boss@example.org'],
  });
});

test('an instance is taken out by one line, with its override', () => {
  assert.deepEqual(changed(excludeInstance(object(), '20261116T090000', ZONE)), {
    gone: [],
    come: ['EXDATE;TZID=Europe/Berlin:20261116T090000'],
  });
  const { gone, come } = changed(excludeInstance(object(), '20261123T090000', ZONE));
  assert.deepEqual(come, ['EXDATE;TZID=Europe/Berlin:20261123T090000']);
  assert.deepEqual(gone, SOURCE.slice(17, 21));
  assert.equal(excludeInstance(object(), 'nonsense', ZONE), undefined);
});

test('a file with bare line ends keeps them', () => {
  const bare = readCalendarObject(written(SOURCE, '\n'));
  assert.deepEqual(changed(excludeInstance(bare, '20261116T090000', ZONE), SOURCE, '\n'), {
    gone: [],
    come: ['EXDATE;TZID=Europe/Berlin:20261116T090000'],
  });
});

test('an override takes the place of the one of the same instance, is added for another, and goes', () => {
  const override = (recurrenceId: string) =>
    makeComponent('VEVENT', [
      makeProperty('UID', 'series@example.org'),
      makeProperty('RECURRENCE-ID', recurrenceId, [['TZID', ZONE]]),
      makeProperty('DTSTART', recurrenceId, [['TZID', ZONE]]),
      makeProperty('SUMMARY', 'gr\u00FCner'),
    ]);
  const replacing = changed(putOverride(object(), '20261123T090000', override('20261123T090000'), ZONE));
  assert.deepEqual(replacing.gone, SOURCE.slice(18, 21));
  assert.deepEqual(replacing.come, [
    'RECURRENCE-ID;TZID=Europe/Berlin:20261123T090000',
    'DTSTART;TZID=Europe/Berlin:20261123T090000',
    'SUMMARY:gr\u00FCner',
  ]);
  const added = putOverride(object(), '20261116T090000', override('20261116T090000'), ZONE);
  assert.deepEqual(changed(added).gone, []);
  assert.equal(readCalendarObject(added).overrides.length, 2);
  const removed = removeOverride(object(), '20261123T090000', ZONE);
  assert.deepEqual(changed(removed).come, []);
  assert.equal(readCalendarObject(removed ?? new Uint8Array()).overrides.length, 0);
  assert.equal(removeOverride(object(), '20261116T090000', ZONE), undefined);
});

test('a series ends before an instance: an UNTIL, and what it has from there on goes', () => {
  const ended = endSeriesBefore(object(), '20261123T090000', ZONE);
  assert.deepEqual(changed(ended), {
    gone: [SOURCE[6], SOURCE[7], ...SOURCE.slice(17, 21)],
    come: ['RRULE:FREQ=WEEKLY;WKST=SU;UNTIL=20261123T075959Z', 'EXDATE;TZID=Europe/Berlin:20261109T090000'],
  });
  const window = { from: Date.parse('2026-01-01'), to: Date.parse('2028-01-01') };
  const { occurrences } = expand(readCalendarObject(ended ?? new Uint8Array()), window, { zone: ZONE, most: 50 });
  assert.deepEqual(
    occurrences.map(({ start }) => minute(start)),
    ['2026-11-02T08:00Z', '2026-11-16T08:00Z'],
  );
  assert.equal(endSeriesBefore(object(), '20261102T090000', ZONE), undefined);
});

test('a series of days ends on the day before', () => {
  const days = [
    'BEGIN:VCALENDAR',
    'BEGIN:VEVENT',
    'UID:1',
    'DTSTART;VALUE=DATE:20261102',
    'RRULE:FREQ=DAILY',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ];
  const ended = endSeriesBefore(readCalendarObject(written(days)), '20261105', ZONE);
  assert.deepEqual(changed(ended, days).come, ['RRULE:FREQ=DAILY;UNTIL=20261104']);
});

test('properties are replaced, added and taken out by name, and what stays the same is not touched', () => {
  const { master } = object();
  assert.ok(master !== undefined);
  const after = changeProperties(object(), master, {
    SUMMARY: [makeProperty('SUMMARY', 'new')],
    LOCATION: [makeProperty('LOCATION', 'here')],
    EXDATE: [],
    ORGANIZER: [makeProperty('ORGANIZER', 'mailto:boss@example.org')],
  });
  assert.deepEqual(changed(after), {
    gone: [SOURCE[7], SOURCE[12], SOURCE[13]],
    come: ['SUMMARY:new', 'LOCATION:here'],
  });
});

test('a line end in a value or a parameter cannot begin a line', () => {
  const ben = { name: 'ATTENDEE', address: 'mailto:ben@example.org' } as const;
  const after = changePerson(object(), ben, { PARTSTAT: 'X\r\nSUMMARY:forged' });
  assert.deepEqual(changed(after).come, ['ATTENDEE;PARTSTAT="X^nSUMMARY:forged":mailto:ben@example.org']);
  const { master } = object();
  assert.ok(master !== undefined);
  const value = changeProperties(object(), master, { URL: [makeProperty('URL', 'x\r\nSUMMARY:forged')] });
  assert.deepEqual(changed(value).come, ['URL:x SUMMARY:forged']);
});

test('free-busy joins what touches, leaves out what is free or cancelled, and tells tentative apart', () => {
  const event = (start: string, end: string, more = '') =>
    `BEGIN:VEVENT\r\nUID:1\r\nRECURRENCE-ID:${start}\r\nDTSTART:${start}\r\nDTEND:${end}\r\n${more}END:VEVENT\r\n`;
  const text = [
    event('20261102T090000Z', '20261102T100000Z'),
    event('20261102T100000Z', '20261102T110000Z'),
    event('20261102T093000Z', '20261102T094500Z'),
    event('20261102T103000Z', '20261102T120000Z', 'STATUS:TENTATIVE\r\n'),
    event('20261102T130000Z', '20261102T140000Z', 'TRANSP:TRANSPARENT\r\n'),
    event('20261102T150000Z', '20261102T160000Z', 'STATUS:CANCELLED\r\n'),
  ].join('');
  const window = { from: Date.parse('2026-11-02T09:30:00Z'), to: Date.parse('2026-11-03') };
  const many = readCalendarObject(Buffer.from(`BEGIN:VCALENDAR\r\n${text}END:VCALENDAR\r\n`));
  const periods = busyPeriods(expand(many, window, { zone: 'UTC', most: 100 }).occurrences, window);
  const lines = writeCalendar([makeFreeBusy(periods, window, { uid: 'f', stamp: window.from })], { method: 'REPLY' });
  assert.deepEqual(
    lines.split('\r\n').filter((it) => it.startsWith('FREEBUSY')),
    [
      'FREEBUSY;FBTYPE=BUSY:20261102T093000Z/20261102T110000Z',
      'FREEBUSY;FBTYPE=BUSY-TENTATIVE:20261102T103000Z/20261102T120000Z',
    ],
  );
});

test('when an entry is goes to properties and back', () => {
  for (const timing of [
    { start: '2026-11-02T09:00:00', tz: 'Europe/Berlin', duration: 'PT1H' },
    { start: '2026-11-02T09:00:00', tz: 'UTC', duration: 'P1DT2H' },
    { start: '2026-11-02T09:00:00', duration: 'PT0S' },
    { start: '2026-11-02', duration: 'P2D' },
  ]) {
    const properties = timingProperties(timing);
    assert.ok(typeof properties !== 'string');
    const event = makeComponent('VEVENT', [makeProperty('UID', '1'), ...properties]);
    const { master } = new Series(readCalendarObject(Buffer.from(writeCalendar([event]))), ZONE);
    assert.ok(master !== undefined);
    assert.deepEqual(timingOf(master), timing);
  }
  for (const [timing, why] of [
    [{ start: '2026-02-30', duration: 'P1D' }, /start/],
    [{ start: '2026-11-02T09:00:00', duration: '-PT1H' }, /duration/],
    [{ start: '2026-11-02', duration: 'PT1H' }, /whole days/],
    [{ start: '2026-11-02', tz: 'Europe/Berlin', duration: 'P1D' }, /tz/],
    [{ start: '2026-11-02T09:00:00', tz: 'Mars/Base', duration: 'PT1H' }, /tz/],
  ] as const) {
    const refusal = timingProperties(timing);
    assert.match(typeof refusal === 'string' ? refusal : '', why);
  }
});

test('an instance is named in the words of its master', () => {
  const berlin = { wall: 0, isDate: false, isUtc: false, tzid: ZONE };
  assert.deepEqual(instanceProperty('EXDATE', '20261102T090000', berlin)?.parameters, [
    { name: 'TZID', values: [ZONE] },
  ]);
  assert.deepEqual(instanceProperty('RDATE', '20261102T090000Z', berlin)?.parameters, []);
  assert.deepEqual(instanceProperty('RECURRENCE-ID', '20261102', berlin)?.parameters, [
    { name: 'VALUE', values: ['DATE'] },
  ]);
  assert.equal(instanceProperty('EXDATE', '2026', berlin), undefined);
});
