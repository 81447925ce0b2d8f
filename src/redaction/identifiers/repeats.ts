/**
 * Whoever a line names as a person is hidden wherever else the line has the name: `user=alice … "Initiated by": "alice"`.
 * A name is passed by where it is none: in a path, in a host's name, as a key, under the key of a thing.
 */
import { isTechnical } from '../rules/ordinary-words.ts';
import { isPseudonym } from './pseudonyms.ts';
import type { Span, Spans } from '../spans.ts';

/** A longer line has its names hidden where they stand as such, and nowhere else. */
export const REPEAT_LINE_MAX = 1 << 16;
/** Names of one line that are looked for; those behind them are hidden where they stand as such. */
export const REPEAT_NAMES_MAX = 8;

/** Four bytes or more, with one dot at most: what has more of them is the name of a host or of a program. */
const NAME =
  /^(?:[A-Za-z\u0080-\u00ff][\w\u0080-\u00ff-]{3,47}|[A-Za-z\u0080-\u00ff][\w\u0080-\u00ff-]{0,47}\.[\w\u0080-\u00ff-]{2,48}|[A-Z\u00c3-\u00df][\w\u0080-\u00ff'-]{1,30}(?: [A-Z\u00c3-\u00df][\w\u0080-\u00ff'-]{1,30}){1,2})$/;

/** What stands directly before a value that is a thing's, or a secret that is none, and not a person's. */
const UNDER_THING =
  /(?:^|[._-]|[a-z](?=[A-Z])|[\s"'{,;&?|(])(?:db|database|group|host|server|service|program|process|app|application|topic|role|domain|realm|schema|table|unit|tag|file|path|cmd|command|exe|comm|container|image|namespace|cluster|queue|bucket|vhost|index|component|module|logger|type|action|event|method|level|status|version|url|uri|facility|workstation|computer|machine|device|tenant|org|organi[sz]ation|company|site|zone|region|category|title|vendor|product|protocol|token|secret|password|passwd|pwd|auth|authorization|cookie|signature|credential)s?(?:[._-]?name)?["']?\s{0,2}[:=]\s{0,2}["'[]{0,2}$/i;
const WORD = /[\w\u0080-\u00ff]/;
/** Bytes before a name in which its key stands. */
const KEY_MAX = 48;

/** Hides the names of a line, of the spans from one on, wherever else they stand in it. */
export function putRepeats(spans: Spans, text: string, start: number, stop: number, first: number): void {
  const { list } = spans;
  if (list.length === first || stop - start > REPEAT_LINE_MAX) return;
  const names = new Map<string, string>();
  for (let at = first; at < list.length && names.size < REPEAT_NAMES_MAX; at += 1) {
    const span = list[at] as Span;
    if (span.class !== 'user' && span.class !== 'email') continue;
    const name = text.slice(span.start, span.end);
    if (!names.has(name) && isPseudonym(span.replacement) && NAME.test(name) && !isCommon(name))
      names.set(name, span.replacement);
  }
  if (names.size === 0) return;
  const line = text.slice(start, stop);
  const found: Span[] = [];
  for (const [name, replacement] of names)
    for (let at = line.indexOf(name); at !== -1; at = line.indexOf(name, at + name.length))
      if (isRepeat(line, at, at + name.length))
        found.push({ class: 'user', start: start + at, end: start + at + name.length, replacement });
  spans.weave(found, first);
}

function isCommon(name: string): boolean {
  return isPseudonym(name) || /^[xX]+$/.test(name) || isTechnical(name);
}

function isRepeat(line: string, from: number, to: number): boolean {
  const before = line.charAt(from - 1);
  const after = line.charAt(to);
  const isEscaped = 'nrt'.includes(before || ' ') && line.charAt(from - 2) === '\\';
  if (WORD.test(before) && !isEscaped) return false;
  if (before !== '' && '/.-@%~$+'.includes(before)) return false;
  if (WORD.test(after) || (after !== '' && '/@=%$+'.includes(after))) return false;
  if (after !== '' && '.-\\:'.includes(after) && WORD.test(line.charAt(to + 1))) {
    // An escape behind a name ends it.
    if (after !== '\\' || !'nrt'.includes(line.charAt(to + 1))) return false;
  }
  if (/^["'] ?[:=]/.test(line.slice(to, to + 3))) return false;
  const near = line.slice(Math.max(0, from - KEY_MAX), from);
  return !UNDER_THING.test(near) && (before !== '\\' || isBehindDomain(near));
}

/** Whether a backslash is that of a domain and none of a folder. */
function isBehindDomain(near: string): boolean {
  let from = near.length;
  while (from > 0 && !' \t"\'=,;:[(|'.includes(near.charAt(from - 1))) from -= 1;
  return near.charAt(from - 1) !== ':' && /^[A-Za-z][\w.-]{0,40}\\{1,2}$/.test(near.slice(from));
}
