/** Words of people and times as they stand in a mail or on a page: bounded, and without what would change the rest. */
import type { Description, When } from '../scheduling/describing.ts';
import type { Wording } from './wording.ts';

/** Code points of a name, a title or a place; of notes. What is longer is cut, the calendar object has all of it. */
export const LINE_LENGTH_MAX = 200;
export const NOTES_LENGTH_MAX = 2_000;

/**
 * What is not shown: controls, and the invisible marks that turn the direction of what stands behind them, by which
 * a name could make another one of the words beside it.
 */
const UNSEEN = /[\p{Cc}\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]|\p{Cs}/gu;
const UNSEEN_BUT_LINES = /(?!\n)[\p{Cc}\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]|\p{Cs}/gu;

/** On one line. */
export function lineOf(text: string): string {
  return cut(text.replace(/\s+/gu, ' ').replace(UNSEEN, '').trim(), LINE_LENGTH_MAX);
}

/** On several lines. */
export function notesOf(text: string): string {
  return cut(text.replace(/\r\n?/g, '\n').replace(UNSEEN_BUT_LINES, '').trim(), NOTES_LENGTH_MAX);
}

/** What somebody is called in a header, where brackets, quotes and commas have a meaning. */
export function nameOf(text: string): string {
  return lineOf(text.replace(/["<>\\,;:()[\]@]/g, ' '));
}

/** A title, or what stands for one. */
export function titleOf({ title }: Pick<Description, 'title'>, { untitled }: Pick<Wording, 'untitled'>): string {
  return lineOf(title) || untitled;
}

/** `Monday 23 November 2026, 09:00–10:00 (Europe/Berlin)`; wall times are formatted as they are. */
export function whenOf({ end, isAllDay, start, zone }: When, { locale }: Pick<Wording, 'locale'>): string {
  const day = new Intl.DateTimeFormat(locale, {
    ...{ timeZone: 'UTC', weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  });
  const time = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', hour: '2-digit', minute: '2-digit' });
  const [from, to] = [day.format(start * 1000), day.format(end * 1000)];
  if (isAllDay) return from === to ? from : `${from} – ${to}`;
  const [begins, ends] = [time.format(start * 1000), time.format(end * 1000)];
  const span =
    from !== to ? `${from}, ${begins} – ${to}, ${ends}` : `${from}, ${begins}${begins === ends ? '' : `–${ends}`}`;
  return zone === '' ? span : `${span} (${lineOf(zone)})`;
}

/** An instant as it is on the clock of an IANA zone. */
export function instantIn(millis: number, zone: string, { locale }: Pick<Wording, 'locale'>): string {
  const form = new Intl.DateTimeFormat(locale, { timeZone: zone, dateStyle: 'full', timeStyle: 'short' });
  return `${form.format(millis)} (${zone})`;
}

/** As the text of an HTML element or of an attribute in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (it) => `&#${it.charCodeAt(0)};`);
}

/** Cut to so many code points, never within one. */
function cut(text: string, most: number): string {
  const points = Array.from(text.slice(0, most * 2 + 1));
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`;
}
