/**
 * Long random strings. Entropy alone finds most of a log random, so the shape decides: how often the class of
 * characters changes, which alphabet, which length, and which name stands before it.
 */
import { BASE64, DASH, DIGIT, HEX, LOWER, UNDERSCORE, UPPER, WORD_BITS } from '../bytes.ts';
import type { Scan } from '../context.ts';
import { isUnreadable, RARE_SHARE, rareShare } from './letter-pairs.ts';
import { classOfName } from '../rules/rules.ts';

/** Shortest run that counts as random by its changes of class. */
export const RANDOM_MIN = 20;
/** Longer runs are random whatever they change: nobody writes a word of that length. */
const LONG_MIN = 60;
const CHANGE_RATIO = 0.4;
/** Shorter runs have too few letters to be told from words by them. */
const UNREADABLE_MIN = 24;
/** Changes of class and rare pairs of letters, both as shares, that together make a run random. */
const RANDOM_SUM = 0.62;
/** A run's share is judged by its first part, so that hostile length costs nothing more. */
const JUDGED_MAX = 512;
const MIXED = UPPER | LOWER;
/** How far to the left the name of a value is looked for. */
const NAME_MAX = 48;
/** Characters of a secret of AWS: thirty bytes in base64. */
const AWS_SECRET = 40;

export interface Run {
  readonly start: number;
  readonly end: number;
}

/**
 * The random run around a word, or undefined. Base64 that was looked at is not walked again for each of its words.
 * Slashes join a run only where a value stands (behind `=`, `:`, a comma or a quote, or with padding): elsewhere they
 * are paths.
 */
export function randomRun(scan: Scan, wordStart: number, wordEnd: number): Run | undefined {
  const wide = wordStart < scan.judgedTo ? undefined : base64Run(scan, wordStart, wordEnd);
  if (wide !== undefined && isRandomBase64(scan.text, wide)) return wide;
  if (wordEnd - wordStart < RANDOM_MIN) return undefined;
  return isRandomWord(scan.text, wordStart, wordEnd) ? { start: wordStart, end: wordEnd } : undefined;
}

function base64Run(scan: Scan, wordStart: number, wordEnd: number): Run | undefined {
  const { bytes, text, spans } = scan;
  const floor = Math.max(spans.last, scan.floor, scan.judgedTo);
  let start = wordStart;
  let bits = 0;
  while (start > floor && BASE64[bytes[start - 1] as number] === 1) {
    start -= 1;
    bits |= WORD_BITS[bytes[start] as number] as number;
  }
  let end = wordStart;
  while (end < scan.stop && BASE64[bytes[end] as number] === 1) {
    bits |= WORD_BITS[bytes[end] as number] as number;
    end += 1;
  }
  scan.judgedTo = end;
  // Letters of one case are a path or words.
  if (end - start < RANDOM_MIN || (bits & MIXED) !== MIXED) return undefined;
  if (start === wordStart && end === wordEnd && bytes[end] !== 61) return undefined;
  let padding = 0;
  while (padding < 2 && end + padding < scan.stop && bytes[end + padding] === 61) padding += 1;
  // `name=` before a value is no padding.
  const isQuoted = bytes[start - 1] === 34 && bytes[end + padding] === 34;
  const isPadded =
    padding > 0 && (isQuoted || end + padding >= scan.stop || !isValueByte(bytes[end + padding] as number));
  const run = text.slice(start, Math.min(end, start + JUDGED_MAX));
  const before = start > scan.floor ? (bytes[start - 1] as number) : 10;
  const isValue = before < 33 || ',;"\'=:([{>|'.includes(String.fromCharCode(before));
  if (run.includes('/') && !isPadded && !run.includes('+') && !(isValue && !run.startsWith('/')))
    return secretInPath(text, start, end);
  return { start, end: isPadded ? end + padding : end };
}

/** A secret of AWS among the parts of a path: forty characters between two slashes, one or more of them its own. */
function secretInPath(text: string, start: number, end: number): Run | undefined {
  const run = text.slice(start, Math.min(end, start + JUDGED_MAX));
  for (let at = 0; at !== -1 && at + AWS_SECRET < run.length; at = run.indexOf('/', at + 1)) {
    const from = at + 1;
    const to = from + AWS_SECRET;
    if (to !== run.length && run.charCodeAt(to) !== 47) continue;
    const piece = run.slice(from, to);
    if (piece.includes('/') && isRandomBase64(text, { start: start + from, end: start + to }))
      return { start: start + from, end: start + to };
  }
  return undefined;
}

function isValueByte(byte: number): boolean {
  return WORD_BITS[byte] !== 0 || byte === 34;
}

