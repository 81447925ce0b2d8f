/** What a URI tells of people: name and password before the host, numbers of `sip:` and `tel:`, labels of `otpauth:`. */
import { isDigit, VALUE_END } from './character-classes.ts';
import type { Context } from './context.ts';
import { putDisplayName } from './emails.ts';
import { putPerson } from './people.ts';
import { markerEnd } from './spans.ts';

/** Bytes of name and password that are looked at for their `@`. */
const USERINFO_MAX = 1024;

/** From the colon of `://` on. Answers where the scan goes on. */
export function cutUserinfo(context: Context, colon: number): number {
  const { source, spans } = context;
  const start = colon + 3;
  const marked = markerEnd(source, start);
  if (marked !== -1) return marked;
  const limit = Math.min(source.length, start + USERINFO_MAX);
  let at = -1;
  let end = start;
  // A password may hold `@` and `:`; the last `@` before the path counts.
  for (; end < limit; end += 1) {
    const byte = source.charCodeAt(end);
    if (byte === 64 || (byte === 61 && source.startsWith('40', end + 1))) at = end;
    else if (byte === 47 || byte === 63 || byte === 35) break;
    else if (VALUE_END[byte] !== 0 || byte === 92 || (byte === 44 && at !== -1) || byte === 123) break;
  }
  if (at > start) {
    const isOver = end === start + USERINFO_MAX;
    return isOver ? spans.secret(start, end, 'url-credentials') : spans.secret(start, at, 'url-credentials');
  }
  if (source.charCodeAt(colon - 1) === 104 && source.startsWith('otpauth', colon - 7)) return cutLabel(context, start);
  return start;
}

/** `otpauth://totp/Issuer:alice@example.org?secret=…`. */
function cutLabel(context: Context, start: number): number {
  const { source } = context;
  const slash = source.indexOf('/', start);
  if (slash === -1 || slash - start > 8) return start;
  let end = slash + 1;
  while (
    end < source.length &&
    VALUE_END[source.charCodeAt(end)] === 0 &&
    source.charCodeAt(end) !== 63 &&
    end - slash < 512
  )
    end += 1;
  const label = source.slice(slash + 1, end);
  const colon = Math.max(label.lastIndexOf(':') + 1, label.toUpperCase().lastIndexOf('%3A') + 3);
  return putPerson(context, slash + 1 + (colon > 2 || label.includes(':') ? colon : 0), end);
}

/** Behind `sip:`, `sips:` and `tel:`: a number, or a name before the host. */
export function cutSipOrTel(context: Context, start: number, isTel: boolean): number {
  const { source, spans, pseudonyms } = context;
  putDisplayName(context, start);
  let end = start;
  let digits = 0;
  while (end < source.length && end - start < 40 && (isDigit(source, end) || '+-.()'.includes(source.charAt(end)))) {
    if (isDigit(source, end)) digits += 1;
    end += 1;
  }
  while (end > start && !isDigit(source, end - 1)) end -= 1;
  if (source.startsWith('%2B', start) || source.startsWith('%2b', start)) return -1;
  const next = source.charCodeAt(end);
  if (
    digits >= (isTel ? 3 : 7) &&
    (Number.isNaN(next) || VALUE_END[next] !== 0 || ';,)]?&\\'.includes(source.charAt(end)))
  )
    return spans.put(start, end, pseudonyms.phone(source.slice(start, end)), 'phone');
  if (isTel) return -1;
  return cutSipPassword(context, start);
}

/** `sip:alice:password@host`. */
function cutSipPassword(context: Context, start: number): number {
  const { source, spans } = context;
  const limit = Math.min(source.length, start + 256);
  let colon = -1;
  for (let at = start; at < limit; at += 1) {
    const byte = source.charCodeAt(at);
    if (byte === 64) {
      if (colon === -1) return -1;
      putPerson(context, start, colon);
      return spans.secret(colon + 1, at, 'url-credentials');
    }
    if (byte === 58 && colon === -1) colon = at;
    else if (VALUE_END[byte] !== 0 || byte === 59 || byte === 47) return -1;
  }
  return -1;
}

/** A word before a colon that may be the scheme of a number: `sip`, `sips`, `tel`. */
export function cutUri(context: Context, start: number, end: number): number {
  const scheme = context.source.slice(start, end).toLowerCase();
  if (scheme === 'sip' || scheme === 'sips') return cutSipOrTel(context, end + 1, false);
  return scheme === 'tel' && context.source.charCodeAt(end + 1) !== 32 && context.source.charCodeAt(end + 1) !== 34
    ? cutSipOrTel(context, end + 1, true)
    : -1;
}
