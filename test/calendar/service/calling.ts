/** What tests of the calendar service do all the time: people call it, and are refused. */
import assert from 'node:assert/strict';
import type { CalendarView, EntryView } from '#src/protocol/calendars/calendars.ts';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { request, type Person, type Reply, type TestServer } from '#test/support/server.ts';

/** A request to the calendar service as a person, or as nobody. */
export async function call<T = Record<string, unknown>>(
  server: TestServer,
  who: Person | undefined,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply<T>> {
  return await request<T>(method, `${server.calendar}${path}`, { body, token: who?.session.token });
}

/** The calendar that everybody has. */
export async function defaultCalendar(server: TestServer, who: Person): Promise<CalendarView> {
  const reply = await call<{ items: CalendarView[] }>(server, who, 'GET', '/v1/calendars');
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items.find((calendar) => calendar.is_default) as CalendarView;
}

/** A new calendar of a person. */
export async function makeCalendar(server: TestServer, who: Person, form: object = {}): Promise<CalendarView> {
  const reply = await call<CalendarView>(server, who, 'POST', '/v1/calendars', { displayname: 'Work', ...form });
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

/** Creates an entry in a calendar and answers it. */
export async function makeEntry(server: TestServer, who: Person, calendar: string, form: object): Promise<EntryView> {
  const reply = await call<EntryView>(server, who, 'POST', `/v1/calendars/${calendar}/entries`, form);
  assert.equal(reply.status, 201, reply.text);
  return reply.body;
}

/** Everything that is in a calendar, page by page. */
export async function allEntries(server: TestServer, who: Person | undefined, calendar: string): Promise<EntryView[]> {
  const found: EntryView[] = [];
  for (let after = ''; ;) {
    const path = `/v1/calendars/${calendar}/changes?limit=200${after}`;
    const reply = await call<{ items: EntryView[]; more: boolean; next: string }>(server, who, 'GET', path);
    assert.equal(reply.status, 200, reply.text);
    found.push(...reply.body.items);
    if (!reply.body.more) return found;
    after = `&after=${reply.body.next}`;
  }
}

/** What is in a calendar between two instants: recurrence id or start, and title. */
export async function range(server: TestServer, who: Person, calendar: string, from: string, to: string) {
  const path = `/v1/calendars/${calendar}/entries?from=${from}&to=${to}`;
  const reply = await call<{ items: Record<string, unknown>[] }>(server, who, 'GET', path);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items;
}

/** A refusal with the status and the body of its code. */
export function assertRefused(reply: Reply, code: ErrorCode, field?: string): void {
  assert.deepEqual(
    [reply.status, reply.body['code'], reply.body['field']],
    [ERRORS[code].status, code, field],
    reply.text,
  );
  assert.equal(reply.body['error'], ERRORS[code].error);
}

/** The Authorization header of an app password. */
export function basic(user: string, password: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** A new app password of a person, as the header that their clients send. */
export async function appPassword(server: TestServer, who: Person): Promise<Record<string, string>> {
  const { token } = who.session;
  const form = { token, body: { name: 'Client' } };
  const made = await request<{ password: string }>('POST', `${server.coordinator}/v1/app-passwords`, form);
  assert.equal(made.status, 201, made.text);
  return basic(who.username, made.body.password);
}

/** Puts an object by CalDAV and answers its status. */
export async function putObject(
  server: TestServer,
  headers: Readonly<Record<string, string>>,
  path: string,
  text: string,
): Promise<Response> {
  const all = { ...headers, 'content-type': 'text/calendar' };
  const response = await fetch(`${server.calendar}${path}`, { method: 'PUT', headers: all, body: text });
  await response.text();
  return response;
}

/** An event as a client writes it. */
export function eventText(uid: string, lines: readonly string[] = []): string {
  const start = ['DTSTAMP:20261121T080000Z', 'DTSTART:20261123T090000Z', 'DTEND:20261123T100000Z', 'SUMMARY:Talk'];
  const all = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', 'BEGIN:VEVENT', `UID:${uid}`, ...start, ...lines];
  return [...all, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');
}