function isRandomBase64(source: string, { start, end }: Run): boolean {
  const length = end - start;
  if (length < RANDOM_MIN) return false;
  const facts = factsOf(source, start, end);
  const { slashes } = facts;
  if (length >= 24 && length % 4 === 0 && source.charCodeAt(end - 1) === 61 && isMixed(facts)) return true;
  if (length >= UNREADABLE_MIN && isMixed(facts) && isUnreadable(source, start, start + facts.judged)) return true;
  if (
    length === AWS_SECRET &&
    isMixed(facts) &&
    facts.digits > 1 &&
    facts.changes >= 0.35 * facts.judged &&
    slashes < 6
  )
    return true;
  // A path has short parts between its slashes, base64 one slash in 64.
  if (slashes > 0 && slashes * 14 > facts.judged) return false;
  return isMixed(facts) && facts.changes >= (slashes > 0 ? 0.45 : CHANGE_RATIO) * facts.judged && facts.digits > 0;
}

function isRandomWord(source: string, start: number, end: number): boolean {
  const length = end - start;
  const facts = factsOf(source, start, end);
  if (facts.digits + facts.dashes === facts.judged) return false;
  if (facts.dashes > 0 && isUuid(source, start, end)) return false;
  if (facts.hex === facts.judged) return isRandomHex(facts);
  if (facts.digits <= 2 && CAMEL_CASE.test(source.slice(start, Math.min(end, start + JUDGED_MAX)))) return false;
  if (isMixed(facts) && facts.changes >= CHANGE_RATIO * (facts.judged - facts.dashes))
    return facts.digits > 0 || length >= 28;
  // Letters of one case with a dash or an underscore among them are a program's ids: `c_7f3q…`.
  const joints = facts.dashes + facts.underscores;
  const rare = length < UNREADABLE_MIN ? 0 : rareShare(source, start, start + facts.judged);
  if (rare >= RARE_SHARE && (isMixed(facts) ? joints * 10 < facts.judged : joints === 0)) return true;
  // Neither alone is enough, both together are: names of a program change their case or have odd letters, not both.
  if (rare > 0 && isMixed(facts) && joints * 10 < facts.judged && facts.changes / facts.judged + rare >= RANDOM_SUM)
    return true;
  // Base32 and lower-case alphanumerics: letters of one case with digits among them, not in front or behind only.
  const oneCase = facts.uppers === 0 || facts.lowers === 0;
  if (oneCase && length >= 24 && facts.dashes === 0 && facts.underscores === 0)
    return facts.changes >= (length >= 28 ? 4 : 0.24 * facts.judged) && facts.digits >= (length >= 28 ? 2 : 3);
  return (
    length >= LONG_MIN && facts.dashes * 12 < facts.judged && facts.underscores * 12 < facts.judged && facts.digits > 2
  );
}

/** Words in capitals joined to one: a name of a program's part. */
const CAMEL_CASE = /^[a-z]*(?:[A-Z][a-z]+)+[A-Z]?\d*$/;

interface Facts {
  judged: number;
  digits: number;
  uppers: number;
  lowers: number;
  dashes: number;
  underscores: number;
  slashes: number;
  hex: number;
  changes: number;
}

function factsOf(source: string, start: number, end: number): Facts {
  const facts: Facts = {
    judged: 0,
    digits: 0,
    uppers: 0,
    lowers: 0,
    dashes: 0,
    underscores: 0,
    slashes: 0,
    hex: 0,
    changes: 0,
  };
  const stop = Math.min(end, start + JUDGED_MAX);
  let before = -1;
  for (let at = start; at < stop; at += 1) {
    const byte = source.charCodeAt(at);
    const bits = WORD_BITS[byte] as number;
    facts.hex += HEX[byte] as number;
    if (bits === DIGIT) facts.digits += 1;
    else if (bits === UPPER) facts.uppers += 1;
    else if (bits === LOWER) facts.lowers += 1;
    else if (bits === DASH) facts.dashes += 1;
    else if (bits === UNDERSCORE) facts.underscores += 1;
    else if (byte === 47) facts.slashes += 1;
    // A joint between two parts of a name changes nothing by itself.
    if ((bits & (DASH | UNDERSCORE)) !== 0) continue;
    if (before !== -1 && bits !== before) facts.changes += 1;
    before = bits;
  }
  facts.judged = stop - start;
  return facts;
}

function isMixed({ digits, uppers, lowers, judged }: Facts): boolean {
  return uppers > 0 && lowers > 0 && (digits > 0 || judged >= 28);
}

/** Groups of 8-4-4-4-12 hex digits, or any words in front of them: ids that people search logs by. */
function isUuid(source: string, start: number, end: number): boolean {
  return (
    end - start >= 36 &&
    /(?:^|-)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(
      source.slice(Math.max(start, end - 48), end),
    )
  );
}

function isRandomHex(facts: Facts): boolean {
  return facts.judged >= 32 && facts.digits > 0 && facts.digits < facts.judged;
}

/** Names before a value that is a digest, an id or a place of a file's contents: with it people search their logs. */
const ID_WORDS =
  /^(?:blk|commits|container|image|layer|object|tree|head|branch|merge|merged|checkout|trace|span|parent|blob|snapshot|pod|task|job|block|txn|tx|volume|sandbox|session_id)$/i;

