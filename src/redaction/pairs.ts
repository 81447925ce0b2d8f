/** Names and values that stand beside each other: `{"name":"DB_PASSWORD","value":"…"}`, `name="user" value="…"`. */
import { columnOf } from './blocks.ts';
import { indexWithin, lineEnd, type Context } from './context.ts';
import { cutKeyed, LEAVES } from './keyed-values.ts';
import type { KeyClass } from './keys.ts';
import type { LineState } from './private-keys.ts';
import { markerEnd } from './spans.ts';
import { closerOf, findSeparator, found, readOpener, wordEnd } from './value-bounds.ts';

/** Bytes around a value in which its name stands. */
const NEAR_MAX = 200;
/** Lines below a name on which its value may stand. */
const PAIR_LINES = 3;

const NAMED =
  /(?:name|key|field|header|variable|param|parameter|property|attribute)(?:\\{0,8}["'])? ?[:=] ?\\{0,8}["']([\w .-]{1,64})\\{0,8}["']/gi;
/** What JSON Patch changes: the last name of the path. */
const PATCHED = /"path": ?"([\w/-]{1,128})"/;
const BEHIND =
  /^\\{0,8}["'] ?,? ?(?:\\{0,8}["'])?(?:name|key|field|header|variable|param|parameter|property|attribute)(?:\\{0,8}["'])? ?[:=] ?\\{0,8}["']([\w ./-]{1,64})\\{0,8}["']/i;

/** The value of a pair under its `value`, by the class of its name. Answers where the scan goes on, or -1. */
export function cutPairValue(context: Context, state: LineState, start: number, end: number): number {
  const { source } = context;
  const keyClass = classBefore(context, start) ?? classAbove(state, source, start) ?? classBehind(context, end);
  return keyClass === undefined ? -1 : cutKeyed(context, start, end, keyClass);
}

function classBefore(context: Context, start: number): KeyClass | undefined {
  const near = context.source.slice(Math.max(0, start - NEAR_MAX), start);
  // Of the line alone: a stream may have given away the one before.
  const before = near.slice(near.lastIndexOf('\n') + 1);
  const named = [...before.matchAll(NAMED)].at(-1);
  if (named === undefined) return before.includes('"op"') ? classOf(context, PATCHED.exec(before)?.[1]) : undefined;
  const between = before.slice(named.index + named[0].length);
  return /^ ?[, ]/.test(between) && !/[{}<>\n]/.test(between) ? classOf(context, named[1]) : undefined;
}

function classAbove(state: LineState, source: string, start: number): KeyClass | undefined {
  const first = source.charCodeAt(start - 1) === 34 ? start - 1 : start;
  return state.pairLines > 0 && columnOf(source, first) !== -1 ? state.pairClass : undefined;
}

function classBehind(context: Context, end: number): KeyClass | undefined {
  const { source } = context;
  if (!findSeparator(source, end)) return undefined;
  const opener = readOpener(source, found.start);
  if (opener === undefined || opener === '<') return undefined;
  const inside = found.start + opener.length;
  const close = closerOf(source, inside, lineEnd(context, inside), opener);
  return classOf(context, BEHIND.exec(source.slice(close, close + NEAR_MAX))?.[1]);
}

function classOf({ keys }: Context, name: string | undefined): KeyClass | undefined {
  if (name === undefined) return undefined;
  const last = name.slice(name.lastIndexOf('/') + 1);
  const keyClass = keys.classAt(last, 0, last.length);
  return keyClass === 'none' || keyClass === 'pair-name' || keyClass === 'pair-value' ? undefined : keyClass;
}

/**
 * A name of a pair: what it says is remembered for the lines below it, and an element of XML whose text is the value
 * is seen to at once. Answers where the scan goes on, or -1.
 */
export function notePairName(context: Context, state: LineState, start: number, end: number): number {
  const { source } = context;
  if (!findSeparator(source, end)) return -1;
  const opener = readOpener(source, found.start) ?? '';
  const from = found.start + opener.length;
  const stop = lineEnd(context, from);
  const to = wordEnd(source, from, stop);
  const keyClass = classOf(context, source.slice(from, Math.min(to, from + 64)));
  const first = source.charCodeAt(start - 1) === 34 ? start - 1 : start;
  if (columnOf(source, first) !== -1) {
    state.pairClass = keyClass ?? 'none';
    state.pairLines = keyClass === undefined ? 0 : PAIR_LINES + 1;
  }
  if (keyClass === undefined || opener === '' || source.charCodeAt(to + opener.length) !== 62) return -1;
  const text = to + opener.length + 1;
  const close = indexWithin(source, '<', text, Math.min(stop, text + 1024));
  if (close <= text || markerEnd(source, text) !== -1) return -1;
  return LEAVES.string(context, keyClass, text, close);
}

const TYPE =
  /(?:User|Account|Person|Member|Participant|Contact|Author|Sender|Recipient)(?:D[Tt][Oo]|Entity|Record)? ?[({[][^(){}[\]\n]{0,80}$/;
const OWNER = /(?:Account|User|Logon) $/;

/** Whether a `name` is that of a person: a field of a value of such a type, or `Account Name`. */
export function isNameOfPerson(source: string, start: number): boolean {
  const before = source.slice(Math.max(0, start - 120), start);
  return TYPE.test(before) || OWNER.test(before);
}
