/**
 * Reads and expands made-up series soon after the start, so that the engine has compiled that code when somebody opens a
 * month: the first thousand series of a fresh process cost six times as much as the same ones a little later.
 */
import { expandFrom } from './derivation.ts';
import { overlaps } from '../recurrence/occurrences.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { TimeSlicer } from '../time-slicer.ts';

/** Behind the rush of a start. */
const AFTER_MILLIS = 2_000;
/** Some 150 ms of CPU; more rounds make nothing quicker. */
export const WARM_UP_ROUNDS = 2_000;

const RULES = ['FREQ=WEEKLY;BYDAY=MO,TH', 'FREQ=DAILY', 'FREQ=MONTHLY;BYDAY=-1FR'] as const;

/** Warms up after a while; the answer stops it, at whatever it is. */
export function warmUpLater(): () => void {
  const ending = new AbortController();
  const timer = setTimeout(() => void warmUp(ending.signal), AFTER_MILLIS).unref();
  return () => {
    clearTimeout(timer);
    ending.abort();
  };
}

/** Goes through the rounds with turns for others, until it is told to end; answers how many it did. */
export async function warmUp(signal: AbortSignal): Promise<number> {
  const slicer = new TimeSlicer();
  const window = { from: Date.UTC(2026, 10, 1), to: Date.UTC(2026, 11, 1) };
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    await slicer.pass();
    if (signal.aborted) return round;
    const object = readCalendarObject(Buffer.from(seriesOf(round)));
    if (overlaps(object, window, 'UTC')) expandFrom(object, window, 'UTC', { most: 100 });
  }
  return WARM_UP_ROUNDS;
}

function seriesOf(round: number): string {
  const day = String(1 + (round % 28)).padStart(2, '0');
  return [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'BEGIN:VEVENT', `UID:${round}`, 'DTSTAMP:20260101T000000Z'],
    ...[`DTSTART;TZID=Europe/Berlin:202001${day}T090000`, `DTEND;TZID=Europe/Berlin:202001${day}T100000`],
    ...[
      `RRULE:${RULES[round % RULES.length]}`,
      String.raw`SUMMARY:Made up\, to be read`,
      'END:VEVENT',
      'END:VCALENDAR',
    ],
  ].join('\r\n');
}
