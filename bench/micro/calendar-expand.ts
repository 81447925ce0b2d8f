/** `calendar-expand`: reading, indexing and expanding calendar objects, ordinary and hostile, beside ical.js. */
import ICAL from 'ical.js';
import { expand } from '#src/calendar/recurrence/occurrences.ts';
import { indexOf } from '#src/calendar/recurrence/object-index.ts';
import { readCalendarObject, OBJECT_RICHNESS } from '#src/calendar/icalendar/object-reader.ts';
import { OBJECT_BYTES_MAX } from '#storage/calendars/calendar-records.ts';
import { bySize, interleave, type Bench, type BenchContext } from '../harness/bench.ts';

const WINDOW = { from: Date.parse('2026-11-01'), to: Date.parse('2026-12-01') };
const CENTURY = { from: Date.parse('1970-01-01'), to: Date.parse('2070-01-01') };
const OPTIONS = { zone: 'Europe/Berlin', most: 3_000 };

interface Case {
  readonly name: string;
  readonly text: string;
  /** Bombs are for us alone: the peer would not come back. */
  readonly isBomb?: boolean;
  /** What a query asks for instead of a month. */
  readonly window?: typeof WINDOW;
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at).join(',');
const calendar = (lines: readonly string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', ...lines, 'END:VCALENDAR', ''].join('\r\n');
const event = (...lines: string[]) => ['BEGIN:VEVENT', 'UID:bench', ...lines, 'END:VEVENT'];
const series = (rule: string, start = '19700101T090000') =>
  calendar(event(`DTSTART;TZID=Europe/Berlin:${start}`, 'DURATION:PT1H', `RRULE:${rule}`));

/** As many lines as fill an object of 512 KiB, or as one may have; a fold is part of its line. */
function filled(line: (at: number) => string, wrap: (lines: string[]) => string[]): string {
  const lines: string[] = [];
  let [bytes, count] = [400, 20];
  for (;;) {
    const next = line(lines.length);
    bytes += next.length + 2;
    count += next.startsWith(' ') || next === '' ? 0 : next.split('\r\n').length;
    if (bytes >= OBJECT_BYTES_MAX || count > OBJECT_RICHNESS.lines) return calendar(wrap(lines));
    lines.push(next);
  }
}

const stamp = (at: number) => new Date(Date.UTC(2020, 0, 1) + at * 3_600_000).toISOString().replace(/[-:]|\.\d+/g, '');
const daily = ['DTSTART:20200101T000000Z', 'RRULE:FREQ=HOURLY'];
const dense = `BYHOUR=${numbers(0, 23)};BYMINUTE=${numbers(0, 59)};BYSECOND=${numbers(0, 59)}`;
const onsets = (zone: number) =>
  `BEGIN:VTIMEZONE\r\nTZID:Z${zone}\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\nRRULE:FREQ=MONTHLY\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:bench\r\nRECURRENCE-ID:${stamp(zone)}\r\nDTSTART;TZID=Z${zone}:20261101T000000\r\nEND:VEVENT`;

/** As deep as components may be within VCALENDAR and VEVENT. */
const NESTED = ['A', 'B', 'C', 'D', 'E', 'F'];
const nested = (word: 'BEGIN' | 'END') =>
  (word === 'BEGIN' ? NESTED : NESTED.toReversed()).map((name) => `${word}:${name}`).join('\r\n');

const CASES: readonly Case[] = [
  { name: 'weekly since 2020', text: series('FREQ=WEEKLY;BYDAY=MO,WE', '20200101T090000') },
  { name: 'daily since 1970', text: series('FREQ=DAILY') },
  { name: 'daily, over a century', text: series('FREQ=DAILY'), isBomb: true, window: CENTURY },
  { name: 'hourly, over a century', text: series('FREQ=HOURLY'), isBomb: true, window: CENTURY },
  {
    name: 'BEGIN within BEGIN of 512 KiB',
    text: filled(
      (at) => (at % 2 === 0 ? nested('BEGIN') : nested('END')),
      (lines) => event(...daily, lines.slice(0, lines.length - (lines.length % 2)).join('\r\n')),
    ),
    isBomb: true,
  },
  { name: 'secondly', text: series('FREQ=SECONDLY'), isBomb: true },
  { name: 'secondly on February 30th', text: series('FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30'), isBomb: true },
  { name: 'a thousand million times', text: series('FREQ=MINUTELY;BYHOUR=3;COUNT=1000000000'), isBomb: true },
  {
    name: 'dense lists',
    text: series(`FREQ=YEARLY;BYYEARDAY=${numbers(1, 366)};${dense};COUNT=1000000000`),
    isBomb: true,
  },
  { name: 'dense EXRULE', text: calendar(event(...daily, `EXRULE:FREQ=DAILY;${dense}`)), isBomb: true },
  {
    name: 'EXDATE of 512 KiB',
    text: filled(
      (at) => `EXDATE:${stamp(at)}`,
      (lines) => event(...daily, lines.join('\r\n')),
    ),
    isBomb: true,
  },
  {
    name: 'joined EXDATE of 512 KiB',
    text: calendar(event(...daily, `EXDATE:${Array.from({ length: 30_000 }, (_, at) => stamp(at)).join(',')}`)),
    isBomb: true,
  },
  {
    name: 'overrides of 512 KiB',
    text: filled(
      (at) => event(`RECURRENCE-ID:${stamp(at)}`, 'DTSTART:20261102T090000Z').join('\r\n'),
      (lines) => [...event(...daily), lines.join('\r\n')],
    ),
    isBomb: true,
  },
  { name: 'zones of 512 KiB', text: filled(onsets, (lines) => [lines.join('\r\n')]), isBomb: true },
  {
    name: 'folds of 512 KiB',
    text: filled(
      () => ' x',
      (lines) => event(...daily, ['DESCRIPTION:x', ...lines].join('\r\n')),
    ),
    isBomb: true,
  },
  {
    name: 'blank lines of 512 KiB',
    text: filled(
      () => '',
      (lines) => event(...daily, lines.join('\r\n')),
    ),
    isBomb: true,
  },
  {
    name: 'escapes of 512 KiB',
    text: calendar(event(...daily, `SUMMARY:${String.raw`\n`.repeat(OBJECT_BYTES_MAX / 2 - 200)}`)),
    isBomb: true,
  },
  {
    name: 'parameters, as many as may be',
    text: calendar(event(...daily, ...Array<string>(OBJECT_RICHNESS.parameters / 40).fill(`X${';A=1'.repeat(40)}:`))),
    isBomb: true,
  },
];

/** CPU of this process, which the neighbours of a busy machine do not change. */
function cpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What a write and a query do with an object, in milliseconds of CPU. */
function ours({ text, window = WINDOW }: Case): Record<string, number> {
  const bytes = Buffer.from(text);
  const start = cpuMillis();
  const object = readCalendarObject(bytes);
  indexOf(object, OPTIONS.zone);
  const written = cpuMillis();
  expand(readCalendarObject(bytes), window, OPTIONS);
  return { 'write ms': written - start, 'query ms': cpuMillis() - written };
}

/** The peer's way to the same month: parse, then walk from the start. */
function theirs({ text }: Case): Record<string, number> {
  const start = cpuMillis();
  const root = new ICAL.Component(ICAL.parse(text) as unknown[]);
  const component = root.getFirstSubcomponent('vevent');
  if (component === null) throw new Error('the peer found no event');
  const iterator = new ICAL.Event(component).iterator();
  for (let next = iterator.next(); next !== null && next !== undefined; next = iterator.next()) {
    if (next.toUnixTime() * 1000 >= WINDOW.to) break;
  }
  return { 'query ms': cpuMillis() - start };
}

export const calendarExpand: Bench = {
  name: 'calendar-expand',
  say: 'CPU of one object to read and index (write), and to read and expand over a month (query); bombs of up to 512 KiB',
  async run(context: BenchContext) {
    const { recorder } = context;
    const rounds = bySize(context, { smoke: 1, default: 9, full: 25 });
    recorder.parameters({ most: OPTIONS.most });
    for (const it of CASES) {
      const subjects = it.isBomb === true ? ['parley'] : ['parley', 'ical.js'];
      // oxlint-disable-next-line no-await-in-loop -- Cases must not run at the same time.
      await interleave(context, rounds, subjects, async (subject, round, isWarmUp) => {
        const values = subject === 'parley' ? ours(it) : theirs(it);
        if (!isWarmUp) recorder.round({ case: it.name, subject, round, values });
      });
      recorder.bar(it.name, 'write ms', recorder.median(it.name, 'parley', 'write ms'), '≤', 50);
      recorder.bar(it.name, 'query ms', recorder.median(it.name, 'parley', 'query ms'), '≤', 50);
      if (it.isBomb !== true) recorder.ratio(it.name, 'query ms', 'ical.js', 'parley');
    }
    recorder.note('ical.js does not look zones up, and is not asked for the bombs: it would not come back');
  },
};
