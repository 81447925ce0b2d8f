/**
 * One pass over a text: words are read with a table, and each is looked at once, by what it begins with and what
 * follows it. Addresses are found by their rare middle (`@`, `://`, `::`). Nothing walks left of what was replaced,
 * and every walk is bounded, so that time is linear in any text.
 */
import { cutIPv4, cutIPv6 } from './identifiers/addresses.ts';
import {
  ASKS_BASE64,
  ASKS_COLON,
  ASKS_GAP,
  ASKS_KEY,
  ASKS_NUMBER,
  ASKS_SIGN,
  BASE64,
  DASH,
  DIGIT,
  HEX,
  isDigit,
  MARK,
  MARK_NEXT,
  NEXT,
  WORD_BITS,
} from './bytes.ts';
import { columnOf, SIGNS, startState, type Engine, type LineState, type Scan, type Sign } from './context.ts';
import type { Decoded } from './encodings/encodings.ts';
import { decodeUnseen } from './encodings/encodings.ts';
import { noteColumns } from './values/columns.ts';
import { cutDirective } from './values/directives.ts';
import { cutLeft, cutPairValue, isClear, isNameOfPerson, notePairName, opensBlock, opensPart } from './lines.ts';
import { cutMark } from './marks.ts';
import { putRepeats } from './identifiers/repeats.ts';
import { cutRussian } from './identifiers/phones.ts';
import { cutForm, cutRandom, isEncoded, RANDOM_WORD_MIN } from './secrets/long-words.ts';
import { cutFormLine, cutLead } from './values/phrases.ts';
import { cutKeyLine, cutOrphan, startPuttyLines } from './secrets/private-keys.ts';
import type { KeyClass } from './rules/rows.ts';
import { fractionEnd, isInstant, isTime } from './times.ts';
import { Spans } from './spans.ts';
import { cutKeyed, hasSign } from './values/values.ts';
import { cutValue } from './values/value-classes.ts';
import { cutBeforeColon } from './identifiers/uris.ts';

/** The first word of a token of Terraform, before a dot. */
const SHAPE_WORD = 14;
/** Bytes of `2026-11-20T10`. */
const INSTANT = 13;
/** A full line of a key's body has 64 characters; a shorter line is none. */
const BODY_LINE_MIN = 64;
/** What a string of JSON that is no body of a key counts for a strange line: a collector has three or four in each. */
const STRING_SHARE = 0.25;
/** Bytes of the shortest line that has a form of its own. */
const FORM_MIN = 32;
/** Bytes of a credential in base64 at the end of a line. */
const PADDED_MAX = 512;
/** Encodings inside of encodings: `%252B`, JSON in JSON in JSON. What is deeper is hidden as a whole. */
export const NESTING_MAX = 8;
/** First bytes of what nobody sees: the escape of terminals, and spaces and marks without a width in UTF-8. */
const UNSEEN = [0x1b, 0xc2, 0xe2, 0xe3, 0xef] as const;
/** Words before `id`, `name`, `key` and `number` with which they are one name: `User ID=`. */
const JOINED =
  /(?:^|[^\w.-])((?:user|login|account|client|api|access|secret|private|phone|mobile|display|full|first|last|auth|session|bearer) (?:id|name|key|token|secret))$/i;
/** The same as a table, for texts shorter than what a search of its own pays for. */
const MAY_BE_UNSEEN = new Uint8Array(256);
for (const byte of UNSEEN) MAY_BE_UNSEEN[byte] = 1;
const SMALL = 2048;
/** A key of two words or more that begins its line. */
const SPACED = /^[ \t]*"([A-Za-z][\w-]{0,20}(?: [\w-]{1,20}){1,3})":$/;
/** Bytes of such a key with what stands before it on its line. */
const SPACED_MAX = 80;
/** The first letter of those names by their length. */
const LAST_WORD = [0, 0, 105, 107, 110, 116, 115];

export class TextScan implements Scan {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly spans: Spans;
  readonly engine: Engine;
  readonly state: LineState;
  readonly line = { from: 1, to: 0, stop: -1 };
  readonly #depth: number;
  /** For each first byte of what nobody sees, where it stands next; and the least of these places. */
  readonly #unseen = [-1, -1, -1, -1, -1];
  #unseenAt = -1;
  floor = 0;
  stop = 0;
  isJoined = false;
  decodedTo = 0;
  judgedTo = 0;
  userinfoTo = 0;
  #programs: Scan['programs'] | undefined;
  readonly around = { floor: -1, to: 0, quote: -1, bracket: -1, openFrom: 0, close: -1 };
  hasUnseen = false;
  /** Where each of the signs stands next. */
  readonly #signs = [-1, -1, -1, -1];
  /** Up to here no string is closed any more. */
  openTo = 0;

