/**
 * What a page says of itself in its head: title, description, site. The parser goes over
 * the tags from left to right and never back, so that hostile HTML costs what it is long; nothing of it is run, loaded or
 * kept as markup.
 */
import { Parser } from 'htmlparser2';
import { PREVIEW_LENGTHS } from '#src/protocol/conversations/links.ts';

export interface PageSummary {
  readonly title: string;
  readonly description?: string;
  readonly site?: string;
}

/** Elements whose contents say nothing of the page. */
const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'textarea']);
/** What is read of one attribute's value or of the title, in UTF-16 units, before it is cut for readers. */
const RAW_LENGTH_MAX = 4_096;

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
  /** Elements around that are skipped. */
  let skipped = 0;
  let title: string | undefined;
  const parser = new Parser({
    onopentag: (name, { content, name: named, property }) => {
      if (SKIPPED.has(name)) skipped += 1;
      if (skipped > 0) return;
      if (name === 'body') parser.pause();
      if (name === 'title') title = '';
      if (name !== 'meta') return;
      note(property?.toLowerCase(), content);
      note(named?.toLowerCase(), content);
    },
    ontext: (text) => {
      if (title !== undefined && title.length < RAW_LENGTH_MAX) title += text;
    },
    onclosetag: (name) => {
      if (SKIPPED.has(name)) skipped -= 1;
      else if (name === 'head') parser.pause();
      else if (name === 'title' && title !== undefined) {
        note('title', title);
        title = undefined;
      }
    },
  });
  parser.end(html);
  return found;
}

/** Text without control characters and changes of direction, in one line, cut between characters. */
function plainText(raw: string, lengthMax: number): string {
  const line = raw
    .slice(0, RAW_LENGTH_MAX)
    .toWellFormed()
    .replaceAll(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ')
    .trim();
  if (line.length <= lengthMax) return line;
  const cut = line.slice(0, lengthMax - 1);
  return `${(cut.isWellFormed() ? cut : cut.slice(0, -1)).trimEnd()}…`;
}
