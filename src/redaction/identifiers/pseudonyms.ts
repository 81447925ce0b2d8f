/** Pseudonyms of people and phones: the same value reads the same in every syntax, in all logs, on all days (RED-07). */
import { createHmac } from 'node:crypto';
import { tableOf } from '../bytes.ts';
import { decodeText } from '../encodings/decoding.ts';

/** Values remembered in each of two generations; an HMAC costs what scanning a line does. The older ones are forgotten. */
const REMEMBERED = 10_000;
/** Places of plain names that are found by their bytes. */
const PLACES = 4096;
/** A longer spelling is not remembered. */
const SPELLING_MAX = 128;
export const KEY_BYTES = 32;

/** Local parts that name a role and no person (RED-04). */
const ROLES = new Set(['postmaster', 'mailer-daemon', 'abuse', 'noreply']);

/** Values under a person's key that say that there is nobody. */
const NOBODY = new Set([
  '',
  '-',
  '*',
  '?',
  '.',
  'null',
  '(null)',
  'none',
  '(none)',
  'nil',
  'undefined',
  'true',
  'false',
  'n/a',
  'unknown',
  '(unknown)',
  '...',
  // Who acts in an audit trail when no person does.
  'server',
  'command',
  'publisher',
  'break-glass',
]);

/** What they begin with, in either case, and white space. */
const OF_NOBODY = tableOf(
  [...NOBODY].map((name) => name.charAt(0) + name.charAt(0).toUpperCase()).join('') + ' \t\n\v\f\r\u00a0',
);
/** The longest of them. */
const NOBODY_MAX = 11;

const DONE = /^(?:u|tel)-[0-9a-f]{8}$/;

export class Pseudonyms {
  readonly #key: Uint8Array;
  /** By the canonical value, so that one value has one HMAC in all its spellings. */
  readonly #canonical = new Generations();
  /** By the name as it stands: most names come again in the same spelling. */
  readonly #names = new Generations();
  readonly #numbers = new Generations();
  /** Plain names by their bytes; one that falls on another's place pushes it out. */
  readonly #spelt = Array.from<{ name: string; pseudonym: string } | undefined>({ length: PLACES });

  /** @throws RangeError for a key of another length than 32 bytes. */
  constructor(key: Uint8Array) {
    if (key.length !== KEY_BYTES) throw new RangeError(`The key has ${key.length} bytes instead of ${KEY_BYTES}.`);
    this.#key = Uint8Array.from(key);
  }

  /** The pseudonym of a plain name that stands at a place: of most it is known, and no string is made for it. */
  userAt(bytes: Uint8Array, text: string, start: number, end: number): string {
    let hash = end - start;
    for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    const place = (hash ^ (hash >>> 12)) & (PLACES - 1);
    const known = this.#spelt[place];
    if (known !== undefined && isAt(bytes, start, end, known.name)) return known.pseudonym;
    const name = copyOf(text.slice(start, end));
    const pseudonym = this.user(name);
    this.#spelt[place] = { name, pseudonym };
    return pseudonym;
  }

  /** `u-` and 8 hex digits, of a name as it stands in the log (bytes as Latin-1, in any encoding). */
  user(name: string): string {
    return this.#names.get(name) ?? this.#remember(this.#names, name, 'u-', canonicalUser(name));
  }

  /** `tel-` and 8 hex digits, of a number in any grouping. */
  phone(number: string): string {
    return this.#numbers.get(number) ?? this.#remember(this.#numbers, number, 'tel-', canonicalPhone(number));
  }

  #remember(spellings: Generations, spelling: string, prefix: string, canonical: string): string {
    const wanted = prefix + canonical;
    const pseudonym = this.#canonical.get(wanted) ?? prefix + this.#digest(canonical);
    this.#canonical.set(wanted, pseudonym);
    if (spelling.length <= SPELLING_MAX) spellings.set(copyOf(spelling), pseudonym);
    return pseudonym;
  }

  #digest(canonical: string): string {
    return createHmac('sha256', this.#key).update(canonical, 'latin1').digest('hex').slice(0, 8);
  }
}

function isAt(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  let same = name.length === end - start ? 0 : -1;
  while (same >= 0 && same < name.length && name.charCodeAt(same) === bytes[start + same]) same += 1;
  return same === name.length;
}

/** Values remembered in two generations: when the younger one is full, it takes the place of the older one. */
class Generations {
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  get(key: string): string | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: string): void {
    if (this.#young.size >= REMEMBERED) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}

/** A slice would keep the whole log alive. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Decoded, trimmed and in lower case, as UTF-8 bytes in a Latin-1 string. */
export function canonicalUser(name: string): string {
  if (/^[a-z0-9._-]*$/.test(name)) return name;
  const decoded = decodeText(name);
  return Buffer.from(Buffer.from(decoded, 'latin1').toString('utf8').normalize('NFC').trim().toLowerCase()).toString(
    'latin1',
  );
}

/** Digits only; a leading 8 of 11 is the trunk prefix of +7. */
export function canonicalPhone(number: string): string {
  const digits = decodeText(number).replaceAll(/[^0-9]/g, '');
  return digits.length === 11 && digits.startsWith('8') ? `7${digits.slice(1)}` : digits;
}

export function isPseudonym(value: string): boolean {
  return (value.length === 10 || value.length === 12) && value.charCodeAt(value.length - 9) === 45 && DONE.test(value);
}

export function isRole(localPart: string): boolean {
  return localPart.length <= 13 && ROLES.has(localPart.toLowerCase());
}

/** Whether the first byte is one of those words, or a blank before it. */
function mayBeNobody(name: string): boolean {
  const first = name.charCodeAt(0);
  return !(first < 256) || OF_NOBODY[first] === 1;
}

export function isNobody(name: string): boolean {
  return name.length <= NOBODY_MAX && mayBeNobody(name) && NOBODY.has(name.trim().toLowerCase());
}
