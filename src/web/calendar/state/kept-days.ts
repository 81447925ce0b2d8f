/** The calendars, the days and the entries that somebody looked at last, in this browser: there at once, and without a network. */
import type { CalendarReplyOf } from '#src/client/calendar-api.ts';
import { KeptAnswers } from '../../account/kept-answers.ts';
import { keyOf, type Calendar, type Occurrence, type OccurrencePlace, type Span } from './occurrence.ts';

/** Of all calendars together, each span of each a kept one. Beyond it those go that were read longest ago. */
export const SPANS_KEPT_MAX = 60;
/** What was not read for so long is forgotten. */
export const SPANS_KEPT_DAYS = 30;
/** A span with more is not kept: writing it would be felt. */
export const OCCURRENCES_KEPT_MAX = 2_000;
/** Entries that were opened. Beyond it those go that were opened longest ago. */
export const ENTRIES_KEPT_MAX = 200;
const LIST = 'calendars';

/** An entry or an occurrence, and the series that it is of. */
export interface KeptEntry {
  readonly entry: CalendarReplyOf<'readEntry'>;
  readonly series: CalendarReplyOf<'readEntry'>;
}

export class KeptDays {
  readonly #lists: KeptAnswers;
  readonly #spans: KeptAnswers;
  readonly #entries: KeptAnswers;

  constructor(owner: string) {
    this.#lists = new KeptAnswers({ name: 'calendars', owner, most: 1, days: SPANS_KEPT_DAYS });
    this.#spans = new KeptAnswers({ name: 'days', owner, most: SPANS_KEPT_MAX, days: SPANS_KEPT_DAYS });
    this.#entries = new KeptAnswers({ name: 'entries', owner, most: ENTRIES_KEPT_MAX, days: SPANS_KEPT_DAYS });
  }

  async list(): Promise<readonly Calendar[] | undefined> {
    return (await (await this.#lists.read(LIST))?.json()) as readonly Calendar[] | undefined;
  }

  /** Keeps the list, and forgets the days and the entries of what is not in it any more. */
  async keepList(calendars: readonly Calendar[]): Promise<void> {
    await this.#lists.keep(LIST, JSON.stringify(calendars));
    const ids = new Set(calendars.map(({ id }) => id));
    for (const answers of [this.#spans, this.#entries]) {
      const gone = (await answers.keys()).filter((key) => !ids.has(partsOf(key).calendar));
      await Promise.all(gone.map(async (key) => await answers.forget(key)));
    }
  }

  /** An entry as it was when it was opened last; undefined where it never was. */
  async entry(place: OccurrencePlace): Promise<KeptEntry | undefined> {
    return (await (await this.#entries.read(entryKey(place)))?.json()) as KeptEntry | undefined;
  }

  async keepEntry(place: OccurrencePlace, { entry, series }: KeptEntry): Promise<void> {
    await this.#entries.keep(entryKey(place), JSON.stringify({ entry, series }));
  }

  /** It is deleted. */
  async forgetEntry(place: OccurrencePlace): Promise<void> {
    await this.#entries.forget(entryKey(place));
  }

  /** What is known of a span of a calendar; undefined where nothing of it is. */
  async read(calendar: string, span: Span): Promise<readonly Occurrence[] | undefined> {
    const keys = (await this.#spans.keys()).filter((key) => {
      const kept = partsOf(key);
      return kept.calendar === calendar && kept.from < span.to && kept.to > span.from;
    });
    const answers = await Promise.all(
      keys.toReversed().map(async (key) => [key, await this.#spans.read(key)] as const),
    );
    const found = new Map<string, Occurrence>();
    const seen: Span[] = [];
    for (const [key, answer] of answers) {
      if (answer === undefined) continue;
      for (const one of (await answer.json()) as Occurrence[]) {
        // What a later answer does not have any more is moved or deleted.
        const isGone = seen.some(({ from, to }) => startOf(one) >= from && startOf(one) < to);
        if (!isGone && !found.has(keyOf(one))) found.set(keyOf(one), one);
      }
      seen.push(partsOf(key));
    }
    return seen.length === 0 ? undefined : [...found.values()];
  }

  async keep(calendar: string, { from, to }: Span, items: readonly Occurrence[]): Promise<void> {
    const key = [calendar, from, to].join(' ');
    if (items.length > OCCURRENCES_KEPT_MAX) await this.#spans.forget(key);
    else await this.#spans.keep(key, JSON.stringify(items));
  }
}

function entryKey({ calendar_id: calendar, entry_id: entry, recurrence_id: id = '' }: OccurrencePlace): string {
  return [calendar, entry, id].join(' ');
}

function partsOf(key: string): Span & { readonly calendar: string } {
  const [calendar = '', from = '', to = ''] = key.split(' ');
  return { calendar, from, to };
}

/** As an instant like those of spans, which are compared as text. */
function startOf({ date, start_at: at }: Occurrence): string {
  return new Date(at ?? `${date}T00:00:00Z`).toISOString();
}
