/** Time that only moves forward and is the same on all threads: for deadlines, never for timestamps. */

/** Milliseconds since some moment before the process started. Unmoved when the machine's clock is set. */
export function monotonicMillis(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
}
