/** How many mails may leave on behalf of each person within an hour. Counted in memory: a restart begins afresh. */
import type { Clock } from '#src/base/clock.ts';

const HOUR_MILLIS = 3_600_000;
/** People counted at once; the one whose hour began first is forgotten, and may begin afresh. */
const COUNTED_MAX = 100_000;

export class HourlyBudget {
  readonly #most: number;
  readonly #clock: Clock;
  /** In the order in which the hours began. */
  readonly #hours = new Map<string, { readonly since: number; count: number }>();

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  left(user: string): number {
    const hour = this.#hours.get(user);
    return hour === undefined || this.#isOver(hour.since) ? this.#most : Math.max(0, this.#most - hour.count);
  }

  take(user: string, count: number): void {
    const known = this.#hours.get(user);
    if (known !== undefined && !this.#isOver(known.since)) {
      known.count += count;
      return;
    }
    this.#hours.delete(user);
    this.#hours.set(user, { since: this.#clock.now(), count });
    const [oldest] = this.#hours.keys();
    if (this.#hours.size > COUNTED_MAX && oldest !== undefined) this.#hours.delete(oldest);
  }

  #isOver(since: number): boolean {
    const age = this.#clock.now() - since;
    // A clock that was set back makes no hour last for a day.
    return age < 0 || age >= HOUR_MILLIS;
  }
}
