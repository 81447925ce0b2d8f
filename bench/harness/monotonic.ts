/** One clock for all processes of a run, and waiting for its instants. */

/**
 * Nanoseconds of the machine's monotonic clock, comparable between its processes. Not `performance.now()` with an offset:
 * a process that loses its core between the two readings that make the offset is wrong by milliseconds ever after.
 */
export function nanosNow(): number {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1e9 + nanos;
}

/**
 * Waits until an instant of `nanosNow`. Sleeps while it is far and turns the event loop while it is near, because a
 * timer is only good to a millisecond.
 */
export function waitUntil(nanos: number): Promise<void> | undefined {
  const left = nanos - nanosNow();
  if (left <= 0) return undefined;
  return new Promise((resolve) => {
    const turn = (): void => {
      const rest = nanos - nanosNow();
      if (rest <= 0) resolve();
      else if (rest > 2.5e6) setTimeout(turn, rest / 1e6 - 2);
      else setImmediate(turn);
    };
    turn();
  });
}
