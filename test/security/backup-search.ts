/**
 * What somebody finds in the files of a backup who knows none of its formats: every text and every short run of bytes in it that
 * could be a secret, also within what is compressed; and known secrets in each form in which bytes are written down.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

/** Characters of a long secret that are looked for together: more than an id and what is before it have. */
const WINDOW = 32;
/** Characters of 32 bytes in base64url. */
const SECRET_SYMBOLS = 43;
/** The shortest text that is taken for a secret: codes that people type have ten characters. */
const SHORTEST = 10;
const LONGEST = 400;
/** A text of a token, an address or a code; its pieces are looked at as well. */
const TEXT = new RegExp(`[\\w.~+/=:@%-]{${SHORTEST},${LONGEST}}`, 'g');
const PIECE = new RegExp(`[\\w.~-]{${SHORTEST},${LONGEST}}`, 'g');
/** MessagePack’s marks of bytes and of texts with a length in one byte. */
const BYTES_MARK = 0xc4;
const MARKS = new Set([BYTES_MARK, 0xd9]);
const INSTANT = /^\d{4}-\d\d-\d\dT/;
const BYTES_MAX = 64;
const UNPACKED_MAX = 16 * 1024 * 1024;

/** Beginnings of compressed streams, and what opens them. */
const STREAMS: readonly (readonly [magic: readonly number[], open: (bytes: Buffer) => Buffer])[] = [
  [[0x1f, 0x8b, 0x08], (bytes) => gunzipSync(bytes, { maxOutputLength: UNPACKED_MAX })],
  [[0x28, 0xb5, 0x2f, 0xfd], (bytes) => zstdDecompressSync(bytes, { maxOutputLength: UNPACKED_MAX })],
  ...[0x01, 0x5e, 0x9c, 0xda].map(
    (level) => [[0x78, level], (bytes: Buffer) => inflateSync(bytes, { maxOutputLength: UNPACKED_MAX })] as const,
  ),
];

/** A stretch of bytes of a backup: a whole file, or what came out of a compressed stretch of one. */
export interface Stretch {
  readonly place: string;
  readonly bytes: Buffer;
}

/** Every file below a folder, and what its compressed parts open to, in their turn. */
export function stretchesOf(folder: string): Stretch[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.flatMap((file) => {
    const path = join(file.parentPath, file.name);
    return opened({ place: path.slice(folder.length + 1), bytes: readFileSync(path) });
  });
}

function opened(stretch: Stretch): Stretch[] {
  return [stretch, ...unfolded(stretch), ...unpacked(stretch).flatMap(opened)];
}

/** The texts of calendars and mails as one reads them: their long lines are folded (RFC 5545, section 3.1; RFC 2045, section 6.7). */
function unfolded({ bytes, place }: Stretch): Stretch[] {
  const text = bytes.toString('latin1');
  const whole = text.replaceAll(/\r\n[ \t]|=\r\n/g, '');
  return whole === text ? [] : [{ place: `${place}, unfolded`, bytes: Buffer.from(whole, 'latin1') }];
}

function unpacked({ bytes, place }: Stretch): Stretch[] {
  return STREAMS.flatMap(([magic, open]) => {
    const found: Stretch[] = [];
    const beginning = Buffer.from(magic);
    for (let at = bytes.indexOf(beginning); at !== -1; at = bytes.indexOf(beginning, at + 1)) {
      try {
        const inside = open(bytes.subarray(at));
        if (inside.length > 0) found.push({ place: `${place}, unpacked at ${at}`, bytes: inside });
      } catch {
        // These bytes only look like the beginning of one.
      }
    }
    return found;
  });
}

/** Everything in the stretches that could be a secret, and where it was found first. */
export function candidatesIn(stretches: readonly Stretch[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { bytes, place } of stretches) {
    const add = (candidate: string) => {
      if (isRandom(candidate) && !found.has(candidate)) found.set(candidate, place);
    };
    for (const { 0: whole, index } of bytes.toString('latin1').matchAll(TEXT)) {
      // The byte before a text is its length, which may look like a letter of it.
      const text = MARKS.has(bytes[index - 1] ?? 0) ? whole.slice(1) : whole;
      add(text);
      // Letters of a neighbour may stand before or behind one.
      const more = text.length - SECRET_SYMBOLS;
      if (more > 0 && more <= 3) for (let at = 0; at <= more; at += 1) add(text.slice(at, at + SECRET_SYMBOLS));
      for (const [piece] of text.matchAll(PIECE)) add(piece);
    }
    for (let at = 0; at < bytes.length - SHORTEST; at += 1) {
      const length = bytes[at + 1] as number;
      if (bytes[at] !== BYTES_MARK || length < SHORTEST || length > BYTES_MAX) continue;
      const value = bytes.subarray(at + 2, at + 2 + length);
      add(value.toString('base64url'));
      add(value.toString('hex'));
    }
  }
  return found;
}

/** Whether a text may be a secret by its look: words of a program have no digits, and its numbers no letters. */
function isRandom(text: string): boolean {
  return (
    text.length >= SHORTEST &&
    /\d/.test(text) &&
    (/[a-z]/i.test(text) || /^\d{10,14}$/.test(text)) &&
    !INSTANT.test(text)
  );
}

/** Where a secret is found, as it is or in another form of the same bytes. */
export function placesOf(secret: string, stretches: readonly Stretch[]): string[] {
  const forms = formsOf(secret);
  return stretches.flatMap(({ bytes, place }) => (forms.some((form) => bytes.includes(form)) ? [place] : []));
}

function formsOf(secret: string): Buffer[] {
  const texts = new Set([secret, secret.replaceAll('-', '')]);
  // Whatever stands before or behind the random part, some stretch of this length is within it.
  for (let at = 0; at + WINDOW <= secret.length; at += 1) texts.add(secret.slice(at, at + WINDOW));
  const values = [...texts].flatMap((text) => [
    ...(/^(?:[0-9a-f]{2}){8,}$/i.test(text) ? [Buffer.from(text, 'hex')] : []),
    ...(/^[\w-]{16,}$/.test(text) ? [Buffer.from(text, 'base64url')] : []),
    ...(/^[A-Z2-7]{16,}$/.test(text) ? [base32(text)] : []),
  ]);
  return [
    ...[...texts].flatMap((text) => [Buffer.from(text), Buffer.from(text, 'utf16le'), ...written(Buffer.from(text))]),
    ...values.flatMap((value) => [value, ...written(value)]),
  ];
}

/** Bytes as texts that they are written in: without what a longer text around them would change. */
function written(bytes: Buffer): Buffer[] {
  return [
    bytes.toString('hex'),
    bytes.toString('base64').replace(/.?=*$/, ''),
    bytes.toString('base64url').slice(0, -1),
  ].map((text) => Buffer.from(text));
}

/** RFC 4648, section 6, without padding. */
function base32(text: string): Buffer {
  const bits = text
    .split('')
    .map((symbol) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(symbol).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
