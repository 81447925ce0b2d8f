/**
 * Reads the XML of a DAV request into a tree, at a cost that the request's size bounds: no doctype, no entities but
 * XML's own five, bounded depth and number of elements.
 */
import { SaxesParser, type SaxesTagNS } from 'saxes';
import { TimeSlicer, type Payer } from '../../time-slicer.ts';
import { DavRefusal } from '../dav-refusal.ts';
import { nameOf, type XmlName } from './xml-names.ts';

/** Nesting of elements. The deepest filter of RFC 4791 has 8 levels; the parser's cost grows with depth squared. [400] */
export const XML_DEPTH_MAX = 32;
/** Elements, comments and the like of one document together, and attributes: a multiget of 10,000 hrefs fits. [400] */
export const XML_ELEMENTS_MAX = 20_000;
/** Attributes of one element. No request element has more than five beside its namespaces. [400] */
export const XML_ATTRIBUTES_MAX = 32;

/** An element of a request. */
export interface XmlElement {
  readonly name: XmlName;
  /** Attributes without a namespace, and `xml:lang` under that name. */
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly XmlElement[];
  /** Its own character data, as written. */
  readonly text: string;
}

interface Building extends XmlElement {
  children: Building[];
  text: string;
}

/** Of most elements, such as thousands of hrefs: a map for each of them was two thirds of what collecting a long body's garbage took. */
const NO_ATTRIBUTES: ReadonlyMap<string, string> = new Map();

const utf8 = new TextDecoder('utf-8', { fatal: true });
const utf16le = new TextDecoder('utf-16le', { fatal: true });
const utf16be = new TextDecoder('utf-16be', { fatal: true });
/** The encodings that a document may name: the two that every XML reader must know, and ASCII, which is UTF-8. */
const ENCODINGS = /^(?:utf-?8|utf-?16(?:le|be)?|us-ascii)$/i;

/**
 * The root element of a document.
 * @throws DavRefusal 400 for what is not well-formed, has a doctype, is too deep or too rich, or is not valid Unicode;
 * 415 for another encoding.
 */
export function readXml(bytes: Uint8Array): XmlElement {
  const { parser, rootOf } = makeParser();
  parser.write(textOfDocument(bytes)).close();
  return rootOf();
}

/** Characters that are parsed in one go: two milliseconds of the usual, and six of what costs most. */
export const STEP_LENGTH = 64 * 1024;
/** Where comments and processing instructions may stand in a long document: in front. */
const PROLOG_LENGTH = 2_048;

/**
 * The same of a document that takes longer than others should wait, at the cost of the payer, where one is given.
 * @throws DavRefusal as `readXml`.
 */
export async function readLongXml(bytes: Uint8Array, payer?: Payer): Promise<XmlElement> {
  const text = textOfDocument(bytes);
  assertPlain(text);
  const { parser, rootOf } = makeParser();
  const slicer = new TimeSlicer(payer);
  for (let at = 0; at < text.length; at += STEP_LENGTH) {
    parser.write(text.slice(at, at + STEP_LENGTH));
    await slicer.pass();
  }
  parser.close();
  return rootOf();
}

/** Line ends of a long document: one before each tag of as many elements as it may have, and as many to spare. [400] */
export const XML_LINES_MAX = 4 * XML_ELEMENTS_MAX;

/** References, line ends and comments cost many times what their bytes do, and no long question is full of them. */
function assertPlain(text: string): void {
  if (hasMore(text, '&', XML_ELEMENTS_MAX)) throw refusal(`A body may have ${XML_ELEMENTS_MAX} references.`);
  if (hasMore(text, '\n', XML_LINES_MAX)) throw refusal(`A body may have ${XML_LINES_MAX} lines.`);
  for (const opening of ['<!--', '<?']) {
    if (text.includes(opening, PROLOG_LENGTH)) throw refusal('A long body has no comments and instructions inside.');
  }
}

function hasMore(text: string, character: string, most: number): boolean {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > most) return true;
  }
  return false;
}

function textOfDocument(bytes: Uint8Array): string {
  const text = decode(bytes);
  if (hasDoctype(text)) throw refusal('A document type declaration is not allowed.');
  // As every XML reader reads them (XML 1.0, 2.11); in one native pass they cost next to nothing.
  return text.replaceAll('\r\n', '\n');
}

