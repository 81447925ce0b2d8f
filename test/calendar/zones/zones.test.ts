/** Holds the zones: the database's offsets, wall times in gaps and overlaps, names that mean a zone, embedded ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readOffset, writeDuration, readDuration, readTime, writeTime } from '#src/calendar/icalendar/values.ts';
import { civilOf, dayNumber, weekdayOf } from '#src/calendar/recurrence/civil.ts';
import { StepBudget } from '#src/calendar/recurrence/step-budget.ts';
import { embeddedZone } from '#src/calendar/zones/embedded-zone.ts';
import { ianaZone } from '#src/calendar/zones/iana-zone.ts';
import { WINDOWS_ZONES } from '#src/calendar/zones/windows-zones.ts';
import { knownZone } from '#src/calendar/zones/zone-resolver.ts';
import { instantOf, wallOf, type Zone } from '#src/calendar/zones/zone.ts';
import { zoneDefinition } from '#src/calendar/icalendar/generated-calendar.ts';
import { minute } from '../calendar-text.ts';

function zone(name: string): Zone {
  const found = ianaZone(name);
  assert.ok(found !== undefined, name);
  return found;
}

const wall = (text: string) => Date.parse(`${text}Z`) / 1000;

test('a wall time in a gap has the offset before it, and one of an overlap is the first', () => {
  for (const [name, local, instant] of [
    ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:30Z'],
    ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30Z'],
    ['America/New_York', '2026-03-08T02:00', '2026-03-08T07:00Z'],
    ['America/New_York', '2026-11-01T01:59', '2026-11-01T05:59Z'],
    ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:45Z'],
    ['Australia/Lord_Howe', '2026-04-05T01:45', '2026-04-04T14:45Z'],
    // A whole day that the islands skipped.
    ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T22:00Z'],
    ['Pacific/Apia', '2011-12-31T12:00', '2011-12-30T22:00Z'],
    // Ramadan: a month without summer time in the middle of the year.
    ['Africa/Casablanca', '2026-03-01T12:00', '2026-03-01T12:00Z'],
    ['Africa/Casablanca', '2026-07-01T12:00', '2026-07-01T11:00Z'],
  ] as const) {
    assert.equal(minute(instantOf(zone(name), wall(local))), instant, `${name} ${local}`);
  }
});

test('local mean time has its seconds', () => {
  assert.equal(zone('Europe/Berlin').offsetAt(Date.parse('1880-01-01T00:00:00Z')), 3208);
  assert.equal(readOffset('+005328'), 3208);
  assert.equal(readOffset('-0330'), -12_600);
  assert.equal(readOffset('+2400'), undefined);
});

test('the cached offsets are those that Intl gives, at every instant', () => {
  const names = [
    'Europe/Berlin',
    'America/Sao_Paulo',
    'Africa/Casablanca',
    'Pacific/Apia',
    'Asia/Tehran',
    'Antarctica/Troll',
  ];
  const formats = new Map(
    names.map((name) => [name, new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })]),
  );
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.integer({ min: -3e9, max: 5e9 }), (name, second) => {
      const offset = zone(name).offsetAt(second * 1000);
      const told = /GMT(.*)$/.exec(formats.get(name)?.format(second * 1000) ?? '')?.[1] ?? '';
      assert.equal(offset, told === '' ? 0 : readOffset(told), `${name} ${second}`);
    }),
    { numRuns: 1_000 },
  );
});

test('a wall time that exists comes back from its instant', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe'),
      fc.integer({ min: 0, max: 3e9 }),
      (name, second) => {
        const there = instantOf(zone(name), wallOf(zone(name), second * 1000));
        assert.ok(
          there === second * 1000 ||
            (there < second * 1000 && wallOf(zone(name), there) === wallOf(zone(name), second * 1000)),
        );
      },
    ),
  );
});

test('every Windows zone is a zone of the database', () => {
  assert.ok(WINDOWS_ZONES.size >= 139);
  for (const [name, iana] of WINDOWS_ZONES) assert.ok(ianaZone(iana) !== undefined, `${name} is ${iana}`);
});

for (const [tzid, name] of [
  ['Europe/Berlin', 'Europe/Berlin'],
  ['europe/berlin', 'Europe/Berlin'],
  ['US/Eastern', 'US/Eastern'],
  ['W. Europe Standard Time', 'Europe/Berlin'],
  ['W. Europe Standard Time 1', 'Europe/Berlin'],
  ['/mozilla.org/20050126_1/Asia/Tokyo', 'Asia/Tokyo'],
  ['/citadel.org/20250101_1/America/Indiana/Knox', 'America/Indiana/Knox'],
  ['Etc/UTC', 'UTC'],
  ['Z', 'UTC'],
  ['+02:00', undefined],
  ['', undefined],
  ['Europe/Atlantis', undefined],
] as const) {
  test(`the TZID ${JSON.stringify(tzid)} means ${name ?? 'no known zone'}`, () => {
    assert.equal(knownZone(tzid)?.name, name);
  });
}

test('a definition of full rules gives the same offsets as the database from 1970 on', () => {
  for (const name of ['Europe/Berlin', 'America/New_York', 'Australia/Sydney', 'Asia/Kolkata']) {
    const definition = zoneDefinition(name);
    assert.ok(definition !== undefined);
    const embedded = embeddedZone(definition, { onsets: 8_000, steps: new StepBudget() });
    assert.ok(embedded !== undefined);
    // The rules of today: their past is simplified, as every generator of definitions does.
    for (let at = Date.parse('2010-01-01'); at < Date.parse('2030-01-01'); at += 5 * 3_600_000) {
      assert.equal(embedded.offsetAt(at), zone(name).offsetAt(at), `${name} ${new Date(at).toISOString()}`);
    }
  }
});

test('days, dates and weekdays agree with Date over all years', () => {
  fc.assert(
    fc.property(fc.integer({ min: -134_774, max: 2_932_896 }), (days) => {
      const date = new Date(days * 86_400_000);
      const civil = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
      assert.deepEqual(civilOf(days), civil);
      assert.equal(dayNumber(civil.year, civil.month, civil.day), days);
      assert.equal(weekdayOf(days), (date.getUTCDay() + 6) % 7);
      const time = readTime(writeTime({ wall: days * 86_400 + 3_661, isDate: false, isUtc: true }));
      assert.deepEqual(time, { wall: days * 86_400 + 3_661, isDate: false, isUtc: true, tzid: undefined });
    }),
  );
});

test('durations are read as written', () => {
  for (const text of ['P1D', 'PT1H', 'P1DT2H3M4S', '-PT15M', 'PT0S', '-P2D']) {
    assert.equal(writeDuration(readDuration(text) ?? { days: -1, seconds: 1 }), text);
  }
  assert.deepEqual(readDuration('P2W'), { days: 14, seconds: 0 });
  for (const text of ['P', 'PT', '1H', 'P1H', 'P1DT', '', 'PT1.5H']) assert.equal(readDuration(text), undefined, text);
});
