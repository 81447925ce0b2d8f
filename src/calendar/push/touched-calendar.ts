/** What happened to one calendar in a short while, and which registrations are to hear of it. */
import type { CalendarTouch, Untold } from '#storage/calendars/calendar-draft.ts';

/** Different lists of who need not hear of a change, of one calendar in that while. Of what goes beyond it everybody hears. */
export const UNTOLD_LISTS_MAX = 64;

export interface Update {
  readonly isContent: boolean;
  readonly isProperty: boolean;
}

const NOTHING: Update = { isContent: false, isProperty: false };

export class TouchedCalendar {
  /** The sync_seq up to which it is known what happened. */
  seq = 0;
  /** What everybody hears of. */
  #loud = NOTHING;
  /** By the list: what those who are not on it hear of. */
  readonly #quiet = new Map<string, Update & { readonly untold: Untold }>();

  add({ calendar: { syncSeq }, isContent, isProperty, untold }: CalendarTouch): void {
    this.seq = Math.max(this.seq, syncSeq);
    const update = { isContent, isProperty };
    const name = untold === undefined || untold === '*' ? '*' : [...untold].toSorted().join('\n');
    const before = this.#quiet.get(name);
    if (untold === undefined || (before === undefined && this.#quiet.size >= UNTOLD_LISTS_MAX)) {
      this.#loud = joined(this.#loud, update);
    } else this.#quiet.set(name, { ...joined(before ?? NOTHING, update), untold });
  }

  /** What a registration, by its key, is to hear of. */
  updateFor(registration: string): Update {
    let update = this.#loud;
    for (const { untold, ...quiet } of this.#quiet.values()) {
      if (untold !== '*' && !untold.has(registration)) update = joined(update, quiet);
    }
    return update;
  }
}

export function joined(one: Update, other: Update): Update {
  return { isContent: one.isContent || other.isContent, isProperty: one.isProperty || other.isProperty };
}
