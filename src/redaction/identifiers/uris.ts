/** What a URI tells of people: name and password before the host, numbers of `sip:` and `tel:`, labels of `otpauth:`. */
import { cutIPv6, isHexGroup } from './addresses.ts';
import { HEX, isDigit, VALUE_END } from '../bytes.ts';
import { AT, CODED_AT, type Scan } from '../context.ts';
import { putDisplayName, putPerson } from './people.ts';
import { markerEnd } from '../spans.ts';

/** Bytes of name and password that are looked at for their `@`. */
const USERINFO_MAX = 1024;
/** Bytes of a number behind `sip:` or `tel:`. */
const NUMBER_MAX = 40;

/** From behind the slashes of `://` on. Answers where the scan goes on. */
export function cutUserinfo(scan: Scan, colon: number, start: number): number {
  const { bytes, text, spans } = scan;
  const marked = markerEnd(text, start);
  if (marked !== -1) return marked;
  const limit = Math.min(scan.stop, start + USERINFO_MAX);
  const isLabel = text.startsWith('otpauth', colon - 7);
  if (scan.next(AT, start) >= limit && scan.next(CODED_AT, start) >= limit)
    return isLabel ? cutLabel(scan, start) : start;
  let at = -1;
  let end = start;
  // A password may hold `@` and `:`; the last `@` before the path counts.
  for (; end < limit; end += 1) {
    const byte = bytes[end] as number;
    if (byte === 64 || (byte === 61 && text.startsWith('40', end + 1))) at = end;
    else if (byte === 47 || byte === 63 || byte === 35) {
      if (at !== -1 || !holdsPassword(scan, start, end)) break;
    } else if (byte === 59 && at === -1 && /^;[\w ]{1,40}=/.test(text.slice(end, end + 42))) break;
    else if (VALUE_END[byte] !== 0 || byte === 92 || (byte === 44 && at !== -1) || byte === 123) break;
  }
  if (at > start) return spans.secret(start, end === start + USERINFO_MAX ? end : at, 'url-credentials');
  return isLabel ? cutLabel(scan, start) : start;
}

/** Whether a slash or a hash stands in a password that nobody encoded: `://app:pa/ss@host/`. */
function holdsPassword({ text, stop }: Scan, start: number, end: number): boolean {
  const userinfo = text.slice(start, end);
  return (
    /^[^:@/[\]]{0,64}:(?!\d{1,5}$)[^@]*$/.test(userinfo) &&
    /^[^\s"'<>@]{0,64}@[\w.-]+(?:[:/?"'\s,;)]|$)/.test(text.slice(end, Math.min(stop, end + 160)))
  );
}

/** `otpauth://totp/Issuer:alice@example.org?secret=…`. */
function cutLabel(scan: Scan, start: number): number {
  const { bytes, text, stop } = scan;
  const slash = text.slice(start, Math.min(stop, start + 9)).indexOf('/') + start;
  if (slash < start) return start;
  let end = slash + 1;
  while (end < stop && VALUE_END[bytes[end] as number] === 0 && bytes[end] !== 63 && end - slash < 512) end += 1;
  const label = text.slice(slash + 1, end);
  const colon = Math.max(label.lastIndexOf(':') + 1, label.toUpperCase().lastIndexOf('%3A') + 3);
  return putPerson(scan, slash + 1 + (colon > 2 || label.includes(':') ? colon : 0), end);
}

/** Behind `sip:`, `sips:` and `tel:`: a number, or a name before the host. */
export function cutSipOrTel(scan: Scan, start: number, isTel: boolean): number {
  const { bytes, text, spans, stop, engine } = scan;
  putDisplayName(scan, start);
  let end = start;
  let digits = 0;
  while (end < stop && end - start < NUMBER_MAX && (isDigit(bytes[end]) || '+-.()'.includes(text.charAt(end)))) {
    if (isDigit(bytes[end])) digits += 1;
    end += 1;
  }
  while (end > start && !isDigit(bytes[end - 1])) end -= 1;
  if (text.startsWith('%2B', start) || text.startsWith('%2b', start)) return -1;
  if (
    digits >= (isTel ? 3 : 7) &&
    (end >= stop || VALUE_END[bytes[end] as number] !== 0 || ';,)]?&\\'.includes(text.charAt(end)))
  )
    return spans.put(start, end, engine.pseudonyms.phone(text.slice(start, end)), 'phone');
  return isTel ? -1 : cutSipPassword(scan, start);
}

/** `sip:alice:password@host`. */
function cutSipPassword(scan: Scan, start: number): number {
  const { bytes, spans } = scan;
  const limit = Math.min(scan.stop, start + 256);
  let colon = -1;
  for (let at = start; at < limit; at += 1) {
    const byte = bytes[at] as number;
    if (byte === 64) {
      if (colon === -1) return -1;
      putPerson(scan, start, colon);
      return spans.secret(colon + 1, at, 'url-credentials');
    }
    if (byte === 58) {
      // A second colon is that of another URI, or a password that no one wrote.
      if (colon !== -1) return -1;
      colon = at;
    } else if (VALUE_END[byte] !== 0 || byte === 59 || byte === 47) return -1;
  }
  return -1;
}

/** A word before a colon: the first group of an IPv6 address, or the scheme of a number. */
export function cutBeforeColon(scan: Scan, start: number, end: number, bits: number): number {
  const { bytes, text } = scan;
  const behind = bytes[end + 1];
  if (behind === undefined) return -1;
  if ((behind === 58 || HEX[behind] === 1) && isHexGroup(bytes, start, end, bits)) {
    const address = cutIPv6(scan, start);
    if (address !== -1) return address;
  }
  // A letter of an escape that was not decoded stands before the group: `\n2001:db8::1`.
  if (bytes[start - 1] === 92 && isHexGroup(bytes, start + 1, end, bits)) {
    const address = cutIPv6(scan, start + 1);
    if (address !== -1) return address;
  }
  if (end - start > 4 || end - start < 3 || behind === 32 || behind === 34) return -1;
  const scheme = text.slice(start, end).toLowerCase();
  if (scheme === 'sip' || scheme === 'sips') return cutSipOrTel(scan, end + 1, false);
  return scheme === 'tel' ? cutSipOrTel(scan, end + 1, true) : -1;
}
