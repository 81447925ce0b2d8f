/** What a mail of the calendar says: words in text and HTML, and beside them the message itself (RFC 6047). */
import { createHash } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import type { AddressBook } from '../address-book.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import type { Description } from '../scheduling/describing.ts';
import type { EmailAlarm } from '../scheduling/outside-mail.ts';
import type { Revision } from '../scheduling/revisions.ts';
import type { Language } from '#src/protocol/languages.ts';
import type { QueuedMailRecord, NumberedMail } from '#storage/calendars/calendar-mails.ts';
import { escapeHtml, instantIn, lineOf, nameOf, notesOf, titleOf, whenOf } from './words.ts';
import { type Answered, type Wording, wordingOf } from './wording.ts';

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
  /** Its reader's. */
  readonly language: Language;
}

/** An alarm as a letter keeps it. */
export type ReminderMail = Pick<EmailAlarm, 'title' | 'location' | 'start' | 'zone'>;

/** One mail to one recipient. @throws CalendarFault for a letter that is no message; Refusal `busy`. */
export async function compose(composing: Composing, options: ComposingOptions): Promise<SendMailOptions> {
  const { from, language, letter, mail } = composing;
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
    const words = reminderWords(JSON.parse(letter.bytes.toString()) as ReminderMail, language);
    return { ...message, ...words, from: { name: wordingOf(language).calendar, address: from } };
  }
  const description = await describe(composing, options);
  const whose = nameOf(book.nameOf(letter.from));
  const name = delegateIn(book, letter.from, description, language) ?? whose;
  const own = book.addressesOf(letter.from).find((address) => address.startsWith('mailto:'));
  return {
    ...message,
    ...schedulingWords(letter.kind, composing, name, description),
    from: { name, address: from },
    // People answer whom the mail is from; the installation's address is read by no person.
    ...(own === undefined ? {} : { replyTo: { name: whose, address: own.slice('mailto:'.length) } }),
    icalEvent: { method: letter.kind, filename: 'invite.ics', content: Buffer.from(description.bytes) },
  };
}

/** How a mail names the delegate who wrote it in somebody's name; undefined where there was none. */
function delegateIn(book: AddressBook, from: string, { sentBy }: Description, language: Language): string | undefined {
  const delegate = sentBy === undefined ? undefined : book.userOf(sentBy);
  if (delegate === undefined || delegate === from) return undefined;
  return wordingOf(language).onBehalf(nameOf(book.nameOf(delegate)), nameOf(book.nameOf(from)));
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
type Fact = readonly [name: string, value: string];

function schedulingWords(
  kind: Exclude<QueuedMailRecord['kind'], 'REMINDER'>,
  { language, letter, link }: Composing,
  name: string,
  description: Description,
): Words {
  const wording = wordingOf(language);
  const { leads, subjects } = wording;
  const { answer = '', isRecurring, location, notes, when } = description;
  const answered = subjects[Object.hasOwn(wording.page.said, answer) ? (answer as Answered) : 'ANSWER'];
  const revisions = letter.revisions === undefined ? [] : (JSON.parse(letter.revisions) as Revision[]);
  const request = revisions.length > 0 ? 'UPDATE' : 'REQUEST';
  const [head, lead] =
    kind === 'REPLY'
      ? [answered, leads.REPLY(name, answered)]
      : kind === 'REQUEST'
        ? [subjects[request], leads[request](name)]
        : [subjects[kind], leads[kind](name)];
  const repeats = isRecurring ? `, ${wording.repeating}` : '';
  const facts: Fact[] = [
    ...(when === undefined ? [] : [[wording.when, `${whenOf(when, wording)}${repeats}`] as const]),
    ...(location === '' ? [] : [[wording.where, lineOf(location)] as const]),
  ];
  const title = titleOf(description, wording);
  const remarks = kind === 'REQUEST' ? notesOf(notes) : '';
  const changes = revisions.flatMap((revision) => revisionLines(revision, wording));
  return wordsOf({ subject: `${head}: ${title}`, lead, title, facts, remarks, link, changes, language });
}

/** `The occurrence of Monday 29 March 2027, 09:00–10:00 (Europe/Berlin): Where: Room 1 → Room 2`. */
function revisionLines({ facts, occurrence }: Revision, wording: Wording): string[] {
  const about = occurrence === undefined ? '' : `${wording.occurrence(whenOf(occurrence, wording))}: `;
  return facts.map((fact) => {
    const said = wording.facts[fact.what];
    if (!('before' in fact || 'after' in fact)) return `${about}${said}`;
    const [before, after] = [fact.before, fact.after].map((value) => {
      const text = typeof value === 'object' ? whenOf(value, wording) : lineOf(value ?? '');
      return text === '' ? wording.nothing : text;
    });
    return `${about}${said}: ${before} → ${after}`;
  });
}

function reminderWords({ location, start, title, zone }: ReminderMail, language: Language): Words {
  const wording = wordingOf(language);
  const facts: Fact[] = [
    ...(start === undefined ? [] : [[wording.when, instantIn(start, zone, wording)] as const]),
    ...(location === undefined ? [] : [[wording.where, lineOf(location)] as const]),
  ];
  const shown = titleOf({ title }, wording);
  const subject = `${wording.subjects.REMINDER}: ${shown}`;
  const lead = wording.leads.REMINDER;
  return wordsOf({ subject, lead, title: shown, facts, remarks: '', link: undefined, changes: [], language });
}

interface Said {
  readonly subject: string;
  readonly lead: string;
  readonly title: string;
  readonly facts: readonly Fact[];
  readonly remarks: string;
  readonly link: string | undefined;
  /** What is another than in the mail before. */
  readonly changes: readonly string[];
  readonly language: Language;
}

function wordsOf({ changes, facts, language, lead, link, remarks, subject, title }: Said): Words {
  const wording = wordingOf(language);
  const text = [
    `${lead} ${title}`,
    '',
    ...facts.map(([name, value]) => `${name}: ${value}`),
    ...(changes.length === 0 ? [] : ['', wording.changes, ...changes.map((line) => `- ${line}`)]),
    ...(remarks === '' ? [] : ['', remarks]),
    ...(link === undefined ? [] : ['', `${wording.answer}: ${link}`, wording.linkNote]),
    '',
  ].join('\n');
  const rows = facts.map(([name, value]) => `<p>${name}: ${escapeHtml(value)}</p>`);
  const items = changes.map((line) => `<li dir="auto">${escapeHtml(line)}</li>`);
  const html = [
    `<!doctype html><html lang="${language}"><body>`,
    `<p>${escapeHtml(lead)}</p><h2 dir="auto">${escapeHtml(title)}</h2>`,
    ...rows,
    ...(changes.length === 0 ? [] : [`<p>${wording.changes}</p><ul>${items.join('')}</ul>`]),
    ...(remarks === '' ? [] : [`<p dir="auto">${escapeHtml(remarks).replaceAll('\n', '<br>')}</p>`]),
    ...(link === undefined
      ? []
      : [`<p><a href="${escapeHtml(link)}">${wording.answerLink}</a></p><p>${wording.linkNote}</p>`]),
    '</body></html>',
  ].join('\n');
  return { subject, text, html };
}
