/** What is in the shown calendars while the days are shown that the person looks at; each calendar is read by itself. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { toParleyError } from '#src/client/parley-error.ts';
import { sentenceOf } from '../../kit/language.ts';
import { Observable } from '../../kit/observable.ts';
import type { CalendarList } from './calendar-list.ts';
import type { KeptDays } from './kept-days.ts';
import type { Occurrence, OccurrencePlace, Span } from './occurrence.ts';

interface Read {
  readonly span: Span;
  readonly items: readonly Occurrence[];
  readonly isCut: boolean;
}

export class Occurrences extends Observable {
  readonly #client: ParleyClient;
  readonly #list: CalendarList;
  readonly #kept: KeptDays;
  readonly #read = new Map<string, Read>();
  /** The newest question about each calendar, which ends with the answer to it. */
  readonly #asked = new Map<string, Promise<void>>();
  readonly #reading = new Set<string>();
  /** Which are about to be deleted, and out of sight. */
  readonly #leaving = new Set<(place: OccurrencePlace) => boolean>();
  #span: Span | undefined;
  #items: readonly Occurrence[] = [];
  #refused: string | undefined;

  constructor(client: ParleyClient, list: CalendarList, kept: KeptDays) {
    super();
    this.#client = client;
    this.#list = list;
    this.#kept = kept;
  }

  get items(): readonly Occurrence[] {
    return this.#items;
  }

  get isReading(): boolean {
    return this.#reading.size > 0;
  }

  /** Whether more is there than one answer holds. */
  get isCut(): boolean {
    return this.#list.shown.some(({ id }) => this.#read.get(id)?.isCut === true);
  }

  get refused(): string | undefined {
    return this.#refused;
  }

  /** Follows the calendars and the server from now on; the answer ends that. */
  start(): () => void {
    const off = [
      this.#list.subscribe(() => this.#readShown()),
      this.#client.on('calendar.changed', ({ data }) => void this.again(data.calendar_id)),
      this.#client.on('caught-up', () => this.#again()),
    ];
    return () => off.forEach((unsubscribe) => unsubscribe());
  }

  /** Shows another span of time: what is known stays until the answers come. */
  show(from: Date, to: Date): void {
    const span = { from: from.toISOString(), to: to.toISOString() };
    if (span.from === this.#span?.from && span.to === this.#span.to) return;
    this.#span = span;
    this.#again();
  }

  /** Reads one calendar again: it changed, here or elsewhere. Ends when what is shown is no older than this call. */
  async again(calendar: string): Promise<void> {
    if (this.#list.shown.some(({ id }) => id === calendar)) return await this.#ask(calendar);
    // Read when it is shown again.
    this.#read.delete(calendar);
    this.#asked.delete(calendar);
  }

  /** Takes entries out of sight; the answer brings them back. */
  hide(matches: (place: OccurrencePlace) => boolean): () => void {
    this.#leaving.add(matches);
    this.#settle();
    return () => {
      this.#leaving.delete(matches);
      this.#settle();
    };
  }

  #again(): void {
    for (const { id } of this.#list.shown) void this.#ask(id);
  }

  /** A calendar that is shown for the first time is read, and one that is gone is forgotten. */
  #readShown(): void {
    const ids = new Set(this.#list.items.map(({ id }) => id));
    for (const id of this.#read.keys()) if (!ids.has(id)) this.#read.delete(id);
    for (const { id } of this.#list.shown) if (!this.#asked.has(id)) void this.#ask(id);
    this.#settle();
  }

  /** Ends with the newest answer about the calendar, though it be to a later question. */
  #ask(calendar: string): Promise<void> {
    const span = this.#span;
    if (span === undefined) return Promise.resolve();
    const isNewest = () => this.#asked.get(calendar) === asked;
    const asked: Promise<void> = this.#answer(calendar, span, isNewest).then(async () => {
      if (!isNewest()) await this.#asked.get(calendar);
    });
    this.#asked.set(calendar, asked);
    return asked;
  }

  async #answer(calendar: string, span: Span, isNewest: () => boolean): Promise<void> {
    this.#reading.add(calendar);
    const isWanted = () => isNewest() && this.#read.get(calendar)?.span !== span;
    if (this.#read.get(calendar)?.span !== span) void this.#showKept(calendar, span, isWanted);
    try {
      const answer = await this.#list.api.call('readRange', { params: { calendar }, query: { ...span } });
      if (!isNewest()) return;
      const items = answer.items.map((item) => ({ ...item, calendar_id: calendar }));
      this.#read.set(calendar, { span, items, isCut: answer.is_cut });
      void this.#kept.keep(calendar, span, items);
      this.#refused = undefined;
    } catch (thrown) {
      if (!isNewest()) return;
      // Somebody shares it no longer, or it is deleted.
      if (toParleyError(thrown).code === 'calendar_not_found') void this.#list.load();
      else this.#refused = sentenceOf(thrown);
      // Without a network the days are shown as they were read last.
      if (toParleyError(thrown).status === 0) await this.#showKept(calendar, span, isWanted);
      if (!isNewest()) return;
      // Asked once more with the next look at the list, and when the socket is back.
      this.#asked.delete(calendar);
    }
    this.#reading.delete(calendar);
    this.#settle();
  }

  /** Shows what an earlier visit, or an earlier look at these days, read of them. */
  async #showKept(calendar: string, span: Span, isWanted: () => boolean): Promise<void> {
    const items = await this.#kept.read(calendar, span);
    if (items === undefined || !isWanted()) return;
    this.#read.set(calendar, { span, items, isCut: false });
    this.#settle();
  }

  #settle(): void {
    this.#items = this.#list.shown
      .flatMap(({ id }) => this.#read.get(id)?.items ?? [])
      .filter((item) => ![...this.#leaving].some((matches) => matches(item)));
    this.changed();
  }
}
