/** Objects of JSON under a key of a class, wherever in a line they stand: `"password":{"value":"…"}`. */
import { isDigit } from './character-classes.ts';
import { lineEnd, type Context } from './context.ts';
import { INHERITED, innerClass } from './json-walk.ts';
import type { KeyClass } from './keys.ts';
import { closerOf, gap, readOpener } from './value-bounds.ts';

/** Objects and lists in each other: what is deeper is scanned as any text. */
const DEPTH_MAX = 16;

/** Classes that what is inside of an object belongs to, or some of it. */
const OPENED: ReadonlySet<KeyClass> = new Set<KeyClass>([...INHERITED, 'user']);

/** What a single value under a key of a class comes to: a string between its quotes, a number with those of its key. */
export interface Leaves {
  string(context: Context, keyClass: KeyClass, from: number, to: number): number;
  number(context: Context, keyClass: KeyClass, start: number, stop: number, delimiter: string): number;
}

/** The object that begins at a place, under a key of a class. Answers where the scan goes on, or -1. */
export function cutObject(context: Context, keyClass: KeyClass, start: number, leaves: Leaves): number {
  if (!OPENED.has(keyClass)) return -1;
  return new ObjectWalk(context, lineEnd(context, start), leaves).object(start, keyClass, 0);
}

class ObjectWalk {
  readonly #context: Context;
  readonly #stop: number;
  readonly #leaves: Leaves;

  constructor(context: Context, stop: number, leaves: Leaves) {
    this.#context = context;
    this.#stop = stop;
    this.#leaves = leaves;
  }

  /** Goes from an opening brace to behind its closing one, or to what is no JSON. */
  object(start: number, keyClass: KeyClass, depth: number): number {
    const { keys, source } = this.#context;
    let at = gap(source, start + 1);
    while (at < this.#stop) {
      if (source.charCodeAt(at) === 125) return at + 1;
      const opener = readOpener(source, at);
      if (opener === undefined || !opener.endsWith('"')) return at;
      const from = at + opener.length;
      const to = closerOf(source, from, this.#stop, opener);
      const key = source.slice(from, Math.min(to, from + 100));
      const colon = gap(source, to + opener.length);
      if (source.charCodeAt(colon) !== 58) return Math.min(colon, this.#stop);
      const own = keys.classAt(source, from, to);
      at = this.#behind(this.#value(gap(source, colon + 1), innerClass(own, keyClass, key), opener, depth));
    }
    return this.#stop;
  }

  #list(start: number, keyClass: KeyClass, opener: string, depth: number): number {
    const { source } = this.#context;
    let at = gap(source, start + 1);
    while (at < this.#stop) {
      if (source.charCodeAt(at) === 93) return at + 1;
      const next = this.#behind(this.#value(at, keyClass, opener, depth));
      if (next === at) return at;
      at = next;
    }
    return this.#stop;
  }

  #value(at: number, keyClass: KeyClass, delimiter: string, depth: number): number {
    const { source } = this.#context;
    const byte = source.charCodeAt(at);
    if (byte === 123 && depth < DEPTH_MAX) return this.object(at, keyClass, depth + 1);
    if (byte === 91 && depth < DEPTH_MAX) return this.#list(at, keyClass, delimiter, depth + 1);
    const opener = readOpener(source, at);
    if (opener?.endsWith('"') === true) {
      const from = at + opener.length;
      const to = closerOf(source, from, this.#stop, opener);
      this.#string(keyClass, from, to);
      return Math.min(this.#stop, to + opener.length);
    }
    if (byte === 45 || isDigit(source, at)) {
      const end = this.#leaves.number(this.#context, keyClass, at, this.#stop, delimiter);
      return Math.max(end, at + 1);
    }
    // `true`, `false` and `null`; anything else is no value.
    let end = at;
    while (end < this.#stop && /[a-z]/.test(source.charAt(end))) end += 1;
    return end;
  }

  #string(keyClass: KeyClass, from: number, to: number): void {
    const { scanNested, source, spans } = this.#context;
    if (keyClass !== 'none' && this.#leaves.string(this.#context, keyClass, from, to) !== -1) return;
    for (const { class: spanClass, start, end, replacement } of scanNested(source.slice(from, to)))
      spans.put(from + start, from + end, replacement, spanClass);
  }

  /** Where the next member begins; the place itself where none does. */
  #behind(end: number): number {
    const { source } = this.#context;
    let at = end;
    while (at < this.#stop && isDigit(source, at)) at += 1;
    at = gap(source, at);
    return source.charCodeAt(at) === 44 ? gap(source, at + 1) : at;
  }
}
