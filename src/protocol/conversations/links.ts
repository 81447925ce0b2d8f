/** Links in a text, and what is shown of the page behind the first of them. */
import { z } from 'zod';

/** A link longer than this, in UTF-16 units, has no preview: browsers agree on no more. */
export const LINK_LENGTH_MAX = 2_048;

/** What a page says of itself, in UTF-16 units; longer texts are cut. */
export const PREVIEW_LENGTHS = { title: 200, description: 400, site: 80 } as const;

/** What the server read of the page behind a message's first link: text, no picture. */
export const linkPreview = z
  .strictObject({
    /** The link as the message has it, in the form a browser gives it; where it led to is not said. */
    url: z.string().max(LINK_LENGTH_MAX),
    title: z.string().min(1).max(PREVIEW_LENGTHS.title),
    description: z.string().min(1).max(PREVIEW_LENGTHS.description).optional(),
    site: z.string().min(1).max(PREVIEW_LENGTHS.site).optional(),
  })
  .meta({ id: 'LinkPreview' });

export type LinkPreview = z.infer<typeof linkPreview>;

/** What ends a link in a text, wherever it stands. */
const LINK_END = /[\s<>"`{}|\\^\p{Cc}]/u;
/** What belongs to the sentence when it is the last of a link. */
const SENTENCE_END = new Set(".,;:!?'»”’…)]*_~");

/** Characters of the sentence that are taken off a link; a longer row of them stays. */
const SENTENCE_END_MAX = 16;

/** The first http or https link of a text without a name or a password in it, as a URL is written; or undefined. */
export function firstLink(text: string): string | undefined {
  let from = 0;
  for (;;) {
    const mark = text.indexOf('://', from);
    if (mark === -1) return undefined;
    const start = ['https', 'http']
      .map((scheme) => ({ scheme, at: mark - scheme.length }))
      .find(({ at, scheme }) => at >= from && text.slice(at, mark).toLowerCase() === scheme)?.at;
    let end = mark + 3;
    while (end < text.length && !LINK_END.test(text.charAt(end))) end += 1;
    const url = start === undefined ? undefined : asLink(text.slice(start, end));
    if (url !== undefined) return url;
    from = end;
  }
}

function asLink(found: string): string | undefined {
  if (found.length > LINK_LENGTH_MAX + SENTENCE_END_MAX) return undefined;
  let end = found.length;
  const least = Math.max(0, end - SENTENCE_END_MAX);
  while (end > least && SENTENCE_END.has(found.charAt(end - 1)) && !closesOwn(found.slice(0, end))) end -= 1;
  const link = found.slice(0, end);
  if (link.length > LINK_LENGTH_MAX || !URL.canParse(link)) return undefined;
  const { hostname, href, password, username } = new URL(link);
  const isOpen = hostname !== '' && username === '' && password === '';
  return isOpen && href.length <= LINK_LENGTH_MAX ? href : undefined;
}

/** Whether it ends in a bracket that it opens itself, as names of articles do. */
function closesOwn(link: string): boolean {
  return link.endsWith(')') && link.lastIndexOf('(') > link.lastIndexOf(')', link.length - 2);
}
