/**
 * An answer of many items put together from bytes as they are stored: messages lie on disk in the form in which they are sent,
 * so reading them as texts, joining those and encoding the whole again is most of what a page of history would cost.
 */

/** Nearly every page fits; memory for a larger one is given back to the system with the page. */
const SPARE_BYTES = 512 * 1024;
/** Pages that are put together at once on a thread: one, and another where an answer waits for something. */
const SPARES_MAX = 2;
const spares: Buffer[] = [];

const COMMA = 0x2c;
const ZERO = 0x30;

/** Shorter ones are copied byte by byte: the call costs more than the copying. */
const SHORT_BYTES = 24;

export class JsonPage {
  #bytes = spares.pop() ?? Buffer.allocUnsafeSlow(SPARE_BYTES);
  #length = 0;
  /** Where each item begins and ends. */
  #bounds: number[] = [];

  /** The page as it is so far, until something is added or it is released. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** The items so far, each as a text. */
  items(): string[] {
    return Array.from({ length: this.#bounds.length / 2 }, (_, at) =>
      this.#bytes.toString('utf8', this.#bounds[2 * at], this.#bounds[2 * at + 1]),
    );
  }

  /** A comma in front of every item but the first. */
  beginItem(): void {
    if (this.#bounds.length > 0) {
      this.#reserve(1);
      this.#bytes[this.#length] = COMMA;
      this.#length += 1;
    }
    this.#bounds.push(this.#length);
  }

  endItem(): void {
    this.#bounds.push(this.#length);
  }

  text(part: string): void {
    // No character of a string takes more than three bytes.
    this.#reserve(part.length * 3);
    this.#length += this.#bytes.write(part, this.#length);
  }

  /** Bytes of a buffer that may be another's a moment later. */
  copy(from: Buffer, start: number, end: number): void {
    const count = end - start;
    this.#reserve(count);
    if (count > SHORT_BYTES) {
      from.copy(this.#bytes, this.#length, start, end);
    } else {
      for (let at = 0; at < count; at += 1) this.#bytes[this.#length + at] = from[start + at] ?? 0;
    }
    this.#length += count;
  }

  /** A whole number from 0 up. */
  number(value: number): void {
    let digits = 1;
    for (let limit = 10; value >= limit; limit *= 10) digits += 1;
    this.#reserve(digits);
    let rest = value;
    for (let at = this.#length + digits - 1; at >= this.#length; at -= 1) {
      const tens = Math.floor(rest / 10);
      this.#bytes[at] = ZERO + (rest - 10 * tens);
      rest = tens;
    }
    this.#length += digits;
  }

  /** Takes the last byte back: the brace at the end of an object that something is added to. */
  dropLast(): void {
    this.#length -= 1;
  }

  clear(): void {
    this.#length = 0;
    this.#bounds = [];
  }

  /** Gives the memory to the next page. Whoever has the bytes still has those of another page from now on. */
  release(): void {
    if (this.#bytes.length === SPARE_BYTES && spares.length < SPARES_MAX) spares.push(this.#bytes);
    this.#bytes = Buffer.alloc(0);
    this.clear();
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
