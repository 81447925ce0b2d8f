/** An object as one text, to see whether a word can be in it at all before it is read: reading takes ten times as long. */
import { unescapeText } from './component.ts';

/**
 * Every value of the object, unfolded and unescaped, is a part of this text, between others that it is no part of. What is not in
 * the text is in no value; what is may still be in none. Parameters are in it as they are written.
 */
export function wholeText(bytes: Buffer): string {
  // A fold may stand within a character (RFC 5545, 3.1), so it is taken out of the bytes.
  const raw = bytes.toString('latin1');
  const isFolded = raw.includes('\n ') || raw.includes('\n\t');
  const unfolded = isFolded ? Buffer.from(raw.replaceAll(/\r?\n[ \t]/g, ''), 'latin1') : bytes;
  return unescapeText(unfolded.toString('utf8'));
}
