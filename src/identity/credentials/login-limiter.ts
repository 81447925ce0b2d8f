/**
 * How often a sign-in may fail: per username and address, so that a stranger who guesses locks out nobody but
 * themself.
 */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';

const WINDOW_MILLIS = 60_000;

/**
 * Pairs of username and address that are remembered. Each failure costs a password hash, and two at once at 25 ms
 * make 4,800 a minute, so no flood fills this within a window. Beyond it the oldest window is forgotten.
 */
export const LOGIN_PAIRS_MAX = 16_384;

/**
 * Attempts of one pair that wait for those under way. Only a pair with a place in the queue of hashes has any, so
 * all that wait are bounded with that queue. More are refused with `busy`.
 */
export const ATTEMPTS_WAITING_MAX = 32;

interface Attempts {
  /** When the window began: the moment of its first attempt. */
  since: number;
  failed: number;
  /** Attempts under way: they count until they have succeeded, or many at once would each see room. */
  open: number;
  readonly waiting: (() => void)[];
}

/** How an attempt ended. */
export type Settle = (succeeded: boolean) => void;

export class LoginLimiter {
  readonly #failuresPerMinute: number;
  readonly #clock: Clock;
  /** In the order in which the windows began. */
  readonly #pairs = new Map<string, Attempts>();

  constructor(failuresPerMinute: number, clock: Clock) {
    this.#failuresPerMinute = failuresPerMinute;
    this.#clock = clock;
  }

  /**
   * Waits until the attempt may be made; the caller settles it when it knows how it went.
   * @throws Refusal `rate_limited` with the seconds until the window is over, when too many failed in it; `busy`
   * when too many wait already.
   */
  async begin(username: string, address: string): Promise<Settle> {
    const pair = `${username}\0${networkOf(address)}`;
    for (;;) {
      const attempts = this.#attempts(pair);
      if (attempts.failed >= this.#failuresPerMinute) {
        const left = attempts.since + WINDOW_MILLIS - this.#clock.now();
        throw new Refusal('rate_limited', { retryAfter: Math.max(1, Math.ceil(left / 1000)) });
      }
      if (attempts.failed + attempts.open < this.#failuresPerMinute) return this.#open(attempts);
      // Those under way may all fail.
      if (attempts.waiting.length >= ATTEMPTS_WAITING_MAX) throw new Refusal('busy');
      await new Promise<void>((resolve) => attempts.waiting.push(resolve));
    }
  }

  get pairs(): number {
    return this.#pairs.size;
  }

  #attempts(pair: string): Attempts {
    const now = this.#clock.now();
    const found = this.#pairs.get(pair);
    // A clock that was set back must not make a window last for hours.
    if (found !== undefined && (found.open > 0 || (now >= found.since && now < found.since + WINDOW_MILLIS)))
      return found;
    this.#pairs.delete(pair);
    this.#makeRoom(now);
    const attempts: Attempts = { since: now, failed: 0, open: 0, waiting: [] };
    this.#pairs.set(pair, attempts);
    return attempts;
  }

  #open(attempts: Attempts): Settle {
    attempts.open += 1;
    return (succeeded) => {
      attempts.open -= 1;
      if (!succeeded) attempts.failed += 1;
      for (const resolve of attempts.waiting.splice(0)) resolve();
    };
  }

  #makeRoom(now: number): void {
    for (const [pair, attempts] of this.#pairs) {
      const isOver = attempts.open === 0 && now >= attempts.since + WINDOW_MILLIS;
      if (!isOver && this.#pairs.size < LOGIN_PAIRS_MAX) return;
      this.#pairs.delete(pair);
    }
  }
}

/** Whoever has one IPv6 address has its whole /64, so that is what counts as one address. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter(Boolean);
  const behind = (tail ?? '').split(':').filter(Boolean);
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - groups.length - behind.length) }, () => '0');
  return [...groups, ...zeros, ...behind].slice(0, 4).join(':');
}
