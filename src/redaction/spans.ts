/** What a scan puts in place of what it found: pieces of the output, and the spans for whoever asks why. */

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

const MARKERS = new Map<string, SecretClass>(SECRET_CLASSES.map((name) => [marker(name), name]));
const MARKER_START = '[REDACTED:';
const MARKER_MAX = Math.max(...[...MARKERS.keys()].map((text) => text.length));

export function marker(name: SecretClass): string {
  return `[REDACTED:${name}]`;
}

/** Where a marker that starts here ends; -1 where none does. Only markers of known classes count. */
export function markerEnd(source: string, at: number): number {
  if (source.charCodeAt(at) !== 91 || !source.startsWith(MARKER_START, at)) return -1;
  const end = source.indexOf(']', at) + 1;
  return end > 0 && end - at <= MARKER_MAX && MARKERS.has(source.slice(at, end)) ? end : -1;
}

export class Spans {
  readonly source: string;
  /** Where what is not yet in the output begins: nothing before it may be replaced any more. */
  last = 0;
  #output = '';
  readonly #list: Span[] | undefined;
  /** Where the line of JSON begins that is being scanned; -1 in other lines. */
  #jsonStart = -1;
  /** What had been put when that line began. */
  #saved = { output: '', last: 0, spans: 0 };
  /** What was put in that line: start, end, and whether quotes go around it. */
  readonly #places: number[] = [];

  constructor(source: string, isExplained: boolean) {
    this.source = source;
    this.#list = isExplained ? [] : undefined;
  }

  /** Puts text in place of a span; spans come in order. */
  put(start: number, end: number, replacement: string, spanClass: SpanClass): number {
    if (start < this.last || end < start) return Math.max(end, this.last);
    if (end - start === replacement.length && this.source.startsWith(replacement, start)) return end;
    this.#output += this.source.slice(this.last, start) + replacement;
    this.last = end;
    if (this.#jsonStart !== -1) this.#places.push(start, end, replacement.charCodeAt(0) === 34 ? 1 : 0);
    this.#list?.push({ class: spanClass, start, end, replacement });
    return end;
  }

  /** A line begins: what is put in it is remembered when it may be JSON. */
  beginLine(start: number): void {
    const first = this.source.charCodeAt(start);
    if (first !== 123 && first !== 91) {
      this.#jsonStart = -1;
      return;
    }
    this.#jsonStart = start;
    this.#saved = { output: this.#output, last: this.last, spans: this.list.length };
    this.#places.length = 0;
  }

  /** Where the line of JSON begins that ends, when anything was put in it; -1 otherwise. */
  get jsonStart(): number {
    return this.#jsonStart !== -1 && this.#places.length > 0 ? this.#jsonStart : -1;
  }

  /** What was put in that line: start, end, and whether quotes go around it. */
  get places(): readonly number[] {
    return this.#places;
  }

  /** Takes back what was put since the line of JSON began. */
  rewindLine(): void {
    this.#output = this.#saved.output;
    this.last = this.#saved.last;
    if (this.#list !== undefined) this.#list.length = this.#saved.spans;
    this.#jsonStart = -1;
  }

  secret(start: number, end: number, name: SecretClass): number {
    return this.put(start, end, marker(name), name);
  }

  /** The output up to a place, after which the scan goes on in another text. */
  take(end: number): string {
    return this.last === 0 ? this.source.slice(0, end) : this.#output + this.source.slice(this.last, end);
  }

  get isUntouched(): boolean {
    return this.last === 0 && this.#output === '';
  }

  get list(): readonly Span[] {
    return this.#list ?? [];
  }
}
