/**
 * One pass over a text: words are read with a table, and each is looked at once, by what it begins with and what
 * follows it. Addresses are found by their rare middle (`@`, `://`, `::`). Nothing walks left of what was replaced,
 * and every walk is bounded, so that time is linear in any text.
 */
import { cutIPv4, cutIPv6, isHexGroup } from './addresses.ts';
import {
  DASH,
  DIGIT,
  HEX,
  HIGH,
  isTellingMark,
  isWordByte,
  LOWER,
  MARK,
  NEXT_IS_SPACE,
  NEXT_KIND,
  NEXT_OF_BASE64,
  NEXT_OF_NUMBER,
  NEXT_OF_WORD,
  PLAIN,
  runEnd,
  START_KIND,
  WORD_BITS,
} from './character-classes.ts';
import { opensBlock, opensPart } from './blocks.ts';
import type { Context } from './context.ts';
import { cutEmail } from './emails.ts';
import { cutQuotedPrintable } from './encoded-regions.ts';
import { cutEncodedWord } from './encoded-words.ts';
import { cutElement } from './keyed-elements.ts';
import { cutKeyed } from './keyed-values.ts';
import { canBeKey, type KeyClass } from './keys.ts';
import { isLead, PHRASES, TOKENS } from './leads.ts';
import { beginLine, endJson } from './line-starts.ts';
import { cutMark, cutShape, isBehindSoftBreak } from './marks.ts';
import { cutPairValue, isNameOfPerson, notePairName } from './pairs.ts';
import { cutRussian } from './phones.ts';
import { startPuttyLines, startState, type LineState } from './private-keys.ts';
import { isNamedId, isPublic, randomRun } from './random-strings.ts';
import type { Spans } from './spans.ts';
import { cutLetter } from './telephony-shapes.ts';
import { fractionEnd, isInstant, isTime } from './times.ts';
import { DISCORD, TERRAFORM } from './token-shapes.ts';
import { cutUri } from './urls.ts';

/** Shorter words are not looked at for random strings, unless base64 goes on around them. */
const RANDOM_WORD_MIN = 10;

const NEWLINE = 10;
/** What a byte behind a word tells: a key may end here. `=` `:` quotes `\` `]` `)` `>` and space. */
const KEY_FOLLOW = new Uint8Array(256);
for (const byte of '=:"\'`\\])> ') KEY_FOLLOW[byte.charCodeAt(0)] = 1;

/** What a byte behind the quote of a key may be: `:`, `=`, white space, and `]` or `)` around the name. */
const KEY_SIGN = new Uint8Array(256);
for (const byte of ':= \t])') KEY_SIGN[byte.charCodeAt(0)] = 1;

/** Whether a colon may stand between groups of an address: hex digits or another colon follow. */
function goesOnAsIPv6(source: string, colon: number): boolean {
  const byte = source.charCodeAt(colon + 1);
  return byte === 58 || HEX[byte] === 1;
}

/** One pass over one text. */
export class Scan {
  readonly #context: Context;
  readonly #source: string;
  readonly #spans: Spans;
  readonly #state: LineState;
  readonly #judged = { end: 0 };
  readonly #scanPrefix = (start: number, end: number): void => {
    const context = { ...this.#context, source: this.#source.slice(0, end), line: { from: 1, to: 0 } };
    new Scan(context, startState()).go(start);
  };

  constructor(context: Context, state: LineState) {
    this.#context = context;
    this.#source = context.source;
    this.#spans = context.spans;
    this.#state = state;
  }

