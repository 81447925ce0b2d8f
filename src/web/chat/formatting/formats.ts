/** Formatting of what is selected in the field: each answers which part of the text to replace by what, and what is selected then. */

export const FORMATS = ['bold', 'italic', 'strike', 'code', 'block', 'quote', 'bullets', 'numbers', 'link'] as const;
export type Format = (typeof FORMATS)[number];

export interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** What is selected after it. */
  readonly selected: readonly [from: number, to: number];
}

const MARKS = { bold: '**', italic: '_', strike: '~~', code: '`' } as const;
const PREFIXES = { quote: /^> ?/u, bullets: /^[-*+] /u, numbers: /^\d+[.)] /u } as const;
const ADDRESS = /^https?:\/\/\S+$/u;

/** Formats the part of a text from `from` to `to`, or takes that formatting away where it is there. */
export function formatted(text: string, from: number, to: number, format: Format): Change {
  switch (format) {
    case 'block':
      return fenced(text, from, to);
    case 'quote':
    case 'bullets':
    case 'numbers':
      return prefixed(text, from, to, format);
    case 'link':
      return linked(text, from, to);
    default:
      return marked(text, from, to, MARKS[format]);
  }
}

/** Marks stand at the words themselves: with a space inside of them they would be no formatting. */
function marked(text: string, from: number, to: number, mark: string): Change {
  const whole = text.slice(from, to);
  const begin = from + (whole.length - whole.trimStart().length);
  const end = Math.max(begin, to - (whole.length - whole.trimEnd().length));
  const inner = text.slice(begin, end);
  const { length } = mark;
  if (text.slice(0, begin).endsWith(mark) && text.slice(end).startsWith(mark)) {
    return { from: begin - length, to: end + length, text: inner, selected: [begin - length, end - length] };
  }
  if (inner.length >= 2 * length && inner.startsWith(mark) && inner.endsWith(mark)) {
    const bare = inner.slice(length, -length);
    return { from: begin, to: end, text: bare, selected: [begin, begin + bare.length] };
  }
  return { from: begin, to: end, text: `${mark}${inner}${mark}`, selected: [begin + length, end + length] };
}

function prefixed(text: string, from: number, to: number, format: keyof typeof PREFIXES): Change {
  const begin = text.lastIndexOf('\n', from - 1) + 1;
  const next = text.indexOf('\n', to);
  const end = next < 0 ? text.length : next;
  const lines = text.slice(begin, end).split('\n');
  const prefix = PREFIXES[format];
  const isThere = lines.every((line) => prefix.test(line));
  const signs = { quote: () => '> ', bullets: () => '- ', numbers: (at: number) => `${at + 1}. ` };
  const changed = lines.map((line, at) => (isThere ? line.replace(prefix, '') : `${signs[format](at)}${line}`));
  const joined = changed.join('\n');
  const selected = lines.length === 1 ? begin + joined.length : begin;
  return { from: begin, to: end, text: joined, selected: [selected, begin + joined.length] };
}

function fenced(text: string, from: number, to: number): Change {
  const [before, after] = [
    from > 0 && text[from - 1] !== '\n' ? '\n' : '',
    text.length > to && text[to] !== '\n' ? '\n' : '',
  ];
  const open = `${before}\`\`\`\n`;
  const inner = text.slice(from, to);
  const begin = from + open.length;
  return { from, to, text: `${open}${inner}\n\`\`\`${after}`, selected: [begin, begin + inner.length] };
}

/** Words get an address, and an address gets words: what is missing is selected. */
function linked(text: string, from: number, to: number): Change {
  const inner = text.slice(from, to);
  if (ADDRESS.test(inner)) return { from, to, text: `[](${inner})`, selected: [from + 1, from + 1] };
  const begin = from + inner.length + 3;
  return { from, to, text: `[${inner}](https://)`, selected: inner === '' ? [from + 1, from + 1] : [begin, begin + 8] };
}

/** The format that a key stands for, with Ctrl or Cmd held. */
export function formatOf(event: { readonly key: string; readonly shiftKey: boolean }): Format | undefined {
  const keys: Readonly<Record<string, Format>> = { b: 'bold', i: 'italic', e: 'code' };
  const shifted: Readonly<Record<string, Format>> = { x: 'strike', '8': 'bullets', '7': 'numbers', '9': 'quote' };
  return (event.shiftKey ? shifted : keys)[event.key.toLowerCase()];
}
