/** What a mail of the calendar says: words in text and HTML, and beside them the message itself (RFC 6047). */
import { createHash } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import type { AddressBook } from '../address-book.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import type { Description } from '../scheduling/describing.ts';
import type { EmailAlarm } from '../scheduling/outside-mail.ts';
import type { QueuedMailRecord, NumberedMail } from '#storage/calendars/calendar-mails.ts';
import { escapeHtml, instantIn, lineOf, nameOf, notesOf, titleOf, whenOf } from './words.ts';

export interface ComposingOptions {
  readonly book: AddressBook;
  readonly pool: Pick<DerivationPool, 'describe'>;
  /** The data folder's. */
  readonly epoch: string;
}

export interface Composing {
  readonly mail: NumberedMail;
  readonly letter: QueuedMailRecord;
  /** The installation's address. */
  readonly from: string;
  /** The calendar's. */
  readonly zone: string;
  /** Where the recipient answers; undefined where there is nothing to answer. */
  readonly link: string | undefined;
}

/** An alarm as a letter keeps it. */
export type ReminderMail = Pick<EmailAlarm, 'title' | 'location' | 'start' | 'zone'>;

/** One mail to one recipient. @throws CalendarFault for a letter that is no message; Refusal `busy`. */
export async function compose(composing: Composing, options: ComposingOptions): Promise<SendMailOptions> {
  const { from, letter, mail } = composing;
  const { book, epoch } = options;
  const to = mail.to.slice('mailto:'.length);
  const message = {
    envelope: { from, to: [to] },
    to: { name: '', address: to },
    messageId: messageIdOf(mail, from, epoch),
    date: new Date(mail.at),
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
  if (letter.kind === 'REMINDER') {
    const words = reminderWords(JSON.parse(letter.bytes.toString()) as ReminderMail);
    return { ...message, ...words, from: { name: 'Calendar', address: from } };
  }
  const name = nameOf(book.nameOf(letter.from));
  const description = await describe(composing, options);
  const own = book.addressesOf(letter.from).find((address) => address.startsWith('mailto:'));
  return {
    ...message,
    ...schedulingWords(letter.kind, name, description, composing.link),
    from: { name, address: from },
    // People answer whom the mail is from; the installation's address is read by no person.
    ...(own === undefined ? {} : { replyTo: { name, address: own.slice('mailto:'.length) } }),
    icalEvent: { method: letter.kind, filename: 'invite.ics', content: Buffer.from(description.bytes) },
  };
}

async function describe({ from, letter, zone }: Composing, { book, pool }: ComposingOptions): Promise<Description> {
  const [known, ...others] = book.addressesOf(letter.from);
  const isMail = known?.startsWith('mailto:') === true;
  const principal = `/dav/principals/${encodeURIComponent(letter.from)}/`;
  const mailOf = isMail ? Object.fromEntries([...others, principal].map((address) => [address, known])) : {};
  return await pool.describe({
    bytes: letter.bytes,
    zone,
    addresses: { sender: `mailto:${from.toLowerCase()}`, mailOf },
  });
}

/** The same whenever the same mail is sent again, so that whoever got it twice can tell. */
function messageIdOf({ seq, to }: NumberedMail, from: string, epoch: string): string {
  const hash = createHash('sha256').update(`${epoch}\0${seq}\0${to}`).digest('hex').slice(0, 32);
  return `<${hash}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}

type Words = Pick<SendMailOptions, 'subject' | 'text' | 'html'>;

const ANSWERED: Readonly<Record<string, string>> = {
  ACCEPTED: 'Accepted',
  DECLINED: 'Declined',
  TENTATIVE: 'Tentative',
};

function schedulingWords(
  kind: Exclude<QueuedMailRecord['kind'], 'REMINDER'>,
  name: string,
  description: Description,
  link: string | undefined,
): Words {
  const title = titleOf(description);
  const { answer = '', isRecurring, isRevised, location, notes, when } = description;
  const answered = ANSWERED[answer] ?? 'Answer';
  const heads = {
    REQUEST: [isRevised ? 'Updated invitation' : 'Invitation', `${name} invites you:`],
    CANCEL: ['Cancelled', `${name} has cancelled:`],
    REPLY: [answered, `${name} has answered (${answered.toLowerCase()}):`],
  } as const;
  const [head, lead] = heads[kind];
  const facts: [string, string][] = [
    ...(when === undefined ? [] : [['When', `${whenOf(when)}${isRecurring ? ', repeating' : ''}`] as [string, string]]),
    ...(location === '' ? [] : [['Where', lineOf(location)] as [string, string]]),
  ];
  const remarks = kind === 'REQUEST' ? notesOf(notes) : '';
  return wordsOf({ subject: `${head}: ${title}`, lead, title, facts, remarks, link });
}

function reminderWords({ location, start, title, zone }: ReminderMail): Words {
  const facts: [string, string][] = [
    ...(start === undefined ? [] : [['When', instantIn(start, zone)] as [string, string]]),
    ...(location === undefined ? [] : [['Where', lineOf(location)] as [string, string]]),
  ];
  const shown = titleOf({ title });
  return wordsOf({
    subject: `Reminder: ${shown}`,
    lead: 'Reminder:',
    title: shown,
    facts,
    remarks: '',
    link: undefined,
  });
}

interface Said {
  readonly subject: string;
  readonly lead: string;
  readonly title: string;
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly remarks: string;
  readonly link: string | undefined;
}

const LINK_NOTE = 'This link answers for you alone. Do not pass it on.';

function wordsOf({ facts, lead, link, remarks, subject, title }: Said): Words {
  const text = [
    `${lead} ${title}`,
    '',
    ...facts.map(([name, value]) => `${name}: ${value}`),
    ...(remarks === '' ? [] : ['', remarks]),
    ...(link === undefined ? [] : ['', `Answer: ${link}`, LINK_NOTE]),
    '',
  ].join('\n');
  const rows = facts.map(([name, value]) => `<p>${name}: ${escapeHtml(value)}</p>`);
  const html = [
    '<!doctype html><html lang="en"><body>',
    `<p>${escapeHtml(lead)}</p><h2 dir="auto">${escapeHtml(title)}</h2>`,
    ...rows,
    ...(remarks === '' ? [] : [`<p dir="auto">${escapeHtml(remarks).replaceAll('\n', '<br>')}</p>`]),
    ...(link === undefined
      ? []
      : [`<p><a href="${escapeHtml(link)}">Answer this invitation</a></p><p>${LINK_NOTE}</p>`]),
    '</body></html>',
  ].join('\n');
  return { subject, text, html };
}
