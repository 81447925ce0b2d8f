/** Text in UTF-16, as Windows and Java write some logs: read as UTF-8, and written back as it came. */
import { StringDecoder } from 'node:string_decoder';

export interface WideForm {
  readonly isBig: boolean;
}

/** Bytes that are looked at. */
const LOOKED_AT = 64;
/** The share of zeros in every second byte from which a text is one of two bytes a character. */
const ZERO_SHARE = 0.7;

/** The form of a text by its mark or by its zeros; undefined for one of bytes. */
export function wideOf(bytes: Buffer): WideForm | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { isBig: false };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { isBig: true };
  const pairs = Math.min(bytes.length, LOOKED_AT) >> 1;
  if (pairs < 4) return undefined;
  let [even, odd] = [0, 0];
  for (let pair = 0; pair < pairs; pair += 1) {
    if (bytes[2 * pair] === 0) even += 1;
    if (bytes[2 * pair + 1] === 0) odd += 1;
  }
  if (odd >= pairs * ZERO_SHARE && even === 0) return { isBig: false };
  return even >= pairs * ZERO_SHARE && odd === 0 ? { isBig: true } : undefined;
}

export class WideText {
  readonly #isBig: boolean;
  readonly #decoder = new StringDecoder('utf16le');
  readonly #encoder = new StringDecoder('utf8');
  /** A byte without its other half. */
  #half: Buffer = Buffer.alloc(0);

  constructor({ isBig }: WideForm) {
    this.#isBig = isBig;
  }

  /** UTF-8 of what came; at the end a byte without its other half is left out. */
  decode(chunk: Buffer, isEnd: boolean): Buffer {
    const whole = Buffer.concat([this.#half, chunk]);
    const even = whole.length & ~1;
    this.#half = Buffer.from(whole.subarray(even));
    const little = this.#isBig ? Buffer.from(whole.subarray(0, even)).swap16() : whole.subarray(0, even);
    return Buffer.from(this.#decoder.write(little) + (isEnd ? this.#decoder.end() : ''));
  }

  encode(clean: Buffer, isEnd: boolean): Buffer {
    const text = this.#encoder.write(clean) + (isEnd ? this.#encoder.end() : '');
    const little = Buffer.from(text, 'utf16le');
    return this.#isBig ? little.swap16() : little;
  }
}
