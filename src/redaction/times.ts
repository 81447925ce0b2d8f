/** Times of day and instants, told from addresses by their form: most colons and dots behind numbers are theirs. */
import { isDigit, isWordByte } from './character-classes.ts';

/** `:15:22` and nothing that makes it longer: a time of day, as most colons behind a number are of. */
export function isTime(source: string, colon: number): boolean {
  return (
    source.charCodeAt(colon + 3) === 58 &&
    isDigit(source, colon + 1) &&
    isDigit(source, colon + 2) &&
    isDigit(source, colon + 4) &&
    isDigit(source, colon + 5) &&
    source.charCodeAt(colon + 6) !== 58 &&
    !isWordByte(source, colon + 6)
  );
}

/** Where the fraction of a second behind a time ends; its seconds begin what is no fraction. */
export function fractionEnd(source: string, end: number): number {
  if (source.charCodeAt(end) !== 46) return end;
  let at = end + 1;
  while (isDigit(source, at)) at += 1;
  return source.charCodeAt(at) === 46 ? end - 2 : at;
}

/** `2026-11-20T10` before `:15:22`; the fraction and the zone behind it are words of their own. */
export function isInstant(source: string, start: number, end: number): boolean {
  return (
    source.charCodeAt(end - 3) === 84 &&
    source.charCodeAt(start + 4) === 45 &&
    source.charCodeAt(start + 7) === 45 &&
    isDigit(source, start) &&
    source.charCodeAt(end + 3) === 58 &&
    isDigit(source, end + 1) &&
    isDigit(source, end + 4) &&
    isDigit(source, end + 5)
  );
}
