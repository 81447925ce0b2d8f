/** What a labelled log is made of: texts that know which of their pieces must not be seen after de-personalisation. */
import { createHmac } from 'node:crypto';
import type { SeededRandom } from '#test/support/random.ts';

export const SPAN_CLASSES = [
  'private-key',
  'authorization',
  'cookie',
  'url-credentials',
  'platform-token',
  'jwt',
  'aws-key',
  'api-key',
  'secret',
  'random',
  'text',
  'user',
  'email',
  'phone',
  'ipv4',
  'ipv6',
] as const;

export type SpanClass = (typeof SPAN_CLASSES)[number];

/** How a leak of the value is looked for: as any piece of six characters, as a name, as digits, as an address. */
export type ValueKind = 'secret' | 'name' | 'phone' | 'ipv4' | 'ipv6';

export interface Label {
  class: SpanClass;
  kind: ValueKind;
  value: string;
  /** What must stand in its place, where the reference names it. */
  replacement?: string;
}

/** A text with the labels of its pieces. */
export interface Marked {
  text: string;
  labels: Label[];
}

/** The installation's key of every test here. */
export const KEY = new Uint8Array(32).map((_, index) => index * 7 + 1);

/** The first eight hex digits of the value's HMAC-SHA256, computed here without the engine. */
export function digest(canonical: string, key: Uint8Array = KEY): string {
  return createHmac('sha256', key).update(canonical, 'utf8').digest('hex').slice(0, 8);
}

/** Puts labelled pieces into a text: mark`user=${user('alice')} in` */
export function mark(strings: TemplateStringsArray, ...pieces: readonly (string | number | Marked)[]): Marked {
  let text = strings[0] ?? '';
  const labels: Label[] = [];
  pieces.forEach((piece, index) => {
    if (typeof piece === 'object') labels.push(...piece.labels);
    text += (typeof piece === 'object' ? piece.text : String(piece)) + (strings[index + 1] ?? '');
  });
  return { text, labels };
}

/** A value of which no piece of six characters may survive. */
export function hidden(spanClass: SpanClass, value: string): Marked {
  return { text: value, labels: [{ class: spanClass, kind: 'secret', value }] };
}

/** A person's name as the logs write it; the pseudonym is of its lower case. */
export function user(name: string): Marked {
  const replacement = `u-${digest(name.trim().toLowerCase())}`;
  return { text: name, labels: [{ class: 'user', kind: 'name', value: name, replacement }] };
}

/** A name inside something that is replaced as a whole: no pseudonym is expected of it. */
export function buriedUser(name: string): Marked {
  return { text: name, labels: [{ class: 'user', kind: 'name', value: name }] };
}

/** An address: its local part is a person, its domain stays. */
export function email(local: string, domain: string): Marked {
  const replacement = `u-${digest(local.toLowerCase())}@${domain}`;
  return { text: `${local}@${domain}`, labels: [{ class: 'email', kind: 'name', value: local, replacement }] };
}

/** A number as it is written, and its digits with a leading 8 of eleven turned into 7. */
export function phone(written: string): Marked {
  const digits = canonicalPhone(written);
  return {
    text: written,
    labels: [{ class: 'phone', kind: 'phone', value: digits, replacement: `tel-${digest(digits)}` }],
  };
}

/** The digits of a written number; a leading 8 of eleven is the Russian way to write 7. */
export function canonicalPhone(written: string): string {
  const digits = written.replace(/\D/gu, '');
  return digits.length === 11 && digits.startsWith('8') ? `7${digits.slice(1)}` : digits;
}

/** An IPv4 address whose last octet must go; the first three stay as they are written. */
export function ipv4(address: string): Marked {
  const replacement = `${address.split('.').slice(0, 3).join('.')}.x`;
  return { text: address, labels: [{ class: 'ipv4', kind: 'ipv4', value: address, replacement }] };
}

/** An IPv6 address of which only the first 48 bits may stay. */
export function ipv6(address: string): Marked {
  return { text: address, labels: [{ class: 'ipv6', kind: 'ipv6', value: address }] };
}

/** A kind of value: what makes one, and which surroundings it can be recognised in. */
export interface Shape {
  name: string;
  class: SpanClass;
  /**
   * bare: known by itself. delimited: known by itself once a quote or `=` shows where it begins. keyed: known by the
   * name it stands under. line: a whole text, put only where free text goes.
   */
  known: 'bare' | 'delimited' | 'keyed' | 'line';
  /** The names of a keyed value. */
  keys?: readonly string[];
  /** Holds spaces or quotes: only surroundings that quote or encode can carry it. */
  isSpaced?: boolean;
  make(random: SeededRandom): Marked;
}
