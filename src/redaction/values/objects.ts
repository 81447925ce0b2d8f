/** What an object of JSON says of the strings in it: by the key that it stands under, and by those beside them. */
import { gapEnd, stringEnd } from '../bytes.ts';
import type { Scan } from '../context.ts';
import type { KeyClass } from '../rules/rows.ts';

/** Bytes behind a value in which the keys beside it are looked at. */
export const BESIDE_MAX = 256;

/** A thing with a name to display, which is none of a person. */
const THING =
  /^(?:device|app|application|clientapp|host|machine|endpoint|policy|rule|role|group|tenant|site)(?:_?(?:detail|info|data|profile|instance)s?)?$/i;
/** Kinds of what has a name to display, in `"type":"Device"`. */
const KIND_OF_THING =
  /^(?:device|app\w{0,16}|application\w{0,16}|service\w{0,16}|policy\w{0,16}|group|role|tenant|computer|host|machine|site|resource)$/i;
const ABOUT_PERSON = /^(.{2,32}?)[_-]?(?:details?|info|data|object|profile|attributes)$/i;
/** What is inside of a person and names one: `user.effective.name` of the Elastic Common Schema. */
const ASPECT = /^(?:effective|target|changes|saved|audit|filesystem|owner|primary|secondary)$/;

/** Whether an object under a key is a thing. */
export function isThing(key: string): boolean {
  return THING.test(key);
}

/** The class of the object that stands under a key whose name says nothing by itself: `actor_details`. */
export function classOfObject({ engine }: Scan, key: string, outer: KeyClass): KeyClass {
  if (outer === 'user' && ASPECT.test(key)) return 'user';
  const stem = ABOUT_PERSON.exec(key)?.[1];
  return stem !== undefined && engine.keys.classOf(stem) === 'user' ? 'user' : 'none';
}

/** What the other strings of an object say of its `name` or its `displayName`. */
export interface Beside {
  /** An address of mail stands beside it. */
  readonly hasMail: boolean;
  /** Its `type` is that of a thing. */
  readonly isThing: boolean;
}

/** Nothing beside a string said anything. */
export const NOTHING: Beside = { hasMail: false, isThing: false };

/** What stands for an address of mail where there is none, or tells what became of it. */
const NO_NAME =
  /^(?:sent|yes|no|true|false|null|none|unknown|unverified|verified|pending|failed|missing|empty|invalid|work|home|primary|enabled|disabled|optional|required|internal|external|inbound|outbound)$/i;

/** Whether a string in the place of an address of mail is the name that somebody signed in by. */
export function isSignInName({ bytes, text, stop }: Scan, from: number): boolean {
  const end = stringEnd(bytes, from, Math.min(stop, from + 65));
  const name = end === -1 ? '' : text.slice(from, end);
  return /^[A-Za-z][\w-]{1,31}(?:\.[\w-]{1,31})?$/.test(name) && !NO_NAME.test(name);
}

const MAIL = /^(?:e-?mail|mail|user_?e?mail|e_?mail_?address|userprincipalname|upn)$/i;

/** Looks at the keys of an object behind a place in it, not at those of the objects in it. */
export function lookBeside({ bytes, text, stop }: Scan, from: number): Beside {
  let [hasMail, isOfThing] = [false, false];
  const limit = Math.min(stop, from + BESIDE_MAX);
  let depth = 0;
  for (let at = from; at < limit && depth >= 0; at += 1) {
    const byte = bytes[at] as number;
    if (byte === 123 || byte === 91) depth += 1;
    else if (byte === 125 || byte === 93) depth -= 1;
    else if (byte === 34) {
      const end = stringEnd(bytes, at + 1, limit);
      if (end === -1) break;
      const said = depth === 0 ? saidBeside(bytes, text, at + 1, end, limit) : undefined;
      if (said === 'mail') hasMail = true;
      if (said === 'thing') isOfThing = true;
      at = end;
    }
  }
  return { hasMail, isThing: isOfThing };
}

/** What a key and its value say of the others, if the string at a place is one. */
function saidBeside(
  bytes: Uint8Array,
  text: string,
  from: number,
  end: number,
  limit: number,
): 'mail' | 'thing' | undefined {
  if (end - from > 20) return undefined;
  const colon = gapEnd(bytes, end + 1, limit);
  if (bytes[colon] !== 58) return undefined;
  const value = gapEnd(bytes, colon + 1, limit);
  if (bytes[value] !== 34) return undefined;
  const key = text.slice(from, end);
  if (MAIL.test(key)) return 'mail';
  if (key !== 'type' && key !== 'Type') return undefined;
  return isKind(bytes, text, value + 1, limit) ? 'thing' : undefined;
}

function isKind(bytes: Uint8Array, text: string, from: number, limit: number): boolean {
  const close = stringEnd(bytes, from, Math.min(limit, from + 40));
  return close !== -1 && KIND_OF_THING.test(text.slice(from, close));
}

/** Whether the string at a place, the `type` of an object, says that it is a thing. */
export function isKindOfThing({ bytes, text, stop }: Scan, from: number): boolean {
  return isKind(bytes, text, from, stop);
}
