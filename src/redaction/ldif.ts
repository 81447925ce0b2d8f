/** Entries of a directory as text: `cn: Alice Liddell`, `cn:: QWxpY2U=`, and the first name of a DN. */
import { VALUE_END, wordStop } from './character-classes.ts';
import type { Context } from './context.ts';
import { decodePrintableBase64 } from './decoding.ts';

/** Bytes of base64 that are decoded. */
const BASE64_MAX = 8192;
/** A DN goes on behind the name; a host in a certificate's subject is no person. */
const IN_DN = /[^,=\n]{1,128}(?=, ?(?:ou|dc|o|cn|c|l|st)=)/iy;
const HOST = /^[*\w-]{1,63}(?:\.[\w-]{1,63}){1,8}$/;

/** Where the name under a key of a directory ends that no bracket and no comma announces; -1 where it is none. */
export function directoryEnd(source: string, keyStart: number, keyEnd: number, start: number, stop: number): number {
  const before = keyStart > 0 ? source.charCodeAt(keyStart - 1) : 10;
  if (before === 10 && source.charCodeAt(keyEnd) === 58 && start < stop && source.charCodeAt(start - 1) === 32) {
    const text = source.slice(start, Math.min(stop, start + 256));
    // A serial number has digits, and a DN is seen to by its own names.
    return text.includes('=') || (keyEnd - keyStart === 2 && /\d/.test(text)) ? -1 : stop;
  }
  if (before !== 32 || source.charCodeAt(keyEnd) !== 61) return -1;
  IN_DN.lastIndex = start;
  const name = IN_DN.exec(source)?.[0];
  return name === undefined || HOST.test(name) ? -1 : start + name.length;
}

/** `mail:: …`: the base64 is read as what it says, and written anew where a piece of that is personal. Or -1. */
export function cutBase64Value(context: Context, keyStart: number, keyEnd: number, start: number): number {
  const { source, spans, scanNested } = context;
  const end = wordStop(VALUE_END, source, start, Math.min(source.length, start + BASE64_MAX));
  const encoded = source.slice(start, end);
  if ((end - start) % 4 !== 0 || !/^[A-Za-z0-9+/]{4,8192}={0,2}$/.test(encoded)) return -1;
  const decoded = decodePrintableBase64(encoded);
  if (decoded === undefined || /[\r\n]/.test(decoded)) return -1;
  const text = `${source.slice(keyStart, keyEnd)}: ${decoded}`;
  const found = scanNested(text);
  const [first] = found;
  if (first === undefined) return end;
  let clean = '';
  let last = keyEnd - keyStart + 2;
  for (const span of found) {
    clean += text.slice(last, span.start) + span.replacement;
    last = span.end;
  }
  return spans.put(start, end, Buffer.from(clean + text.slice(last), 'latin1').toString('base64'), first.class);
}
