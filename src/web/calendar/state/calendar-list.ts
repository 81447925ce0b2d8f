/** The calendars that somebody has or is let into, which of them are shown, and in which colour. */
import type { CalendarApi } from '#src/client/calendar-api.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { keep, readKept } from '../../kit/kept-values.ts';
import { sentenceOf } from '../../kit/language.ts';
import { Observable } from '../../kit/observable.ts';
import type { KeptDays } from './kept-days.ts';
import type { Calendar } from './occurrence.ts';

/** Calendars that are not shown here: what is new is shown. */
const HIDDEN = 'parley.calendars.hidden';

/** For calendars of which nobody stated a colour. */
const COLORS = ['#1864ab', '#2b8a3e', '#a61e4d', '#862e9c', '#b35c00', '#0b7285', '#5f3dc4', '#c92a2a'] as const;

export class CalendarList extends Observable {
  readonly api: CalendarApi;
  readonly #client: ParleyClient;
  readonly #kept: KeptDays;
  readonly #hidden: Set<string>;
  #items: readonly Calendar[] = [];
  #shown: readonly Calendar[] = [];
  #isLoaded = false;
  #refused: string | undefined;
  /** Answers overtake each other: only the one to the newest question counts. */
  #asked = 0;

  constructor(client: ParleyClient, api: CalendarApi, days: KeptDays) {
    super();
    this.#client = client;
    this.#kept = days;
    this.api = api;
    const kept = readKept(HIDDEN);
    this.#hidden = new Set(Array.isArray(kept) ? kept.filter((id): id is string => typeof id === 'string') : []);
  }

  get items(): readonly Calendar[] {
    return this.#items;
  }

  get shown(): readonly Calendar[] {
    return this.#shown;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** What the server said against the last question. */
  get refused(): string | undefined {
    return this.#refused;
  }

  /** Where new entries go: the calendar that invitations come to, or the first that may be written. */
  get preferred(): Calendar | undefined {
    return this.#items.find((one) => one.is_default) ?? this.#items.find(mayWrite);
  }

  byId(id: string): Calendar | undefined {
    return this.#items.find((one) => one.id === id);
  }

  isHidden(id: string): boolean {
    return this.#hidden.has(id);
  }

  show(id: string, isShown: boolean): void {
    if (isShown) this.#hidden.delete(id);
    else this.#hidden.add(id);
    keep(HIDDEN, [...this.#hidden]);
    this.#settle();
  }

  /** Follows the server from now on; the answer ends that. */
  start(): () => void {
    void this.#showKept();
    void this.load();
    const off = [
      this.#client.on('caught-up', () => void this.load()),
      // A calendar that is not known was made elsewhere or shared with the person just now.
      this.#client.on('calendar.changed', ({ data }) => {
        if (this.byId(data.calendar_id) === undefined) void this.load();
      }),
    ];
    return () => off.forEach((unsubscribe) => unsubscribe());
  }

  async load(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    try {
      const { items } = await this.api.call('listCalendars', { params: {} });
      if (asked !== this.#asked) return;
      // Those that hold nothing but tasks and journals have nothing to show here.
      this.#items = items.filter(({ kinds }) => kinds.includes('event')).toSorted(byRank);
      this.#isLoaded = true;
      this.#refused = undefined;
      void this.#kept.keepList(this.#items);
    } catch (thrown) {
      if (asked === this.#asked) this.#refused = sentenceOf(thrown);
    }
    this.#settle();
  }

  /** Until the server has answered, the calendars of the last visit. */
  async #showKept(): Promise<void> {
    const kept = await this.#kept.list();
    if (kept === undefined || this.#isLoaded) return;
    this.#items = kept;
    this.#isLoaded = true;
    this.#settle();
  }

  #settle(): void {
    this.#shown = this.#items.filter(({ id }) => !this.#hidden.has(id));
    this.changed();
  }
}

function byRank(one: Calendar, other: Calendar): number {
  const rank = ({ access, order }: Calendar) => (access === 'owner' ? 0 : 2_000_000) + order;
  return rank(one) - rank(other) || one.displayname.localeCompare(other.displayname);
}

export function mayWrite({ access, subscribed }: Calendar): boolean {
  return !subscribed && (access === 'owner' || access === 'write' || access === 'delegate');
}

/** `#rrggbb`: what its owner chose, or one that stays the same. */
export function colorOf({ color, id }: Pick<Calendar, 'color' | 'id'>): string {
  if (color !== '') return color.slice(0, 7).toLowerCase();
  let sum = 0;
  for (const char of id) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 65_536;
  return COLORS[sum % COLORS.length] as string;
}

/** Black or white, whichever can be read on the colour: one of both has 4.58:1 or more (WCAG 2.2, 1.4.3). */
export function inkOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.05 ? '#ffffff' : '#000000';
}
