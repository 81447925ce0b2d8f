/** Elements of XML and HTML whose name, or the one before them, says what their text is. */
import { indexOf, KEY_NAME, LOWER, runEnd, UPPER, WORD_BITS } from '../bytes.ts';
import type { Below, Scan } from '../context.ts';
import { decodeReferences } from '../encodings/encodings.ts';
import type { KeyClass } from '../rules/rows.ts';
import { KEY_MAX } from '../rules/rules.ts';
import { markersEnd } from '../spans.ts';

/** Lines in which the text of an element goes on, at most. */
export const ELEMENT_LINES_MAX = 20;

/** Classes of names whose elements hold no value of theirs. */
const NAMELESS: ReadonlySet<KeyClass> = new Set<KeyClass>(['none', 'pair-name', 'pair-value', 'audit', 'people']);

/** Bytes of a tag with its attributes. */
const TAG_MAX = 600;
/** White space, `<` or `>`: what a tag's name or its attributes end at. */
const ATTRIBUTES = /\s[^<>]{0,512}/y;

/** A tag of XML or HTML: its name without the name space, where its attributes begin, and where it ends. */
interface Tag {
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

/** The tag that begins behind its bracket; undefined where none does. */
function tagAt({ bytes, text, stop }: Scan, first: number): Tag | undefined {
  let from = first;
  let to = runEnd(KEY_NAME, bytes, from, Math.min(stop, from + TAG_MAX));
  if (bytes[to] === 58 && to > from) {
    from = to + 1;
    to = runEnd(KEY_NAME, bytes, from, Math.min(stop, from + TAG_MAX));
  }
  if (to === from || to >= stop || to - from > KEY_MAX) return undefined;
  if (bytes[to] === 62) return { from, to, end: to + 1 };
  ATTRIBUTES.lastIndex = to;
  if (!ATTRIBUTES.test(text)) return undefined;
  const end = ATTRIBUTES.lastIndex;
  return end < stop && bytes[end] === 62 ? { from, to, end: end + 1 } : undefined;
}

/** The class of a name of an element: most names are of none, which their last letters tell. */
function classOfTag({ bytes, engine }: Scan, from: number, to: number): KeyClass {
  return engine.rules.mayName(bytes, from, to) ? engine.keys.classAt(bytes, from, to) : 'none';
}

const NAMED_ELEMENT = /([A-Za-z][\w .-]{1,63})<\/[\w:.-]{1,64}>((?:[ \t]{0,8}<\w[^<>\n]{0,200}>){0,3})/y;

/** `<key>password</key><string>…</string>`: an element with a name says what the next one is. Answers -1 where none does. */
function cutSibling(scan: Scan, from: number): number {
  const { text, bytes, engine, stop, state } = scan;
  if (((WORD_BITS[bytes[from] ?? 60] as number) & (UPPER | LOWER)) === 0) return -1;
  const word = runEnd(KEY_NAME, bytes, from, Math.min(stop, from + KEY_MAX));
  // A name of one word is told from any other text by its letters.
  if (bytes[word] === 60 ? classOfTag(scan, from, word) === 'none' : bytes[word] !== 32) return -1;
  NAMED_ELEMENT.lastIndex = from;
  const named = NAMED_ELEMENT.exec(text);
  if (named === null || NAMED_ELEMENT.lastIndex > stop) return -1;
  const keyClass = engine.keys.classOf((named[1] as string).replaceAll(' ', '_'));
  if (NAMELESS.has(keyClass)) return -1;
  const value = from + named[0].length;
  if (value >= stop) {
    state.below = { keyClass, isElement: true, lines: 1 };
    return value;
  }
  const close = indexOf(bytes, 60, value, stop);
  // An element with a name of its own says itself what its text is.
  const bracket = text.lastIndexOf('<', value - 1);
  const inner = bracket < from + (named[1] as string).length + 3 ? undefined : tagAt(scan, bracket + 1);
  if (inner === undefined || !NAMELESS.has(classOfTag(scan, inner.from, inner.to)) || close <= value) return -1;
  // A name beside a name is the head of a table.
  if (bytes[close + 1] !== 47 || engine.keys.classAt(bytes, value, close) !== 'none') return -1;
  return cutElementText(scan, keyClass, value, close);
}

/** The text of an element, its references read as what they stand for. Answers where the scan goes on. */
function cutElementText(scan: Scan, keyClass: KeyClass, from: number, to: number): number {
  if (markersEnd(scan.text, from, to) === to) return to;
  if (scan.text.slice(from, to).includes('&')) scan.within(decodeReferences(scan.text, from, to), keyClass);
  else scan.value(keyClass, from, to);
  return Math.max(to, scan.spans.last);
}

/** Bytes of an element's text in which a line of a log may stand. */
const LINE_MIN = 16;

/** The text of an element of any other name, which ends with it: a line of a log, say. Answers where the scan goes on, or -1. */
function cutPlainElement(scan: Scan, from: number): number {
  const { bytes, text, stop } = scan;
  const end = indexOf(bytes, 60, from, stop);
  return end - from < LINE_MIN || bytes[end + 1] !== 47 || !text.slice(from, end).includes(' ')
    ? -1
    : cutElementText(scan, 'none', from, end);
}

/** The text of an element that began on a line before. Answers where the scan goes on, or -1. */
export function cutElementBelow(scan: Scan, { keyClass }: Below, from: number, stop: number): number {
  const { text, bytes, engine, state } = scan;
  const tags = /^(?:<\w[^<>\n]{0,200}>){0,3}/.exec(text.slice(from, Math.min(stop, from + 640)))?.[0].length ?? 0;
  const value = from + tags;
  const close = indexOf(bytes, 60, value, stop);
  const to = close === -1 ? stop : close;
  // A key that stands where a value would is a name beside a name.
  const isKey = engine.keys.classAt(bytes, value, to) !== 'none';
  if (close !== -1 || isKey) state.below = undefined;
  return to <= value || isKey ? -1 : cutElementText(scan, keyClass, value, to);
}

/** The text of an element with the name of a key: `<password>…</password>`, in SOAP, in WebDAV, in reports. */
export function cutElement(scan: Scan, at: number): number {
  const { text, bytes, stop } = scan;
  const tag = tagAt(scan, at + 1);
  if (tag === undefined) return -1;
  const keyClass = classOfTag(scan, tag.from, tag.to);
  const isData = text.startsWith('<![CDATA[', tag.end);
  const from = isData ? tag.end + 9 : tag.end;
  if (NAMELESS.has(keyClass)) {
    const sibling = cutSibling(scan, from);
    return sibling === -1 && !isData && tag.to + 1 === tag.end ? cutPlainElement(scan, from) : sibling;
  }
  if (tag.to + 1 < tag.end) scan.run(at + 1, tag.end - 1);
  // An element that is empty: `<login name="…"/>`.
  if (bytes[tag.end - 2] === 47) return tag.end;
  if (from >= stop && !isData) {
    scan.state.below = { keyClass, isElement: true, lines: ELEMENT_LINES_MAX };
    return from;
  }
  const end = isData ? text.indexOf(']]>', from) : indexOf(bytes, 60, from, stop);
  const to = end === -1 || end > stop ? stop : end;
  // What is nested has names of its own.
  if (to <= from || (!isData && (end === -1 || bytes[to + 1] !== 47))) return from;
  return cutElementText(scan, keyClass, from, to);
}
