/**
 * The header of a mail, or of one of its parts, as its fields in their order. Nothing is decoded here: what two readers
 * understand differently is refused, since one of them was the server that vouched for the sender.
 */

/** Bytes of one header: ten times what a mail collects on a long way. [mail_malformed] */
export const HEADER_BYTES_MAX = 64 * 1024;
/** Fields of one header. [mail_malformed] */
export const HEADER_FIELDS_MAX = 500;

export interface HeaderField {
  /** In lower case. */
  readonly name: string;
  /** Unfolded, one character (U+0000…U+00FF) per byte. */
  readonly value: string;
}

export interface Header {
  readonly fields: readonly HeaderField[];
  /** Where what the header is of begins. */
  readonly bodyStart: number;
}

/** Printable ASCII without the colon; blanks in front of the colon are an old form that some readers still take. */
const FIELD = /^([!-9;-~]+)[ \t]*:([^]*)$/;

/**
 * The header at the beginning of these bytes; undefined where it is longer than one may be, or holds what is no field:
 * a lone carriage return, a NUL, a fold of blanks alone.
 */
export function readHeader(bytes: Buffer): Header | undefined {
  const { end, bodyStart } = endOf(bytes);
  if (end > HEADER_BYTES_MAX) return undefined;
  const text = bytes.toString('latin1', 0, end);
  if (/\r(?!\n|$)|\0/.test(text)) return undefined;
  const fields: { name: string; value: string }[] = [];
  if (text === '') return { fields, bodyStart };
  for (const line of text.split(/\r?\n/)) {
    if (/^[ \t]/.test(line)) {
      const last = fields.at(-1);
      if (last === undefined || line.trim() === '') return undefined;
      last.value += line;
      continue;
    }
    const [, name, value] = FIELD.exec(line) ?? [];
    if (name === undefined || value === undefined || fields.length === HEADER_FIELDS_MAX) return undefined;
    fields.push({ name: name.toLowerCase(), value });
  }
  return { fields, bodyStart };
}

/** The first empty line, however lines end; the end of the bytes where there is none. */
function endOf(bytes: Buffer): { readonly end: number; readonly bodyStart: number } {
  for (const [empty, length] of [
    ['\r\n', 2],
    ['\n', 1],
  ] as const) {
    if (bytes.subarray(0, length).toString('latin1') === empty) return { end: 0, bodyStart: length };
  }
  const looked = bytes.subarray(0, HEADER_BYTES_MAX + 4);
  const found = ['\n\r\n', '\n\n']
    .map((mark) => ({ at: looked.indexOf(mark), length: mark.length }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)[0];
  if (found === undefined) return { end: bytes.length, bodyStart: bytes.length };
  const end = bytes[found.at - 1] === 0x0d ? found.at - 1 : found.at;
  return { end, bodyStart: found.at + found.length };
}

/** A structured value without its comments, and with its quoted strings put aside. */
export interface Bare {
  /** Each quoted string stands here as its number between two U+E000, which no byte reads as, each comment as a blank. */
  readonly text: string;
  readonly quoted: readonly string[];
}

/** Takes comments and quoted strings out of a value (RFC 5322, 3.2.2 and 3.2.4); undefined where one does not end. */
export function bareOf(value: string): Bare | undefined {
  const quoted: string[] = [];
  let text = '';
  let depth = 0;
  let string: string | undefined;
  for (let at = 0; at < value.length; at += 1) {
    const character = value.charAt(at);
    if (character !== '\t' && character < ' ') return undefined;
    if (character === '\\' && (depth > 0 || string !== undefined)) {
      at += 1;
      if (at === value.length) return undefined;
      if (string !== undefined) string += value.charAt(at);
    } else if (string !== undefined) {
      if (character === '"') {
        text += `\uE000${quoted.length}\uE000`;
        quoted.push(string);
        string = undefined;
      } else string += character;
    } else if (character === '(') {
      depth += 1;
      text += ' ';
    } else if (character === ')') {
      if (depth === 0) return undefined;
      depth -= 1;
    } else if (depth === 0) {
      if (character === '"') string = '';
      else text += character;
    }
  }
  return depth > 0 || string !== undefined ? undefined : { text, quoted };
}

/** A word of a bare text, with the quoted strings in it put back. */
export function wordOf(word: string, { quoted }: Bare): string {
  return word.replace(/\uE000(\d+)\uE000/g, (_, number: string) => quoted[Number(number)] ?? '');
}
