/** JSON wherever it stands: walked by its tokens, so that a value ends with its string and JSON stays JSON. */
import { gapEnd, isDigit, stringEnd } from '../bytes.ts';
import { AT, type Scan } from '../context.ts';
import { cutArgument, optionClass, type ArgumentClass } from './commands.ts';
import { decodeBytes, decodeEscapes, withoutUnseen } from '../encodings/encodings.ts';
import { domainBefore } from '../identifiers/domain-users.ts';
import { putPerson, putPhone } from '../identifiers/people.ts';
import {
  BESIDE_MAX,
  classOfObject,
  isKindOfThing,
  isSignInName,
  isThing,
  lookBeside,
  NOTHING,
  type Beside,
} from './objects.ts';
import type { KeyClass } from '../rules/rows.ts';
import { marker } from '../spans.ts';

/** Objects and lists in each other; a deeper one is replaced as a whole. */
export const DEPTH_MAX = 64;
/** Bytes behind a value in which the name of the pair stands. */
const NEAR_MAX = 200;

/** Classes that everything below a key belongs to. */
export const INHERITED: ReadonlySet<KeyClass> = new Set<KeyClass>([
  'password',
  'secret',
  'authorization',
  'cookie',
  'text',
  'phone',
]);
/** Classes of names that say less than the key they stand below. */
const WEAK: ReadonlySet<KeyClass> = new Set<KeyClass>(['none', 'id', 'audit', 'pair-name', 'pair-value', 'people']);

/** Names below a secret's that tell about it: its kind, its term, where it counts. */
const ABOUT_SECRET =
  /(?:^|[_-])(?:type|expir(?:y|es|ation|es_?(?:in|at))|region|duration|renewable|polic(?:y|ies)|scopes?|ttl|status|count|enabled)$|(?:Type|Expir(?:y|es|ation)|ExpiresIn|ExpiresAt|Region|Duration)$/;

/** The class of a value by its own key and by the class of what it is in. */
export function innerClass(own: KeyClass, outer: KeyClass, key: string): KeyClass {
  if (INHERITED.has(outer) && WEAK.has(own)) return ABOUT_SECRET.test(key) && outer !== 'text' ? own : outer;
  // `{"sender": {"name": "alice"}}`: the name of whoever the outer key names.
  return outer === 'user' && (key === 'name' || key === 'title' || key === 'primary' || key === 'secondary')
    ? 'user'
    : outer === 'user' && key === 'id'
      ? 'user-id'
      : own;
}

/** An open object or list. */
interface Open {
  readonly keyClass: KeyClass;
  /** Lists of Swift hold names with a colon, too. */
  isObject: boolean;
  /** A list in a list may be a pair: `[["email", "…"]]`. */
  readonly isPair: boolean;
  /** What the name of a pair in it said of its value. */
  pair: KeyClass;
  hasPair: boolean;
  /** JSON Patch says by `op` that its `path` is a name. */
  hasOp: boolean;
  /** It is a device, an application, a policy: a name to display in it is its own. */
  readonly isThing: boolean;
  /** A string of it was the address of somebody, or said that it is a thing. */
  seen: Beside;
  /** Keys that were replaced: two that read alike afterwards stay two. */
  names: Set<string> | undefined;
}

/** Walks JSON from a place on, all of it under a class. Answers where it ended, or where it is no JSON. */
export function walkJson(scan: Scan, start: number, keyClass: KeyClass): number {
  return new Walk(scan, keyClass).run(start);
}

class Walk {
  readonly #scan: Scan;
  readonly #open: Open[] = [];
  #class: KeyClass;
  #isKey = false;
  #isName = false;
  /** The key before says that the object under it is a thing. */
  #isThing = false;
  /** No string of the list was read so far. */
  #isFirst = false;
  /** What the option before says of this argument of a list. */
  #argument: ArgumentClass = 'none';

  constructor(scan: Scan, keyClass: KeyClass) {
    this.#scan = scan;
    this.#class = keyClass;
  }

