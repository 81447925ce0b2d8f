/** Lines of a configuration that are a name, a blank and one value: `ServerToken x`, `password x;`, `requirepass x`. */
import { gapEnd, KEY_NAME, runEnd, runStop, VALUE_END } from '../bytes.ts';
import type { Scan } from '../context.ts';
import type { KeyClass } from '../rules/rows.ts';
import { putPerson } from '../identifiers/people.ts';
import { isHarmless } from '../rules/rules.ts';
import { isWord, tellsOf } from '../rules/sentences.ts';
import { markerEnd } from '../spans.ts';
import { cutValue } from './value-classes.ts';

/** Bytes of such a line. */
const DIRECTIVE_MAX = 512;
/** Names that are words of sentences as well: `token bucket`, `secret santa`. */
const IN_SENTENCES = new Set(
  'pass secrets token credential credentials auth signature challenge nonce invitation invite authorization'.split(' '),
);
/** Classes of names whose value may stand so. */
const CLASSES: ReadonlySet<KeyClass> = new Set<KeyClass>(['password', 'secret', 'authorization', 'user']);

/** A line that is a name and its value. Answers where the scan goes on, or -1. */
export function cutDirective(scan: Scan, start: number, stop: number): number {
  const { bytes, text, engine, state } = scan;
  const wasListed = state.isListed;
  state.isListed = false;
  const from = gapEnd(bytes, start, stop);
  const first = (bytes[from] as number) | 32;
  if (first < 97 || first > 122 || stop - from > DIRECTIVE_MAX) return -1;
  const end = runEnd(KEY_NAME, bytes, from, stop);
  if (bytes[end] === 58) return cutPasswordFile(scan, from, stop);
  const value = gapEnd(bytes, end, stop);
  if (value === end || value >= stop) return -1;
  state.isListed = runStop(VALUE_END, bytes, value, stop) === stop;
  if (!engine.rules.mayName(bytes, from, end)) return -1;
  const keyClass = engine.keys.classAt(bytes, from, end);
  if (!CLASSES.has(keyClass)) return -1;
  const isClosed = bytes[stop - 1] === 59;
  const [inside, to] = withoutQuotes(text, value, isClosed ? stop - 1 : stop);
  const written = text.slice(inside, to);
  if (to <= inside || (inside === value && /\s/.test(written)) || markerEnd(text, inside) === to) return -1;
  if (/^[-=:{(<[|&]|[{:,(]$/.test(written) || isHarmless(engine.rules, written)) return -1;
  if (!isClosed && !wasListed && isSentence(scan, keyClass, text.slice(from, end), written)) return -1;
  return Math.max(cutValue(scan, keyClass, inside, to), to);
}

/** `host:port:database:user:password`, a line of the password file of PostgreSQL. */
const PASSWORD_FILE = /^[\w.-]{1,255}:(?:\d{4,5}|\*):[\w.*-]{1,63}:([^:\s]{1,63}):(\S{1,256})$/;

/** The name and the password of such a line. Answers where the scan goes on, or -1. */
function cutPasswordFile(scan: Scan, start: number, stop: number): number {
  const [all, name, password] = PASSWORD_FILE.exec(scan.text.slice(start, stop)) ?? [];
  if (all === undefined || name === undefined || password === undefined) return -1;
  const secret = stop - password.length;
  if (name !== '*') putPerson(scan, secret - 1 - name.length, secret - 1);
  return markerEnd(scan.text, secret) === stop ? stop : scan.spans.secret(secret, stop, 'secret');
}

/** Whether two words are a sentence: `token bucket`, `password policy`, `user alice`. */
function isSentence({ engine }: Scan, keyClass: KeyClass, name: string, written: string): boolean {
  if (keyClass === 'user') return /^[A-Za-z][a-z]+$/.test(name);
  const word = written.replace(/[.!?]$/, '');
  return isWord(word) && (tellsOf(engine.rules, word) || IN_SENTENCES.has(name.toLowerCase()));
}

/** A value without the quotes around it. */
function withoutQuotes(text: string, from: number, to: number): [from: number, to: number] {
  const quote = text.charAt(from);
  return (quote === '"' || quote === "'") && to - from > 2 && text.charAt(to - 1) === quote
    ? [from + 1, to - 1]
    : [from, to];
}
