/** Whether a series takes place as it did, only not for so long: whoever is invited to it need not answer anew then. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { instancesOf, takesPlaceAs, type Instance } from '#src/calendar/scheduling/instances.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';

const ZONE = 'Europe/Berlin';
const START = '20270104T090000';
/** Longer than any of the series here that end. */
const WINDOW = { from: Date.UTC(2027, 0, 1), to: Date.UTC(2033, 0, 1) };

const series = (rule: string, lines: readonly string[] = [`DTSTART;TZID=${ZONE}:${START}`, 'DURATION:PT1H']) =>
  readCalendarObject(
    Buffer.from(
      [
        ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', 'UID:one', ...lines],
        ...[...(rule === '' ? [] : [`RRULE:${rule}`]), 'END:VEVENT', 'END:VCALENDAR', ''],
      ].join('\r\n'),
    ),
  );
const wholeOf = (...of: Parameters<typeof series>) => instancesOf(series(...of), ZONE)[0] as Instance;
const isAs = (is: string, was: string) => takesPlaceAs(wholeOf(is), wholeOf(was));

test('CAL-03 a series that ends sooner, by a number or by a time, takes place as it did; one that ends later does not', () => {
  const weekly = 'FREQ=WEEKLY';
  for (const [is, was, expected] of [
    [`${weekly};COUNT=4`, `${weekly};COUNT=4`, true],
    [`${weekly};COUNT=3`, `${weekly};COUNT=4`, true],
    [`${weekly};COUNT=5`, `${weekly};COUNT=4`, false],
    [`COUNT=3;${weekly}`, weekly, true],
    [weekly, `${weekly};COUNT=3`, false],
    [`${weekly};UNTIL=20270118T080000Z`, weekly, true],
    // The fourth date is January the 25th, at eight by UTC.
    [`${weekly};UNTIL=20270125T075959Z`, `${weekly};COUNT=3`, true],
    [`${weekly};UNTIL=20270125T080000Z`, `${weekly};COUNT=3`, false],
    [`${weekly};COUNT=4`, `${weekly};UNTIL=20270125T080000Z`, true],
    [`${weekly};COUNT=4`, `${weekly};UNTIL=20270125T075959Z`, false],
    // Between the same two dates.
    [`${weekly};UNTIL=20270131T080000Z`, `${weekly};UNTIL=20270126T080000Z`, true],
    [`${weekly};UNTIL=20270201T080000Z`, `${weekly};UNTIL=20270126T080000Z`, false],
    [`${weekly};COUNT=3;BYDAY=MO`, `${weekly};COUNT=4`, false],
    [`${weekly};COUNT=3;INTERVAL=2`, `${weekly};COUNT=4`, false],
    [`FREQ=DAILY;COUNT=2`, `${weekly};COUNT=4`, false],
    ['', `${weekly};COUNT=4`, false],
    [`${weekly};COUNT=1`, '', false],
    // Nobody counts so far.
    ['FREQ=MONTHLY;BYDAY=1MO,2TU;COUNT=1000000000', 'FREQ=MONTHLY;BYDAY=1MO,2TU;UNTIL=99991231T000000Z', false],
  ] as const)
    assert.equal(isAs(is, was), expected, `${is} behind ${was}`);
});

test('CAL-03 another beginning, length, zone or added date is another time, however soon it ends', () => {
  const was = wholeOf('FREQ=WEEKLY;COUNT=4');
  for (const lines of [
    [`DTSTART;TZID=${ZONE}:20270104T090001`, 'DURATION:PT1H'],
    [`DTSTART;TZID=${ZONE}:${START}`, 'DURATION:PT2H'],
    [`DTSTART;TZID=Europe/London:${START}`, 'DURATION:PT1H'],
    [`DTSTART;TZID=${ZONE}:${START}`, 'DURATION:PT1H', `RDATE;TZID=${ZONE}:20270105T090000`],
    [`DTSTART;TZID=${ZONE}:${START}`, 'DURATION:PT1H', 'RRULE:FREQ=DAILY;COUNT=2'],
  ])
    assert.equal(takesPlaceAs(wholeOf('FREQ=WEEKLY;COUNT=3', lines), was), false, lines.join());
});

test('CAL-03 of random rules with random ends it is said what their dates say', (t) => {
  const random = new SeededRandom(Number(process.env['SEED'] ?? freshSeed()));
  t.diagnostic(`SEED=${random.seed}`);
  const datesOf = (rule: string) =>
    expand(series(rule), WINDOW, { zone: ZONE, most: 5_000 }).occurrences.map(({ start }) => start);
  const seen = { true: 0, false: 0 };
  for (let round = 0; round < 300; round += 1) {
    const [frequency, days] = random.pick([
      ['DAILY', ['', ';BYDAY=MO,WE,FR', ';BYMONTH=1,3']],
      ['WEEKLY', ['', ';BYDAY=MO,TH', ';BYDAY=SU,MO']],
      ['MONTHLY', ['', ';BYDAY=-1FR', ';BYMONTHDAY=4,31', ';BYDAY=MO,TU;BYSETPOS=2']],
    ] as const);
    const pattern = `FREQ=${frequency};INTERVAL=${random.whole(1, 3)}${random.pick<string>(days)}`;
    const end = () => {
      const kind = random.whole(0, 4);
      if (kind === 0) return '';
      if (kind < 3) return `;COUNT=${random.whole(1, 12)}`;
      const day = new Date(Date.UTC(2027, 0, random.whole(4, 200))).toISOString().slice(0, 10).replaceAll('-', '');
      return `;UNTIL=${day}T${random.pick(['075959', '080000', '235959'])}Z`;
    };
    const [is, was] = [end(), end()];
    const [dates, before] = [datesOf(pattern + is), new Set(datesOf(pattern + was))];
    const expected = (is !== '' || was === '') && dates.every((one) => before.has(one));
    assert.equal(isAs(pattern + is, pattern + was), expected, `${pattern}: ${is} behind ${was}, SEED=${random.seed}`);
    seen[`${expected}`] += 1;
  }
  assert.ok(seen.true > 50 && seen.false > 50, JSON.stringify(seen));
});
