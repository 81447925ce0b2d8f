/**
 * Lines of JSON that the rules of text would break: values that hold quotes and keys of their own. Such a line is
 * walked by its tokens instead, and only the strings and numbers that change are written anew.
 */
import { DEPTH_MAX, innerClass, walkArray, walkString, type ValueRules } from './json-walk.ts';
import type { KeyClass } from './keys.ts';
import type { Spans } from './spans.ts';

/**
 * Whether JSON stays JSON when the places of a line are replaced: each lies inside of one string and cuts no escape,
 * or is a number. `places` holds start, end and whether quotes go around it, one after the other.
 */
export function keepsJson(source: string, start: number, places: readonly number[]): boolean {
  let at = start;
  let isInside = false;
  for (let index = 0; index < places.length; index += 3) {
    const from = places[index] as number;
    const to = places[index + 1] as number;
    for (; at < from; at += 1) {
      const byte = source.charCodeAt(at);
      if (byte === 34) isInside = !isInside;
      else if (byte === 92) at += 1;
    }
    if (at > from) return false;
    if (places[index + 2] === 1) {
      if (isInside) return false;
      at = to;
      continue;
    }
    if (!isInside) return false;
    for (; at < to; at += 1) {
      const byte = source.charCodeAt(at);
      if (byte === 34) return false;
      if (byte === 92) at += 1;
    }
    if (at > to) return false;
  }
  return true;
}

/** Whether a stretch of a text, bytes as Latin-1, is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Walks a line that is JSON by its tokens and puts what takes the place of those that change. */
export function putJson(rules: ValueRules, spans: Spans, start: number, end: number): void {
  new TokenWalk(rules, spans, end).run(start);
}

class TokenWalk {
  readonly #rules: ValueRules;
  readonly #spans: Spans;
  readonly #source: string;
  readonly #end: number;
  /** The classes of the keys that the open objects and lists stand under; for objects also that they are ones. */
  readonly #open: { keyClass: KeyClass; isObject: boolean; pair?: KeyClass }[] = [];
  #class: KeyClass = 'none';
  #isKey = false;
  #isPairName = false;

  constructor(rules: ValueRules, spans: Spans, end: number) {
    this.#rules = rules;
    this.#spans = spans;
    this.#source = spans.source;
    this.#end = end;
  }

  run(start: number): void {
    let at = start;
    while (at < this.#end) at = this.#token(at, this.#source.charCodeAt(at));
  }

  #token(at: number, byte: number): number {
    switch (byte) {
      case 34:
        return this.#string(at);
      case 91: {
        const list = this.#bytes(at);
        if (list !== -1) return list;
        if (this.#class === 'people') this.#class = 'user';
        this.#open.push({ keyClass: this.#class, isObject: false });
        return at + 1;
      }
      case 123:
        this.#open.push({ keyClass: this.#class, isObject: true });
        this.#isKey = true;
        return at + 1;
      case 93:
      case 125:
        this.#open.pop();
        return at + 1;
      case 44: {
        const { keyClass, isObject } = this.#open.at(-1) ?? { keyClass: 'none' as const, isObject: false };
        this.#isKey = isObject;
        this.#class = keyClass;
        return at + 1;
      }
      default:
        return byte === 45 || (byte >= 48 && byte <= 57) ? this.#number(at) : at + 1;
    }
  }

  #string(at: number): number {
    let close = at + 1;
    while (close < this.#end && this.#source.charCodeAt(close) !== 34)
      close += this.#source.charCodeAt(close) === 92 ? 2 : 1;
    const text = JSON.parse(utf8(this.#source.slice(at, close + 1))) as string;
    const outer = this.#open.at(-1)?.keyClass ?? 'none';
    const clean = this.#isKey
      ? this.#rules.string(text, 'none')
      : walkString(this.#rules, text, this.#class, this.#open.length);
    if (this.#isKey) this.#class = innerClass(this.#ownClass(text), outer, text);
    else this.#notePair(text);
    this.#isKey = false;
    if (clean !== text) this.#put(at + 1, close, JSON.stringify(clean).slice(1, -1));
    return close + 1;
  }

  /** The class of a key; that of the value of a pair is what the name before it said. */
  #ownClass(key: string): KeyClass {
    const own = this.#rules.classOf(key);
    this.#isPairName = own === 'pair-name' || /^name$/i.test(key);
    if (own === 'pair-value') return this.#open.at(-1)?.pair ?? 'none';
    return own === 'pair-name' ? 'none' : own;
  }

  #notePair(text: string): void {
    const object = this.#open.at(-1);
    if (this.#isPairName && object !== undefined) object.pair = this.#rules.classOf(text);
    this.#isPairName = false;
  }

  #number(at: number): number {
    let end = at + 1;
    while (end < this.#end && '0123456789.eE+-'.includes(this.#source.charAt(end))) end += 1;
    const value = Number(this.#source.slice(at, end));
    const clean = this.#rules.number(value, this.#class);
    if (clean !== value) this.#put(at, end, JSON.stringify(clean));
    return end;
  }

  /** A list of bytes, as journald writes a message that is no UTF-8. Answers where it ends, or -1. */
  #bytes(at: number): number {
    const close = this.#source.indexOf(']', at);
    const list = this.#source.slice(at, close + 1);
    if (!/^\[[\d,\s]+\]$/.test(list)) return -1;
    const clean = JSON.stringify(
      walkArray(this.#rules, JSON.parse(list) as number[], this.#class, Math.min(this.#open.length, DEPTH_MAX)),
    );
    if (clean !== list.replaceAll(/\s/g, '')) this.#put(at, close + 1, clean);
    return close + 1;
  }

  #put(start: number, end: number, replacement: string): void {
    this.#spans.put(start, end, Buffer.from(replacement).toString('latin1'), 'text');
  }
}

function utf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}
