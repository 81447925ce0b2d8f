/** The ways a log writes a text: JSON, percent, quoted-printable, hex, base64, byte arrays, and what undoes them. */

/** A JSON string without its quotes. */
export function jsonEscaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A JSON string body in which everything but letters and digits is written as \uXXXX. */
export function unicodeEscaped(text: string): string {
  return text.replace(/[^A-Za-z0-9 ]/gu, (mark) =>
    [...Array(mark.length).keys()].map((at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** Percent-encoded as a query value. */
export function percent(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/gu, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** A value of a form body: percent-encoded with `+` for a space. */
export function formValue(text: string): string {
  return percent(text).replaceAll('%20', '+');
}

/** Quoted-printable of one line: `=`, `@`, `+` and all that is not ASCII. */
export function quotedPrintable(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) => {
      const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x3d && byte !== 0x40 && byte !== 0x2b;
      return isPlain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** Upper-case hex of the bytes, as the Linux audit system writes a value it cannot quote. */
export function auditHex(text: string): string {
  return Buffer.from(text, 'utf8').toString('hex').toUpperCase();
}

/** An RFC 5424 parameter value. */
export function structuredDataValue(text: string): string {
  return text.replace(/["\\\]]/gu, (mark) => `\\${mark}`);
}

/** A quoted logfmt value without its quotes. */
export function logfmtValue(text: string): string {
  return jsonEscaped(text);
}

const UNESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

/** Undoes backslash escapes as far as there are any; wrong ones stay. */
export function withoutEscapes(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))/gsu,
    (_whole, wide: string, byte: string, mark: string) => {
      if (wide !== undefined) return String.fromCharCode(Number.parseInt(wide, 16));
      if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16));
      return UNESCAPED[mark] ?? mark;
    },
  );
}

function withoutByteCodes(text: string, codes: RegExp, lead: string): string {
  return text.replace(codes, (run) => Buffer.from(run.replaceAll(lead, ''), 'hex').toString('utf8'));
}

/** Undoes percent-encoding wherever it is. */
export function withoutPercent(text: string): string {
  return withoutByteCodes(text, /(?:%[0-9a-fA-F]{2})+/gu, '%');
}

/** Undoes quoted-printable, soft line breaks too. */
export function withoutQuotedPrintable(text: string): string {
  return withoutByteCodes(text.replace(/=\r?\n/gu, ''), /(?:=[0-9A-Fa-f]{2})+/gu, '=');
}

/** Undoes numeric character references of HTML and XML. */
export function withoutReferences(text: string): string {
  return text.replace(/&#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}));/gu, (_whole, hex: string, decimal: string) =>
    String.fromCodePoint(Math.min(0x10ffff, hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))),
  );
}

/** What hex runs, base64 runs and arrays of bytes in a text hold, each decoded. */
export function decodedRuns(text: string): string[] {
  const found: string[] = [];
  for (const [run] of text.matchAll(/(?:[0-9a-fA-F]{2}){6,}/gu)) found.push(Buffer.from(run, 'hex').toString('utf8'));
  for (const [run] of text.matchAll(/[A-Za-z0-9+/_-]{8,}/gu)) {
    // A run cut at its left begins anywhere in a group of four.
    for (let cut = 0; cut < 4; cut += 1) found.push(Buffer.from(run.slice(cut), 'base64').toString('utf8'));
  }
  for (const [run] of text.matchAll(/\d{1,3}(?:\s?,\s?\d{1,3}){5,}/gu)) {
    found.push(Buffer.from(run.split(',').map(Number)).toString('utf8'));
  }
  return found;
}
