/** How long an answer asks to be left alone. */

/** `Retry-After` in milliseconds: seconds, or a date (RFC 9110, 10.2.3). Undefined for anything else. */
export function readRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,6}$/.test(value)) return Number(value) * 1000;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
