/** What is said of a series so that a long question needs not read it: it may say too little, and never too much. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';

const DAY = 86_400_000;

const series = (start: string, lines: readonly string[], overrides: readonly string[] = [], length = 'PT1H') =>
  readCalendarObject(
    Buffer.from(
      [
        ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', 'UID:one', `DTSTART;TZID=Europe/Berlin:${start}`],
        ...[`DURATION:${length}`, ...lines, 'END:VEVENT', ...overrides, 'END:VCALENDAR', ''],
      ].join('\r\n'),
    ),
  );
const spanOf = (...of: Parameters<typeof series>) => indexOf(series(...of), 'Europe/Berlin').beginsWithin;

test('CAL-01: a series by one plain rule has a span in which an instance begins, and what leaves out what it likes has none', () => {
  const start = '20250106T090000';
  assert.equal(spanOf(start, ['RRULE:FREQ=DAILY']), 3 * DAY);
  assert.equal(spanOf(start, ['RRULE:FREQ=DAILY', 'EXDATE;TZID=Europe/Berlin:20250107T090000']), 4 * DAY);
  assert.equal(spanOf(start, ['RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH']), 23 * DAY);
  assert.equal(spanOf(start, ['RRULE:FREQ=MONTHLY;BYDAY=-1FR']), 64 * DAY);
  assert.equal(spanOf(start, ['RRULE:FREQ=YEARLY']), 368 * DAY);
  for (const rule of [
    'FREQ=DAILY;BYMONTH=1',
    'FREQ=DAILY;BYDAY=MO',
    'FREQ=MONTHLY;BYMONTHDAY=31',
    'FREQ=MONTHLY;BYDAY=5MO',
    'FREQ=YEARLY;BYDAY=MO',
    'FREQ=HOURLY',
    // Nobody counts to its end.
    'FREQ=MONTHLY;BYDAY=1MO,2TU;COUNT=1000000000',
  ]) {
    assert.equal(spanOf(start, [`RRULE:${rule}`]), undefined, rule);
  }
  assert.equal(spanOf('20250131T090000', ['RRULE:FREQ=MONTHLY']), undefined);
  assert.equal(spanOf('20240229T090000', ['RRULE:FREQ=YEARLY']), undefined);
  assert.equal(spanOf(start, ['RRULE:FREQ=DAILY', 'EXRULE:FREQ=DAILY']), undefined);
  assert.equal(spanOf(start, ['RRULE:FREQ=DAILY', 'RDATE;TZID=Europe/Berlin:20200101T090000']), undefined);
  assert.equal(spanOf(start, []), undefined);
  const moved = (when: string) => [
    ...['BEGIN:VEVENT', 'UID:one', 'RECURRENCE-ID;TZID=Europe/Berlin:20250107T090000'],
    ...[`DTSTART;TZID=Europe/Berlin:${when}`, 'DURATION:PT1H', 'END:VEVENT'],
  ];
  assert.equal(spanOf(start, ['RRULE:FREQ=DAILY'], moved('20250108T120000')), 4 * DAY);
  assert.equal(spanOf(start, ['RRULE:FREQ=DAILY'], moved('20200108T120000')), undefined);
});

test('CAL-01: a span that a series promises an instance in has one, wherever it lies', () => {
  const seed = freshSeed();
  const random = new SeededRandom(seed);
  let promised = 0;
  for (let round = 0; round < 1_500; round += 1) {
    const frequency = random.pick(['DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY']);
    const day = String(random.whole(1, 31)).padStart(2, '0');
    const start = `2020${random.pick(['01', '03', '10', '12'])}${day}T${random.pick(['023000', '090000', '235900'])}`;
    const parts = [
      `FREQ=${frequency}`,
      random.pick(['', `;INTERVAL=${random.whole(1, 7)}`]),
      random.pick(['', '', ';BYDAY=MO,FR', ';BYDAY=-1FR', ';BYDAY=2TU', ';BYMONTHDAY=15,31', ';BYMONTHDAY=-29']),
      random.pick(['', '', `;COUNT=${random.whole(1, 60)}`, ';UNTIL=20230615T000000Z']),
    ];
    const gone = Array.from(
      { length: random.whole(0, 3) },
      () => `202001${String(random.whole(1, 31)).padStart(2, '0')}`,
    );
    const lines = [`RRULE:${parts.join('')}`, ...gone.map((date) => `EXDATE;VALUE=DATE:${date}`)];
    const length = random.pick(['PT1H', 'P40D']);
    const say = `seed ${seed}: ${start} ${length} ${lines.join(' ')}`;
    let object;
    try {
      object = series(start, lines, [], length);
    } catch {
      continue;
    }
    const { beginsWithin, first, last } = indexOf(object, 'Europe/Berlin');
    if (beginsWithin === undefined) continue;
    const latest = (last ?? Date.UTC(2030, 0, 1)) - beginsWithin;
    if (latest < first) continue;
    for (let look = 0; look < 4; look += 1) {
      promised += 1;
      const from = random.pick([first, latest, random.whole(first, latest)]);
      const window = { from, to: from + beginsWithin };
      const { occurrences } = expand(object, window, { zone: 'Europe/Berlin', most: 3_000 });
      // One that began before it is in the window as well, and is not what was promised.
      const begins = occurrences.some(({ start: at }) => at >= from);
      assert.ok(begins, `${say} from ${new Date(from).toISOString()}`);
    }
  }
  assert.ok(promised > 300, `seed ${seed}: ${promised} spans were looked at`);
});
