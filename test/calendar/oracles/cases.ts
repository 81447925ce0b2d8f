/** Generated recurrence cases for the oracles: a rule, a zone and a window each, the same for the same seed. */
import { dayNumber, DAY_SECONDS } from '#src/calendar/recurrence/civil.ts';
import { FREQUENCIES, type Frequency, WEEKDAYS } from '#src/calendar/recurrence/rule.ts';
import { writeDateTime } from '#src/calendar/icalendar/values.ts';

/** One case: instants in milliseconds, wall times in seconds since 1970-01-01T00:00:00. */
export interface OracleCase {
  readonly rule: string;
  readonly zone: string;
  readonly start: number;
  readonly from: number;
  readonly to: number;
}

export const ORACLE_ZONES = [
  'Europe/Berlin',
  'Europe/London',
  'Europe/Moscow',
  'America/New_York',
  'America/Los_Angeles',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Asia/Kolkata',
  'Asia/Tokyo',
  'Australia/Lord_Howe',
  'Australia/Sydney',
  'Pacific/Apia',
  'Pacific/Auckland',
  'Africa/Johannesburg',
  'UTC',
] as const;

/** Days from the start within which windows of a frequency lie, and how long the windows are at most. */
const REACH: Readonly<Record<Frequency, readonly [away: number, long: number]>> = {
  YEARLY: [12_000, 4_000],
  MONTHLY: [3_000, 700],
  WEEKLY: [1_500, 300],
  DAILY: [600, 100],
  HOURLY: [20, 8],
  MINUTELY: [1, 1],
  SECONDLY: [0.02, 0.02],
};

/** Random whole numbers from a seed (mulberry32): the same on every machine. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** One to three different items. */
  some(make: () => string): string {
    return [...new Set(Array.from({ length: this.whole(1, 3) }, make))].join(',');
  }
}

/** As many cases as wanted, one after the other. */
export function* oracleCases(count: number, seed: number): Generator<OracleCase> {
  const random = new SeededRandom(seed);
  for (let made = 0; made < count; made += 1) yield makeCase(random);
}

function makeCase(random: SeededRandom): OracleCase {
  // Frequencies that people use come more often than those that only fit the grammar.
  const frequency = random.chance(0.8) ? random.pick(FREQUENCIES.slice(3)) : random.pick(FREQUENCIES.slice(0, 3));
  const day = dayNumber(random.whole(1975, 2030), random.whole(1, 12), random.whole(1, 31));
  // Many starts lie in the small hours, where clocks change.
  const hour = random.chance(0.4) ? random.whole(0, 3) : random.whole(0, 23);
  const start = day * DAY_SECONDS + hour * 3600 + random.pick([0, 0, 15, 30, 45, 59]) * 60;
  const [away, long] = REACH[frequency];
  const from = start + Math.floor((random.fraction() * away - 0.1) * DAY_SECONDS);
  const to = from + 60 + Math.floor(random.fraction() * long * DAY_SECONDS);
  const rule = makeRule(random, frequency, start, away);
  return { rule, zone: random.pick(ORACLE_ZONES), start, from: from * 1000, to: to * 1000 };
}

function makeRule(random: SeededRandom, frequency: Frequency, start: number, away: number): string {
  const parts = [`FREQ=${frequency}`];
  if (random.chance(0.4)) parts.push(`INTERVAL=${random.whole(2, frequency === 'SECONDLY' ? 90 : 6)}`);
  if (random.chance(0.25)) parts.push(`COUNT=${random.whole(1, 60)}`);
  else if (random.chance(0.3)) {
    parts.push(`UNTIL=${writeDateTime(start + Math.floor(random.fraction() * away * DAY_SECONDS))}`);
  }
  const signed = (most: number) => String(random.whole(1, most) * (random.chance(0.3) ? -1 : 1));
  const isLong = frequency === 'YEARLY' || frequency === 'MONTHLY';
  let narrowed = 0;
  const part = (name: string, chance: number, make: () => string) => {
    // Narrow rules of short periods are seldom asked: walking oracles look for their next instance for minutes.
    if (!random.chance(away > 100 ? chance : chance / 4)) return;
    narrowed += 1;
    parts.push(`${name}=${random.some(make)}`);
  };
  part('BYMONTH', 0.25, () => String(random.whole(1, 12)));
  if (frequency === 'YEARLY') {
    if (random.chance(0.12)) part('BYWEEKNO', 1, () => signed(53));
    else part('BYYEARDAY', 0.15, () => signed(366));
  }
  const hasWeeks = parts.some((it) => it.startsWith('BYWEEKNO'));
  if (frequency !== 'WEEKLY') part('BYMONTHDAY', 0.25, () => signed(31));
  part('BYDAY', 0.35, () => {
    const ordinal = isLong && !hasWeeks && random.chance(0.5) ? signed(frequency === 'YEARLY' ? 20 : 5) : '';
    return `${ordinal}${random.pick(WEEKDAYS)}`;
  });
  part('BYHOUR', 0.15, () => String(random.whole(0, 23)));
  part('BYMINUTE', 0.1, () => String(random.whole(0, 59)));
  part('BYSECOND', 0.05, () => String(random.whole(0, 59)));
  if (narrowed > 0 && random.chance(0.15)) parts.push(`BYSETPOS=${random.some(() => signed(4))}`);
  if (random.chance(0.2)) parts.push(`WKST=${random.pick(WEEKDAYS)}`);
  return parts.join(';');
}

/** The case as an iCalendar object without length. */
export function objectOf({ rule, zone, start }: OracleCase): string {
  const time = zone === 'UTC' ? `DTSTART:${writeDateTime(start)}Z` : `DTSTART;TZID=${zone}:${writeDateTime(start)}`;
  // UNTIL is generated on the master's clock, which is read as such; with a start in UTC it must say Z.
  const until = zone === 'UTC' ? rule.replace(/UNTIL=(\w+)/, 'UNTIL=$1Z') : rule;
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'BEGIN:VEVENT',
    'UID:case',
    time,
    `RRULE:${until}`,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
}