/** A parser that builds the tree, within the limits, and what it has built. */
function makeParser(): { readonly parser: SaxesParser<{ xmlns: true }>; readonly rootOf: () => XmlElement } {
  const parser = new SaxesParser({ xmlns: true as const, position: false });
  const open: Building[] = [];
  let root: Building | undefined;
  let elements = 0;
  let attributes = 0;
  let allAttributes = 0;
  const count = () => {
    elements += 1;
    if (elements > XML_ELEMENTS_MAX) throw refusal(`A body may have ${XML_ELEMENTS_MAX} elements.`);
  };
  parser.on('error', (error) => {
    throw refusal(`The body is not well-formed XML: ${error.message}`);
  });
  parser.on('xmldecl', ({ encoding }) => {
    if (encoding !== undefined && !ENCODINGS.test(encoding)) throw new DavRefusal(415, 'The body must be in UTF-8.');
  });
  parser.on('opentagstart', () => {
    attributes = 0;
    if (open.length >= XML_DEPTH_MAX) throw refusal(`Elements may be nested ${XML_DEPTH_MAX} deep.`);
    count();
  });
  for (const event of ['comment', 'processinginstruction'] as const) parser.on(event, count);
  parser.on('attribute', () => {
    attributes += 1;
    allAttributes += 1;
    if (allAttributes > XML_ELEMENTS_MAX) throw refusal(`A body may have ${XML_ELEMENTS_MAX} attributes.`);
    if (attributes > XML_ATTRIBUTES_MAX) throw refusal(`An element may have ${XML_ATTRIBUTES_MAX} attributes.`);
  });
  parser.on('opentag', (tag) => {
    const element = elementOf(tag);
    open.at(-1)?.children.push(element);
    root ??= element;
    open.push(element);
  });
  const addText = (more: string) => {
    const element = open.at(-1);
    if (element !== undefined) element.text += more;
  };
  parser.on('text', addText);
  parser.on('cdata', (more) => {
    count();
    addText(more);
  });
  parser.on('closetag', () => void open.pop());
  const rootOf = () => {
    if (root === undefined) throw refusal('The body has no root element.');
    return root;
  };
  return { parser, rootOf };
}

/**
 * Whether a document type declaration stands in front of the root, which is its only place. Found before the parser
 * reads what it defines.
 */
function hasDoctype(text: string): boolean {
  let at = 0;
  for (;;) {
    while (at < text.length && /[\s\ufeff]/.test(text.charAt(at))) at += 1;
    const ending = text.startsWith('<!--', at) ? '-->' : text.startsWith('<?', at) ? '?>' : undefined;
    if (ending === undefined) return text.startsWith('<!DOCTYPE', at);
    const end = text.indexOf(ending, at);
    if (end === -1) return false;
    at = end + ending.length;
  }
}

function elementOf(tag: SaxesTagNS): Building {
  let attributes: Map<string, string> | undefined;
  for (const { uri, prefix, local, value } of Object.values(tag.attributes)) {
    const key = uri === '' ? local : prefix === 'xml' ? `xml:${local}` : undefined;
    if (key !== undefined) (attributes ??= new Map()).set(key, value);
  }
  return { name: nameOf(tag.uri, tag.local), attributes: attributes ?? NO_ATTRIBUTES, children: [], text: '' };
}

function decode(bytes: Uint8Array): string {
  try {
    if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16le.decode(bytes);
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16be.decode(bytes);
    return utf8.decode(bytes);
  } catch {
    throw refusal('The body is not valid UTF-8.');
  }
}

function refusal(text: string): DavRefusal {
  return new DavRefusal(400, text);
}

/** The first child of that name. */
export function childOf(element: XmlElement, name: XmlName): XmlElement | undefined {
  return element.children.find((child) => child.name === name);
}

/** All children of that name. */
export function childrenOf(element: XmlElement, name: XmlName): XmlElement[] {
  return element.children.filter((child) => child.name === name);
}

/** The trimmed text of the first child of that name; undefined where there is none. */
export function textOf(element: XmlElement, name: XmlName): string | undefined {
  return childOf(element, name)?.text.trim();
}
