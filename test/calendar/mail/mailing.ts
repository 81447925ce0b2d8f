/** What tests of calendar mail do all the time: a server that takes mail, mails as servers write them, and both doors. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createTransport } from 'nodemailer';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { startConsoleServer, type AskConsole } from '#test/support/console.ts';
import { request, type Person, type Reply, type ServerOptions, type TestServer } from '#test/support/server.ts';
import { call, defaultCalendar } from '../service/calling.ts';

export const MAIL_TOKEN = 'mail-0123456789-0123456789-0123456789';
export const OTHER_TOKEN = 'other-0123456789-0123456789-0123456789';
/** The name of the operator's mail server. */
export const AUTHSERV = 'mx.example.org';
/** Somebody outside whose mail server signs. */
export const EVE = 'eve@outside.test';

/** The people of a test have the addresses `<name>@example.org`. */
export async function giveAddresses(server: TestServer, console: AskConsole, ...names: string[]) {
  const people = await server.people(...names);
  for (const name of names) await console('PATCH', `/users/${name}`, { email: `${name}@example.org` });
  return people;
}

export async function trustMail(console: AskConsole, values: object = {}): Promise<void> {
  const body = { domain: 'example.org', trusted_authserv_id: AUTHSERV, ...values };
  const reply = await console('PUT', '/settings/mail', body);
  assert.equal(reply.status, 200, reply.text);
}

/** Variables of a server that takes mail through both doors. */
export const MAIL_ENVIRONMENT = {
  PARLEY_LMTP_PORT: '0',
  PARLEY_SERVICE_TOKENS: JSON.stringify({ mail: MAIL_TOKEN, other: OTHER_TOKEN }),
};

/** A server that takes mail, with Alice, Bob and Carol, until the file's last test. */
export async function shareMailServer(options: Omit<ServerOptions, 'folder'> = {}) {
  const environment = { ...MAIL_ENVIRONMENT, ...options.environment };
  const { server, console, stop } = await startConsoleServer({ ...options, environment });
  after(stop);
  await trustMail(console);
  const { alice, bob, carol } = await giveAddresses(server, console, 'alice', 'bob', 'carol');
  return { server, console, alice: alice as Person, bob: bob as Person, carol: carol as Person };
}

/** The port of the LMTP door, as the server said when it was ready. */
export function lmtpPort(server: TestServer): number {
  const ready = server.output.find((line) => line.startsWith('{"event":"ready"')) ?? '{}';
  return (JSON.parse(ready) as { lmtp: number }).lmtp;
}

/** A VCALENDAR with that method; a component is its lines without BEGIN, END and UID. */
export function message(method: string, uid: string, ...components: (readonly string[])[]): string {
  const bodies = components.map((lines) => ['BEGIN:VEVENT', `UID:${uid}`, ...lines, 'END:VEVENT']);
  const head = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Outside//EN', `METHOD:${method}`];
  return [...head, ...bodies.flat(), 'END:VCALENDAR', ''].join('\r\n');
}

export const organizer = (address = EVE) => `ORGANIZER;CN=Eve:mailto:${address}`;
export const attendee = (address: string, partstat = 'NEEDS-ACTION') =>
  `ATTENDEE;RSVP=TRUE;PARTSTAT=${partstat}:mailto:${address}`;

/** The lines of an invitation of Bob by Eve, revised as often as `sequence` says, at that minute. */
export function invitation({ sequence = 0, minute = 0, more = [] as readonly string[] } = {}): string[] {
  const stamp = `DTSTAMP:20261121T08${String(minute).padStart(2, '0')}00Z`;
  const when = ['DTSTART:20270123T090000Z', 'DTEND:20270123T100000Z', 'SUMMARY:Tea'];
  return [stamp, ...when, `SEQUENCE:${sequence}`, organizer(), attendee('bob@example.org'), ...more];
}

export interface MailForm {
  readonly from?: string;
  /** Instead of one From field. */
  readonly fromFields?: readonly string[];
  /** What stands on top; by default that the operator's server vouches for the domain of EVE. */
  readonly top?: readonly string[];
  readonly fields?: readonly string[];
  /** Content-Type and what belongs to it. */
  readonly content?: readonly string[];
  readonly body: string;
}

