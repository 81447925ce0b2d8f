/** Generated objects for the oracle of whole objects: rules with dates added and taken out, and moved instances. */
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { writeDateTime } from '#src/calendar/icalendar/values.ts';
import { DAY_SECONDS } from '#src/calendar/recurrence/civil.ts';
import { ianaZone } from '#src/calendar/zones/iana-zone.ts';
import { UTC, wallOf } from '#src/calendar/zones/zone.ts';
import { objectOf, type OracleCase, oracleCases, SeededRandom } from './cases.ts';

/** One case: instants in milliseconds. */
export interface ObjectCase {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

/** The zones of this oracle's library know no changes of clocks after 2037. */
const LAST = Date.UTC(2036, 0, 1);

/** As many cases as wanted. */
export function* objectCases(count: number, seed: number): Generator<ObjectCase> {
  const random = new SeededRandom(seed + 1);
  let made = 0;
  for (const it of oracleCases(Infinity, seed)) {
    if (!/FREQ=(?:YEARLY|MONTHLY|WEEKLY|DAILY)/.test(it.rule) || it.to > LAST) continue;
    const text = makeObject({ ...it, rule: simple(it) }, random);
    if (text === undefined) continue;
    yield { text, from: it.from, to: it.to };
    made += 1;
    if (made === count) return;
  }
}

/** The rules themselves are another oracle's: here they only carry the dates, and have the start as their first. */
function simple({ rule }: OracleCase): string {
  return rule.replace(/;BY[A-Z]+=[^;]*/g, '');
}

function makeObject(it: OracleCase, random: SeededRandom): string | undefined {
  const text = objectOf(it);
  const window = { from: it.start * 1000 - 2 * DAY_SECONDS * 1000, to: it.to };
  const { occurrences } = expand(readCalendarObject(Buffer.from(text)), window, { zone: 'UTC', most: 60 });
  const zone = ianaZone(it.zone) ?? UTC;
  const write = (instant: number) => writeDateTime(wallOf(zone, instant));
  const prefix = it.zone === 'UTC' ? ':' : `;TZID=${it.zone}:`;
  const suffix = it.zone === 'UTC' ? 'Z' : '';
  const lines: string[] = [];
  const overrides: string[] = [];
  const taken = new Set<number>();
  const take = () => {
    const instance = occurrences.length === 0 ? undefined : random.pick(occurrences).start;
    if (instance === undefined || taken.has(instance)) return undefined;
    taken.add(instance);
    return instance;
  };
  for (let left = random.whole(0, 3); left > 0; left -= 1) {
    const instance = take();
    if (instance !== undefined) lines.push(`EXDATE${prefix}${write(instance)}${suffix}`);
  }
  for (let left = random.whole(0, 2); left > 0; left -= 1) {
    const added = it.from + random.whole(0, 20) * DAY_SECONDS * 1000 + 1_234_000;
    if (!taken.has(added)) lines.push(`RDATE${prefix}${write(added)}${suffix}`);
    taken.add(added);
  }
  for (let left = random.whole(0, 2); left > 0; left -= 1) {
    const instance = take();
    if (instance === undefined) continue;
    const moved = instance + random.whole(-30, 30) * 3_600_000 + 60_000;
    // Half of them are named in UTC, as many clients do.
    const name = random.chance(0.5)
      ? `RECURRENCE-ID:${writeDateTime(instance / 1000)}Z`
      : `RECURRENCE-ID${prefix}${write(instance)}${suffix}`;
    overrides.push('BEGIN:VEVENT', 'UID:case', name, `DTSTART${prefix}${write(moved)}${suffix}`, 'END:VEVENT');
  }
  if (lines.length + overrides.length === 0) return undefined;
  return text.replace('END:VEVENT\r\n', `${[...lines, 'END:VEVENT', ...overrides].join('\r\n')}\r\n`);
}
