/** Undoes the encodings in which one value stands in logs. Text is bytes in a Latin-1 string throughout. */

/** Turns of decoding: `%2540` takes two. */
const TURNS_MAX = 3;

const ENCODED = /[%\\&=][0-9A-Fa-fu#xX]/;
const ESCAPES = /%([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|&#(\d{1,6});|=([0-9A-F]{2})|=\r?\n/g;

/** Percent, JSON, HTML and quoted-printable escapes decoded until none is left, three turns at most. */
export function decodeText(text: string): string {
  let decoded = text;
  for (let turn = 0; turn < TURNS_MAX && ENCODED.test(decoded); turn += 1) {
    const next = decoded.replaceAll(
      ESCAPES,
      (_all, percent?: string, unicode?: string, hex?: string, html?: string, quoted?: string) => {
        const byte = percent ?? hex ?? quoted;
        if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16));
        if (unicode !== undefined) return utf8(Number.parseInt(unicode, 16));
        return html === undefined ? '' : utf8(Number(html));
      },
    );
    if (next === decoded) break;
    decoded = next;
  }
  return decoded;
}

function utf8(codePoint: number): string {
  if (codePoint < 128) return String.fromCharCode(codePoint);
  return codePoint > 0x10_ff_ff ? '' : Buffer.from(String.fromCodePoint(codePoint)).toString('latin1');
}

/** The text of upper-case hex as auditd writes it, or undefined when it is none. */
export function decodeAuditHex(text: string): string | undefined {
  if (text.length < 6 || text.length % 2 !== 0 || !/^[0-9A-F]+$/.test(text)) return undefined;
  return Buffer.from(text, 'hex').toString('latin1');
}

/** The text of an RFC 2047 word's payload. */
export function decodeEncodedWord(encoding: string, payload: string): string {
  if (encoding === 'B' || encoding === 'b') return Buffer.from(payload, 'base64').toString('latin1');
  return decodeText(payload.replaceAll('_', ' '));
}

/** The text behind base64, when it is printable ASCII or UTF-8; undefined otherwise. */
export function decodePrintableBase64(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < 3) return undefined;
  for (const byte of bytes)
    if ((byte < 32 && byte !== 0 && byte !== 10 && byte !== 13) || byte === 127) return undefined;
  return bytes.toString('latin1');
}