export const VOUCHED = `Authentication-Results: ${AUTHSERV}; dmarc=pass (p=reject) header.from=outside.test`;

/** A mail as it comes from the operator's mail server. */
export function mailOf({ from = EVE, fromFields, top = [VOUCHED], fields = [], content, body }: MailForm): string {
  const type = content ?? ['Content-Type: text/calendar; charset=utf-8; method=REQUEST'];
  return [
    ...top,
    'Received: from mail.outside.test by mx.example.org; Sat, 21 Nov 2026 08:00:00 +0000',
    ...(fromFields ?? [`From: Eve <${from}>`]),
    'To: bob@example.org',
    'Subject: Invitation',
    'MIME-Version: 1.0',
    ...fields,
    ...type,
    '',
    body,
  ].join('\r\n');
}

/** A mail of a calendar message, whose method is stated in its part as well. */
export function calendarMail(text: string, form: Omit<MailForm, 'body'> = {}): string {
  const method = /^METHOD:(\w+)/m.exec(text)?.[1] ?? '';
  const content = [`Content-Type: text/calendar; charset=utf-8; method=${method}`];
  return mailOf({ content, ...form, body: text });
}

export interface Report {
  readonly items: { recipient: string; outcome: string; standing: string; say: string }[];
}

/** Hands a mail to the HTTP door as whoever has that token. */
export async function postMail<T = Report>(
  server: TestServer,
  mail: string | Uint8Array,
  recipients: string,
  { token = MAIL_TOKEN, type = 'message/rfc822' } = {},
): Promise<Reply<T>> {
  const headers = { 'content-type': type, 'x-recipients': recipients };
  return await request<T>('POST', `${server.calendar}/v1/mail`, { body: Buffer.from(mail), headers, token });
}

/** What becomes of a mail for one recipient. */
export async function outcomeOf(server: TestServer, mail: string, recipient = 'bob@example.org'): Promise<string> {
  const reply = await postMail(server, mail, recipient);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items[0]?.outcome ?? '';
}

/** Hands a mail to the LMTP door: recipient → reply of the server, as a mail server gets it. */
export async function deliverMail(
  server: TestServer,
  mail: string,
  recipients: readonly string[],
): Promise<Record<string, string>> {
  const transport = createTransport({ host: '127.0.0.1', port: lmtpPort(server), lmtp: true, ignoreTLS: true });
  try {
    const info = await transport.sendMail({
      envelope: { from: 'bounce@outside.test', to: [...recipients] },
      raw: mail,
    });
    const refused = (info.rejectedErrors ?? []).map((error) => [String(error.recipient), error.response ?? '']);
    return Object.fromEntries([...info.accepted.map((address) => [address, '250']), ...refused]);
  } catch (error) {
    const { rejectedErrors, response } = error as {
      rejectedErrors?: { recipient: string; response: string }[];
      response?: string;
    };
    const refused = (rejectedErrors ?? []).map((one): [string, string] => [one.recipient, one.response]);
    return refused.length > 0 ? Object.fromEntries(refused) : { '*': response ?? String(error) };
  } finally {
    transport.close();
  }
}

/** Everything in the calendar that everybody has. */
export async function entriesOf(server: TestServer, who: Person): Promise<EntryView[]> {
  const { id } = await defaultCalendar(server, who);
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${id}/changes?limit=200`);
  return reply.body.items;
}

export async function entryOf(server: TestServer, who: Person, uid: string): Promise<EntryView | undefined> {
  return (await entriesOf(server, who)).find((one) => one.uid === uid);
}

/** The object's bytes as they are exported. */
export async function exported(server: TestServer, who: Person): Promise<string> {
  const { id } = await defaultCalendar(server, who);
  const headers = { authorization: `Bearer ${who.session.token}` };
  const text = await (await fetch(`${server.calendar}/v1/calendars/${id}/export`, { headers })).text();
  return text.replaceAll(/\r\n[ \t]/g, '');
}