  run(start: number): number {
    const { bytes, stop } = this.#scan;
    let at = start;
    while (at < stop) {
      const byte = bytes[at] as number;
      if (byte === 34) {
        at = this.#string(at + 1);
        if (this.#open.length === 0) return at;
      } else if (byte === 44) {
        const open = this.#open.at(-1);
        if (open === undefined) return at;
        this.#isKey = open.isObject;
        this.#class = open.isPair && open.hasPair ? open.pair : open.keyClass;
        if (open.isPair) open.hasPair = false;
        at += 1;
      } else if (byte === 61 && bytes[at + 1] === 62) at += 2;
      else if (byte === 123 || byte === 91) at = this.#enter(at, byte === 123);
      else if (byte === 125 || byte === 93) {
        this.#open.pop();
        at += 1;
        if (this.#open.length === 0) return at;
      } else if (byte === 58 || byte === 32 || byte === 9 || byte === 10 || byte === 13) at += 1;
      else if (byte === 45 || isDigit(byte)) at = this.#number(at);
      else if (byte >= 97 && byte <= 122) {
        const word = /^(?:true|false|null)/.exec(this.#scan.text.slice(at, at + 5));
        if (word === null) return at;
        at += word[0].length;
      } else return at;
    }
    return at;
  }

  #enter(at: number, isObject: boolean): number {
    const { spans, text, stop } = this.#scan;
    if (!isObject) {
      const list = decodeBytes(text, at, stop);
      if (list !== undefined) {
        this.#scan.within(list, this.#class);
        return list.places[list.text.length] as number;
      }
      if (this.#class === 'people') this.#class = 'user';
    }
    if (this.#open.length >= DEPTH_MAX) {
      const end = this.#closeOf(at);
      return spans.put(at, end, `"${marker('text')}"`, 'text');
    }
    this.#open.push({
      keyClass: this.#class,
      isObject,
      isPair: !isObject && this.#open.at(-1)?.isObject === false,
      pair: 'none',
      hasPair: false,
      hasOp: false,
      isThing: this.#isThing,
      seen: NOTHING,
      names: undefined,
    });
    this.#isFirst = true;
    this.#isThing = false;
    this.#isKey = isObject;
    return at + 1;
  }

  /** Where the object or list ends that begins at a place. */
  #closeOf(start: number): number {
    const { bytes, stop } = this.#scan;
    let depth = 0;
    for (let at = start; at < stop; at += 1) {
      const byte = bytes[at];
      if (byte === 34) {
        const end = stringEnd(bytes, at + 1, stop);
        if (end === -1) return stop;
        at = end;
      } else if (byte === 123 || byte === 91) depth += 1;
      else if (byte === 125 || byte === 93) {
        depth -= 1;
        if (depth === 0) return at + 1;
      }
    }
    return stop;
  }

  #string(from: number): number {
    const scan = this.#scan;
    const { bytes, stop } = scan;
    let to = from;
    let hasEscape = false;
    for (; to < stop && bytes[to] !== 34; to += 1)
      if (bytes[to] === 92) {
        hasEscape = true;
        to += 1;
      }
    const isCut = to >= stop;
    if (isCut) to = stop;
    if (this.#hasSign(to + 1)) {
      this.#key(from, to, hasEscape);
      return to + 1;
    }
    this.#isKey = false;
    this.#notePair(from, to);
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst && this.#open.at(-1)?.isPair === true && this.#opensPair(from, to)) return to + 1;
    if (this.#open.at(-1)?.isObject === false && this.#class === 'none' && this.#isArgument(from, to))
      return Math.min(stop, to + 1);
    if (to - from > 1 || this.#class !== 'none') this.#value(from, to, hasEscape);
    if (isCut) noteOpen(scan, this.#class, 34);
    return isCut ? stop : to + 1;
  }

  /** Whether a string that ends before a place is a key: a colon follows, or the `=>` of Ruby and Elixir. */
  #hasSign(behind: number): boolean {
    const { bytes, stop } = this.#scan;
    const open = this.#open.at(-1);
    if (open === undefined) return false;
    const at = gapEnd(bytes, behind, stop);
    if (bytes[at] === 61 ? bytes[at + 1] !== 62 : bytes[at] !== 58) return false;
    if (this.#isKey) return true;
    if (open.isObject) return false;
    open.isObject = true;
    return true;
  }

  /** Whether the first string of a list in a list is a name, which says what the second one is. */
  #opensPair(from: number, to: number): boolean {
    const { bytes, engine } = this.#scan;
    const open = this.#open.at(-1) as Open;
    open.pair = bytes[to + 1] === 44 ? pairClass(engine.keys.classAt(bytes, from, to)) : 'none';
    open.hasPair = open.pair !== 'none';
    return open.hasPair;
  }

  /** Whether a string of a list is the value of the option before it; what an option says is remembered. */
  #isArgument(from: number, to: number): boolean {
    const scan = this.#scan;
    const before = this.#argument;
    this.#argument = scan.bytes[from] === 45 ? optionClass(scan, from, to) : headerClass(scan, from, to);
    const value = scan.text.slice(from, Math.min(to, from + 128));
    if (before === 'none' || this.#argument !== 'none' || isNameOfHeader(value)) return false;
    return cutArgument(scan, from, to, before) !== -1;
  }

  #value(from: number, to: number, hasEscape: boolean): void {
    const keyClass = this.#class === 'people' ? 'none' : this.#class;
    const inner = keyClass === 'none' && this.#open.at(-1)?.isObject === false ? this.#assigned(from, to) : undefined;
    if (inner !== undefined) this.#scan.value(inner.keyClass, inner.start, to);
    else if (hasEscape) this.#escaped(keyClass, from, to);
    else this.#scan.value(keyClass, from, to);
  }

