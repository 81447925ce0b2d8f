/**
 * How late a thread's timers fire: what a request waits for because the thread is busy with something else.
 *
 * The platform's own monitor (`monitorEventLoopDelay`) is an HDR histogram: it can be read as buckets only by
 * walking it whole or by resetting it, and a reset by one scraper takes the data from the next. This one asks a
 * timer and counts into buckets that only grow.
 */
import type { HistogramSample } from './metrics.ts';
import { Histogram } from './histogram.ts';
import { METRICS } from './metric-table.ts';

/**
 * Twenty questions a second: a stall of 50 ms is seen for certain. A thread that does nothing else pays some 100 µs for
 * each, since its event loop wakes up for it.
 */
const INTERVAL_MILLIS = 50;

/** The worst of the last minute, kept as the worst of six windows so that old ones fall away without a reset. */
const WINDOW_MILLIS = 10_000;
const WINDOW_COUNT = 6;

export class EventLoopDelay {
  readonly #histogram = new Histogram(METRICS.parley_threads_event_loop_delay_seconds.bounds);
  /** The worst delay of each window, in seconds, by the window's number modulo their count. */
  readonly #worst = new Float64Array(WINDOW_COUNT);
  #window = 0;
  #last: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Begins to ask. The timer does not keep the thread alive. */
  start(): void {
    this.#timer ??= setInterval(() => this.tick(performance.now()), INTERVAL_MILLIS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#last = undefined;
  }

  /** The timer fired at `now`, in milliseconds of a steady clock. The first time only sets the beginning. */
  tick(now: number): void {
    this.#turnTo(now);
    if (this.#last !== undefined) {
      const seconds = Math.max(0, now - this.#last - INTERVAL_MILLIS) / 1000;
      this.#histogram.observe(seconds);
      const slot = this.#window % WINDOW_COUNT;
      this.#worst[slot] = Math.max(this.#worst[slot] as number, seconds);
    }
    this.#last = now;
  }

  #turnTo(now: number): void {
    const window = Math.floor(now / WINDOW_MILLIS);
    // A stall may span several windows, and those in between are empty; more than a round of them is all of them.
    const passed = Math.min(window - this.#window, WINDOW_COUNT);
    for (let i = 0; i < passed; i += 1) this.#worst[(window - i) % WINDOW_COUNT] = 0;
    this.#window = window;
  }

  sample(labels: readonly string[]): HistogramSample {
    return this.#histogram.sample(labels);
  }

  /** The worst delay within the last minute, in seconds. `now` as for `tick`. */
  recentMax(now: number): number {
    this.#turnTo(now);
    return Math.max(...this.#worst);
  }
}
