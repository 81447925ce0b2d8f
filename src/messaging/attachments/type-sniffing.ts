/**
 * What a file is, by its first bytes and never by its name or what its sender says. A file that is not recognised is
 * bytes. Formats in which a browser runs something (HTML, SVG, XML) are recognised as text at most, so that no reader is
 * ever told to run one.
 */

/** First bytes that are looked at. */
export const SNIFFED_BYTES = 4_096;

/** Types that may be shown in a page: pictures, sound and film. Everything else is saved to a file. */
const INLINE = /^(?:image\/(?:png|jpeg|gif|webp|avif|heic)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

export function isInline(type: string): boolean {
  return INLINE.test(type);
}

interface Magic {
  readonly type: string;
  readonly at?: number;
  /** Latin-1 text of the bytes. */
  readonly bytes: string;
}

const MAGICS: readonly Magic[] = [
  { type: 'image/png', bytes: '\x89PNG\r\n\x1a\n' },
  { type: 'image/jpeg', bytes: '\xff\xd8\xff' },
  { type: 'image/gif', bytes: 'GIF87a' },
  { type: 'image/gif', bytes: 'GIF89a' },
  { type: 'image/bmp', bytes: 'BM' },
  { type: 'image/tiff', bytes: 'II*\0' },
  { type: 'image/tiff', bytes: 'MM\0*' },
  { type: 'application/pdf', bytes: '%PDF-' },
  { type: 'application/zip', bytes: 'PK\x03\x04' },
  { type: 'application/gzip', bytes: '\x1f\x8b\x08' },
  { type: 'application/zstd', bytes: '\x28\xb5\x2f\xfd' },
  { type: 'application/x-xz', bytes: '\xfd7zXZ\0' },
  { type: 'application/x-bzip2', bytes: 'BZh' },
  { type: 'application/x-7z-compressed', bytes: '7z\xbc\xaf\x27\x1c' },
  { type: 'application/vnd.rar', bytes: 'Rar!\x1a\x07' },
  { type: 'application/x-tar', at: 257, bytes: 'ustar' },
  { type: 'application/x-cfb', bytes: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1' },
  { type: 'application/vnd.microsoft.portable-executable', bytes: 'MZ' },
  { type: 'application/x-elf', bytes: '\x7fELF' },
  { type: 'application/wasm', bytes: '\0asm' },
  { type: 'audio/flac', bytes: 'fLaC' },
  { type: 'audio/mpeg', bytes: 'ID3' },
  { type: 'audio/ogg', bytes: 'OggS' },
  { type: 'audio/midi', bytes: 'MThd' },
];

/** Brands of the ISO media files that are no plain film. */
const BRANDS: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  avis: 'image/avif',
  heic: 'image/heic',
  heix: 'image/heic',
  mif1: 'image/heic',
  'M4A ': 'audio/mp4',
  'qt  ': 'video/quicktime',
};

/** The media type of a content that begins with these bytes. */
export function sniffType(head: Buffer): string {
  const container = containerType(head);
  if (container !== undefined) return container;
  for (const { type, at = 0, bytes } of MAGICS) if (startsWith(head, at, bytes)) return type;
  // A frame of MPEG audio: eleven bits set, then a layer.
  if (head.length > 3 && head[0] === 0xff && ((head[1] ?? 0) & 0xe6) === 0xe2) return 'audio/mpeg';
  return isText(head) ? 'text/plain; charset=utf-8' : 'application/octet-stream';
}

function containerType(head: Buffer): string | undefined {
  if (startsWith(head, 0, 'RIFF')) {
    if (startsWith(head, 8, 'WEBP')) return 'image/webp';
    if (startsWith(head, 8, 'WAVE')) return 'audio/wav';
    if (startsWith(head, 8, 'AVI ')) return 'video/x-msvideo';
  }
  if (startsWith(head, 4, 'ftyp')) return BRANDS[head.toString('latin1', 8, 12)] ?? 'video/mp4';
  if (startsWith(head, 0, '\x1a\x45\xdf\xa3')) {
    return head.includes('webm') ? 'video/webm' : 'video/x-matroska';
  }
  return undefined;
}

function startsWith(head: Buffer, at: number, bytes: string): boolean {
  return head.toString('latin1', at, at + bytes.length) === bytes;
}

/** UTF-8 without control characters beyond those of lines; the last character may be cut off. */
function isText(head: Buffer): boolean {
  if (head.length === 0) return false;
  const text = head.toString('utf8');
  const whole = head.length === SNIFFED_BYTES ? text.replace(/\ufffd{1,3}$/, '') : text;
  // oxlint-disable-next-line no-control-regex -- These are what is looked for.
  return !/[\0-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f\ufffd]/.test(whole);
}
