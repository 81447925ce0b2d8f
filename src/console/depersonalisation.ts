/**
 * The response path of a vendor token (RED-10, RED-13): an answer is de-personalised whole, as the value that it is,
 * or it is not sent. There is no way around it and no raw text in its stead.
 */
import { Refusal } from '#src/protocol/errors.ts';

/** De-personalises JSON values; the engine's pool does. */
export interface Redactor {
  /** The value with everything personal and secret in its strings, numbers and keys replaced. */
  redactValue(value: unknown): Promise<unknown>;
}

/**
 * How long an answer may take: a page of 4 KiB lines takes some milliseconds, so that one which takes this long waits
 * behind others, or for a thread to begin, which stands back behind everybody: at a load of twenty on two cores that
 * took over five seconds. Beyond it the answer is `redaction_unavailable`; a second later the request's own deadline
 * (`requestSeconds`) would end it.
 */
export const DEPERSONALISE_MILLIS = 9_000;

/** De-personalises answers, and counts those that could not be: the alert about it reads the count. */
export class Depersonalisation {
  readonly #redactor: Redactor;
  readonly #millis: number;
  #failures = 0;

  constructor(redactor: Redactor, millis: number = DEPERSONALISE_MILLIS) {
    this.#redactor = redactor;
    this.#millis = millis;
  }

  /** Answers that could not be de-personalised, since the start. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * An answer as a vendor may read it.
   * @throws Refusal `redaction_unavailable` when the redactor fails, is saturated, or is not done in time; what it
   * failed with is the refusal's cause.
   */
  async apply(value: unknown): Promise<unknown> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('The redactor took too long.')), this.#millis);
    try {
      return await Promise.race([this.#redactor.redactValue(value), late]);
    } catch (error) {
      this.#failures += 1;
      const refusal = new Refusal('redaction_unavailable');
      refusal.cause = error;
      throw refusal;
    } finally {
      clearTimeout(timer);
    }
  }
}
