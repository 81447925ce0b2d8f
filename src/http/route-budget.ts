/**
 * How often one person calls one route of the coordinator: what is written there fills the accounts file and its audit
 * trail, and each read takes the one thread that everybody signs in on.
 */
import type { Clock } from '#src/base/clock.ts';
import type { RouteBudget } from './client-routes.ts';
import { WindowLimiter } from './window-limiter.ts';

/** Writes of one person by one route in a minute: nobody types faster, and programs wait. [rate_limited] */
export const ROUTE_WRITES_PER_MINUTE = 60;
/** Reads of one person by one route in a minute: a client reads the directory page by page. [rate_limited] */
export const ROUTE_READS_PER_MINUTE = 600;

/** @param times how many times of it people may do, as the configuration says; 0 for no limit. */
export function makeRouteBudget(times: number, clock: Clock): RouteBudget | undefined {
  if (times === 0) return undefined;
  const limiterOf = (perMinute: number) => new WindowLimiter(Math.max(1, Math.floor(perMinute * times)), clock);
  const [writes, reads] = [limiterOf(ROUTE_WRITES_PER_MINUTE), limiterOf(ROUTE_READS_PER_MINUTE)];
  return {
    take: (user, name, isWrite) => (isWrite ? writes : reads).take(`${name} ${user}`),
  };
}
