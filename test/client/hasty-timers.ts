/** Timers for tests over loopback: short waits pass at once, deadlines stay what they are. */
import { systemTimers, type Timers } from '#src/client/timers.ts';

const SHORT_MILLIS = 5_000;

export const hastyTimers: Timers = {
  now: () => systemTimers.now(),
  after: (millis, run) => systemTimers.after(millis <= SHORT_MILLIS ? 1 : millis, run),
};
