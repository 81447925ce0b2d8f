/**
 * Circuit breakers, one for each receiver: one that fails again and again is left alone for a while, then asked once. The
 * states are the library's; the time is the clock's of the server, so that whoever is put off is told for how long.
 */
import { CircuitState, ConsecutiveBreaker, DelegateBackoff, circuitBreaker, handleWhenResult } from 'cockatiel';
import type { Clock } from '#src/base/clock.ts';

/** Failures in a row that open it. */
export const BREAKER_FAILURES = 5;
/** How long it stays open the first time; each time it fails again twice as long, up to the most. */
export const BREAKER_MILLIS = 10_000;
export const BREAKER_MILLIS_MAX = 300_000;
/** Receivers that are told apart; the one that was met longest ago is forgotten, and begins anew. */
export const BREAKERS_MAX = 256;

export interface BreakerPolicy {
  readonly failures: number;
  readonly millis: number;
  readonly millisMax: number;
}

const POLICY: BreakerPolicy = { failures: BREAKER_FAILURES, millis: BREAKER_MILLIS, millisMax: BREAKER_MILLIS_MAX };

export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #millis: number;
  readonly #circuit;
  #openUntil = 0;

  constructor(clock: Clock, { failures, millis, millisMax }: BreakerPolicy = POLICY) {
    this.#clock = clock;
    this.#millis = millis;
    const halfOpenAfter = new DelegateBackoff(({ attempt }: { readonly attempt: number }) => {
      this.#openUntil = clock.now() + Math.min(millis * 2 ** (attempt - 1), millisMax);
      // The library itself looks at no clock: `waitMillis` decides when it may be asked.
      return -Infinity;
    });
    const isFailure = handleWhenResult((result) => (result as { readonly isDown?: boolean }).isDown === true);
    this.#circuit = circuitBreaker(isFailure, { breaker: new ConsecutiveBreaker(failures), halfOpenAfter });
  }

  /** Milliseconds until its receiver may be asked, 0 for now: then ask at once, since one probe alone is let through. */
  get waitMillis(): number {
    if (this.#circuit.state === CircuitState.Closed) return 0;
    if (this.#circuit.state === CircuitState.HalfOpen) return this.#millis;
    return Math.max(0, this.#openUntil - this.#clock.now());
  }

  get isOpen(): boolean {
    return this.#circuit.state === CircuitState.Open && this.#openUntil > this.#clock.now();
  }

  /** Asks the receiver: an answer with `isDown` is a failure of it, any other shows that it is there. */
  async ask<R>(work: () => Promise<R>): Promise<R> {
    return await this.#circuit.execute(work);
  }
}

/** The breakers of a queue by the names of their receivers. */
export class CircuitBreakers {
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #make: () => CircuitBreaker;

  constructor(clock: Clock, policy?: BreakerPolicy) {
    this.#make = () => new CircuitBreaker(clock, policy);
  }

  of(receiver: string): CircuitBreaker {
    const known = this.#breakers.get(receiver);
    if (known !== undefined) return known;
    const [oldest] = this.#breakers.keys();
    if (this.#breakers.size >= BREAKERS_MAX && oldest !== undefined) this.#breakers.delete(oldest);
    const breaker = this.#make();
    this.#breakers.set(receiver, breaker);
    return breaker;
  }

  /** The receivers that are left alone now. */
  get open(): string[] {
    return [...this.#breakers].flatMap(([receiver, breaker]) => (breaker.isOpen ? [receiver] : []));
  }
}
