/** The installation's own secrets, masked by their exact value: the only way to find a weak one in free text. */
import { marker, type Span } from '../spans.ts';

/** A shorter value would mask half of the log. */
export const KNOWN_SECRET_MIN = 8;
/** Every window of this many places holds one start of a four-byte piece of each secret. */
const STEP = KNOWN_SECRET_MIN - 3;
const TABLE_BITS = 16;

/** Finds any of many values in one pass that looks at every fifth byte. */
export class KnownSecrets {
  readonly #pieces = new Uint8Array(1 << TABLE_BITS);
  readonly #values = new Map<number, { value: string; offset: number }[]>();
  readonly isEmpty: boolean;

  /** Values of fewer than 8 characters are passed by. A value of many lines is masked line by line. */
  constructor(secrets: readonly string[]) {
    const values = new Set(secrets.flatMap(formsOf).filter((value) => value.length >= KNOWN_SECRET_MIN));
    this.isEmpty = values.size === 0;
    for (const value of [...values].toSorted((left, right) => right.length - left.length))
      for (let offset = 0; offset < STEP; offset += 1) this.#add(hashOf(value, offset), { value, offset });
  }

  #add(hash: number, entry: { value: string; offset: number }): void {
    this.#pieces[hash] = 1;
    this.#values.set(hash, [...(this.#values.get(hash) ?? []), entry]);
  }

  /** The places of known secrets in order, none over another. */
  find(source: string): { start: number; end: number }[] {
    const places: { start: number; end: number }[] = [];
    if (this.isEmpty) return places;
    let last = 0;
    for (let at = 0; at + 4 <= source.length; at += STEP) {
      const hash = hashOf(source, at);
      if (this.#pieces[hash] === 0) continue;
      for (const { value, offset } of this.#values.get(hash) as { value: string; offset: number }[]) {
        const start = at - offset;
        if (start < last || !source.startsWith(value, start)) continue;
        last = start + value.length;
        places.push({ start, end: last });
        at = last - STEP;
        break;
      }
    }
    return places;
  }

  /** The text with a marker in place of every known secret. */
  mask(source: string, places: readonly { start: number; end: number }[]): string {
    let output = '';
    let last = 0;
    for (const { start, end } of places) {
      output += source.slice(last, start) + marker('secret');
      last = end;
    }
    return output + source.slice(last);
  }
}

/** Spans found in a masked text, told in places of the text before, together with the masked ones. */
export function unmask(spans: readonly Span[], places: readonly { start: number; end: number }[]): Span[] {
  const width = marker('secret').length;
  const original = (place: number, isEnd: boolean): number => {
    let shift = 0;
    for (const { start, end } of places) {
      const masked = start + shift;
      if (place <= masked) break;
      if (place < masked + width) return isEnd ? end : start;
      shift += width - (end - start);
    }
    return place - shift;
  };
  const moved = spans.map((span) => ({ ...span, start: original(span.start, false), end: original(span.end, true) }));
  const own = places
    .filter(({ start, end }) => !moved.some((span) => span.start <= start && span.end >= end))
    .map(({ start, end }): Span => ({ class: 'secret', start, end, replacement: marker('secret') }));
  return [...moved, ...own].toSorted((left, right) => left.start - right.start);
}

/** A secret plain, in base64 with either alphabet and any place in its three, in hex, percent and JSON. */
function formsOf(secret: string): string[] {
  return secret
    .split(/\r?\n/)
    .filter((line) => line.length >= KNOWN_SECRET_MIN)
    .flatMap((line) => {
      const bytes = Buffer.from(line);
      const hex = bytes.toString('hex');
      const json = JSON.stringify(line).slice(1, -1);
      const ascii = json.replaceAll(
        /[\u0080-\uffff]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
      const percent = encodeURIComponent(line);
      const forms = [
        line,
        hex,
        hex.toUpperCase(),
        json,
        ascii,
        json.replaceAll('/', '\\/'),
        JSON.stringify(json).slice(1, -1),
        percent,
        percent.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
        percent.replaceAll('%20', '+'),
        encodeURIComponent(percent),
        ...base64Forms(bytes),
      ];
      return forms.map((form) => Buffer.from(form).toString('latin1'));
    });
}

/** Base64 of the value alone and behind one or two bytes of something else; what its neighbours share is left out. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const from = shift === 0 ? 0 : shift + 1;
    const whole = Math.floor(((shift + bytes.length) * 8) / 6);
    const inner = text.slice(from, whole);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

function hashOf(source: string, at: number): number {
  const word =
    source.charCodeAt(at) |
    (source.charCodeAt(at + 1) << 8) |
    (source.charCodeAt(at + 2) << 16) |
    (source.charCodeAt(at + 3) << 24);
  return Math.imul(word, 0x9e_37_79_b1) >>> (32 - TABLE_BITS);
}
