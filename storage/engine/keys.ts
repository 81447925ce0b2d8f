/**
 * Keys of a lane: texts that hold no NUL, joined by NUL, numbers as six bytes high to low, so that the order of the
 * bytes is the order of the things. Only an emoji is not ASCII, and it stands where order does not matter.
 */

const SEQ_BYTES = 6;

/** Text parts joined by NUL. */
export function key(...parts: readonly string[]): Buffer {
  return Buffer.from(parts.join('\0'), 'utf8');
}

/** Text parts, then a number: `[conversation, seq]`. */
export function numbered(number: number, ...parts: readonly string[]): Buffer {
  const text = `${parts.join('\0')}\0`;
  const buffer = Buffer.allocUnsafe(text.length + SEQ_BYTES);
  buffer.write(text, 0, 'latin1');
  buffer.writeUIntBE(number, text.length, SEQ_BYTES);
  return buffer;
}

/** Puts another number at the end of a numbered key, for whoever looks up one after the other. */
export function setNumber(buffer: Buffer, number: number): void {
  buffer.writeUIntBE(number, buffer.length - SEQ_BYTES, SEQ_BYTES);
}

/** The number at the end of a numbered key. */
export function numberOf(buffer: Buffer): number {
  return buffer.readUIntBE(buffer.length - SEQ_BYTES, SEQ_BYTES);
}

/** A numbered key with more text behind it: `[conversation, seq, emoji, user]`. */
export function numberedThen(number: number, conversation: string, ...rest: readonly string[]): Buffer {
  return Buffer.concat([numbered(number, conversation), key(...rest)]);
}

/** The first text part of a key. */
export function firstPart(buffer: Buffer): string {
  const end = buffer.indexOf(0);
  return buffer.toString('utf8', 0, end === -1 ? buffer.length : end);
}

/** The last text part of a key. */
export function lastPart(buffer: Buffer): string {
  return buffer.toString('utf8', buffer.lastIndexOf(0) + 1);
}

/** The range of all keys that go on behind these parts: from `start` up to, not including, `end`. */
export function under(...parts: readonly string[]): { start: Buffer; end: Buffer } {
  const text = parts.join('\0');
  return { start: Buffer.from(`${text}\0`, 'utf8'), end: Buffer.from(`${text}\u0001`, 'utf8') };
}

/** The range of keys behind `[conversation, number]`. */
export function underNumber(number: number, conversation: string): { start: Buffer; end: Buffer } {
  return { start: numbered(number, conversation), end: numbered(number + 1, conversation) };
}

/** A number as a value. */
export function numberValue(...numbers: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(numbers.length * SEQ_BYTES);
  numbers.forEach((number, index) => buffer.writeUIntBE(number, index * SEQ_BYTES, SEQ_BYTES));
  return buffer;
}

/** The number at `index` of such a value. */
export function numberAt(buffer: Buffer, index = 0): number {
  return buffer.readUIntBE(index * SEQ_BYTES, SEQ_BYTES);
}
