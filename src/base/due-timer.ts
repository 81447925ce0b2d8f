/** Wakes up at an instant of the clock for what is due then, and again for what is due next. */
import type { Clock } from './clock.ts';

/** The clock may be set while a timer runs, so no timer runs for longer than this. */
const LOOK_MILLIS_MAX = 60_000;
/** After work that failed, which a full disk makes it, the next try comes this much later. */
const RETRY_MILLIS = 5_000;

export interface DueTimerOptions {
  readonly clock: Clock;
  /** When the next is due, in milliseconds since 1970; undefined while nothing is. */
  readonly next: () => number | undefined;
  /** Does what is due by now, which may be nothing: the clock may have been set. */
  readonly work: () => Promise<void>;
  /** Told of work that failed; it is tried again. */
  readonly failed: (error: unknown) => void;
}

export class DueTimer {
  readonly #options: DueTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: DueTimerOptions) {
    this.#options = options;
  }

  /** Looks when the next is due. Called again whenever that may have become another instant. */
  watch(): void {
    const { clock, next } = this.#options;
    clearTimeout(this.#timer);
    const due = next();
    if (due !== undefined) this.#wake(Math.max(0, Math.min(due - clock.now(), LOOK_MILLIS_MAX)));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #wake(millis: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#look(), millis);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const { failed, work } = this.#options;
    try {
      await work();
      this.watch();
    } catch (error) {
      failed(error);
      this.#wake(RETRY_MILLIS);
    }
  }
}
