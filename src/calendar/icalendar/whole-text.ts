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
  const unfolded = isFolded ? raw.replaceAll(/\r?\n[ \t]/g, '') : raw;
  // What has bytes of ASCII alone is read already.
  const text = /[\u0080-\u00ff]/.test(unfolded) ? Buffer.from(unfolded, 'latin1').toString('utf8') : unfolded;
  return unescapeText(text);
}
