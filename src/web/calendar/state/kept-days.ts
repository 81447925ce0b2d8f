/** The calendars and the days that somebody looked at last, in this browser: there at once, and without a network. */
import { KeptAnswers } from '../../account/kept-answers.ts';
import { keyOf, type Calendar, type Occurrence, type Span } from './occurrence.ts';

/** Of all calendars together, each span of each a kept one. Beyond it those go that were read longest ago. */
export const SPANS_KEPT_MAX = 60;
/** What was not read for so long is forgotten. */
export const SPANS_KEPT_DAYS = 30;
/** A span with more is not kept: writing it would be felt. */
export const OCCURRENCES_KEPT_MAX = 2_000;
const LIST = 'calendars';

export class KeptDays {
  readonly #lists: KeptAnswers;
  readonly #spans: KeptAnswers;

  constructor(owner: string) {
    this.#lists = new KeptAnswers({ name: 'calendars', owner, most: 1, days: SPANS_KEPT_DAYS });
    this.#spans = new KeptAnswers({ name: 'days', owner, most: SPANS_KEPT_MAX, days: SPANS_KEPT_DAYS });
  }

  async list(): Promise<readonly Calendar[] | undefined> {
    return (await (await this.#lists.read(LIST))?.json()) as readonly Calendar[] | undefined;
  }

  /** Keeps the list, and forgets the days of what is not in it any more. */
  async keepList(calendars: readonly Calendar[]): Promise<void> {
    await this.#lists.keep(LIST, JSON.stringify(calendars));
    const ids = new Set(calendars.map(({ id }) => id));
    const gone = (await this.#spans.keys()).filter((key) => !ids.has(partsOf(key).calendar));
    await Promise.all(gone.map(async (key) => await this.#spans.forget(key)));
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

function partsOf(key: string): Span & { readonly calendar: string } {
  const [calendar = '', from = '', to = ''] = key.split(' ');
  return { calendar, from, to };
}

/** As an instant like those of spans, which are compared as text. */
function startOf({ date, start_at: at }: Occurrence): string {
  return new Date(at ?? `${date}T00:00:00Z`).toISOString();
}
