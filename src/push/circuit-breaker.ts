/** A circuit breaker: a provider that fails again and again is left alone for a while, then asked once. */

/** Failures in a row that open it. */
export const BREAKER_FAILURES = 5;
/** How long it stays open the first time; each time it fails again twice as long, up to the most. */
export const BREAKER_MILLIS = 10_000;
export const BREAKER_MILLIS_MAX = 300_000;

export class CircuitBreaker {
  #failures = 0;
  #openings = 0;
  #openUntil = 0;
  #isProbing = false;

  /** Milliseconds to wait before anything may be sent; 0 for now. After an opening, one probe is let through. */
  admit(now: number): number {
    if (this.#openUntil > now) return this.#openUntil - now;
    if (this.#openings === 0) return 0;
    if (this.#isProbing) return BREAKER_MILLIS;
    this.#isProbing = true;
    return 0;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#openUntil = 0;
    this.#isProbing = false;
  }

  failed(now: number): void {
    this.#failures += 1;
    const wasProbe = this.#isProbing;
    this.#isProbing = false;
    if (!wasProbe && this.#failures < BREAKER_FAILURES) return;
    // What was on its way when it opened says nothing new.
    if (this.#openUntil > now) return;
    this.#openUntil = now + Math.min(BREAKER_MILLIS * 2 ** this.#openings, BREAKER_MILLIS_MAX);
    this.#openings += 1;
  }

  isOpen(now: number): boolean {
    return this.#openUntil > now;
  }
}
