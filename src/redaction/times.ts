/** Times of day and instants, told from addresses by their form: most colons and dots behind numbers are theirs. */
import { DASH, isDigit, WORD_BITS } from './bytes.ts';

/** `:15:22` and nothing that makes it longer: a time of day, as most colons behind a number are of. */
export function isTime(bytes: Uint8Array, colon: number): boolean {
  return (
    bytes[colon + 3] === 58 &&
    isDigit(bytes[colon + 1]) &&
    isDigit(bytes[colon + 2]) &&
    isDigit(bytes[colon + 4]) &&
    isDigit(bytes[colon + 5]) &&
    bytes[colon + 6] !== 58 &&
    !((WORD_BITS[bytes[colon + 6] ?? 32] as number) & ~DASH)
  );
}

/** Where the fraction of a second behind a time ends; its seconds begin what is no fraction. */
export function fractionEnd(bytes: Uint8Array, end: number): number {
  if (bytes[end] !== 46) return end;
  let at = end + 1;
  while (isDigit(bytes[at])) at += 1;
  return bytes[at] === 46 ? end - 2 : at;
}

/** `2026-11-20T10` before `:15:22`; the fraction and the zone behind it are words of their own. */
export function isInstant(bytes: Uint8Array, start: number, end: number): boolean {
  return (
    bytes[end - 3] === 84 &&
    bytes[start + 4] === 45 &&
    bytes[start + 7] === 45 &&
    isDigit(bytes[start]) &&
    bytes[end + 3] === 58 &&
    isDigit(bytes[end + 1]) &&
    isDigit(bytes[end + 4]) &&
    isDigit(bytes[end + 5])
  );
}
