/**
 * Tells clients that a calendar changed: after the commit, to everybody who sees the calendar, once for all changes that
 * come within a short while. A client reads the changes by its own cursor, so the newest sync_seq says it all.
 */
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';

/** How long changes of one calendar are gathered: below what a person notices, above what an import takes per entry. */
export const GATHERED_MILLIS = 200;

export interface CalendarNotice {
  readonly users: readonly string[];
  readonly calendar: string;
  readonly syncSeq: number;
}

/** Another time for an entry was proposed, answered or taken back. */
export interface ProposalNotice {
  readonly users: readonly string[];
  readonly proposal: { readonly calendar: string; readonly entry: string };
}

export interface ChangeAnnouncerOptions {
  /** Everybody who sees the calendar now. */
  readonly viewersOf: (calendar: string) => readonly string[];
  /** Hands it to every messaging thread. */
  readonly tell: (told: CalendarNotice) => void;
}

export class ChangeAnnouncer {
  readonly #options: ChangeAnnouncerOptions;
  /** Calendar → its newest state, its owner, and who was shut out meanwhile, with the state that they were shut out at. */
  readonly #gathered = new Map<
    string,
    { syncSeq: number; readonly owner: string; readonly shutOut: Map<string, number>; readonly timer: NodeJS.Timeout }
  >();

  constructor(options: ChangeAnnouncerOptions) {
    this.#options = options;
  }

  /** Notes a change that is on disk. Who is shut out by it hears of it too, and of none behind it: `viewers` are those of before. */
  changed({ id, owner, syncSeq }: CalendarRecord, viewers: readonly string[] = []): void {
    let gathered = this.#gathered.get(id);
    if (gathered === undefined) {
      const timer = setTimeout(() => this.#announce(id), GATHERED_MILLIS);
      gathered = { syncSeq, owner, shutOut: new Map(), timer };
      this.#gathered.set(id, gathered);
    }
    gathered.syncSeq = Math.max(gathered.syncSeq, syncSeq);
    for (const viewer of viewers) gathered.shutOut.set(viewer, syncSeq);
  }

  /** Forgets what is gathered: the sockets that would hear of it are being closed. */
  stop(): void {
    for (const { timer } of this.#gathered.values()) clearTimeout(timer);
    this.#gathered.clear();
  }

  #announce(calendar: string): void {
    const gathered = this.#gathered.get(calendar);
    if (gathered === undefined) return;
    this.#gathered.delete(calendar);
    const { tell, viewersOf } = this.#options;
    const { owner, shutOut, syncSeq } = gathered;
    const users = new Set([owner, ...viewersOf(calendar)]);
    tell({ users: [...users], calendar, syncSeq });
    const others = [...shutOut].filter(([viewer]) => !users.has(viewer));
    for (const seq of new Set(others.map(([, at]) => at))) {
      tell({ users: others.filter(([, at]) => at === seq).map(([viewer]) => viewer), calendar, syncSeq: seq });
    }
  }
}
