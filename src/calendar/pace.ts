/**
 * How often one person may read and write calendars, over JSON and DAV together. Who is faster waits for their turn:
 * clients of DAV take a 429 for a fault and show it, and would have to be told by each of them what it means.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Limiter } from '#src/limits/limiter.ts';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PROPFIND', 'REPORT']);

/** Waits until it is the person's turn for a request of that method. @throws Refusal `rate_limited`. */
export type Pace = (user: string, method: string) => Promise<void>;

export function paceOf(limiter: Limiter): Pace {
  return async (user, method) => {
    const wait = limiter.pace(READS.has(method.toUpperCase()) ? 'calendar_read' : 'calendar_write', user);
    if (wait > 0) await delay(wait);
    await limiter.roundRobin.begin(user);
  };
}
