/** The judge: whether anything of a labelled value can still be read in what the engine let through. */
import ipaddr from 'ipaddr.js';
import { decodedRuns, withoutEscapes, withoutPercent, withoutQuotedPrintable, withoutReferences } from './encodings.ts';
import type { Label } from './labels.ts';

/** The shortest piece of a secret whose survival is a leak. */
const PIECE = 6;

/** A name's shortest part worth looking for: initials and endings are found everywhere. */
const NAME_PART_MIN = 4;

/** How many last digits of a number give its owner away. */
const PHONE_TAIL = 7;

/** A text as it is and as every encoding of it reads, unfolded as deep as logs nest them. */
export function readings(text: string): string[] {
  const found = new Set([text]);
  let layer = [text];
  for (let depth = 0; depth < 3 && layer.length > 0; depth += 1) {
    const deeper: string[] = [];
    for (const reading of layer) {
      for (const decoded of decodings(reading, depth < 2)) {
        if (decoded === '' || found.has(decoded)) continue;
        found.add(decoded);
        deeper.push(decoded);
      }
    }
    layer = deeper;
  }
  return [...found];
}

function decodings(text: string, readsRuns: boolean): string[] {
  const found: string[] = [];
  if (text.includes('\\')) found.push(withoutEscapes(text));
  if (text.includes('%')) found.push(withoutPercent(text), withoutPercent(text.replaceAll('+', ' ')));
  if (/=[0-9A-Fa-f]{2}|=\r?\n/u.test(text)) found.push(withoutQuotedPrintable(text));
  if (text.includes('&#')) found.push(withoutReferences(text));
  if (readsRuns) found.push(...decodedRuns(text));
  return found;
}

/** The first piece of the value that can be read in one of the readings, or undefined; `context` is what may stay. */
export function leakOf(label: Label, outcome: readonly string[], context: string): string | undefined {
  switch (label.kind) {
    case 'secret':
      return secretLeak(label.value, outcome, context);
    case 'name':
      return nameLeak(label.value, outcome, context);
    case 'phone':
      return phoneLeak(label.value, outcome);
    case 'ipv4':
      return ipv4Leak(label.value, outcome);
    case 'ipv6':
      return ipv6Leak(label.value, outcome);
    default:
      throw new Error(`There is no way to look for a ${String(label.kind)}.`);
  }
}

function secretLeak(value: string, outcome: readonly string[], context: string): string | undefined {
  const length = Math.min(PIECE, value.length);
  for (let at = 0; at + length <= value.length; at += 1) {
    const piece = value.slice(at, at + length);
    if (context.includes(piece)) continue;
    if (outcome.some((reading) => reading.includes(piece))) return piece;
  }
  return undefined;
}

function nameLeak(value: string, outcome: readonly string[], context: string): string | undefined {
  const name = value.toLowerCase();
  const parts = [name, ...name.split(/[^\p{L}\p{N}]+/u).filter((part) => part.length >= NAME_PART_MIN)];
  const plain = context.toLowerCase();
  for (const part of parts) {
    if (plain.includes(part)) continue;
    const found = outcome.some((reading) => {
      const text = reading.toLowerCase();
      return part.length >= PIECE ? text.includes(part) : isWord(text, part);
    });
    if (found) return part;
  }
  return undefined;
}

function isWord(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) {
    if (!/[\p{L}\p{N}]/u.test(text.charAt(at - 1)) && !/[\p{L}\p{N}]/u.test(text.charAt(at + part.length))) return true;
  }
  return false;
}

function phoneLeak(digits: string, outcome: readonly string[]): string | undefined {
  const tail = digits.slice(-PHONE_TAIL);
  return outcome.some((reading) => reading.replace(/[\s().\-\u2010-\u2015]/gu, '').includes(tail)) ? tail : undefined;
}

function ipv4Leak(address: string, outcome: readonly string[]): string | undefined {
  const whole = new RegExp(`(?<![\\d.])${address.replaceAll('.', '\\.')}(?!\\d)`, 'u');
  const hex = address
    .split('.')
    .map((octet) => Number(octet).toString(16).padStart(2, '0'))
    .join('');
  return outcome.some((reading) => whole.test(reading) || reading.toLowerCase().includes(hex)) ? address : undefined;
}

function ipv6Leak(address: string, outcome: readonly string[]): string | undefined {
  const hidden = ipaddr.IPv6.parse(address).parts;
  for (const reading of outcome) {
    for (const [token] of reading.matchAll(/[0-9A-Fa-f:]{4,}/gu)) {
      const parsed = ipaddr.IPv6.isValid(token) ? ipaddr.IPv6.parse(token).parts : undefined;
      const isSame = parsed?.slice(0, 3).every((part, at) => part === hidden[at]) ?? false;
      if (isSame && parsed?.slice(3).some((part, at) => part !== 0 && part === hidden[at + 3]) === true) return token;
    }
    // A cut address no longer parses: two groups of its tail in a row are enough to know it.
    const pair = address.toLowerCase().split(':').slice(-2).join(':');
    if (reading.toLowerCase().includes(pair)) return pair;
  }
  return undefined;
}
