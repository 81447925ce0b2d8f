/** What users of other calendars saw, each held not to happen here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { calendarText, expanded, indexed, minute, startsOf } from '../calendar-text.ts';

const WEEKLY = `DTSTART;TZID=Europe/Berlin:20261102T090000
  DTEND;TZID=Europe/Berlin:20261102T100000
  RRULE:FREQ=WEEKLY
  SUMMARY:weekly`;

test('a series whose every instance is taken out shows nothing, and does not end every sync of its calendar', () => {
  const series = ['DTSTART:20261102T090000Z\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE:20261102T090000Z,20261103T090000Z'];
  assert.deepEqual(startsOf(series, '2026-11-01', '2026-12-01'), []);
  assert.equal(minute(indexed(series).first), '2026-11-02T09:00Z');
  assert.equal(minute(indexed(series).last ?? 0), '2026-11-03T09:00Z');
});

test('a weekly meeting stays at nine when the clocks change', () => {
  const series = ['DTSTART;TZID=Europe/Berlin:20261005T090000\nRRULE:FREQ=WEEKLY'];
  assert.deepEqual(startsOf(series, '2026-10-18', '2026-11-03'), [
    '2026-10-19T07:00Z',
    '2026-10-26T08:00Z',
    '2026-11-02T08:00Z',
  ]);
});

test('an instance in the hour that the clocks skip is shown an hour later, and the next one is back', () => {
  const series = ['DTSTART;TZID=Europe/Berlin:20260322T023000\nRRULE:FREQ=WEEKLY'];
  const { occurrences } = expanded(series, '2026-03-20', '2026-04-06');
  assert.deepEqual(
    occurrences.map(({ start, localStart, recurrenceId }) => [minute(start), localStart, recurrenceId]),
    [
      ['2026-03-22T01:30Z', '2026-03-22T02:30:00', '20260322T023000'],
      ['2026-03-29T01:30Z', '2026-03-29T03:30:00', '20260329T023000'],
      ['2026-04-05T00:30Z', '2026-04-05T02:30:00', '20260405T023000'],
    ],
  );
});

test('an instance in the hour that happens twice is at the first of the two', () => {
  const series = ['DTSTART;TZID=Europe/Berlin:20261018T023000\nRRULE:FREQ=WEEKLY;COUNT=3'];
  assert.deepEqual(startsOf(series, '2026-10-01', '2026-12-01'), [
    '2026-10-18T00:30Z',
    '2026-10-25T00:30Z',
    '2026-11-01T01:30Z',
  ]);
});

test('a series that ends in UTC has its last instance on the local clock', () => {
  const series = ['DTSTART;TZID=America/New_York:20261026T210000\nRRULE:FREQ=DAILY;UNTIL=20261029T010000Z'];
  assert.deepEqual(startsOf(series, '2026-10-20', '2026-11-20'), [
    '2026-10-27T01:00Z',
    '2026-10-28T01:00Z',
    '2026-10-29T01:00Z',
  ]);
});

for (const [how, recurrenceId] of [
  ['in UTC', 'RECURRENCE-ID:20261109T080000Z'],
  ['in another zone', 'RECURRENCE-ID;TZID=America/New_York:20261109T030000'],
  ['without its TZID', 'RECURRENCE-ID:20261109T090000'],
  ['as a date', 'RECURRENCE-ID;VALUE=DATE:20261109'],
  ['with a zone of Windows', 'RECURRENCE-ID;TZID=W. Europe Standard Time:20261109T090000'],
] as const) {
  test(`a moved instance named ${how} is shown once, where it was moved to`, () => {
    const moved = `${recurrenceId}\nDTSTART;TZID=Europe/Berlin:20261110T150000\nSUMMARY:moved`;
    assert.deepEqual(startsOf([WEEKLY, moved], '2026-11-01', '2026-11-22'), [
      '2026-11-02T08:00Z',
      '2026-11-10T14:00Z',
      '2026-11-16T08:00Z',
    ]);
  });
}

test('a moved instance has the name that the series gives it, however its override wrote it', () => {
  const moved = 'RECURRENCE-ID:20261109T080000Z\nDTSTART;TZID=America/New_York:20261110T100000';
  const [, found] = expanded([WEEKLY, moved], '2026-11-01', '2026-11-12').occurrences;
  assert.equal(found?.recurrenceId, '20261109T090000');
  assert.equal(found?.localStart, '2026-11-10T10:00:00');
  assert.equal(found?.tz, 'America/New_York');
});

test('an instance moved into the window is found, and one moved out of it is not', () => {
  const moved = 'RECURRENCE-ID;TZID=Europe/Berlin:20261109T090000\nDTSTART;TZID=Europe/Berlin:20270301T090000';
  assert.deepEqual(startsOf([WEEKLY, moved], '2026-11-08', '2026-11-15'), []);
  assert.deepEqual(startsOf([WEEKLY, moved], '2027-03-01', '2027-03-02'), ['2027-03-01T08:00Z', '2027-03-01T08:00Z']);
  assert.equal(minute(indexed([WEEKLY.replace('WEEKLY', 'WEEKLY;COUNT=3'), moved]).last ?? 0), '2027-03-01T08:00Z');
});

test('of two overrides of one instance the one of the higher sequence is shown', () => {
  const override = (hour: string, sequence: number) =>
    `RECURRENCE-ID:20261109T080000Z\nDTSTART:20261109T${hour}0000Z\nSEQUENCE:${sequence}`;
  const found = startsOf([WEEKLY, override('12', 2), override('13', 1)], '2026-11-08', '2026-11-15');
  assert.deepEqual(found, ['2026-11-09T12:00Z']);
});

test('an invitation to single instances, without the series, is a calendar object', () => {
  const only = ['RECURRENCE-ID:20261109T080000Z\nDTSTART:20261109T110000Z\nDURATION:PT1H'];
  assert.deepEqual(startsOf(only, '2026-11-01', '2026-12-01'), ['2026-11-09T11:00Z']);
  const { first, last, isRecurring } = indexed(only);
  assert.deepEqual([minute(first), minute(last ?? 0), isRecurring], ['2026-11-09T11:00Z', '2026-11-09T12:00Z', true]);
});

test('a rule inside an override makes no second series, with the master or without it, and may be nonsense', () => {
  const override = 'RECURRENCE-ID:20261109T080000Z\nDTSTART:20261109T110000Z\nRRULE:FREQ=DAILY;INTERVAL=0';
  assert.deepEqual(startsOf([override], '2026-11-01', '2026-12-01'), ['2026-11-09T11:00Z']);
  assert.deepEqual(startsOf([WEEKLY, override], '2026-11-08', '2026-11-17'), [
    '2026-11-09T11:00Z',
    '2026-11-16T08:00Z',
  ]);
});

test('an event of Outlook, with the name of a Windows zone and no definition, is at its hour', () => {
  const { occurrences, unknownZones } = expanded(
    ['DTSTART;TZID=Pacific Standard Time:20261102T090000'],
    '2026-11-01',
    '2026-12-01',
  );
  assert.deepEqual(
    occurrences.map(({ start, tz }) => [minute(start), tz]),
    [['2026-11-02T17:00Z', 'America/Los_Angeles']],
  );
  assert.deepEqual(unknownZones, []);
});

const ZONE = (
  tzid: string,
  extra = '',
) => `BEGIN:VTIMEZONE\nTZID:${tzid}\n${extra}BEGIN:STANDARD\nDTSTART:19700101T000000
  TZOFFSETFROM:+0530\nTZOFFSETTO:+0530\nEND:STANDARD\nEND:VTIMEZONE`;

test('a zone that nothing defines is read on the clock of the calendar, and said to be unknown', () => {
  const found = expanded(['DTSTART;TZID=Nowhere/Never:20261102T090000'], '2026-11-01', '2026-12-01');
  assert.deepEqual(
    found.occurrences.map(({ start }) => minute(start)),
    ['2026-11-02T08:00Z'],
  );
  assert.deepEqual(found.unknownZones, ['Nowhere/Never']);
});

test('a zone that only the object defines is what it defines, and is told in UTC', () => {
  const found = expanded(
    [ZONE('Customized Time Zone'), 'DTSTART;TZID=Customized Time Zone:20261102T090000'],
    '2026-11-01',
    '2026-12-01',
  );
  assert.deepEqual(
    found.occurrences.map(({ start, localStart, tz }) => [minute(start), localStart, tz]),
    [['2026-11-02T03:30Z', '2026-11-02T03:30:00', 'UTC']],
  );
  assert.deepEqual(found.unknownZones, []);
});

test('the database is right where a definition of the same name is stale or has two lines of history', () => {
  const event = 'DTSTART;TZID=Europe/Berlin:20260701T090000';
  assert.deepEqual(startsOf([ZONE('Europe/Berlin'), event], '2026-06-01', '2026-12-01'), ['2026-07-01T07:00Z']);
});

test('a zone is found at the end of a path, and where its definition names its location', () => {
  const path = 'DTSTART;TZID=/freeassociation.sourceforge.net/Tzfile/America/Argentina/Salta:20261102T090000';
  assert.deepEqual(startsOf([path], '2026-11-01', '2026-12-01'), ['2026-11-02T12:00Z']);
  const located = [ZONE('mine', 'X-LIC-LOCATION:Asia/Tokyo\n'), 'DTSTART;TZID=mine:20261102T090000'];
  assert.deepEqual(startsOf(located, '2026-11-01', '2026-12-01'), ['2026-11-02T00:00Z']);
});

test('a whole day is one day: not the day before in the west, nor two days in the east', () => {
  const day = ['DTSTART;VALUE=DATE:20261102\nDTEND;VALUE=DATE:20261103'];
  for (const [zone, start, end] of [
    ['America/Los_Angeles', '2026-11-02T08:00Z', '2026-11-03T08:00Z'],
    ['Pacific/Auckland', '2026-11-01T11:00Z', '2026-11-02T11:00Z'],
  ] as const) {
    const [found] = expanded(day, '2026-10-31', '2026-11-05', zone).occurrences;
    assert.deepEqual([found?.localStart, found?.isAllDay, found?.tz], ['2026-11-02', true, undefined]);
    assert.deepEqual([minute(found?.start ?? 0), minute(found?.end ?? 0)], [start, end]);
  }
});

for (const exdate of [
  'EXDATE;TZID=Europe/Berlin:20261103T000000',
  'EXDATE:20261103T000000',
  'EXDATE:20261103T000000Z',
  'EXDATE:20261102T230000Z',
  'EXDATE;VALUE=DATE:20261103',
  'EXDATE;VALUE=DATE:20261103T000000',
]) {
  test(`a day taken out of a series of days by ${exdate} is out`, () => {
    const { occurrences } = expanded(
      [`DTSTART;VALUE=DATE:20261102\nRRULE:FREQ=DAILY;COUNT=3\n${exdate}`],
      '2026-11-01',
      '2026-12-01',
    );
    assert.deepEqual(
      occurrences.map(({ recurrenceId }) => recurrenceId),
      ['20261102', '20261104'],
    );
  });
}

for (const exdate of [
  'EXDATE;TZID=Europe/Berlin:20261109T090000,20261116T090000',
  'EXDATE:20261109T090000,20261116T090000',
  'EXDATE:20261109T080000Z\nEXDATE:20261116T080000Z',
  'EXDATE;TZID=America/New_York:20261109T030000,20261116T030000',
  'EXDATE;VALUE=DATE:20261109,20261116',
  'EXDATE:\nEXDATE:20261109T080000Z, 20261116T080000Z,',
]) {
  test(`two meetings taken out by ${exdate.replace('\n', ' and ')} are out`, () => {
    assert.deepEqual(startsOf([`${WEEKLY}\n${exdate}`], '2026-11-01', '2026-11-30T09:00Z'), [
      '2026-11-02T08:00Z',
      '2026-11-23T08:00Z',
      '2026-11-30T08:00Z',
    ]);
  });
}

test('an instance taken out stays out though an override of it was left behind', () => {
  const left = 'RECURRENCE-ID:20261109T080000Z\nDTSTART:20261109T110000Z';
  assert.deepEqual(startsOf([`${WEEKLY}\nEXDATE:20261109T080000Z`, left], '2026-11-08', '2026-11-15'), []);
});

test('a birthday of before 1970 comes every year', () => {
  const birthday = ['DTSTART;VALUE=DATE:19240229\nRRULE:FREQ=YEARLY'];
  assert.deepEqual(startsOf(birthday, '2024-01-01', '2030-01-01', 'UTC'), ['2024-02-29T00:00Z', '2028-02-29T00:00Z']);
  assert.equal(minute(indexed(birthday, 'UTC').first), '1924-02-29T00:00Z');
});

test('this and all after it: an override moves the rest of the series, and keeps its length', () => {
  const later = `RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261116T090000
    DTSTART;TZID=Europe/Berlin:20261117T103000\nDTEND;TZID=Europe/Berlin:20261117T120000\nSUMMARY:later`;
  const single = 'RECURRENCE-ID:20261123T080000Z\nDTSTART:20261123T200000Z\nSUMMARY:once';
  const { occurrences } = expanded([WEEKLY, later, single], '2026-11-08', '2026-12-03');
  assert.deepEqual(
    occurrences.map(({ start, end, recurrenceId }) => [minute(start), (end - start) / 60_000, recurrenceId]),
    [
      ['2026-11-09T08:00Z', 60, '20261109T090000'],
      ['2026-11-17T09:30Z', 90, '20261116T090000'],
      ['2026-11-23T20:00Z', 0, '20261123T090000'],
      ['2026-12-01T09:30Z', 90, '20261130T090000'],
    ],
  );
});

test('dates added beside the rule come with their own length where they are periods', () => {
  const series = [
    `${WEEKLY}\nRDATE;VALUE=PERIOD:20261104T080000Z/PT3H,20261105T080000Z/20261105T083000Z\nRDATE:20261102T080000Z`,
  ];
  const { occurrences } = expanded(series, '2026-11-01', '2026-11-08');
  assert.deepEqual(
    occurrences.map(({ start, end }) => [minute(start), (end - start) / 60_000]),
    [
      ['2026-11-02T08:00Z', 60],
      ['2026-11-04T08:00Z', 180],
      ['2026-11-05T08:00Z', 30],
    ],
  );
});

test('two rules are one series without doubles, and an EXRULE takes out what it makes', () => {
  const series = [
    'DTSTART:20261102T090000Z\nRRULE:FREQ=DAILY;COUNT=4\nRRULE:FREQ=WEEKLY;BYDAY=MO,TU;COUNT=4\nEXRULE:FREQ=WEEKLY;BYDAY=TU',
  ];
  assert.deepEqual(startsOf(series, '2026-11-01', '2026-12-01'), [
    '2026-11-02T09:00Z',
    '2026-11-04T09:00Z',
    '2026-11-05T09:00Z',
    '2026-11-09T09:00Z',
  ]);
});

test('a day of a nominal duration ends at the same hour, and one of an end as late as it was at first', () => {
  const lasting = (end: string) => [`DTSTART;TZID=Europe/Berlin:20261023T120000\n${end}\nRRULE:FREQ=DAILY;COUNT=3`];
  const hours = (series: string[]) =>
    expanded(series, '2026-10-20', '2026-11-01').occurrences.map(({ start, end }) => (end - start) / 3_600_000);
  assert.deepEqual(hours(lasting('DURATION:P1D')), [24, 25, 24]);
  assert.deepEqual(hours(lasting('DTEND;TZID=Europe/Berlin:20261024T120000')), [24, 24, 24]);
});

test('an end before the start makes a point in time, not an object that cannot be stored', () => {
  const [found] = expanded(
    ['DTSTART:20261102T090000Z\nDTEND:20261102T080000Z'],
    '2026-11-01',
    '2026-12-01',
  ).occurrences;
  assert.equal(found?.end, found?.start);
});

test('an instance that began before the window and lasts into it is found', () => {
  const long = ['DTSTART:20261001T090000Z\nDURATION:P40D\nRRULE:FREQ=YEARLY'];
  assert.deepEqual(startsOf(long, '2028-11-01', '2028-11-02'), ['2028-10-01T09:00Z']);
  assert.deepEqual(startsOf(long, '2028-11-10T09:00Z', '2028-11-12'), []);
});

test('the same object expands the same in the bytes of every writer: bare line ends, folds inside characters', () => {
  const text = calendarText(`${WEEKLY}\nDESCRIPTION:${'ü'.repeat(10)}`);
  const folded = Buffer.from(text.replaceAll('\r\n', '\n'));
  const at = folded.indexOf('ü') + 1;
  const bytes = Buffer.concat([folded.subarray(0, at), Buffer.from('\n '), folded.subarray(at)]);
  const object = readCalendarObject(bytes);
  const window = { from: Date.parse('2026-11-01'), to: Date.parse('2026-11-10') };
  assert.equal(expand(object, window, { zone: 'UTC', most: 10 }).occurrences.length, 2);
  const description = object.master?.properties.find(({ name }) => name === 'DESCRIPTION');
  assert.equal(description?.value, 'ü'.repeat(10));
});