  constructor(engine: Engine, bytes: Uint8Array, text: string, state: LineState, depth = 0) {
    this.engine = engine;
    this.bytes = bytes;
    this.text = text;
    this.state = state;
    this.#depth = depth;
    this.spans = new Spans(text);
    this.stop = bytes.length;
  }

  /** Scans all lines. Those that quoted-printable joins are scanned as one. */
  lines(): void {
    const { bytes, text, state } = this;
    const { length } = bytes;
    for (let at = 0; at < length;) {
      let end = text.indexOf('\n', at);
      if (end === -1) end = length;
      this.isJoined = false;
      // The padding of a key's last line is no such break.
      while (end < length && state.key.lines === 0 && isSoft(bytes, end, at) && !this.#isPadded(at, end)) {
        this.isJoined = true;
        const next = text.indexOf('\n', end + 1);
        end = next === -1 ? length : next;
      }
      const stop = end > at && bytes[end - 1] === 13 ? end - 1 : end;
      if (state.key.lines > 0 && this.#depth === 0) state.key.lines -= 1;
      this.spans.keepsBreaks = this.isJoined;
      const before = this.spans.list.length;
      this.#line(at, stop);
      if (this.#depth === 0 && !this.isJoined) {
        this.putPeople(at, stop, before);
        putRepeats(this.spans, text, at, stop, before);
      }
      if (end < length && state.open !== undefined) state.open = onNextLine(state.open);
      at = end + 1;
    }
  }

  /** Whether the sign at the end of a line pads a credential: quoted-printable writes no two of them, and no header so. */
  #isPadded(start: number, end: number): boolean {
    const { bytes, text } = this;
    const sign = bytes[end - 1] === 13 ? end - 2 : end - 1;
    if (bytes[sign - 1] === 61) return true;
    const least = Math.max(start, sign - PADDED_MAX);
    let from = sign;
    while (from > least && BASE64[bytes[from - 1] as number] === 1) from -= 1;
    // A bare ` = ` is none of quoted-printable's: `PrivateKey = …=`.
    return /(?:authorization: ?|basic |bearer | = )$/i.test(text.slice(Math.max(start, from - 16), from));
  }

  #line(start: number, stop: number): void {
    this.floor = start;
    this.stop = stop;
    const before = this.spans.list.length;
    this.hasUnseen = false;
    if (this.#unseenAt < stop && this.#nextUnseen(start) < stop && this.#withoutUnseen(start, stop)) return;
    let from = start;
    if (!isClear(this.state)) from = Math.max(cutLeft(this, start, stop), start);
    if (this.state.key.lines > 0) {
      if (this.bytes[from] !== 123) from = Math.max(cutKeyLine(this, from, stop), from);
    } else if (stop - from >= BODY_LINE_MIN) from = Math.max(cutOrphan(this, from, stop), from);
    if (from < stop) {
      const first = this.bytes[from] as number;
      // Lines with a form of their own begin with a time.
      from = Math.max(cutDirective(this, from, stop), first > 47 && first < 58 ? cutFormLine(this, from) : -1, from);
      this.#go(from, stop);
      noteColumns(this, start, stop);
    }
    if (!this.hasUnseen) return;
    // A colour was written down with a backslash: the line is read again without it.
    this.spans.rewind(before);
    this.#withoutUnseen(start, stop);
  }