/** Whether what stands before a value names a digest or an id: `sha256:`, `"etag":"W/`, `request_id=`, `commit `. */
export function isNamedId(scan: Scan, start: number): boolean {
  const { text, engine } = scan;
  const from = Math.max(scan.floor === 0 ? 0 : scan.floor - NAME_MAX, start - NAME_MAX, 0);
  // The boundary of a form, as browsers write it.
  if (text.startsWith('WebKitFormBoundary', start)) return true;
  let end = start;
  while (end > from && '"\'=:/ \t@<(,\\[-'.includes(text.charAt(end - 1))) end -= 1;
  // The id of a delivery, as dovecot writes it behind its process.
  if (/\)<\d{1,9}><$/.test(text.slice(Math.max(0, start - 16), start))) return true;
  // `W/"` of an ETag.
  if (text.charAt(end - 1) === 'W') return true;
  let first = end;
  while (first > from && (WORD_BITS[text.charCodeAt(first - 1)] as number) !== 0) first -= 1;
  // `-Dsha256=…` of a virtual machine.
  const name = text.slice(text.startsWith('-D', first) ? first + 2 : first, end);
  const near = text.slice(Math.max(0, start - 28), start);
  if (/\/(?:overlay2|docker|containers|layers|sha256|objects|commit|commits|tree|blob)\//.test(near)) return true;
  // `HEAD is now at`, `Merge … into`, `fetched … from`, `00-<trace>-`.
  if (
    /(?:built from|HEAD is now at|Checking out|Updating|Fast-forward|cherry picked from commit|reset to|checked out|detached at|\b00-|\b(?:node|request|trace|span|event|cluster|container|host|agent|transaction)\.id["']?[:=] ?["']?) ?$/i.test(
      near,
    )
  )
    return true;
  // Who asked for what in OpenStack: ids of a project and of an account there.
  if (
    /\[req-[0-9a-f-]{36} $|\/v\d(?:\.\d)?\/$/.test(text.slice(Math.max(0, start - 42), start)) ||
    /\[req-[0-9a-f-]{36} [0-9a-f]{32} $/.test(text.slice(Math.max(0, start - 76), start))
  )
    return true;
  if (text.charCodeAt(start - 1) === 47 && isPath(text, start)) return true;
  // Ids of a trace and of its span beside each other, and of a container as its runtime tells it.
  if (/^(?:[0-9a-f]{32}[,-][0-9a-f]{16}[,\]-]|[0-9a-f]{64} namespace=)/.test(text.slice(start, start + 76)))
    return true;
  const lead = name.split(/[-_]/, 1)[0] as string;
  return (
    classOfName(engine.rules, name) === 'id' ||
    classOfName(engine.rules, lead) === 'id' ||
    (ID_WORDS.test(lead) && (!/^blob$/i.test(lead) || /^[0-9a-f]{40}(?![\w+/])/.test(text.slice(start, start + 41))))
  );
}

/** Whether a slash before a value belongs to a file's path: it goes back to a slash at the beginning of a word. */
function isPath(source: string, start: number): boolean {
  let first = start;
  const from = Math.max(0, start - 512);
  while (first > from && source.charCodeAt(first - 1) > 32 && !'"\'=:(,'.includes(source.charAt(first - 1))) first -= 1;
  return /^\/(?:var|usr|etc|opt|home|srv|tmp|proc|sys|run|lib|root|mnt|data|boot|dev)\//.test(
    source.slice(first, Math.min(first + 12, start)),
  );
}

/** Fingerprints and public keys of ssh: without them nobody can read a log of sign-ins. */
export function isPublic(source: string, start: number): boolean {
  const before = source.slice(Math.max(0, start - 64), start);
  return (
    /(?:SHA256:|MD5:|SHA1:|SHA512:)[A-Za-z0-9+/]{0,44}$/.test(before) ||
    /^sha\d{1,3}-/.test(source.slice(start, start + 8)) ||
    /(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d{3}|sk-ssh-ed25519@openssh\.com) $/.test(before)
  );
}

/** A digest of SHA-512 in hex has 128 characters; nothing longer is an id. */
const ID_MAX = 136;
/** Bytes of a word in front of hex. */
const PREFIX_MAX = 12;

/** Whether a value under the name of an id may stay: hex, a uuid, base64 of a digest's length or a word. */
export function isNamedValue(source: string, start: number, end: number): boolean {
  if (end - start > ID_MAX) return false;
  const text = source.slice(start, end);
  return (
    (/^[A-Za-z0-9_-]{1,64}$|^[0-9a-fA-F-]+$/.test(text) || isPrefixedHex(text)) &&
    !/^(?:gh[a-z]_|gl[a-z]{2,5}-|sk[-_]|xox|AKIA|svc_|bot_|eyJ)/.test(text)
  );
}

/** `sha256:9f86…`, `c_7f3a-…`: a short word, a mark, and hex with dashes to the end. */
function isPrefixedHex(text: string): boolean {
  for (let at = Math.min(PREFIX_MAX, text.length - 2); at >= 0; at -= 1)
    if (
      ':_-'.includes(text.charAt(at)) &&
      /^[\w-]*$/.test(text.slice(0, at)) &&
      /^[0-9a-fA-F-]+$/.test(text.slice(at + 1))
    )
      return true;
  return false;
}
