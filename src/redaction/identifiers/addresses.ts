/** IP addresses: parsed, never guessed by pattern, and cut to their network (RED-06). */
import { DASH, HEX, isDigit, isWordByte, WORD_BITS } from '../bytes.ts';
import type { Scan } from '../context.ts';

/** Left of a slash these name a transport or a field, and what follows is an address; other words name a product. */
const TRANSPORTS = new Set(
  'UDP TCP TLS WS WSS SCTP DTLS IP IPV4 IPV6 INET HOST ADDR NET FROM LOCALHOST CLIENT PEER REMOTE'.split(' '),
);
/** Longest text of an IPv6 address with a port behind it: 45 characters, a colon and five digits. */
const ADDRESS_MAX = 64;
/** Bytes looked at for the cue that a number is a version. */
const CUE_MAX = 32;

/** An IPv4 address that starts here: its last octet becomes `x`. Answers where the scan goes on, or -1. */
export function cutIPv4(scan: Scan, start: number): number {
  const { bytes, spans, floor, text } = scan;
  const before = start > floor ? (bytes[start - 1] as number) : 32;
  // A dot, a tilde or a word before it: part of a longer number, a package's version, a host name.
  // Three dots are an ellipsis: `10.0.0.1...10.0.0.2`.
  const isDotted = before === 46 && bytes[start - 2] !== 46;
  if (isDotted || before === 126 || (isWordByte(before) && !isEscaped(scan, start - 1))) return -1;
  const octet = lastOctet(scan, start);
  if (octet === -1) return -1;
  const end = digitsEnd(scan, octet, 4);
  if (!isEndOfIPv4(scan, end) || isVersion(scan, start, end)) return -1;
  if (end - start === 9 && text.startsWith('127.0.0.1', start)) return end;
  if (end - start === 7 && text.startsWith('0.0.0.0', start)) return end;
  return spans.put(octet, end, 'x', 'ip');
}

/** Whether a letter is that of an escape that was not decoded: `\n10.0.0.1`. */
export function isEscaped({ bytes }: Scan, letter: number): boolean {
  const byte = bytes[letter];
  return bytes[letter - 1] === 92 && (byte === 110 || byte === 114 || byte === 116);
}

