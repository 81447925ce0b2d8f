/** Encoded words of mail headers, and the parameters of statements that databases log. */
import type { Context } from './context.ts';
import { decodeEncodedWord } from './decoding.ts';
import { isPseudonym } from './pseudonyms.ts';

const ENCODED_WORD = /^=\?[\w-]{1,40}\?([BbQq])\?([^?\s]{0,400})\?=/;
const ENCODED_WORD_MAX = 460;
const PARAMETER = /^\$\d{1,3} = '([^'\n]{0,400})'/;
const PARAMETER_MAX = 420;

/** An encoded word of a mail's header: before an address it is a name, elsewhere text. */
export function cutEncodedWord(context: Context, at: number): number {
  const match = ENCODED_WORD.exec(context.source.slice(at, at + ENCODED_WORD_MAX));
  if (match === null) return -1;
  const end = at + match[0].length;
  const text = decodeEncodedWord(match[1] as string, match[2] as string);
  if (/^"? {0,2}<[^>\s]*@/.test(context.source.slice(end, end + 320)))
    return context.spans.put(at, end, context.pseudonyms.user(text), 'user');
  return context.spans.secret(at, end, 'text');
}

export function cutParameter(context: Context, at: number): number {
  // `$1 = 'alice'`: parameters of a statement are whatever people sent.
  const match = PARAMETER.exec(context.source.slice(at, at + PARAMETER_MAX));
  if (match === null) return -1;
  const from = at + match[0].length - 1 - (match[1] as string).length;
  const value = match[1] as string;
  if (
    value === '' ||
    isPseudonym(value) ||
    value.startsWith('[REDACTED:') ||
    /^\d{1,6}$/.test(value) ||
    value.includes('@') ||
    value.startsWith('+')
  )
    return from;
  return context.spans.secret(from, from + value.length, 'text');
}
