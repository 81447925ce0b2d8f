/** Timers for tests over loopback: short waits pass at once, deadlines stay what they are. */
import { systemTimers, type Timers } from '#src/client/connection/timers.ts';

const SHORT_MILLIS = 5_000;

/** Timers whose waits of up to so many milliseconds take one. */
export function makeHastyTimers(shortMillis: number): Timers {
  return {
    now: () => systemTimers.now(),
    after: (millis, run) => systemTimers.after(millis <= shortMillis ? 1 : millis, run),
  };
}

export const hastyTimers = makeHastyTimers(SHORT_MILLIS);