/** Where the fourth octet starts, or -1 when this is no dotted quad. */
function lastOctet({ bytes, stop }: Scan, start: number): number {
  let octet = start;
  let value = 0;
  let digits = 0;
  let dots = 0;
  for (let at = start; at < stop; at += 1) {
    const byte = bytes[at] as number;
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

function isEndOfIPv4(scan: Scan, end: number): boolean {
  const { bytes, stop } = scan;
  const next = end < stop ? bytes[end] : 10;
  if (next === 46 && end + 1 < stop && isDigit(bytes[end + 1])) {
    // tcpdump writes the port as a fifth part; a number of an object has small parts or more of them.
    const port = digitsEnd(scan, end + 1, 6);
    if (bytes[port] === 46 || isWordByte(bytes[port])) return false;
    return numberAt(bytes, end + 1, port) > 255 || isOfCapture(scan, end, port);
  }
  // A port behind an underscore: `192.0.2.1_49152`.
  if (next === 95) return /^_\d{2,5}(?!\w)/.test(scan.text.slice(end, end + 7));
  return !isWordByte(next);
}

/** `192.0.2.1.80 > 192.0.2.7.443: Flags`: on either side of the sign of a capture the fifth part is a port, however small. */
function isOfCapture({ bytes, text, floor }: Scan, end: number, port: number): boolean {
  if (text.startsWith(' > ', port)) return true;
  return bytes[port] === 58 && / > [\d.]{7,15}$/.test(text.slice(Math.max(floor, end - 18), end));
}

/** Whether a product, `v` or `version` stands before a number of four parts. A port behind it, or a network, says no. */
function isVersion(scan: Scan, start: number, end: number): boolean {
  const { bytes, text, floor } = scan;
  const before = start > floor ? (bytes[start - 1] as number) : 32;
  if (before === 47) {
    let from = start - 1;
    while (from > floor && start - from < CUE_MAX && WORD_BITS[bytes[from - 1] as number] !== 0) from -= 1;
    const word = text.slice(from, start - 1);
    const left = from > floor ? bytes[from - 1] : 32;
    return (
      word.length > 1 &&
      /^[A-Za-z]/.test(word) &&
      // A dot before the word is a host's, a slash a path's.
      left !== 46 &&
      left !== 47 &&
      !TRANSPORTS.has(word.toUpperCase()) &&
      // A port in brackets, as Cisco has it: `INSIDE/192.0.2.1(443)`.
      !/^\(\d{1,5}\)/.test(text.slice(end, end + 7)) &&
      // Constants of a program: `HIER_DIRECT/192.0.2.1`, `SESSION/192.0.2.1`.
      !/^(?:[A-Z]+_[A-Z_]+|[A-Z]{5,})$/.test(word) &&
      !isOfNetwork(scan, start, end)
    );
  }
  // A string of JSON is looked at by itself; its key stands before it.
  if (start === floor)
    return (
      isBehindN(bytes, start - 2) &&
      /["'](?:\w{0,24}[a-z_])?[vV]ersion["']\s?[:=]>?\s?["']$/.test(text.slice(Math.max(0, start - 40), start))
    );
  if (before !== 61 && before !== 32 && before !== 58 && before !== 34) return false;
  let cue = start - 1;
  while (cue > floor && start - cue < 5 && ' =:"\\'.includes(text.charAt(cue - 1))) cue -= 1;
  const last = (bytes[cue - 1] as number) | 32;
  // `v`, `ver` and `version` end in these letters.
  if (last !== 118 && last !== 114 && last !== 110) return false;
  let from = cue;
  while (from > floor && cue - from < CUE_MAX && (bytes[from - 1] === 46 || WORD_BITS[bytes[from - 1] as number] !== 0))
    from -= 1;
  const word = text.slice(from, cue);
  if (/^v$/i.test(word) && isOfNetwork(scan, start, end)) return false;
  return /(?:^|[_.-])v(?:er(?:sion)?)?$/i.test(word) || /[a-z]Ver(?:sion)?$/.test(word);
}

/** Whether the key before a sign ends in the last letter of `version`. */
function isBehindN(bytes: Uint8Array, last: number): boolean {
  let at = last;
  while (at > last - 2 && bytes[at] !== 58 && bytes[at] !== 61) at -= 1;
  at -= bytes[at - 1] === 34 || bytes[at - 1] === 39 ? 2 : 3;
  return bytes[at] === 110;
}

/** Whether a port or a prefix stands behind four numbers, or they are of a network that no product's version is of. */
function isOfNetwork({ bytes, text }: Scan, start: number, end: number): boolean {
  return (
    bytes[end] === 58 ||
    bytes[end] === 47 ||
    /^(?:10|127|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.|^\d{3}\./.test(text.slice(start, start + 8)) ||
    // Of a version few parts have three digits.
    (text.slice(start, end).match(/\d{3}/g)?.length ?? 0) > 1
  );
}

function digitsEnd({ bytes, stop }: Scan, from: number, most: number): number {
  let at = from;
  while (at < stop && at - from < most && isDigit(bytes[at])) at += 1;
  return at;
}

function numberAt(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at += 1) value = value * 10 + (bytes[at] as number) - 48;
  return value;
}

/** An IPv6 address that starts here, cut to its /48. Answers where the scan goes on, or -1. */
export function cutIPv6(scan: Scan, start: number): number {
  const { bytes, stop } = scan;
  if (!isStartOfIPv6(scan, start)) return -1;
  let end = start;
  let colons = 0;
  let dots = 0;
  let doubles = 0;
  let hasDigit = false;
  for (const limit = Math.min(stop, start + ADDRESS_MAX + 1); end < limit; end += 1) {
    const byte = bytes[end] as number;
    if (byte === 58) {
      colons += 1;
      if (bytes[end + 1] === 58) doubles += 1;
    } else if (byte === 46) dots += 1;
    else if (HEX[byte] === 0) break;
    else if (byte < 58) hasDigit = true;
  }
  // Most such runs are times of day: they have two colons, and none is double.
  if (end - start > ADDRESS_MAX || (doubles === 0 && colons < 6)) return -1;
  // `a::b` of a program's text.
  if (colons === 2 && !hasDigit) return -1;
  // A sentence or a list goes on behind the address.
  while (end > start && (bytes[end - 1] === 46 || (bytes[end - 1] === 58 && bytes[end - 2] !== 58))) {
    if (bytes[end - 1] === 58) colons -= 1;
    else dots -= 1;
    end -= 1;
  }
  if (colons < 2 || (end < stop && isWordByte(bytes[end]))) return -1;
  return cutGroups(scan, start, end, dots);
}

function cutGroups({ spans, text: source }: Scan, start: number, end: number, dots: number): number {
  let text = source.slice(start, end);
  let stop = end;
  // tcpdump: address, dot, port. Apache: address, colon, port, which reads as a ninth group or as one of five digits.
  const port = dots === 1 ? text.indexOf('.') : /:\d{5}$/.test(text) ? text.length - 6 : -1;
  if (port !== -1) {
    stop = start + port;
    text = source.slice(start, stop);
  }
  let words = parseIPv6(text);
  if (words === undefined && /^(?:[^:]{0,4}:){8}\d{1,4}$/.test(text)) {
    stop = start + text.lastIndexOf(':');
    text = source.slice(start, stop);
    words = parseIPv6(text);
  }
  if (words === undefined) return -1;
  if (text === '::1' || text === '::') return stop;
  return spans.put(start, stop, networkOf(words), 'ip');
}

/** Behind a colon it starts only when a name stands before that, as in `IPv6:2001:db8::1`. */
function isStartOfIPv6(scan: Scan, start: number): boolean {
  const { bytes, floor } = scan;
  if (start <= floor) return true;
  const before = bytes[start - 1] as number;
  if (isWordByte(before)) return isEscaped(scan, start - 1);
  if (before === 46) return false;
  if (before !== 58) return true;
  let from = start - 1;
  let isName = false;
  while (from > floor && start - from < CUE_MAX && isWordByte(bytes[from - 1])) {
    from -= 1;
    if (HEX[bytes[from] as number] === 0) isName = true;
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
export function cutSocketAddress({ spans, text }: Scan, start: number, end: number): number {
  const family = text.slice(start, start + 4);
  const [from, to] =
    family === '0200' ? [start + 14, start + 16] : family === '0A00' ? [start + 28, start + 48] : [end, end];
  const stop = Math.min(to, end);
  if (from >= stop || /^(?:7F000001|00000000)/.test(text.slice(start + 8, start + 16))) return end;
  spans.put(from, stop, 'x'.repeat(stop - from), 'ip');
  return end;
}

/** Whether a word may be the first group of an IPv6 address. */
export function isHexGroup(bytes: Uint8Array, start: number, end: number, bits: number): boolean {
  if (end - start > 4 || (bits & DASH) !== 0) return false;
  for (let at = start; at < end; at += 1) if (HEX[bytes[at] as number] === 0) return false;
  return true;
}