  run(from: number): void {
    this.go(from === 0 ? this.#line(0) : from);
    endJson(this.#context);
  }

  #line(start: number): number {
    return beginLine(this.#context, this.#state, start, this.#scanPrefix);
  }

  /** Goes on inside of a line. */
  go(from: number): void {
    const source = this.#source;
    const end = source.length;
    const kinds = START_KIND;
    const wordBits = WORD_BITS;
    let at = from;
    while (at < end) {
      const byte = source.charCodeAt(at);
      const kind = kinds[byte];
      if (kind === PLAIN) {
        at += 1;
      } else if (kind === MARK) {
        at += 1;
        if (byte === NEWLINE) at = this.#line(at);
        else if (at === end || isTellingMark(byte, source.charCodeAt(at))) at = this.#mark(byte, at - 1);
      } else if (kind === HIGH) {
        at = this.#high(at, end);
      } else {
        let bits = wordBits[byte] as number;
        let stop = at + 1;
        for (; stop < end; stop += 1) {
          const more = wordBits[source.charCodeAt(stop)] as number;
          if (more === 0) break;
          bits |= more;
        }
        at = this.#isPassed(at, stop, bits) ? stop : this.#word(at, stop, bits);
      }
    }
  }

  /** Whether nothing can begin with a word: most of a log is passed by here, with a few loads for each word. */
  #isPassed(start: number, end: number, bits: number): boolean {
    const source = this.#source;
    if (end >= source.length) return false;
    const kind = NEXT_KIND[source.charCodeAt(end)] as number;
    if (end - start >= RANDOM_WORD_MIN) return false;
    // Base64 that was looked at is not looked at again for each of its words.
    if (kind === NEXT_OF_BASE64 && start >= this.#judged.end) return false;
    if ((bits & ~(DIGIT | DASH)) === 0) return (kind & NEXT_OF_NUMBER) === 0 && source.charCodeAt(start) !== 56;
    if ((kind & NEXT_OF_WORD) !== 0 || isLead(source, start)) return false;
    if (kind !== NEXT_IS_SPACE) return true;
    const behind = source.charCodeAt(end + 1);
    return behind !== 61 && behind !== 58;
  }

  #word(start: number, end: number, bits: number): number {
    const source = this.#source;
    const length = end - start;
    const next = end < source.length ? source.charCodeAt(end) : NEWLINE;
    if ((bits & ~(DIGIT | DASH)) === 0) {
      const number = this.#number(start, end, next);
      if (number !== -1) return number;
    } else if (length > 1 || next === 46) {
      if (next === 58 && length === 13 && isInstant(source, start, end)) return fractionEnd(source, end + 6);
      if (isLead(source, start)) {
        const known = this.#known(start);
        if (known !== -1) return known;
      }
      if (next === 58) {
        const address = this.#beforeColon(start, end, bits);
        if (address !== -1) return address;
      }
      if (KEY_FOLLOW[next] === 1) {
        const value = this.#key(start, end, next);
        if (value !== -1) return value;
      }
    } else if (next === 58 && HEX[source.charCodeAt(start)] === 1 && goesOnAsIPv6(source, end)) {
      const address = cutIPv6(this.#spans, start);
      if (address !== -1) return address;
    } else if (next === 61) {
      const value = cutLetter(this.#context, start);
      if (value !== -1) return value;
    }
    if (length >= RANDOM_WORD_MIN || next === 43 || next === 47) return this.#random(start, end, bits, next);
    return end;
  }

  /** A token or a phrase that begins with a literal of its own. */
  #known(start: number): number {
    const source = this.#source;
    const token = TOKENS.at(source, start);
    return token !== undefined && !isPublic(source, start) && !this.#isEncoded(token.end, source.charCodeAt(token.end))
      ? this.#spans.secret(start, token.end, token.shape.class)
      : PHRASES.cut(this.#context, start);
  }

  #beforeColon(start: number, end: number, bits: number): number {
    if (goesOnAsIPv6(this.#source, end) && isHexGroup(this.#source, start, end, bits)) {
      const address = cutIPv6(this.#spans, start);
      if (address !== -1) return address;
    }
    return (end - start <= 4 && (bits & ~(LOWER | DIGIT)) === 0) || end - start === 3
      ? cutUri(this.#context, start, end)
      : -1;
  }

  #number(start: number, end: number, next: number): number {
    const source = this.#source;
    const first = source.charCodeAt(start);
    if (next === 58 && end - start === 2 && isTime(source, end) && source.charCodeAt(start - 1) !== 58)
      return fractionEnd(source, end + 6);
    if (next === 46 || (next !== 58 && end - start > 3 && source.charCodeAt(start + 1) !== 45)) {
      if (next === 46) {
        const address = cutIPv4(this.#spans, start);
        if (address !== -1) return address;
      }
    } else if (next === 58 && end - start <= 4 && goesOnAsIPv6(source, end)) {
      const address = cutIPv6(this.#spans, start);
      if (address !== -1) return address;
    }
    // `10.0.0.1-10.0.0.9` reads as one word between its dots.
    return first === 56 &&
      (end - start === 1 || end - start === 11 || end - start === 4 || source.charCodeAt(start + 1) === 45)
      ? cutRussian(this.#context, start)
      : -1;
  }

  #key(start: number, end: number, next: number): number {
    const source = this.#source;
    if (next === 62) return canBeKey(source, start, end) ? cutElement(this.#context, start, end) : -1;
    if (next === 32) {
      const behind = source.charCodeAt(end + 1);
      if (behind !== 61 && behind !== 58) return -1;
    } else if (next === 34 || next === 39 || next === 96) {
      if (KEY_SIGN[source.charCodeAt(end + 1)] !== 1) return -1;
    } else if (next === 93 || next === 41) {
      const sign = source.charCodeAt(end + 1);
      if (sign !== 61 && (sign !== 32 || source.charCodeAt(end + 2) !== 61)) return -1;
    } else if (next === 58 && source.charCodeAt(end + 1) === 58 && source.charCodeAt(end + 2) !== 32) return -1;
    if (!canBeKey(source, start, end)) return -1;
    const keyClass =
      end - start === 2 && source.startsWith('User Id=', start - 5)
        ? 'user'
        : this.#context.keys.classAt(source, start, end);
    if (keyClass === 'none') {
      if (next === 58 && end - start === 13 && source.startsWith('Private-Lines', start))
        startPuttyLines(this.#context, this.#state, end + 1);
      return -1;
    }
    if (keyClass === 'audit' || keyClass === 'pair-name' || keyClass === 'pair-value')
      return this.#pair(start, end, keyClass);
    if (opensBlock(this.#context, this.#state, start, end, keyClass)) return -1;
    if (keyClass === 'text' && next === 58 && end - start === 7) this.#state.isSubject = true;
    return cutKeyed(this.#context, start, end, keyClass);
  }

  /** A name of a pair, its value, or the name of a part of a form; any other `name` is one of auditd. */
  #pair(start: number, end: number, keyClass: KeyClass): number {
    const source = this.#source;
    if (keyClass === 'pair-value') return cutPairValue(this.#context, this.#state, start, end);
    if (keyClass === 'pair-name') return notePairName(this.#context, this.#state, start, end);
    if (end - start === 4 && (source.charCodeAt(start) | 32) === 110) {
      if (source.startsWith('form-data; ', start - 11)) return opensPart(this.#context, this.#state, start, end);
      if (isNameOfPerson(source, start)) return cutKeyed(this.#context, start, end, 'user');
      const value = notePairName(this.#context, this.#state, start, end);
      if (value !== -1) return value;
    }
    return cutKeyed(this.#context, start, end, keyClass);
  }

  #random(start: number, end: number, bits: number, next: number): number {
    if (next === 64 || this.#isEncoded(end, next)) return end;
    if (next === 46 && end - start === 14 && this.#source.startsWith('.atlasv1.', end)) {
      const terraform = cutShape(this.#context, TERRAFORM, start, start);
      if (terraform !== -1) return terraform;
    }
    if (next === 46 && end - start >= 23 && end - start <= 28) {
      const discord = cutShape(this.#context, DISCORD, start, start);
      if (discord !== -1) return discord;
    }
    // Words of prose and of hosts: one class of characters and short.
    if (end - start < 20 && (bits & (DIGIT | LOWER)) !== bits && next !== 43 && next !== 47 && next !== 61)
      return this.#shortRun(start, end);
    if (end - start < 20 && next !== 43 && next !== 47 && next !== 61) return end;
    return this.#longRun(start, end);
  }

  /** Whether a word goes on in an encoding: the stretch is decoded and scanned when its first escape is reached. */
  #isEncoded(end: number, next: number): boolean {
    if (next === 92) return this.#source.startsWith('u00', end + 1);
    if (next !== 37 && next !== 61) return false;
    const first = this.#source.charCodeAt(end + 1);
    const second = this.#source.charCodeAt(end + 2);
    return next === 37
      ? JOINING.has(this.#source.slice(end + 1, end + 3).toUpperCase())
      : first === 52 && second === 48;
  }

  #shortRun(start: number, end: number): number {
    const before = this.#source.charCodeAt(start - 1);
    return before === 43 || before === 47 ? this.#longRun(start, end) : end;
  }

  #longRun(start: number, end: number): number {
    const run = randomRun(this.#source, start, end, this.#spans.last, this.#judged);
    if (run === undefined) return end;
    if (this.#source.charCodeAt(run.end) === 64 || isPublic(this.#source, run.start)) return run.end;
    if (isNamedId(this.#source, run.start) && run.end - run.start <= 44) return run.end;
    return this.#spans.secret(run.start, run.end, 'random');
  }

  #high(at: number, end: number): number {
    const source = this.#source;
    let stop = at + 1;
    while (stop < end && source.charCodeAt(stop) >= 128) stop += 1;
    const next = source.charCodeAt(stop);
    if (next !== 61 && next !== 58 && next !== 34) return stop;
    const keyClass = this.#context.keys.classAt(source, at, stop);
    const value = keyClass === 'none' ? -1 : cutKeyed(this.#context, at, stop, keyClass);
    return value === -1 ? stop : value;
  }

  #mark(byte: number, at: number): number {
    const next = byte === 61 ? this.#equals(at) : cutMark(this.#context, this.#state, byte, at);
    return next > at ? next : at + 1;
  }

  #equals(at: number): number {
    const source = this.#source;
    const first = source.charCodeAt(at + 1);
    if (first === 63) return cutEncodedWord(this.#context, at);
    if (first < 50 || first > 55 || first === 54) return -1;
    // Codes of punctuation that do not read as a decimal number, and the at sign of an address.
    const second = source.charCodeAt(at + 2);
    const isCode = (second >= 65 && second <= 70) || (first === 52 && second === 48 && isWordByte(source, at + 3));
    if (!isCode) return -1;
    // `field=3AXd…`: a random value may begin like a code. What is a token as it stands is none.
    const end = runEnd(WORD_BITS, source, at + 1, source.length);
    if (end - at > RANDOM_WORD_MIN) {
      const random = this.#random(at + 1, end, bitsOf(source, at + 1, end), source.charCodeAt(end));
      if (this.#spans.last > at) return random;
    }
    return second === 48 && isBehindSoftBreak(source, at)
      ? cutEmail(this.#context, at, 3)
      : cutQuotedPrintable(this.#context, at);
  }
}

function bitsOf(source: string, start: number, end: number): number {
  let bits = 0;
  for (let at = start; at < end; at += 1) bits |= WORD_BITS[source.charCodeAt(at)] as number;
  return bits;
}

/** Encoded bytes that go on with a word. */
const JOINING = new Set(['2D', '2E', '5F', '2B', '2F', '3D', '7E', '25', '40', '3A']);
