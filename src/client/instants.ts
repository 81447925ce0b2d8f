/** Times as the client keeps them: instants in milliseconds, whatever form they came in (TIM-02). */
import { parseInstant } from '#src/base/time.ts';
import { clientError } from './parley-error.ts';

/**
 * The instant of an RFC 3339 text in UTC, in whole or fractional seconds, as milliseconds since the Unix epoch.
 * @throws ParleyError `answer_unreadable` when the text is no such instant.
 */
export function readInstant(text: string, field: string): number {
  const millis = parseInstant(text);
  if (millis === undefined) throw clientError('answer_unreadable', { field });
  return millis;
}

/** The instant of Unix seconds, as socket `ts` and the claims `exp`, `iat` and `rnw` give it, in milliseconds. */
export function readUnixSeconds(seconds: number): number {
  return seconds * 1000;
}
