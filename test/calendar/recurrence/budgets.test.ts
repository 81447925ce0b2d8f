/** Holds the budgets of expansion: what any object may cost, one step beyond each limit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CalendarFault } from '#src/calendar/icalendar/calendar-fault.ts';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import {
  readCalendarObject,
  MAX_INSTANCES,
  MAX_OBJECT_BYTES,
  MAX_RULES,
} from '#src/calendar/icalendar/object-reader.ts';
import { StepBudget } from '#src/calendar/recurrence/step-budget.ts';
import { readRule } from '#src/calendar/recurrence/rule.ts';
import { walkRule } from '#src/calendar/recurrence/rule-walk.ts';
import { embeddedZone, MAX_ONSETS } from '#src/calendar/zones/embedded-zone.ts';
import { calendarText, expanded, indexed, objectOf } from '../calendar-text.ts';

const ALL = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at).join(',');
const DENSE = `BYHOUR=${ALL(0, 23)};BYMINUTE=${ALL(0, 59)};BYSECOND=${ALL(0, 59)}`;

/** Rules that kept other servers busy for seconds to hours, and whether a month of 2026 has instances of them. */
const BOMBS: readonly (readonly [rule: string, most: number | 'cut'])[] = [
  ['FREQ=SECONDLY', 'cut'],
  ['FREQ=SECONDLY;COUNT=1000000000', 0],
  ['FREQ=SECONDLY;BYSECOND=0;COUNT=1000000000', 'cut'],
  ['FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30', 0],
  ['FREQ=SECONDLY;INTERVAL=7;BYMONTH=11;BYHOUR=25', 0],
  ['FREQ=MINUTELY;INTERVAL=59;BYHOUR=3;BYSETPOS=2', 0],
  ['FREQ=DAILY;COUNT=1000000000', 30],
  ['FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=1000000000', 0],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', 0],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;COUNT=2', 0],
  [`FREQ=YEARLY;BYYEARDAY=${ALL(1, 366)};${DENSE}`, 'cut'],
  [`FREQ=YEARLY;BYYEARDAY=${ALL(1, 366)};${DENSE};COUNT=1`, 0],
  [`FREQ=YEARLY;BYYEARDAY=${ALL(1, 366)};${DENSE};BYSETPOS=-1`, 0],
  [`FREQ=MONTHLY;BYMONTHDAY=${ALL(1, 31)};${DENSE};COUNT=1000000000`, 0],
  [`FREQ=HOURLY;INTERVAL=24;BYHOUR=5;${DENSE.slice(DENSE.indexOf('BYMINUTE'))}`, 0],
];

for (const [rule, expectation] of BOMBS) {
  test(`a bomb is bounded: ${rule.slice(0, 70)}`, () => {
    const series = [`DTSTART;TZID=Europe/Berlin:19700101T023000\nRRULE:${rule}`];
    if (rule.includes('BYHOUR=25')) {
      assert.throws(() => objectOf(...series), { precondition: 'valid-calendar-data', line: 6 });
      return;
    }
    const { occurrences, isCut } = expanded(series, '2026-11-01', '2026-12-01');
    assert.ok(occurrences.length <= 3000);
    if (expectation === 'cut') assert.equal(isCut, true);
    else assert.equal(occurrences.length, expectation);
    const { first, last } = indexed(series);
    assert.ok(last === null || last >= first);
  });
}

test('an EXRULE that covers its RRULE ends, with nothing', () => {
  const series = ['DTSTART:20261101T000000Z\nRRULE:FREQ=DAILY\nEXRULE:FREQ=DAILY'];
  // An EXRULE says nothing of the first instance, which stands by itself.
  assert.equal(expanded(series, '2026-11-02', '2026-12-01').occurrences.length, 0);
});

test('a window has as many instances as are asked for and says that there are more', () => {
  const object = objectOf('DTSTART:20261101T000000Z\nRRULE:FREQ=HOURLY;COUNT=11');
  const window = { from: Date.parse('2026-11-01'), to: Date.parse('2026-12-01') };
  const found = expand(object, window, { zone: 'UTC', most: 10 });
  assert.deepEqual([found.occurrences.length, found.isCut], [10, true]);
  const all = expand(object, window, { zone: 'UTC', most: 11 });
  assert.deepEqual([all.occurrences.length, all.isCut], [11, false]);
});

test('a walk ends with its budget, and one step more would have made its instance', () => {
  const rule = readRule('FREQ=DAILY');
  assert.ok(typeof rule !== 'string');
  const visited = (steps: number) => {
    const walls: number[] = [];
    const budget = new StepBudget(steps);
    walkRule(rule, 0, { from: 0, to: 86_400 * 3 }, budget, (wall) => walls.push(wall) > 0);
    return [walls.length, budget.isSpent];
  };
  // A day is a step as a period and a step as an instance, and the day of the start is one of them.
  assert.deepEqual(visited(8), [3, false]);
  assert.deepEqual(visited(7), [2, true]);
  assert.deepEqual(visited(5), [1, true]);
});

const observance = (rule: string, start: string) =>
  `BEGIN:STANDARD\nDTSTART:${start}\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:${rule}\nEND:STANDARD`;
