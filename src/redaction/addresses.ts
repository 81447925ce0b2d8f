/** IP addresses: parsed, never guessed by pattern, and cut to their network (RED-06). */
import { DASH, HEX, isDigit, isWordByte, WORD_BITS } from './character-classes.ts';
import type { Spans } from './spans.ts';

/** Left of a slash these name a transport or a field, and what follows is an address; other words name a product. */
const TRANSPORTS = new Set([
  'UDP',
  'TCP',
  'TLS',
  'WS',
  'WSS',
  'SCTP',
  'DTLS',
  'IP',
  'IPV4',
  'INET',
  'HOST',
  'ADDR',
  'NET',
  'FROM',
]);
/** Longest text of an IPv6 address with zone: 45 characters and a name of an interface. */
const ADDRESS_MAX = 64;
/** Words looked at for the cue that a number is a version. */
const CUE_MAX = 32;

/** An IPv4 address that starts here: its last octet becomes `x`. Answers where the scan goes on, or -1. */
export function cutIPv4(spans: Spans, start: number): number {
  const { source } = spans;
  const before = start > 0 ? source.charCodeAt(start - 1) : 32;
  // A dot, a tilde or a word before it: part of a longer number, a package's version, a host name.
  if (before === 46 || before === 126 || isWordByte(source, start - 1)) return -1;
  const octet = lastOctet(source, start);
  if (octet === -1) return -1;
  const end = digitsEnd(source, octet, 4);
  if (!isEndOfIPv4(source, end) || isVersion(source, start)) return -1;
  if (end - start === 9 && source.startsWith('127.0.0.1', start)) return end;
  if (end - start === 7 && source.startsWith('0.0.0.0', start)) return end;
  return spans.put(octet, end, 'x', 'ip');
}

/** Where the fourth octet starts, or -1 when this is no dotted quad. */
function lastOctet(source: string, start: number): number {
  let octet = start;
  let value = 0;
  let digits = 0;
  let dots = 0;
  for (let at = start; at < source.length; at += 1) {
    const byte = source.charCodeAt(at);
    if (byte >= 48 && byte <= 57) {
      value = value * 10 + byte - 48;
      digits += 1;
      if (digits > 3 || value > 255) return -1;
    } else if (byte === 46 && digits > 0 && dots < 3) {
      dots += 1;
      octet = at + 1;
      value = 0;
      digits = 0;
    } else break;
  }
  return dots === 3 && digits > 0 ? octet : -1;
}

function isEndOfIPv4(source: string, end: number): boolean {
  const next = source.charCodeAt(end);
  if (next === 46 && isDigit(source, end + 1)) {
    // tcpdump writes the port as a fifth part; a number of an object has small parts or more of them.
    const port = digitsEnd(source, end + 1, 6);
    return octetValue(source, end + 1, port) > 255 && source.charCodeAt(port) !== 46 && !isWordByte(source, port);
  }
  return !isWordByte(source, end);
}

function isVersion(source: string, start: number): boolean {
  const before = source.charCodeAt(start - 1);
  if (before !== 47 && before !== 61 && before !== 32 && before !== 58 && before !== 34) return false;
  let end = start - 1;
  while (end > 0 && start - end < 5 && ' =:"\\'.includes(source.charAt(end - 1))) end -= 1;
  // `v`, `ver` and `version` end in these letters.
  const last = source.charCodeAt(end - 1) | 32;
  if (before !== 47 && last !== 118 && last !== 114 && last !== 110) return false;
  let from = end;
  while (from > 0 && end - from < CUE_MAX && isProductByte(source.charCodeAt(from - 1))) from -= 1;
  const word = source.slice(from, end);
  if (before === 47)
    return (
      /^[A-Za-z]/.test(word) &&
      word.length > 1 &&
      !TRANSPORTS.has(word.toUpperCase()) &&
      source.charAt(from - 1) !== '/'
    );
  return /^(?:\w*[_-])?v(?:er(?:sion)?)?$/i.test(word);
}

function isProductByte(byte: number): boolean {
  return byte === 46 || WORD_BITS[byte] !== 0;
}

function digitsEnd(source: string, from: number, most: number): number {
  let at = from;
  while (at - from < most && isDigit(source, at)) at += 1;
  return at;
}

function octetValue(source: string, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + source.charCodeAt(at) - 48;
  return value;
}

