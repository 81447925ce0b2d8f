/** Pages of one file each that a browser opens by a link: their script and style stand in them, and nothing else runs. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface WebPage {
  readonly html: string;
  /** Its Content-Security-Policy. */
  readonly policy: string;
}

/** The page of that name in `pages/`, with the style that all of them share. */
export function readWebPage(name: string): WebPage {
  const [page, style] = [`${name}.html`, 'page.css'].map((file) =>
    readFileSync(new URL(`./pages/${file}`, import.meta.url), 'utf8'),
  ) as [string, string];
  const html = page.replace('/* {style} */', style.trim());
  return { html, policy: policyOf(html) };
}

/** Browsers name `text/html` when somebody opens a link; a client of the API does not, and takes anything or JSON. */
export function takesPages(accept = ''): boolean {
  return accept.split(',').some((range) => /^\s*text\/html\s*(?:$|;(?!\s*q=0(?:\.0*)?\s*$))/i.test(range));
}

/** Lets the page have its one style and run its one script, if any, known by their hashes, and call this server. */
function policyOf(html: string): string {
  return [
    "default-src 'none'",
    ...(html.includes('<script>') ? [`script-src ${hashOf(html, 'script')}`, "connect-src 'self'"] : []),
    `style-src ${hashOf(html, 'style')}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function hashOf(html: string, element: 'script' | 'style'): string {
  const text = html.split(`<${element}>`)[1]?.split(`</${element}>`)[0];
  if (text === undefined) throw new Error(`The page has no <${element}>.`);
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
