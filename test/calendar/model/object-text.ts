/** Calendar objects as a client of its own reads and edits them: no reader of the server's takes part. */
import assert from 'node:assert/strict';
import type { Answer, WrittenMeeting, Written } from './meeting-model.ts';

/** One VEVENT as its lines, unfolded, without BEGIN and END. */
export type Event = readonly string[];

export interface ReadEvent {
  readonly uid: string;
  /** Original start; undefined for a series or what does not recur. */
  readonly at: number | undefined;
  readonly start: number;
  readonly title: string;
  readonly isCancelled: boolean;
  readonly sequence: number;
  readonly left: readonly number[];
  /** Name before the `@`, or the username → answer. */
  readonly answers: ReadonlyMap<string, Answer>;
  /** Who wrote in the organiser's name, or somebody's answer: name → who did it for them. */
  readonly sentBy: ReadonlyMap<string, string | undefined>;
  readonly lines: Event;
}

export const unfolded = (text: string): string => text.replaceAll(/\r?\n[ \t]/g, '');

/** The events of a text. */
export function eventsOf(text: string): ReadEvent[] {
  return [...unfolded(text).matchAll(/BEGIN:VEVENT\r?\n(.*?)END:VEVENT/gs)].map(([, body = '']) => {
    // Alarms are their reader's own.
    const lines = body
      .replaceAll(/BEGIN:VALARM.*?END:VALARM\r?\n/gs, '')
      .split(/\r?\n/)
      .filter((line) => line !== '');
    const all = (name: string) => lines.filter((line) => new RegExp(`^${name}[;:]`, 'i').test(line));
    const value = (name: string) => all(name)[0]?.replace(/^(?:[^:"]|"[^"]*")*:/, '') ?? '';
    const at = all('RECURRENCE-ID')[0];
    return {
      uid: value('UID'),
      at: at === undefined ? undefined : timesIn(at)[0],
      start: timesIn(all('DTSTART')[0] ?? '')[0] as number,
      title: value('SUMMARY'),
      isCancelled: value('STATUS') === 'CANCELLED',
      sequence: Number(value('SEQUENCE') || 0),
      left: all('EXDATE').flatMap(timesIn),
      answers: new Map(all('ATTENDEE').map((line) => [personIn(line), answerIn(line)])),
      sentBy: new Map([...all('ATTENDEE'), ...all('ORGANIZER')].map((line) => [personIn(line), sentByIn(line)])),
      lines,
    };
  });
}

/** Instants of a line; in Berlin it is January, an hour before UTC. */
function timesIn(line: string): number[] {
  const text = line.replace(/^(?:[^:"]|"[^"]*")*:/, '');
  return text.split(',').map((one) => {
    const [, year, month, day, hour, minute, second, utc] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(Z?)$/.exec(one.trim()) ?? [];
    const wall = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
    assert.ok(!Number.isNaN(wall), line);
    return utc !== 'Z' && line.includes('TZID=Europe/Berlin') ? wall - 3_600_000 : wall;
  });
}

/** Whose line it is: parameters may name others, who wrote it for them. */
export const personIn = (line: string): string =>
  /^mailto:([^@]+)@/i.exec(line.replace(/^(?:[^:"]|"[^"]*")*:/, ''))?.[1] ?? line;
/** Who wrote a line in the name of whose it is; undefined for themselves. */
const sentByIn = (line: string): string | undefined => /;SENT-BY="mailto:([^@]+)@/i.exec(line)?.[1];
const answerIn = (line: string): Answer => (/PARTSTAT=([A-Z-]+)/.exec(line)?.[1] ?? 'NEEDS-ACTION') as Answer;

/** `20270104T090000Z`, or the wall time of Berlin in January. */
export function timeText(at: number, isBerlin: boolean): string {
  const text = new Date(at + (isBerlin ? 3_600_000 : 0)).toISOString().replaceAll(/[-:]|\.000/g, '');
  return isBerlin ? text.slice(0, -1) : text;
}

/** A line of that instant. */
export const timeLine = (name: string, at: number, isBerlin: boolean): string =>
  `${name}${isBerlin ? ';TZID=Europe/Berlin' : ''}:${timeText(at, isBerlin)}`;

/** Whether an object's times are those of Berlin, by its lines. */
export const isOfBerlin = (lines: Event): boolean =>
  lines.some((line) => line.startsWith('DTSTART;TZID=Europe/Berlin'));

/** An event's lines with those of some names replaced. */
export function withLines(lines: Event, names: readonly string[], by: readonly string[]): string[] {
  const isGone = (line: string) => names.some((name) => new RegExp(`^${name}[;:]`).test(line));
  return [...lines.filter((line) => !isGone(line)), ...by];
}

/** The lines of an occurrence of a series by itself, as a client makes it of the series. */
export function occurrenceLines(series: Event, at: number): string[] {
  const isBerlin = isOfBerlin(series);
  const times = [timeLine('RECURRENCE-ID', at, isBerlin), timeLine('DTSTART', at, isBerlin)];
  return withLines(
    series,
    ['RRULE', 'EXDATE', 'RDATE', 'DTSTART', 'DTEND'],
    [
      ...times,
      ...(series.some((line) => line.startsWith('DURATION')) ? [] : [timeLine('DTEND', at + 3_600_000, isBerlin)]),
    ],
  );
}

/** The line of a person with another answer. */
export function answeredLines(lines: Event, person: string, answer: Answer): string[] {
  return lines.map((line) => {
    if (!line.startsWith('ATTENDEE') || personIn(line) !== person) return line;
    const bare = line.replaceAll(/;(?:PARTSTAT|RSVP)=[^;:]*/g, '');
    return bare.replace(/^ATTENDEE/, `ATTENDEE;PARTSTAT=${answer}`);
  });
}

/** A calendar of those events. */
export function calendarText(events: readonly Event[], method?: string): string {
  const head = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Model//EN',
    ...(method === undefined ? [] : [`METHOD:${method}`]),
  ];
  const bodies = events.flatMap((lines) => ['BEGIN:VEVENT', ...lines, 'END:VEVENT']);
  return [...head, ...bodies, 'END:VCALENDAR', ''].join('\r\n');
}

/** What a text says, as its organiser's words. */
export function writtenIn(text: string, organizer: string): WrittenMeeting {
  const events = eventsOf(text);
  const written = ({ answers, start, title }: ReadEvent): Written => {
    return { start, title, people: new Set([...answers.keys()].filter((one) => one !== organizer)) };
  };
  const whole = events.find(({ at }) => at === undefined) as ReadEvent;
  const singles = events.filter(({ at }) => at !== undefined);
  return {
    whole: written(whole),
    singles: new Map(singles.map((one) => [one.at as number, written(one)])),
    left: new Set(whole.left),
    weeks: weeksOf(whole.lines),
  };
}

/** How often a series takes place, by its lines. */
export const weeksOf = (lines: Event): number =>
  Number(/COUNT=(\d+)/.exec(lines.find((line) => line.startsWith('RRULE')) ?? '')?.[1] ?? 1);
