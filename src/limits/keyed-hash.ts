/**
 * HalfSipHash-2-4 with 64 bits of output (Aumasson and Bernstein, 2016), over the UTF-16 units of a text: a hash that
 * nobody can steer who does not have the key. Written out here because every request of a client takes one: an HMAC of
 * `node:crypto` takes ten times as long, and the packages that there are first copy the text into bytes.
 */

/** Words of a key. */
export const KEY_WORDS = 2;

export class KeyedHash {
  readonly #k0: number;
  readonly #k1: number;
  /** The halves of the last answer, 32 bits each: kept here so that a call makes nothing for the collector. */
  low = 0;
  high = 0;

  constructor([k0 = 0, k1 = 0]: Uint32Array) {
    this.#k0 = k0;
    this.#k1 = k1;
  }

  /** Hashes a unit of 16 bits and the text behind it into `low` and `high`. */
  digest(unit: number, text: string): void {
    let v0 = this.#k0 | 0;
    let v1 = this.#k1 ^ 0xee;
    let v2 = this.#k0 ^ 0x6c796765;
    let v3 = this.#k1 ^ 0x74656462;
    const units = text.length + 1;
    const last = units >> 1;
    // The words of the text, the one with what is left of it and its length, and two steps that make the answer of it.
    for (let step = 0; step <= last + 2; step += 1) {
      let word = 0;
      if (step < last) word = (step === 0 ? unit : text.charCodeAt(2 * step - 1)) | (text.charCodeAt(2 * step) << 16);
      else if (step === last) word = (units << 25) | tailOf(units, unit, text);
      else if (step === last + 1) v2 ^= 0xee;
      else {
        this.low = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v3 ^= word;
      for (let round = step > last ? 4 : 2; round > 0; round -= 1) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      v0 ^= word;
    }
    this.high = v1 ^ v3;
  }
}

/** The unit that is left over where their number is odd. */
function tailOf(units: number, unit: number, text: string): number {
  if ((units & 1) === 0) return 0;
  return units === 1 ? unit : text.charCodeAt(units - 2);
}
