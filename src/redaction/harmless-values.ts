/** What stands under the name of a secret and is none: words for one, masks, words of a sentence. */

const HARMLESS = new Set([
  'null',
  'true',
  'false',
  'none',
  'nil',
  'undefined',
  'yes',
  'no',
  'set',
  'unset',
  'not',
  'ok',
  'required',
  'disabled',
  'enabled',
  'hidden',
  'redacted',
  '***',
  '-',
  '""',
  'empty',
  'missing',
  'invalid',
  'expired',
]);

/** Values that are no secret: words that stand for one, masks, and digests that a signature names. */
export function isHarmless(source: string, keyStart: number, keyEnd: number, start: number, end: number): boolean {
  // The working directory in a line of sudo.
  if (keyEnd - keyStart === 3 && source.startsWith('PWD=/', keyStart)) return true;
  if (end - start > 9)
    return (
      keyEnd - keyStart === 9 &&
      /^signature$/i.test(source.slice(keyStart, keyEnd)) &&
      source.startsWith('SHA256', start)
    );
  const text = source.slice(start, end).toLowerCase();
  return HARMLESS.has(text) || /^[*x.]+$/.test(text);
}

/** Behind `token: ` of a sentence stands a secret only when it does not read as a word. */
export function looksSecret(source: string, start: number, end: number): boolean {
  const text = source.slice(start, Math.min(end, start + 256));
  return text.length >= 14 || /\d/.test(text) || /[a-z][A-Z]/.test(text);
}
