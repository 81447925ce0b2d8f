/** Writes XML: escaping, elements, and what XML 1.0 cannot carry left out. */
import { partsOf, PREFIXES, type XmlName } from './xml-names.ts';

// Markup, the carriage return (a bare one would be read as LF, and iCalendar ends its lines with both), and what XML 1.0
// has no way to write: controls, lone surrogates, the two non-characters at the end of the plane.
// oxlint-disable-next-line no-control-regex -- These are the characters to take out.
const IN_TEXT = /[&<>\r\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;
// oxlint-disable-next-line no-control-regex -- As above.
const IN_ATTRIBUTE = /[&<>"\t\n\r\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
};

function escaped(character: string): string {
  const known = ESCAPES[character];
  if (known !== undefined) return known;
  return character.isWellFormed() ? '' : '\ufffd';
}

/** Text between tags. Characters that XML 1.0 does not have are left out, lone surrogates become U+FFFD. */
export function escapeText(text: string): string {
  return text.replace(IN_TEXT, escaped);
}

/** Text between the quotes of an attribute. */
export function escapeAttribute(text: string): string {
  return text.replace(IN_ATTRIBUTE, escaped);
}

const TAGS_MAX = 1_000;
/** Tags of the names that occur over and over; a client's own names are unbounded and not kept. */
const tags = new Map<XmlName, { open: string; close: string }>();

function tagOf(name: XmlName): { open: string; close: string } {
  const known = tags.get(name);
  if (known !== undefined) return known;
  const { uri, local } = partsOf(name);
  const prefix = PREFIXES.get(uri);
  if (prefix !== undefined) {
    const tag = { open: `${prefix}:${local}`, close: `${prefix}:${local}` };
    if (tags.size < TAGS_MAX) tags.set(name, tag);
    return tag;
  }
  // A name without a namespace must not fall into a default one, and there is none.
  if (uri === '') return { open: local, close: local };
  return { open: `X:${local} xmlns:X="${escapeAttribute(uri)}"`, close: `X:${local}` };
}

/** An element around XML that is written already; an empty one without it. */
export function element(name: XmlName, content = '', attributes: Readonly<Record<string, string>> = {}): string {
  const { open, close } = tagOf(name);
  let own = '';
  for (const key in attributes) own += ` ${key}="${escapeAttribute(attributes[key] as string)}"`;
  return content === '' ? `<${open}${own}/>` : `<${open}${own}>${content}</${close}>`;
}

/** An element around text. */
export function textElement(name: XmlName, text: string): string {
  return element(name, escapeText(text));
}
