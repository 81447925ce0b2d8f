/** Time that only moves forward and is the same on all threads: for deadlines, never for timestamps. */

/** What this thread's `performance.now` is behind the clock that all threads share: it begins with the thread. */
const BEHIND_MILLIS = ((): number => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6 - performance.now();
})();

/**
 * Milliseconds since some moment before the process started. Unmoved when the machine's clock is set. An actor's turn asks
 * several times, and `process.hrtime` makes an array for each.
 */
export function monotonicMillis(): number {
  return BEHIND_MILLIS + performance.now();
}
