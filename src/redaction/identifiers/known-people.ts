/**
 * The people of the installation, hidden wherever a text has their usernames or full names as words: in sentences of programs that
 * no row knows, in names of files, in columns without a head. What a key or a row finds is found without it.
 *
 * Names are kept as hashes of their words, and of the beginnings of those with several words, in memory that the threads of the pool
 * share with the thread that adds to it.
 */
import { isOrdinary, isTechnical } from '../rules/ordinary-words.ts';
import type { Span, Spans } from '../spans.ts';
import { isPseudonym, type Pseudonyms } from './pseudonyms.ts';

/** Words of a name; those behind them are not looked for. */
export const NAME_WORDS_MAX = 6;
/** Bytes of the shortest name that is looked for: shorter ones are in half of all lines, as something else. */
export const NAME_BYTES_MIN = 4;

/** A slot is two hashes and what ends or begins there; the first one counts those that are taken. */
const SLOT = 3;
const SLOTS_MIN = 1 << 12;
const BEGINS = 1;
const ENDS = 2;

/**
 * What a word is made of: letters, digits, `_`, and the bytes of which UTF-8 makes letters beyond ASCII; each as it counts, ASCII in
 * lower case, since logs have one name in several cases. 0 for what is no part of a word.
 */
const LETTER = new Uint8Array(256);
for (const letter of 'abcdefghijklmnopqrstuvwxyz0123456789_') LETTER[letter.charCodeAt(0)] = letter.charCodeAt(0);
for (let byte = 65; byte < 91; byte += 1) LETTER[byte] = byte + 32;
for (let byte = 0x80; byte < 256; byte += 1) LETTER[byte] = byte;
/** Signs of Latin-1, and the first two bytes of general punctuation, as UTF-8 writes them: quotes, dashes, spaces. */
const [LATIN_SIGN, PUNCTUATION, PUNCTUATION_NEXT] = [0xc2, 0xe2, 0x80];
LETTER[LATIN_SIGN] = 0;
/** What stands between two words of a name: `a.jones`, `Anna-Lena`, `O'Neil`, `Anna Schmidt`. */
const JOINT = new Uint8Array(256);
for (const joint of ".-' ") JOINT[joint.charCodeAt(0)] = 1;
const JOINTS_MAX = 2;
/** Words with such between them. */
const ROW = /[\p{L}\p{M}\p{N}_]+(?:[.\-' ]{1,2}[\p{L}\p{M}\p{N}_]+)*/gu;
/** Of FNV-1a, and of a hash that has nothing to do with it: two names that share both are one in 2⁶⁴. */
const [PRIME, OTHER_PRIME] = [0x01_00_01_93, 0x9e_37_79_b1];
/** What is not looked for even if somebody is called so: JSON has numbers without quotes. */
const NUMBER = /^[\d.eE+-]*$/;

export class KnownPeople {
  #slots: Int32Array;

  /** @param memory that of another thread, which adds to it; by default an empty one of its own. */
  constructor(memory?: SharedArrayBuffer) {
    this.#slots = memory === undefined ? emptySlots(SLOTS_MIN) : new Int32Array(memory);
  }

  /** What other threads are given. Another one takes its place when it is full. */
  get memory(): SharedArrayBuffer {
    return this.#slots.buffer as SharedArrayBuffer;
  }

  get isEmpty(): boolean {
    return this.#slots[0] === 0;
  }

  /** Takes in a username, unless it is no word to look for. */
  addUsername(name: string): void {
    const words = wordsOf(name);
    if (words.length > 1 || !isOrdinary(words[0] ?? '')) this.#add(trimmed(name), words);
  }

  /** Takes in a full name. One of a single word is none: everybody chooses their own, and could blind those who read logs. */
  addFullName(name: string): void {
    for (const [part] of name.matchAll(ROW)) {
      const words = wordsOf(part);
      if (words.length > 1) this.#add(part, words);
    }
  }

  /** In the cases in which it is written. */
  #add(name: string, words: readonly string[]): void {
    if (Buffer.byteLength(name) < NAME_BYTES_MIN || NUMBER.test(name) || isPseudonym(name)) return;
    if (words.every(isTechnical)) return;
    for (const form of new Set([name, name.toLowerCase(), name.toUpperCase(), name.normalize('NFD')]))
      this.#addForm(Buffer.from(form));
  }

  /** Hides the names in a stretch of a text where nothing is put yet, beside the spans from one on. */
  put({ bytes, text, spans }: Stretch, pseudonyms: Pseudonyms, from: number, to: number, first: number): void {
    if (this.isEmpty) return;
    const found: Span[] = [];
    const [slots, letters] = [this.#slots, LETTER];
    const [mask, last] = [maskOf(slots), slots.length - SLOT];
    for (let at = from; at < to;) {
      let byte = bytes[at] as number;
      let letter = letters[byte] as number;
      if (letter === 0 || (byte === PUNCTUATION && bytes[at + 1] === PUNCTUATION_NEXT)) {
        at += signLength(byte);
        continue;
      }
      // Most words are nobody's, and are told by one hash, without a call.
      const start = at;
      let one = 0;
      do {
        one = Math.imul(one ^ letter, PRIME);
        at += 1;
        byte = at < to ? (bytes[at] as number) : 0;
        letter = letters[byte] as number;
      } while (letter !== 0 && (byte !== PUNCTUATION || bytes[at + 1] !== PUNCTUATION_NEXT));
      let slot = ((one & mask) + 1) * SLOT;
      while (slots[slot + 2] !== 0 && slots[slot] !== one) slot = slot === last ? SLOT : slot + SLOT;
      if (slots[slot + 2] === 0) continue;
      const end = this.#endOf(bytes, start, to);
      if (end === -1) continue;
      if (!isInPseudonym(text, start))
        found.push({ class: 'user', start, end, replacement: pseudonyms.user(text.slice(start, end)) });
      at = end;
    }
    spans.weave(found, first);
  }

  /** Where the longest name ends that begins with the word at a place; -1 where none does. */
  #endOf(bytes: Uint8Array, start: number, to: number): number {
    const hash = { one: 0, two: 0 };
    let [at, end] = [start, -1];
    for (let words = 1; ; words += 1) {
      at = mixWord(hash, bytes, at, to);
      const flags = this.#flagsOf(hash);
      if ((flags & ENDS) !== 0) end = at;
      if ((flags & BEGINS) === 0 || words === NAME_WORDS_MAX) return end;
      at = mixJoints(hash, bytes, at, to);
      if (at >= to || letterAt(bytes, at) === 0) return end;
    }
  }

  #addForm(bytes: Buffer): void {
    const hash = { one: 0, two: 0 };
    for (let [at, words] = [0, 1]; ; words += 1) {
      at = mixWord(hash, bytes, at, bytes.length);
      if (at >= bytes.length || words === NAME_WORDS_MAX) return this.#set(hash, ENDS);
      this.#set(hash, BEGINS);
      at = mixJoints(hash, bytes, at, bytes.length);
      // A sign that no text is read over: the words before it are none of this name.
      if (at >= bytes.length || letterAt(bytes, at) === 0) return;
    }
  }

  #flagsOf({ one, two }: Hash): number {
    const slots = this.#slots;
    const mask = maskOf(slots);
    for (let place = one & mask; ; place = (place + 1) & mask) {
      const at = (place + 1) * SLOT;
      const flags = slots[at + 2] as number;
      if (flags === 0 || (slots[at] === one && slots[at + 1] === two)) return flags;
    }
  }

  #set({ one, two }: Hash, flag: number): void {
    if ((this.#slots[0] as number) * 2 * SLOT > this.#slots.length) this.#grow();
    const slots = this.#slots;
    const mask = maskOf(slots);
    let place = one & mask;
    for (;;) {
      const at = (place + 1) * SLOT;
      const flags = slots[at + 2] as number;
      if (flags !== 0 && (slots[at] !== one || slots[at + 1] !== two)) {
        place = (place + 1) & mask;
        continue;
      }
      if (flags === 0) Atomics.add(slots, 0, 1);
      slots[at] = one;
      slots[at + 1] = two;
      // Last, since another thread may look at the slot meanwhile.
      Atomics.store(slots, at + 2, flags | flag);
      return;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = emptySlots((before.length / SLOT - 1) * 2);
    for (let at = SLOT; at < before.length; at += SLOT)
      if (before[at + 2] !== 0)
        this.#set({ one: before[at] as number, two: before[at + 1] as number }, before[at + 2] as number);
  }
}

/** The text in which names are looked for. */
interface Stretch {
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly spans: Spans;
}

interface Hash {
  one: number;
  two: number;
}

/** A slot more than a power of two: the first one counts. */
function emptySlots(slots: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer((slots + 1) * SLOT * Int32Array.BYTES_PER_ELEMENT));
}

