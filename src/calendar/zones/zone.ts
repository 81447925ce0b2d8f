/** What a time zone is to a calendar: offsets at instants, and instants of wall times. */

/** A zone. Instants are milliseconds; wall times are whole seconds since 1970-01-01T00:00:00 on the zone's clock. */
export interface Zone {
  /** The IANA name; undefined for a zone that an object defines itself. */
  readonly name: string | undefined;
  /** Seconds east of UTC at an instant. */
  offsetAt(instant: number): number;
}

const DAY = 86_400;

export const UTC: Zone = { name: 'UTC', offsetAt: () => 0 };

/**
 * The instant of a wall time (RFC 5545, 3.3.5): one that happens twice is the first, and one that does not happen is
 * read with the offset before the gap, so that 02:30 of a spring night is shown as 03:30.
 */
export function instantOf(zone: Zone, wall: number): number {
  if (zone === UTC) return wall * 1000;
  const before = zone.offsetAt((wall - DAY) * 1000);
  const after = zone.offsetAt((wall + DAY) * 1000);
  const early = (wall - before) * 1000;
  if (before === after || zone.offsetAt(early) === before) return early;
  const late = (wall - after) * 1000;
  return zone.offsetAt(late) === after ? late : early;
}

/** The wall time of an instant, in whole seconds. */
export function wallOf(zone: Zone, instant: number): number {
  return Math.floor(instant / 1000) + zone.offsetAt(instant);
}
