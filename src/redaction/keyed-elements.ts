/** Elements of XML with the name of a key: `<password>…</password>`, in SOAP, in WebDAV and in reports of programs. */
import { indexWithin, lineEnd, type Context } from './context.ts';
import { LEAVES } from './keyed-values.ts';
import { markerEnd } from './spans.ts';

/** The text of an element whose name ends at a `>`, or -1 when it is none to see to. Answers where the scan goes on. */
export function cutElement(context: Context, nameStart: number, nameEnd: number): number {
  const { keys, source } = context;
  const before = source.charCodeAt(nameStart - 1);
  // `<name>`, or behind the colon of a prefix.
  if (before !== 60 && before !== 58) return -1;
  const keyClass = keys.classAt(source, nameStart, nameEnd);
  if (keyClass === 'none') return -1;
  const from = nameEnd + 1;
  const to = indexWithin(source, '</', from, lineEnd(context, from));
  if (to <= from || source.slice(from, to).includes('<')) return -1;
  const marked = markerEnd(source, from);
  return marked === -1 ? LEAVES.string(context, keyClass, from, to) : marked;
}