  #nextUnseen(from: number): number {
    let least = this.bytes.length;
    if (least < SMALL) {
      let at = from;
      while (at < least && MAY_BE_UNSEEN[this.bytes[at] as number] === 0) at += 1;
      this.#unseenAt = at;
      return at;
    }
    for (const [which, byte] of UNSEEN.entries()) {
      let place = this.#unseen[which] as number;
      if (place < from) {
        place = this.bytes.indexOf(byte, from);
        if (place === -1) place = this.bytes.length;
        this.#unseen[which] = place;
      }
      if (place < least) least = place;
    }
    this.#unseenAt = least;
    return least;
  }

  #withoutUnseen(start: number, stop: number): boolean {
    if (this.#depth >= NESTING_MAX) return false;
    const seen = decodeUnseen(this.text, start, stop);
    if (seen === undefined) return false;
    this.#nested(seen, (scan) => scan.lines(), this.state);
    return true;
  }

  get programs(): Scan['programs'] {
    this.#programs ??= new Map();
    return this.#programs;
  }

  next(sign: Sign, place: number): number {
    const known = this.#signs[sign] as number;
    if (known >= place) return known;
    const found = this.text.indexOf(SIGNS[sign], place);
    const next = found === -1 ? this.text.length : found;
    this.#signs[sign] = next;
    return next;
  }

  run(from: number, to: number): void {
    const { stop } = this;
    this.stop = to;
    this.#go(from, to);
    this.stop = stop;
  }

  value(keyClass: KeyClass, from: number, to: number): void {
    const next = keyClass !== 'none' && keyClass !== 'audit' ? cutValue(this, keyClass, from, to) : -1;
    if (next >= to) return;
    // An address in the place of a name is left to the scan.
    const left = Math.max(next, from);
    const { floor, stop, isJoined } = this;
    this.floor = from;
    this.stop = to;
    this.isJoined = false;
    // Strings beside those of a key tell of the line: no short one is the last of a body.
    this.state.key.isFull = false;
    const at =
      this.state.key.lines > 0 && to - left > 3 ? Math.max(cutKeyLine(this, left, to, STRING_SHARE), left) : left;
    // A string may hold a line with a form of its own.
    const isForm = to - at > FORM_MIN && isDigit(this.bytes[at]);
    const after = isForm ? Math.max(cutFormLine(this, at), at) : at;
    if (after < to) this.#go(after, to);
    this.floor = floor;
    this.stop = stop;
    this.isJoined = isJoined;
  }

  within(decoded: Decoded, keyClass: KeyClass): void {
    const { places } = decoded;
    const [start, end] = [places[0] as number, places[decoded.text.length] as number];
    this.decodedTo = Math.max(this.decodedTo, end);
    if (this.#depth >= NESTING_MAX) {
      if (end > start && decoded.endOf === undefined) this.spans.secret(start, end, 'text');
      return;
    }
    this.#nested(decoded, (scan) => {
      const { text } = decoded;
      const seen = keyClass === 'none' ? undefined : decodeUnseen(text, 0, text.length);
      if (seen !== undefined) scan.within(seen, keyClass);
      else if (keyClass === 'none' || cutValue(scan, keyClass, 0, text.length) === -1) scan.lines();
    });
  }

  /** Hides the people of the installation in a stretch, beside the spans from one on. */
  putPeople(from: number, to: number, first: number): void {
    this.engine.people.put(this, this.engine.pseudonyms, from, to, first);
  }

  /** Scans a decoded stretch and puts what was found into this text. */
  #nested(decoded: Decoded, scan: (nested: TextScan) => void, state = startState(this.state.key)): void {
    const { text, bytes, places, encode, endOf } = decoded;
    const nested = new TextScan(this.engine, bytes, text, state, this.#depth + 1);
    scan(nested);
    nested.putPeople(0, bytes.length, 0);
    for (const span of nested.spans.list) {
      const end = span.end > span.start && endOf !== undefined ? endOf(span.end) : (places[span.end] as number);
      this.spans.put(places[span.start] as number, end, encode(span.replacement), span.class);
    }
  }

  /** Words by their table; what is no word is passed by where the byte behind it says that it means nothing. */
  #go(from: number, stop: number): void {
    const { bytes } = this;
    const { rules } = this.engine;
    // Loads of an imported table are not kept over a call; those of a variable are.
    const [words, marks, nexts] = [WORD_BITS, MARK_NEXT, NEXT];
    let at = from;
    while (at < stop) {
      const byte = bytes[at] as number;
      let bits = words[byte] as number;
      if (bits === 0 || byte === 45) {
        if (MARK[byte] === 0 || marks[(byte << 8) | (bytes[at + 1] as number)] === 0) at += 1;
        else {
          const next = byte >= 128 ? this.#high(at, stop) : cutMark(this, byte, at);
          at = next > at ? next : at + 1;
        }
        continue;
      }
      let end = at + 1;
      for (; end < stop; end += 1) {
        const more = words[bytes[end] as number] as number;
        if (more === 0) break;
        bits |= more;
      }
      const next = end < stop ? (bytes[end] as number) : 10;
      const asks = nexts[next] as number;
      // Most words are of letters, short, and end at a space or a dot.
      const isPassed =
        (bits & ~(DIGIT | DASH)) === 0
          ? (asks & ASKS_NUMBER) === 0 && byte !== 56
          : end - at < SHAPE_WORD &&
            !rules.mayLead(bytes, at) &&
            (asks === 0 || asks === ASKS_SIGN || (asks === ASKS_GAP && nexts[bytes[end + 1] as number] === 0));
      at = isPassed || this.#isPassed(at, end, bits, next) ? end : this.#word(at, end, bits);
    }
  }

  /** Whether nothing can begin with a word, looked at again. */
  #isPassed(start: number, end: number, bits: number, next: number): boolean {
    const { bytes } = this;
    const { rules } = this.engine;
    const length = end - start;
    const behind = bytes[end + 1];
    if ((bits & ~(DIGIT | DASH)) === 0) {
      if (bytes[start] === 56) return false;
      return next === 46 && (!isDigit(behind) || (length > 3 && (bits & DASH) === 0));
    }
    if (length >= RANDOM_WORD_MIN || rules.mayLead(bytes, start)) return false;
    const asks = NEXT[next] as number;
    if (asks === 0 || asks === ASKS_SIGN) return true;
    if ((asks & ASKS_GAP) !== 0) return NEXT[behind ?? 10] === 0 || !mayBeSign(behind, bytes[end + 2]);
    if ((asks & ASKS_BASE64) !== 0) return start < this.judgedTo;
    if ((asks & ASKS_COLON) !== 0) return length > 4 && length !== INSTANT && !rules.mayName(bytes, start, end);
    if (next === 46) return length !== SHAPE_WORD;
    if (next === 93 || next === 41 || next === 125) return behind !== 61 && (behind !== 32 || bytes[end + 2] !== 61);
    if (next === 44) return bytes[start - 1] !== 123;
    // The last word of a key of several.
    if (next === 34 && behind === 58 && bytes[start - 1] === 32) return false;
    return next !== 61 && !rules.mayName(bytes, start, end);
  }

  #word(start: number, end: number, bits: number): number {
    const { bytes, stop } = this;
    const next = end < stop ? (bytes[end] as number) : 10;
    if ((bits & ~(DIGIT | DASH)) === 0) {
      const number = this.#number(start, end, next);
      if (number !== -1) return number;
    } else {
      if (next === 58 && end - start === INSTANT && isInstant(bytes, start, end)) return fractionEnd(bytes, end + 6);
      if (this.engine.rules.mayLead(bytes, start) && !isEncoded(this, end, next)) {
        const known = cutLead(this, start);
        if (known !== -1) return known;
      }
      if (next === 58) {
        const address = cutBeforeColon(this, start, end, bits);
        if (address !== -1) return address;
      }
      if (((NEXT[next] as number) & (ASKS_KEY | ASKS_GAP | ASKS_COLON)) !== 0) {
        const value = this.#key(start, end, next);
        if (value !== -1) return value;
      }
    }
    if (end - start >= SHAPE_WORD) {
      const token = cutForm(this, start, end);
      if (token !== -1) return token;
    }
    return end - start >= RANDOM_WORD_MIN || next === 43 || next === 47 || next === 61
      ? cutRandom(this, start, end, bits, next)
      : end;
  }

  #number(start: number, end: number, next: number): number {
    const { bytes } = this;
    if (next === 58) {
      if (end - start === 2 && isTime(bytes, end) && bytes[start - 1] !== 58) return fractionEnd(bytes, end + 6);
      const behind = bytes[end + 1];
      if (behind !== undefined && end - start <= 4 && (behind === 58 || HEX[behind] === 1)) {
        const address = cutIPv6(this, start);
        if (address !== -1) return address;
      }
    } else if (next === 46) {
      // `10.0.0.1-10.0.0.9` reads as one word between its dots.
      let from = start;
      for (let at = end - 1; at > start && end - at < 5; at -= 1) if (bytes[at] === 45) from = at + 1;
      const address = cutIPv4(this, from === start ? start : from);
      if (address !== -1) return address;
    }
    return bytes[start] === 56 &&
      (end - start === 1 || end - start === 11 || end - start === 4 || bytes[start + 1] === 45)
      ? cutRussian(this, start)
      : -1;
  }

  #key(start: number, end: number, next: number): number {
    const { bytes, text, engine } = this;
    if (!hasSign(this, start, end, next)) return -1;
    if (next === 34 && bytes[start - 1] === 32) {
      const spaced = this.#spacedKey(end);
      if (spaced !== 'none') return cutKeyed(this, start, end, spaced);
    }
    if (!engine.rules.mayName(bytes, start, end)) return -1;
    let from = start;
    while (from > this.floor && bytes[from - 1] === 46 && end - from < 64) {
      from -= 1;
      while (from > this.floor && WORD_BITS[bytes[from - 1] as number] !== 0 && end - from < 64) from -= 1;
    }
    if (from < this.spans.last) from = start;
    let keyClass = engine.keys.classAt(bytes, from, end);
    if (bytes[start - 1] === 32 && LAST_WORD[end - start] === ((bytes[start] as number) | 32)) {
      const joined = JOINED.exec(text.slice(Math.max(this.floor, start - 12), end))?.[1];
      if (joined !== undefined) keyClass = engine.keys.classOf(joined);
    }
    if (keyClass === 'none') {
      if (next === 58 && end - start === 13 && text.startsWith('Private-Lines', start)) startPuttyLines(this, end);
      return -1;
    }
    if (keyClass === 'audit' || keyClass === 'pair-name' || keyClass === 'pair-value')
      return this.#pair(start, end, keyClass);
    if (opensBlock(this, start, end, keyClass)) return -1;
    if (next === 58) this.#opensHeader(start, end, keyClass);
    return cutKeyed(this, start, end, keyClass);
  }

  /** The class of a key of several words in quotes, on a line of JSON that is laid out: `"Initiated by": …`. */
  #spacedKey(end: number): KeyClass {
    const key = SPACED.exec(this.text.slice(Math.max(this.floor, end - SPACED_MAX), end + 2))?.[1];
    const keyClass = key === undefined ? 'none' : this.engine.keys.classOf(key);
    return keyClass === 'user' || keyClass === 'text' || keyClass === 'password' ? keyClass : 'none';
  }

  /** A header whose value may go on in the next lines: a Subject anywhere, the others where they begin their line. */
  #opensHeader(start: number, end: number, keyClass: KeyClass): void {
    if (keyClass !== 'text' && keyClass !== 'cookie' && keyClass !== 'authorization') return;
    // A key of YAML stands further to the right, and what is below it is the next one.
    const column = columnOf(this, start);
    const isShown = start === this.floor + 2 && /^[<>] $/.test(this.text.slice(this.floor, start));
    const isHeader = keyClass === 'text' ? column < 1 && isSubject(this.bytes, start, end) : column === 0 || isShown;
    if (isHeader) this.state.folded = keyClass;
  }

  /** A name of a pair, its value, or the name of a part of a form; any other `name` is one of auditd. */
  #pair(start: number, end: number, keyClass: KeyClass): number {
    if (keyClass === 'pair-value') return cutPairValue(this, start, end);
    if (keyClass === 'pair-name') return notePairName(this, start, end);
    if (end - start === 4 && ((this.bytes[start] as number) | 32) === 110) {
      if (this.text.startsWith('form-data; ', start - 11)) {
        opensPart(this, end);
        return -1;
      }
      if (isNameOfPerson(this, start)) return cutKeyed(this, start, end, 'user');
      const value = notePairName(this, start, end);
      if (value !== -1) return value;
    }
    return cutKeyed(this, start, end, keyClass);
  }

  #high(at: number, stop: number): number {
    const { bytes, engine } = this;
    let end = at + 1;
    while (end < stop && (bytes[end] as number) >= 128) end += 1;
    const next = end < stop ? bytes[end] : 10;
    if (next !== 61 && next !== 58 && next !== 34) return end;
    const keyClass = engine.keys.classAt(bytes, at, end);
    const value = keyClass === 'none' ? -1 : cutKeyed(this, at, end, keyClass);
    return value === -1 ? end : value;
  }
}

/** A value in quotes goes on in the next lines; any other one ends with its own. */
function onNextLine(open: NonNullable<LineState['open']>): LineState['open'] {
  return open.lines > 0 ? { ...open, lines: open.lines - 1 } : undefined;
}

function isSubject(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === 7 && ((bytes[start] as number) | 32) === 115 && ((bytes[start + 1] as number) | 32) === 117;
}

/** Whether two bytes behind a space can begin the sign of a key, or go on to it. */
function mayBeSign(first: number | undefined, second: number | undefined): boolean {
  return (
    first === 61 ||
    first === 58 ||
    first === 32 ||
    first === 9 ||
    first === 34 ||
    first === 124 ||
    (first === 46 && second === 32) ||
    (first === 45 && second === 62)
  );
}

function isSoft(bytes: Uint8Array, end: number, start: number): boolean {
  const before = bytes[end - 1];
  return end > start && (before === 61 || (before === 13 && end - 1 > start && bytes[end - 2] === 61));
}