/** Without what stands behind its last word. */
function trimmed(name: string): string {
  let end = name.length;
  while (end > 0 && JOINT[name.charCodeAt(end - 1)] === 1) end -= 1;
  return name.slice(0, end);
}

const wordsOf = (name: string) => name.split(/[.\-' ]+/).filter((word) => word !== '');

const maskOf = (slots: Int32Array) => slots.length / SLOT - 2;

/** How a byte counts in a word; 0 where it is none. */
function letterAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number;
  return byte === PUNCTUATION && bytes[at + 1] === PUNCTUATION_NEXT ? 0 : (LETTER[byte] as number);
}

/** How many bytes are passed by with one that begins no word. */
function signLength(byte: number): number {
  if (byte === LATIN_SIGN) return 2;
  return byte === PUNCTUATION ? 3 : 1;
}

/** Mixes the word that begins at a place in; answers where it ends. */
function mixWord(hash: Hash, bytes: Uint8Array, start: number, to: number): number {
  let at = start;
  let { one, two } = hash;
  for (; at < to; at += 1) {
    const letter = letterAt(bytes, at);
    if (letter === 0) break;
    one = Math.imul(one ^ letter, PRIME);
    two = Math.imul(two + letter, OTHER_PRIME) ^ (two >>> 15);
  }
  hash.one = one;
  hash.two = two;
  return at;
}

/** Mixes what stands between two words in: a sign, or two as in `Dr. Anna`. Answers where it ends. */
function mixJoints(hash: Hash, bytes: Uint8Array, start: number, to: number): number {
  let at = start;
  for (; at < to && at < start + JOINTS_MAX && JOINT[bytes[at] as number] === 1; at += 1) {
    hash.one = Math.imul(hash.one ^ (bytes[at] as number), PRIME);
    hash.two = Math.imul(hash.two + (bytes[at] as number), OTHER_PRIME) ^ (hash.two >>> 15);
  }
  return at;
}

/** Whether a pseudonym's digits begin at a place: somebody may be called as they read. */
function isInPseudonym(text: string, at: number): boolean {
  return isPseudonym(text.slice(Math.max(0, at - 2), at + 8)) || isPseudonym(text.slice(Math.max(0, at - 4), at + 8));
}
