/** Compares the expander with ical.js, an engine of other authors, on generated rules: others in each run, `SEED=…` for the same again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import ICAL from 'ical.js';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { ianaZone } from '#src/calendar/zones/iana-zone.ts';
import { instantOf, UTC } from '#src/calendar/zones/zone.ts';
import { freshSeed } from '#test/support/random.ts';
import { objectOf, type OracleCase, oracleCases } from './cases.ts';

const SEED = Number(process.env['SEED'] ?? freshSeed());
const CASES = 3_500;
/** Instances that the peer is walked through: it cannot begin at a window. */
const MOST_STEPS = 400;

/**
 * What is not asked, as it is the peer that is known to be wrong or to walk without end: these parts, which it does not
 * put in order or reads otherwise, and the days of a month, among which it looks for the 30th of February for ever. Of days with a
 * time of their own it takes the first one whatever its weekday and month are, and counts it. Of fifth weekdays of a month it begins in
 * a month that the interval leaves out where the first one has none, or refuses the rule (SEED=1591956013, SEED=1591956359).
 */
const UNASKED =
  /BYSETPOS|BYWEEKNO|BYYEARDAY|BYMONTHDAY|BY(?:HOUR|MINUTE|SECOND)=\d+,|FREQ=(?:YEARLY.*BY|(?:MONTHLY|WEEKLY).*BYMONTH|DAILY.*BY(?:DAY|MONTH)=.*BY(?:HOUR|MINUTE|SECOND)|HOURLY|MINUTELY|SECONDLY|MONTHLY.*BYDAY=[^;]*5)/;
/** From the 29th of February on it goes to another day in years without it, where the RFC leaves such a day out (RFC 5545 3.3.10). */
const YEARLY = /FREQ=YEARLY/;

function isAsked({ rule, start }: OracleCase): boolean {
  const isLeapDay = new Date(start * 1_000).toISOString().slice(5, 10) === '02-29';
  return !UNASKED.test(rule) && !(isLeapDay && YEARLY.test(rule));
}

/** The peer's wall times from the start on; undefined when it needs too many steps for the window. */
function peerWalls(rule: string, start: number, last: number): number[] | undefined {
  const time = ICAL.Time.fromData({ year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, isDate: false });
  time.adjust(Math.floor(start / 86_400), 0, 0, start % 86_400);
  const iterator = ICAL.Recur.fromString(rule).iterator(time);
  const walls: number[] = [];
  while (walls.length < MOST_STEPS) {
    const wall = (iterator.next() as ICAL.Time | null)?.toUnixTime();
    if (wall === undefined || wall > last) return walls;
    walls.push(wall);
  }
  return undefined;
}

/** The peer's starts within the window, with the start of the series as one and counted as one, whatever the rule says. */
function peerStarts({ rule, zone, start, from, to }: OracleCase): number[] | undefined {
  const last = to / 1000 + 2 * 86_400;
  let walls = peerWalls(rule, start, last);
  if (walls !== undefined && walls[0] !== start) {
    const count = /COUNT=(\d+)/.exec(rule)?.[1];
    const rest = count === '1' ? [] : peerWalls(rule.replace(/COUNT=\d+/, `COUNT=${Number(count) - 1}`), start, last);
    walls = rest === undefined ? undefined : [start, ...rest];
  }
  const on = ianaZone(zone) ?? UTC;
  const instants = walls?.map((wall) => instantOf(on, wall)).filter((it) => it >= from && it < to);
  return instants === undefined ? undefined : [...new Set(instants)];
}

test(`the expander agrees with ical.js on thousands of rules, zones and windows, seed ${SEED}`, () => {
  let compared = 0;
  const differences: unknown[] = [];
  for (const it of oracleCases(CASES, SEED)) {
    const theirs = isAsked(it) ? peerStarts(it) : undefined;
    if (theirs === undefined) continue;
    compared += 1;
    const { occurrences } = expand(readCalendarObject(Buffer.from(objectOf(it))), it, { zone: 'UTC', most: 3000 });
    const ours = occurrences.map(({ start }) => start);
    if (ours.join() !== theirs.join()) differences.push({ ...it, ours: ours.slice(0, 5), theirs: theirs.slice(0, 5) });
  }
  assert.deepEqual(differences.slice(0, 3), []);
  assert.ok(compared >= 1_000, `${compared} were compared`);
});
