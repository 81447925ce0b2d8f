/**
 * Compares the expander with independent ones on generated cases: `npm run oracle`, or with a number for another seed.
 * Needs Debian's python3-dateutil and python3-recurring-ical-events; says so and ends with 2 where they are missing.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { readCalendarObject } from '#src/calendar/icalendar/object-reader.ts';
import { readTime } from '#src/calendar/icalendar/values.ts';
import { ianaZone } from '#src/calendar/zones/iana-zone.ts';
import { instantOf, UTC, wallOf } from '#src/calendar/zones/zone.ts';
import { objectOf, type OracleCase, oracleCases } from './cases.ts';
import { objectCases } from './object-cases.ts';

const PYTHON = '/usr/bin/python3';
/** Of these a tenth is too slow for the oracle, so that more than 100,000 are compared. */
const RULES = 116_000;
const OBJECTS = 5_000;
const MOST = 30_000;

interface Answer {
  readonly starts?: readonly number[];
  readonly notes?: readonly string[];
  readonly skip?: boolean;
  readonly error?: string;
}

/** What one oracle said of all its cases. */
interface Tally {
  same: number;
  explained: number;
  skipped: number;
  readonly notes: Map<string, number>;
  readonly differences: string[];
}

/** Asks an oracle in Python about each case and compares its starts with ours. */
async function compare<Case extends { readonly from: number; readonly to: number }>(
  script: string,
  cases: Iterable<Case>,
  textOf: (it: Case) => string,
): Promise<Tally> {
  const tally: Tally = { same: 0, explained: 0, skipped: 0, notes: new Map(), differences: [] };
  const oracle = spawn(PYTHON, ['-B', new URL(script, import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const waiting: Case[] = [];
  const answers = (async () => {
    for await (const line of createInterface({ input: oracle.stdout })) {
      const it = waiting.shift();
      if (it !== undefined) judge(it, textOf(it), JSON.parse(line) as Answer, tally);
    }
  })();
  for (const it of cases) {
    waiting.push(it);
    if (!oracle.stdin.write(`${JSON.stringify({ ...it, text: textOf(it) })}\n`)) await once(oracle.stdin, 'drain');
  }
  oracle.stdin.end();
  await answers;
  if (waiting.length > 0) tally.differences.push(`the oracle ended with ${waiting.length} cases unanswered`);
  return tally;
}

function judge(it: { readonly from: number; readonly to: number }, text: string, answer: Answer, tally: Tally): void {
  if (answer.starts === undefined) {
    tally.skipped += 1;
    const why = answer.error ?? 'too many instances to walk';
    tally.notes.set(why, (tally.notes.get(why) ?? 0) + 1);
    return;
  }
  const object = readCalendarObject(Buffer.from(text));
  const { occurrences } = expand(object, it, { zone: 'UTC', most: MOST });
  const ours = [...new Set(occurrences.map(({ start }) => start / 1000))].toSorted((a, b) => a - b);
  for (const note of answer.notes ?? []) tally.notes.set(note, (tally.notes.get(note) ?? 0) + 1);
  if (ours.join() === answer.starts.join()) tally.same += 1;
  else if (explained(text, ours, answer.starts)) tally.explained += 1;
  else tally.differences.push(JSON.stringify({ ...it, ours: ours.slice(0, 8), theirs: answer.starts.slice(0, 8) }));
}

/** dateutil 2.8.2 numbers the weeks at the turn of some years as those of another year. */
const TURN_OF_YEAR = /BYWEEKNO=[^;]*5[1-3]/;

const DAY = 86_400;
const HALF_DAY = 14 * 3600;

/**
 * The known differences: the weeks of dateutil above, and three of recurring-ical-events 2.0.1. It finds the instance
 * of an override by its date as written, not by its instant; it takes a time that happens twice as the second; and it
 * reads an UNTIL without `Z` in UTC.
 */
function explained(text: string, ours: readonly number[], theirs: readonly number[]): boolean {
  if (TURN_OF_YEAR.test(text)) return true;
  const zone = ianaZone(/TZID=([^:;]+)/.exec(text)?.[1] ?? 'UTC') ?? UTC;
  const dayOf = (wall: number) => Math.floor(wall / DAY);
  const named = [...text.matchAll(/RECURRENCE-ID[^:]*:(\w+)/g)].flatMap(([, value]) => readTime(value ?? '') ?? []);
  const instants = new Set(named.map((it) => instantOf(it.isUtc ? UTC : zone, it.wall) / 1000));
  const days = new Set(named.map(({ wall }) => dayOf(wall)));
  const until = readTime(/UNTIL=(\w+)/.exec(text)?.[1] ?? '')?.wall ?? Infinity;
  const [missing, extra] = [ours.filter((it) => !theirs.includes(it)), theirs.filter((it) => !ours.includes(it))];
  const isTwin = (it: number, others: readonly number[]) =>
    others.some((other) => wallOf(zone, other * 1000) === wallOf(zone, it * 1000));
  const isNearEnd = (it: number) => Math.abs(it - until) <= HALF_DAY;
  return (
    extra.every((it) => instants.has(it) || isTwin(it, missing) || isNearEnd(it)) &&
    missing.every((it) => days.has(dayOf(wallOf(zone, it * 1000))) || isTwin(it, extra) || isNearEnd(it))
  );
}

function report(name: string, tally: Tally): void {
  process.stdout.write(
    `${name}: ${tally.same} the same, ${tally.explained} explained, ${tally.differences.length} not, ${tally.skipped} not asked\n`,
  );
  for (const [note, count] of tally.notes) process.stdout.write(`  ${note}: ${count}\n`);
  for (const difference of tally.differences.slice(0, 20)) process.stdout.write(`  ${difference}\n`);
}

const seed = Number(process.argv[2] ?? 20_261_121);
const probe = spawnSync(PYTHON, ['-c', 'import dateutil, recurring_ical_events'], { encoding: 'utf8' });
if (probe.status === 0) {
  const rules = await compare<OracleCase>('dateutil-oracle.py', oracleCases(RULES, seed), objectOf);
  report('python-dateutil', rules);
  const objects = await compare('recurring-oracle.py', objectCases(OBJECTS, seed), ({ text }) => text);
  report('recurring-ical-events', objects);
  process.exitCode = rules.differences.length + objects.differences.length === 0 ? 0 : 1;
} else {
  process.stderr.write('The oracles are missing: apt-get install python3-dateutil python3-recurring-ical-events\n');
  process.exitCode = 2;
}
