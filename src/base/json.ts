/** JSON as it arrives: checked for what JSON.parse lets through and a later reader would trip over. */

/** A value that came from JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * Nesting deeper than this is nobody's message: the deepest body the protocol defines has five levels, and a WebRTC
 * payload is flat. Deeper input is refused as malformed.
 */
export const JSON_DEPTH_MAX = 16;

/**
 * Whether every string and key in a parsed value is well-formed Unicode without NUL, and the nesting within bounds.
 * A lone surrogate would turn into U+FFFD on its way to disk, so what readers get would not be what was sent.
 */
export function isSoundJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return isSoundText(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth >= JSON_DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.every((item) => isSoundJson(item, depth + 1));
  for (const key in value) {
    // `__proto__` as an own key would be a trap for every later `Object.assign`.
    if (key === '__proto__' || !isSoundText(key)) return false;
    if (!isSoundJson((value as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}

/** Well-formed Unicode without NUL (which ends strings in readers written in C). */
export function isSoundText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
