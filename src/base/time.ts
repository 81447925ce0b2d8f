/** RFC 3339 instants in UTC: written one way, read in both forms that a serialiser produces (TIM-01). */

// Fractions beyond milliseconds are accepted and cut: other writers serialise micro- and nanoseconds.
const INSTANT = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?Z$/;

/** The instant as RFC 3339 with milliseconds and `Z`, for example `2026-11-21T08:15:00.250Z`. */
export function formatInstant(millis: number): string {
  return new Date(millis).toISOString();
}

/**
 * Milliseconds since the Unix epoch of an RFC 3339 instant in UTC, or undefined when the text is not one.
 * Accepts whole seconds and fractional seconds, both with `Z` (TIM-01); refuses offsets, leap seconds and dates
 * that do not exist (February 30th).
 */
export function parseInstant(text: string): number | undefined {
  const match = INSTANT.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = ''] = match;
  const millis = Date.UTC(
    Number(year),
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
    Number(fraction.slice(0, 3).padEnd(3, '0')),
  );
  // Date.UTC rolls 30 February over into March, so a date that does not read back as written never existed.
  return new Date(millis).toISOString().startsWith(text.slice(0, 19)) ? millis : undefined;
}
