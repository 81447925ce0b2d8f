/** Names of files as people send them: made safe to show, to store and to send in a header. */

/** Bytes of UTF-8: what every file system takes. A longer name loses the end of its stem and keeps its extension. */
export const FILE_NAME_BYTES_MAX = 255;

/** Control characters, and what turns the direction of text around, so that `gpj.exe` would read as `exe.jpg`. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** What a file is called where its name leaves nothing. */
const NAMELESS = 'file';

/** The last part of a path, without what is not seen, of at most FILE_NAME_BYTES_MAX bytes; never empty, `.` or `..`. */
export function safeFileName(given: string): string {
  const [last = ''] = given.toWellFormed().split(/[\\/]/).slice(-1);
  const seen = last.replaceAll(UNSEEN, '').trim();
  const name = /^\.*$/.test(seen) ? NAMELESS : seen;
  if (Buffer.byteLength(name) <= FILE_NAME_BYTES_MAX) return name;
  const extension = /\.[\w-]{1,16}$/.exec(name)?.[0] ?? '';
  return cut(name.slice(0, name.length - extension.length), FILE_NAME_BYTES_MAX - extension.length) + extension;
}

/** As many whole characters as fit. */
function cut(text: string, bytesMax: number): string {
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > bytesMax) break;
    kept += character;
  }
  return kept;
}

/** A Content-Disposition with the name in both of its forms (RFC 6266, RFC 8187). */
export function contentDisposition(kind: 'inline' | 'attachment', name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