const zoneOf = (...observances: string[]) => `BEGIN:VTIMEZONE\nTZID:Bomb\n${observances.join('\n')}\nEND:VTIMEZONE`;

test('a zone whose rules never end costs its budget and then counts as unknown', () => {
  for (const rule of [
    'FREQ=SECONDLY',
    'FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30',
  ]) {
    const found = expanded(
      [zoneOf(observance(rule, '16010101T000000')), 'DTSTART;TZID=Bomb:20261102T090000'],
      '2026-11-01',
      '2026-12-01',
    );
    assert.equal(found.occurrences.length, 1, rule);
    assert.ok(found.unknownZones.length <= 1, rule);
  }
});

test('a zone has as many onsets as are allowed, and with one more it counts as none', () => {
  const object = objectOf(zoneOf(observance('FREQ=YEARLY;COUNT=11', '19700101T000000')), 'DTSTART:20261102T090000Z');
  const definition = object.zones.get('Bomb');
  assert.ok(definition !== undefined);
  assert.ok(embeddedZone(definition, { onsets: 12, steps: new StepBudget() }) !== undefined);
  assert.equal(embeddedZone(definition, { onsets: 11, steps: new StepBudget() }), undefined);
  assert.ok(MAX_ONSETS >= 1_000, 'two yearly rules from 1601 to 2100 are within the budget');
});

test('an object is as large as allowed, and one byte more is refused by its size', () => {
  const text = calendarText('DTSTART:20261102T090000Z\nDESCRIPTION:');
  const filled = (bytes: number) => Buffer.from(text.replace('DESCRIPTION:', `$&${'x'.repeat(bytes - text.length)}`));
  assert.equal(readCalendarObject(filled(MAX_OBJECT_BYTES)).kind, 'event');
  assert.throws(() => readCalendarObject(filled(MAX_OBJECT_BYTES + 1)), { precondition: 'max-resource-size' });
});

test('rules and dates of one component are as many as allowed, and one more is refused', () => {
  const rules = (count: number) => `DTSTART:20261102T090000Z\n${'RRULE:FREQ=DAILY\n'.repeat(count)}`;
  assert.equal(objectOf(rules(MAX_RULES)).kind, 'event');
  assert.throws(() => objectOf(rules(MAX_RULES + 1)), { precondition: 'valid-calendar-data', line: 5 + MAX_RULES + 1 });
  const dates = (count: number) =>
    `DTSTART:20261102T090000Z\nRDATE:${Array.from({ length: count }, () => '20261103T090000Z').join(',')}`;
  assert.equal(objectOf(dates(MAX_INSTANCES)).kind, 'event');
  assert.throws(() => objectOf(dates(MAX_INSTANCES + 1)), { precondition: 'max-instances', line: 6 });
});

for (const [rule, why] of [
  ['FREQ=DAILY;INTERVAL=0', /INTERVAL is a number from 1/],
  ['FREQ=MONTHLY;BYDAY=0TH', /BYDAY has 0TH/],
  ['RSCALE=CHINESE;FREQ=YEARLY', /RSCALE is GREGORIAN/],
  ['RSCALE=GREGORIAN;FREQ=YEARLY;SKIP=FORWARD', /SKIP is OMIT/],
  ['FREQ=YEARLY;SKIP=OMIT', /SKIP is OMIT/],
  ['FREQ=FORTNIGHTLY', /FREQ is missing or unknown/],
  ['FREQ=DAILY;UNTIL=20260230', /UNTIL is not a date/],
  ['FREQ=DAILY;BYMONTH=13', /BYMONTH has 13/],
  ['FREQ=DAILY;COUNT=-1', /COUNT is a number from 1/],
  ['FREQ=DAILY;WKST=XX', /WKST is not a day/],
  ['FREQ=DAILY;FREQ=DAILY', /doubled/],
] as const) {
  test(`a rule is refused with its line: ${rule}`, () => {
    assert.throws(
      () => objectOf(`DTSTART:20261102T090000Z\nRRULE:${rule}`),
      (error) =>
        error instanceof CalendarFault &&
        error.precondition === 'valid-calendar-data' &&
        error.line === 6 &&
        why.test(error.message),
    );
  });
}

test('hundreds of zones, rules and overrides in one object are read and expanded within its budgets', () => {
  const override = (at: number) =>
    `RECURRENCE-ID;TZID=Nowhere/${at}:20261102T090000\nDTSTART;TZID=Etc/GMT+${at % 12}:20261102T090000\nRRULE:FREQ=SECONDLY`;
  const components = Array.from({ length: 2_000 }, (_, at) => override(at));
  const object = readCalendarObject(
    Buffer.from(calendarText('DTSTART:20261102T090000Z\nRRULE:FREQ=DAILY', ...components)),
  );
  const found = expand(object, { from: 0, to: Date.parse('2030-01-01') }, { zone: 'UTC', most: 3000 });
  assert.ok(found.occurrences.length <= 3000);
  assert.equal(found.unknownZones.length, 2_000);
  assert.equal(indexOf(object, 'UTC').isRecurring, true);
});