  #escaped(keyClass: KeyClass, from: number, to: number): void {
    const scan = this.#scan;
    const domain = keyClass === 'none' ? domainBefore(scan.text.slice(from, Math.min(to, from + 120))) : 0;
    if (domain > 0) putPerson(scan, from + domain, to);
    else scan.within(decodeEscapes(scan.text, from, to), keyClass);
  }

  /** `"DB_PASSWORD=…"` and `"--password=…"` of a list: the whole rest of the string is the value. */
  #assigned(from: number, to: number): { keyClass: KeyClass; start: number } | undefined {
    const { text, engine } = this.#scan;
    const name = /^-{0,2}([A-Za-z][\w.-]{1,63})=./.exec(text.slice(from, Math.min(to, from + 70)));
    if (name === null) return undefined;
    const keyClass = engine.keys.classOf(name[1] as string);
    const start = from + name[0].length - 1;
    return INHERITED.has(keyClass) || keyClass === 'user' ? { keyClass, start } : undefined;
  }

  #key(from: number, to: number, hasEscape: boolean): void {
    const scan = this.#scan;
    const { text, engine, spans } = scan;
    const open = this.#open.at(-1) as Open;
    const own = hasEscape
      ? engine.keys.classOf(withoutUnseen(decodeEscapes(text, from, Math.min(to, from + 256)).text))
      : engine.keys.classAt(scan.bytes, from, to);
    // Names that are asked for by themselves have two, four and five letters.
    const isInside = INHERITED.has(open.keyClass) || open.keyClass === 'user';
    const key = to - from < 6 || (to - from < 32 && isInside) ? text.slice(from, to) : '';
    this.#isKey = false;
    this.#isName = own === 'pair-name' || key === 'name' || key === 'Name';
    if (key === 'op') open.hasOp = true;
    if (key === 'path' && open.hasOp) this.#isName = true;
    this.#class = innerClass(this.#ownClass(own, open, to + 1), open.keyClass, key);
    this.#judgeBeside(open, own, from, to);
    if (own !== 'none' || to - from < 6) return;
    const before = spans.list.length;
    if (hasEscape) scan.within(decodeEscapes(text, from, to), 'none');
    else scan.value('none', from, to);
    if (spans.list.length > before) keepApart(scan, open, from, to, before);
  }

  /** What else the object holds may say more of a value than its key does. */
  #judgeBeside(open: Open, own: KeyClass, from: number, to: number): void {
    const { bytes, text, stop } = this.#scan;
    const value = gapEnd(bytes, gapEnd(bytes, to + 1, stop) + 1, stop);
    const first = bytes[value];
    this.#isThing = false;
    if (first === 123 || first === 91) {
      if (to - from > 40) return;
      const key = text.slice(from, to);
      this.#isThing = isThing(key) || (first === 123 && open.isThing && own === 'none');
      if (first === 123 && own === 'none' && this.#class === 'none')
        this.#class = classOfObject(this.#scan, key, open.keyClass);
      return;
    }
    if (first !== 34) return;
    if (own === 'address' && bytes[to - 1] === 108) {
      open.seen = { ...open.seen, hasMail: true };
      if (isSignInName(this.#scan, value + 1)) this.#class = 'user';
    } else if (
      (this.#class === 'none' || this.#class === 'audit') &&
      to - from === 4 &&
      /^[Nn]ame$/.test(text.slice(from, to))
    ) {
      if (
        open.seen.hasMail ||
        (this.#scan.next(AT, value) < value + BESIDE_MAX && lookBeside(this.#scan, value).hasMail)
      )
        this.#class = 'user';
    } else if (this.#class === 'user' && to - from === 11 && /^displayName$/i.test(text.slice(from, to))) {
      if (open.isThing || open.seen.isThing || lookBeside(this.#scan, value).isThing) this.#class = 'none';
    } else if (to - from === 4 && text.startsWith('type', from) && isKindOfThing(this.#scan, value + 1))
      open.seen = { ...open.seen, isThing: true };
  }

  #ownClass(own: KeyClass, open: Open, behind: number): KeyClass {
    if (own === 'pair-name') return 'none';
    if (own !== 'pair-value') return own;
    return open.hasPair ? open.pair : this.#classBehind(behind);
  }

  /** The name of a pair that stands behind its value. */
  #classBehind(colon: number): KeyClass {
    const { bytes, text, stop, engine } = this.#scan;
    const quote = gapEnd(bytes, gapEnd(bytes, colon, stop) + 1, stop);
    const end = bytes[quote] === 34 ? stringEnd(bytes, quote + 1, stop) : -1;
    if (end === -1) return 'none';
    const name = BEHIND.exec(text.slice(end, Math.min(stop, end + NEAR_MAX)))?.[1];
    return name === undefined ? 'none' : pairClass(engine.keys.classOf(name));
  }

  #notePair(from: number, to: number): void {
    const open = this.#open.at(-1);
    if (!this.#isName || open === undefined) return;
    this.#isName = false;
    const name = this.#scan.text.slice(from, Math.min(to, from + 128));
    open.hasPair = true;
    open.pair = pairClass(this.#scan.engine.keys.classOf(name.slice(name.lastIndexOf('/') + 1)));
  }

  #number(start: number): number {
    const { bytes, stop } = this.#scan;
    let end = start + 1;
    while (end < stop && (isDigit(bytes[end]) || '.eE+-'.includes(String.fromCharCode(bytes[end] as number)))) end += 1;
    putNumber(this.#scan, this.#class, start, end, '"');
    return end;
  }
}

/** Whether a string beside the name of a header is the name of another one: of a list of names nothing goes. */
export function isNameOfHeader(value: string): boolean {
  return /^[A-Z][a-z]{1,30}(?:-[A-Za-z]{1,30}){0,4}$|^[a-z]{1,30}(?:-[a-z]{1,30}){1,4}$/.test(value);
}

/** Whether a name is that of a header: it has a dash, or is known. */
export function isHeaderName(name: string): boolean {
  return (name.includes('-') && /^[A-Za-z][\w-]{1,63}$/.test(name)) || /^(?:cookie|authorization)$/i.test(name);
}

const BEHIND = /^" ?, ?"(?:name|key|field|header|variable|param|parameter|property|attribute)" ?: ?"([\w ./-]{1,64})"/i;

/** Classes that the name of a header gives to the string behind it in a list. */
const OF_HEADERS: ReadonlySet<KeyClass> = new Set<KeyClass>(['authorization', 'cookie', 'secret', 'password']);

/** What a string of a list says of the next one where it is the name of a header: `"X-Api-Key"`. */
function headerClass({ bytes, text, engine }: Scan, from: number, to: number): ArgumentClass {
  if (to - from > 64 || !isHeaderName(text.slice(from, to))) return 'none';
  const keyClass = engine.keys.classAt(bytes, from, to);
  return OF_HEADERS.has(keyClass) ? keyClass : 'none';
}

/** What a name of a pair says of its value; another pair says nothing. */
export function pairClass(keyClass: KeyClass): KeyClass {
  return WEAK.has(keyClass) && keyClass !== 'id' ? 'none' : keyClass;
}

/** A key that reads like another one after its replacement gets a number. */
function keepApart({ text, spans }: Scan, open: Open, from: number, to: number, before: number): void {
  let name = '';
  let last = from;
  for (const span of spans.list.slice(before)) {
    name += text.slice(last, span.start) + span.replacement;
    last = span.end;
  }
  name += text.slice(last, to);
  open.names ??= new Set();
  let free = name;
  for (let number = 2; open.names.has(free); number += 1) free = `${name} (${number})`;
  open.names.add(free);
  if (free !== name) spans.put(to, to, free.slice(name.length), 'user');
}

/** A number under a key of a class. What takes its place gets the quotes of its key. Answers where it ends. */
export function putNumber(scan: Scan, keyClass: KeyClass, start: number, end: number, quote: string): number {
  const length = end - start;
  switch (keyClass) {
    case 'phone':
      return length >= 3 && length <= 20 ? putPhone(scan, start, end, quote) : end;
    case 'address':
      return length >= 10 && length <= 15 ? putPhone(scan, start, end, quote) : end;
    case 'user':
      return putPerson(scan, start, end, { wrap: quote });
    case 'password':
    case 'secret':
    case 'authorization':
    case 'cookie':
      return scan.spans.put(start, end, quote + marker('secret') + quote, 'secret');
    case 'code':
      return /^\d{6,10}$/.test(scan.text.slice(start, Math.min(end, start + 12)))
        ? scan.spans.put(start, end, quote + marker('secret') + quote, 'secret')
        : end;
    default:
      return end;
  }
}

/** A value without an end: when the line was cut there, its rest is hidden in the next part. */
export function noteOpen(scan: Scan, keyClass: KeyClass, closer: number, lines = 0): void {
  if (keyClass !== 'none' && keyClass !== 'id')
    scan.state.open = { keyClass, closer, lines: INHERITED.has(keyClass) && keyClass !== 'phone' ? lines : 0 };
}