/** An IPv6 address that starts here, cut to its /48. Answers where the scan goes on, or -1. */
export function cutIPv6(spans: Spans, start: number): number {
  const { source } = spans;
  if (!isStartOfIPv6(source, start)) return -1;
  let end = start;
  let colons = 0;
  let dots = 0;
  let doubles = 0;
  let hasDigit = false;
  while (end < source.length && end - start <= ADDRESS_MAX) {
    const byte = source.charCodeAt(end);
    if (byte === 58) {
      colons += 1;
      if (source.charCodeAt(end + 1) === 58) doubles += 1;
    } else if (byte === 46) dots += 1;
    else if (HEX[byte] === 0 || byte >= 256) break;
    else if (byte < 58) hasDigit = true;
    end += 1;
  }
  // Most such runs are times of day: they have two colons, and none is double.
  if (end - start > ADDRESS_MAX || (doubles === 0 && colons < 6)) return -1;
  // `a::b` of a program's text.
  if (colons === 2 && !hasDigit) return -1;
  // A sentence or a list goes on behind the address.
  while (
    end > start &&
    (source.charCodeAt(end - 1) === 46 || (source.charCodeAt(end - 1) === 58 && source.charCodeAt(end - 2) !== 58))
  ) {
    if (source.charCodeAt(end - 1) === 58) colons -= 1;
    else dots -= 1;
    end -= 1;
  }
  if (colons < 2 || isWordByte(source, end)) return -1;
  return cutGroups(spans, start, end, dots);
}

function cutGroups(spans: Spans, start: number, end: number, dots: number): number {
  const { source } = spans;
  let text = source.slice(start, end);
  let stop = end;
  if (dots === 1) {
    // tcpdump: address, dot, port.
    stop = start + text.indexOf('.');
    text = source.slice(start, stop);
  }
  const words = parseIPv6(text);
  if (words === undefined) return -1;
  if (text === '::1' || text === '::') return stop;
  return spans.put(start, stop, networkOf(words), 'ip');
}

/** Behind a colon it starts only when a name stands before that, as in `IPv6:2001:db8::1`. */
function isStartOfIPv6(source: string, start: number): boolean {
  if (isWordByte(source, start - 1)) return false;
  const before = source.charCodeAt(start - 1);
  if (before === 46) return false;
  if (before !== 58) return true;
  let from = start - 1;
  let isName = false;
  while (from > 0 && start - from < CUE_MAX && isWordByte(source, from - 1)) {
    from -= 1;
    if (HEX[source.charCodeAt(from)] === 0) isName = true;
  }
  return isName || start - 1 - from > 4;
}

/** The eight words of an address, or undefined. `a::b` of a program's text is none: it has no digit. */
export function parseIPv6(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = readWords(halves[0] as string, halves.length === 1);
  const tail = halves.length === 2 ? readWords(halves[1] as string, true) : [];
  if (head === undefined || tail === undefined) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  const groups = head.length + tail.length;
  if (groups > 7 || (groups < 3 && groups > 0 && !/\d/.test(text))) return undefined;
  return [...head, ...Array.from({ length: 8 - groups }, () => 0), ...tail];
}

function readWords(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return [];
  const words: number[] = [];
  const groups = text.split(':');
  for (const [at, group] of groups.entries()) {
    if (group.includes('.')) {
      const octets = group.split('.').map(Number);
      if (!isLast || at !== groups.length - 1 || octets.length !== 4 || !octets.every((octet) => octet <= 255))
        return undefined;
      words.push(
        ((octets[0] as number) << 8) | (octets[1] as number),
        ((octets[2] as number) << 8) | (octets[3] as number),
      );
    } else if (group.length === 0 || group.length > 4) return undefined;
    else words.push(Number.parseInt(group, 16));
  }
  return words;
}

/** The network that is shown. A mapped address is an IPv4 one; 6to4 holds an IPv4 one inside its /48. */
function networkOf(words: readonly number[]): string {
  const [first, second, third] = words as [number, number, number];
  if (words.slice(0, 5).every((word) => word === 0) && words[5] === 0xff_ff) {
    const [high, low] = words.slice(6) as [number, number];
    const quad = `${high >> 8}.${high & 255}.${low >> 8}`;
    return quad === '127.0.0' && (low & 255) === 1 ? '::ffff:127.0.0.1' : `::ffff:${quad}.x`;
  }
  const kept = [first, second, first === 0x20_02 ? third & 0xff_00 : third];
  while (kept.at(-1) === 0) kept.pop();
  return `${kept.map((word) => word.toString(16)).join(':')}::`;
}

/** The `saddr=` of auditd: a socket address in hex. What is behind its network becomes `x`. */
export function cutSocketAddress(spans: Spans, start: number, end: number): number {
  const family = spans.source.slice(start, start + 4);
  const [from, to] =
    family === '0200' ? [start + 14, start + 16] : family === '0A00' ? [start + 28, start + 48] : [end, end];
  const stop = Math.min(to, end);
  if (from >= stop || /^(?:7F000001|00000000)/.test(spans.source.slice(start + 8, start + 16))) return end;
  spans.put(from, stop, 'x'.repeat(stop - from), 'ip');
  return end;
}

/** Whether a word may be the first group of an IPv6 address. */
export function isHexGroup(source: string, start: number, end: number, bits: number): boolean {
  if (end - start > 4 || (bits & DASH) !== 0) return false;
  for (let at = start; at < end; at += 1) if (HEX[source.charCodeAt(at)] === 0) return false;
  return true;
}
