/** The page behind an RSVP link: one form, no script, nothing from elsewhere. */
import { createHash } from 'node:crypto';
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { OpenInvitation } from './rsvp-links.ts';
import { escapeHtml, lineOf, nameOf, notesOf, titleOf, whenOf } from './words.ts';

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

const ANSWERS: Readonly<Record<RsvpAnswer, string>> = { accepted: 'Accept', tentative: 'Maybe', declined: 'Decline' };
const ANSWERED: Readonly<Record<string, string>> = {
  ACCEPTED: 'You have accepted.',
  TENTATIVE: 'You have said that you may come.',
  DECLINED: 'You have declined.',
};

/** @param organizerName what the directory calls who organises it. @param given the answer that was sent just now. */
export function rsvpPage(invitation: OpenInvitation, organizerName: string, given?: RsvpAnswer): string {
  const { attendee, description } = invitation;
  const { isRecurring, location, notes, when } = description;
  const facts = [
    ['When', when === undefined ? '' : `${whenOf(when)}${isRecurring ? ', repeating' : ''}`],
    ['Where', lineOf(location)],
    ['Organiser', nameOf(organizerName)],
    ['Invited', lineOf(attendee.slice('mailto:'.length))],
  ].filter(([, value]) => value !== '');
  const said = ANSWERED[given?.toUpperCase() ?? description.answer ?? ''];
  const buttons = Object.entries(ANSWERS).map(
    ([answer, word]) => `<button name="answer" value="${answer}">${word}</button>`,
  );
  return pageOf(titleOf(description), [
    `<h1 dir="auto">${escapeHtml(titleOf(description))}</h1>`,
    `<dl>${facts.map(([name = '', value = '']) => `<dt>${name}</dt><dd dir="auto">${escapeHtml(value)}</dd>`).join('')}</dl>`,
    `<p dir="auto">${escapeHtml(notesOf(notes)).replaceAll('\n', '<br>')}</p>`,
    ...(said === undefined ? [] : [`<p role="status"><strong>${said}</strong></p>`]),
    '<form method="post">',
    `<label>Comment (optional)<textarea name="comment" rows="3" maxlength="${RSVP_COMMENT_LENGTH_MAX}"></textarea></label>`,
    `${buttons.join('')}</form>`,
  ]);
}

/** What stands where there is nothing to answer, or an answer could not be taken. */
export function rsvpNote(sentence: string): string {
  return pageOf('Invitation', ['<h1>Invitation</h1>', `<p role="status">${escapeHtml(sentence)}</p>`]);
}

function pageOf(title: string, parts: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex,nofollow">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body><main>`,
    ...parts,
    '</main></body></html>',
  ].join('\n');
}
