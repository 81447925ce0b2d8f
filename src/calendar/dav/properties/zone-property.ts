/** A calendar's zone as CalDAV writes it: a VCALENDAR with one VTIMEZONE. */
import { tzlib_get_ical_block } from 'timezones-ical-library';
import { knownZone } from '../../zones/zone-resolver.ts';

/** Zones whose text is kept: all that there are fit into some megabytes, and an installation uses a handful. */
const KEPT_MAX = 64;
const kept = new Map<string, string>();

/** The VCALENDAR of an IANA zone. */
export function timezoneOf(zone: string): string {
  const known = kept.get(zone);
  if (known !== undefined) return known;
  const [block] = tzlib_get_ical_block(zone) as [string?];
  const body =
    block === undefined || block === ''
      ? 'BEGIN:VTIMEZONE\r\nTZID:UTC\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0000\r\nTZOFFSETTO:+0000\r\nEND:STANDARD\r\nEND:VTIMEZONE'
      : block;
  const lines = body.split(/\r?\n/).filter((line) => line !== '');
  const text = `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Parley//Calendar//EN\r\n${lines.join('\r\n')}\r\nEND:VCALENDAR\r\n`;
  if (kept.size < KEPT_MAX) kept.set(zone, text);
  return text;
}

/** What may stand around and in a VTIMEZONE. */
const OF_ZONES = new Set(['VCALENDAR', 'STANDARD', 'DAYLIGHT']);

/** The IANA name of the zone that a VCALENDAR defines, and nothing else (RFC 4791, 5.2.2); undefined where it does not. */
export function readTimezone(text: string): string | undefined {
  const unfolded = text.replaceAll(/\r?\n[ \t]/g, '');
  const begun = [...unfolded.matchAll(/^BEGIN:(\S*)\s*$/gim)].map(([, name = '']) => name.toUpperCase());
  if (begun.filter((name) => !OF_ZONES.has(name)).join(' ') !== 'VTIMEZONE') return undefined;
  const named = ['X-LIC-LOCATION', 'TZID'].map((name) =>
    new RegExp(`^${name}(?:;[^:\\r\\n]*)?:(.*)$`, 'im').exec(unfolded)?.[1]?.trim(),
  );
  return named
    .map((name) => (name === undefined ? undefined : knownZone(name)?.name))
    .find((zone) => zone !== undefined);
}
