/** The page behind an RSVP link: one form, no script, nothing from elsewhere. */
import { createHash } from 'node:crypto';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import type { Language } from '#src/protocol/languages.ts';
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { OpenInvitation } from './rsvp-links.ts';
import { escapeHtml, lineOf, nameOf, notesOf, titleOf, whenOf } from './words.ts';
import { wordingOf } from './wording.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
h1{font-size:1.4rem}dt{font-weight:600}dd{margin:0 0 .5rem}textarea{width:100%;box-sizing:border-box}
button{font:inherit;padding:.5rem 1rem;margin:.5rem .5rem 0 0}
@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171a}a{color:#9ecbff}}`;

/** Lets the page be styled by itself and its form go back to where it came from. */
export const RSVP_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export type RsvpAnswer = 'accepted' | 'tentative' | 'declined';

export interface RsvpShown {
  readonly invitation: OpenInvitation;
  /** What the directory calls who organises it. */
  readonly organizerName: string;
  readonly language: Language;
  /** The answer that was sent just now. */
  readonly given?: RsvpAnswer;
}

export function rsvpPage({ given, invitation, language, organizerName }: RsvpShown): string {
  const wording = wordingOf(language);
  const { page } = wording;
  const { attendee, description } = invitation;
  const { isRecurring, location, notes, when } = description;
  const facts = [
    [wording.when, when === undefined ? '' : `${whenOf(when, wording)}${isRecurring ? `, ${wording.repeating}` : ''}`],
    [wording.where, lineOf(location)],
    [page.organiser, nameOf(organizerName)],
    [page.invited, lineOf(attendee.slice('mailto:'.length))],
  ].filter(([, value]) => value !== '');
  const sentences: Readonly<Record<string, string>> = page.said;
  const said = sentences[given?.toUpperCase() ?? description.answer ?? ''];
  const title = titleOf(description, wording);
  const buttons = Object.entries(page.buttons).map(
    ([answer, word]) => `<button name="answer" value="${answer}">${word}</button>`,
  );
  return pageOf(title, language, [
    `<h1 dir="auto">${escapeHtml(title)}</h1>`,
    `<dl>${facts.map(([name = '', value = '']) => `<dt>${name}</dt><dd dir="auto">${escapeHtml(value)}</dd>`).join('')}</dl>`,
    `<p dir="auto">${escapeHtml(notesOf(notes)).replaceAll('\n', '<br>')}</p>`,
    ...(said === undefined ? [] : [`<p role="status"><strong>${said}</strong></p>`]),
    '<form method="post">',
    `<label>${page.comment}<textarea name="comment" rows="3" maxlength="${RSVP_COMMENT_LENGTH_MAX}"></textarea></label>`,
    `${buttons.join('')}</form>`,
  ]);
}

/** What stands where there is nothing to answer, or an answer could not be taken. */
export function rsvpNote(code: ErrorCode, language: Language): string {
  const { invitation, refusals } = wordingOf(language).page;
  const sentence = refusals[code] ?? ERRORS[code].error;
  return pageOf(invitation, language, [`<h1>${invitation}</h1>`, `<p role="status">${escapeHtml(sentence)}</p>`]);
}

function pageOf(title: string, language: Language, parts: readonly string[]): string {
  return [
    `<!doctype html><html lang="${language}"><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex,nofollow">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>`,
    ...parts,
    '</main></body></html>',
  ].join('\n');
}
