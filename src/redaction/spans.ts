/** What a scan puts in place of what it found: the spans in order, and the text that they make. */

/** Classes of `[REDACTED:<class>]`. */
export const SECRET_CLASSES = [
  'private-key',
  'authorization',
  'cookie',
  'url-credentials',
  'platform-token',
  'jwt',
  'aws-key',
  'api-key',
  'secret',
  'random',
  'text',
] as const;
export type SecretClass = (typeof SECRET_CLASSES)[number];
/** Every class of a replacement. */
export type SpanClass = SecretClass | 'user' | 'email' | 'phone' | 'ip';

/** A replacement. Places are bytes of the UTF-8 input. */
export interface Span {
  readonly class: SpanClass;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Written in one piece: what is put together out of pieces is slower to copy. */
const MARKER_OF = new Map(
  SECRET_CLASSES.map((name) => [name, Buffer.from(`[REDACTED:${name}]`).toString('latin1')] as const),
);
const MARKERS = new Set<string>(MARKER_OF.values());
const MARKER_START = '[REDACTED:';
const MARKER_MAX = Math.max(...[...MARKERS].map((text) => text.length));

export function marker(name: SecretClass): string {
  return MARKER_OF.get(name) as string;
}

/** Where a marker that starts here ends; -1 where none does. Only markers of known classes count. */
export function markerEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== 91 || !text.startsWith(MARKER_START, at)) return -1;
  const close = text.slice(at, at + MARKER_MAX).indexOf(']') + 1;
  return close > 0 && MARKERS.has(text.slice(at, at + close)) ? at + close : -1;
}

/** Shorter stretches are copied byte by byte: a call costs more. */
const CALL_MIN = 48;

/** Copies a stretch. Answers where the next one goes. */
function copied(source: Buffer, from: number, end: number, target: Buffer, to: number): number {
  if (end - from >= CALL_MIN) source.copy(target, to, from, end);
  else for (let at = from; at < end; at += 1) target[to + at - from] = source[at] as number;
  return to + end - from;
}

/** What stands between the markers of one value: line ends and spaces, also where they are written in an encoding. */
const BETWEEN = /(?:\s|\\{1,4}[nrt]|&#(?:10|13|x[aAdD]);|%0[AaDd]){0,8}/y;

/** Where markers end that stand beside each other from a place on, up to another one at most; -1 where none does. */
export function markersEnd(text: string, at: number, to: number): number {
  let end = markerEnd(text, at);
  while (end !== -1 && end < to) {
    BETWEEN.lastIndex = end;
    BETWEEN.test(text);
    const next = BETWEEN.lastIndex;
    if (next >= to) return to;
    const further = markerEnd(text, next);
    if (further === -1) return end;
    end = further;
  }
  return end;
}

export class Spans {
  readonly #text: string;
  readonly list: Span[] = [];
  /** Where the last span ends: nothing before it may be replaced any more. */
  last = 0;
  /** Lines that quoted-printable joins are scanned as one: their breaks stay, whatever is put around them. */
  keepsBreaks = false;

  constructor(text: string) {
    this.#text = text;
  }

  /** Puts text in place of a span; spans come in order. What reads already like that is left. Answers where it ends. */
  put(start: number, end: number, replacement: string, spanClass: SpanClass): number {
    if (start < this.last || end < start) return Math.max(end, this.last);
    if (this.keepsBreaks) {
      const newline = this.#text.slice(start, end).indexOf('\n');
      if (newline !== -1) {
        this.#push(start, start + newline, replacement, spanClass);
        return this.put(start + newline + 1, end, '', spanClass);
      }
    }
    if (end - start === replacement.length && this.#text.startsWith(replacement, start)) return end;
    return this.#push(start, end, replacement, spanClass);
  }

  #push(start: number, end: number, replacement: string, spanClass: SpanClass): number {
    this.list.push({ class: spanClass, start, end, replacement });
    this.last = end;
    return end;
  }

  secret(start: number, end: number, name: SecretClass): number {
    return this.put(start, end, marker(name), name);
  }

  /** Puts further spans between those from one on, where nothing is replaced yet. */
  weave(further: readonly Span[], first: number): void {
    if (further.length === 0) return;
    const own = this.list.splice(first);
    const all = [...own, ...further].toSorted((left, right) => left.start - right.start || left.end - right.end);
    const taken = new Set(own);
    let last = 0;
    for (const [at, span] of all.entries()) {
      const next = all[at + 1];
      // What was there stays, and of two that are new the first one.
      if (!taken.has(span) && (span.start < last || (next !== undefined && taken.has(next) && next.start < span.end)))
        continue;
      this.list.push(span);
      last = span.end;
    }
    this.last = Math.max(this.last, last);
  }

  /** Takes back all spans but the first ones, so many of them. */
  rewind(count: number): void {
    this.list.length = count;
    this.last = this.list.at(-1)?.end ?? 0;
  }

  /** The bytes of the text with what was put into it: stretches that stay are copied whole. */
  written(source: Buffer): Buffer {
    const { list } = this;
    if (list.length === 0) return Buffer.from(source);
    let { length } = source;
    for (const { start, end, replacement } of list) length += replacement.length - (end - start);
    const target = Buffer.allocUnsafe(length);
    let to = 0;
    let from = 0;
    for (const { start, end, replacement } of list) {
      to = copied(source, from, start, target, to);
      for (let at = 0; at < replacement.length; at += 1) target[to + at] = replacement.charCodeAt(at);
      to += replacement.length;
      from = end;
    }
    copied(source, from, source.length, target, to);
    return target;
  }

  /** The text with what was put into it. */
  output(): string {
    if (this.list.length === 0) return this.#text;
    let output = '';
    let last = 0;
    for (const { start, end, replacement } of this.list) {
      output += this.#text.slice(last, start) + replacement;
      last = end;
    }
    return output + this.#text.slice(last);
  }
}
