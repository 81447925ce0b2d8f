/**
 * What a page says of itself in its head: title, description, site. A walk over the tags from left to right that never
 * goes back, so that hostile HTML costs what it is long; nothing of it is run, loaded or kept as markup.
 */
import { PREVIEW_LENGTHS } from '#src/protocol/conversations/links.ts';

export interface PageSummary {
  readonly title: string;
  readonly description?: string;
  readonly site?: string;
}

/** Elements whose contents are no tags. [skipped up to their own end] */
const RAW_TEXT = new Set(['script', 'style', 'noscript', 'template', 'textarea']);
/** What is read of one attribute's value or of the title, in UTF-16 units, before it is cut for readers. */
const RAW_LENGTH_MAX = 4_096;
/** Attributes read of one tag; further ones are passed over. */
const ATTRIBUTES_MAX = 32;

const SPACE = /\s/;
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  laquo: '«',
  raquo: '»',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  copy: '©',
  reg: '®',
  trade: '™',
  middot: '·',
  bull: '•',
};

/** The names under which a page says what we show, the best first. */
const TITLES = ['og:title', 'twitter:title', 'title'];
const DESCRIPTIONS = ['og:description', 'twitter:description', 'description'];
const SITES = ['og:site_name'];

/** Reads the head of a page; undefined for one without a title. */
export function summarize(html: string): PageSummary | undefined {
  const found = readHead(html);
  const pick = (names: readonly string[], length: number): string | undefined => {
    for (const name of names) {
      const text = plainText(found.get(name) ?? '', length);
      if (text !== '') return text;
    }
    return undefined;
  };
  const title = pick(TITLES, PREVIEW_LENGTHS.title);
  if (title === undefined) return undefined;
  const description = pick(DESCRIPTIONS, PREVIEW_LENGTHS.description);
  const site = pick(SITES, PREVIEW_LENGTHS.site);
  return { title, ...(description === undefined ? {} : { description }), ...(site === undefined ? {} : { site }) };
}

/** Name → text as the page has it, of the names above; the first of each counts. */
function readHead(html: string): Map<string, string> {
  const found = new Map<string, string>();
  const note = (name: string | undefined, text: string | undefined) => {
    if (name === undefined || text === undefined || found.has(name)) return;
    if ([TITLES, DESCRIPTIONS, SITES].some((names) => names.includes(name))) found.set(name, text);
  };
  let at = html.indexOf('<');
  while (at !== -1) {
    if (html.startsWith('<!--', at)) {
      const end = html.indexOf('-->', at + 4);
      at = end === -1 ? -1 : html.indexOf('<', end);
      continue;
    }
    const tag = readTag(html, at);
    if (tag.name === 'body' || tag.name === '/head') break;
    let next = tag.end;
    if (tag.name === 'title' || RAW_TEXT.has(tag.name)) {
      next = endOf(html, tag.name, tag.end);
      if (tag.name === 'title') note('title', html.slice(tag.end, Math.min(next, tag.end + RAW_LENGTH_MAX)));
    }
    if (tag.name === 'meta') {
      const { content, name, property } = Object.fromEntries(tag.attributes);
      note(property?.toLowerCase(), content);
      note(name?.toLowerCase(), content);
    }
    at = html.indexOf('<', next);
  }
  return found;
}

interface Tag {
  /** In lower case, with the slash of an end tag. */
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  /** Behind its `>`, or the end of what there is. */
  readonly end: number;
}

/** The tag that begins at `<`. */
function readTag(html: string, start: number): Tag {
  let at = start + 1;
  while (at < html.length && !SPACE.test(html.charAt(at)) && html.charAt(at) !== '>') at += 1;
  const name = html.slice(start + 1, Math.min(at, start + 33)).toLowerCase();
  const attributes = new Map<string, string>();
  while (at < html.length && html.charAt(at) !== '>') {
    const before = at;
    while (at < html.length && !SPACE.test(html.charAt(at)) && !'=>'.includes(html.charAt(at))) at += 1;
    const attribute = html.slice(before, Math.min(at, before + 64)).toLowerCase();
    at = skipSpace(html, at);
    if (html.charAt(at) !== '=') {
      continue;
    }
    const value = readValue(html, skipSpace(html, at + 1));
    at = skipSpace(html, value.end);
    if (attributes.size < ATTRIBUTES_MAX && !attributes.has(attribute)) attributes.set(attribute, value.text);
  }
  return { name, attributes, end: Math.min(at + 1, html.length) };
}

/** An attribute's value: in quotes, or up to white space or the tag's end. */
function readValue(html: string, start: number): { readonly text: string; readonly end: number } {
  const quote = html.charAt(start);
  if (quote === '"' || quote === "'") {
    const close = html.indexOf(quote, start + 1);
    const end = close === -1 ? html.length : close;
    return { text: html.slice(start + 1, Math.min(end, start + 1 + RAW_LENGTH_MAX)), end: end + 1 };
  }
  let end = start;
  while (end < html.length && !SPACE.test(html.charAt(end)) && html.charAt(end) !== '>') end += 1;
  return { text: html.slice(start, Math.min(end, start + RAW_LENGTH_MAX)), end };
}

function skipSpace(html: string, start: number): number {
  let at = start;
  while (at < html.length && SPACE.test(html.charAt(at))) at += 1;
  return at;
}

/** Where an element's end tag begins, or the end of what there is. */
function endOf(html: string, name: string, start: number): number {
  let at = html.indexOf('</', start);
  while (at !== -1 && html.slice(at + 2, at + 2 + name.length).toLowerCase() !== name) at = html.indexOf('</', at + 2);
  return at === -1 ? html.length : at;
}

/** Text without entities, control characters and changes of direction, in one line, cut between characters. */
function plainText(raw: string, lengthMax: number): string {
  const decoded = raw.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10_ff_ff ? String.fromCodePoint(code) : '';
  });
  const line = decoded
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  if (line.length <= lengthMax) return line;
  const cut = line.slice(0, lengthMax - 1);
  return `${(cut.isWellFormed() ? cut : cut.slice(0, -1)).trimEnd()}…`;
}
