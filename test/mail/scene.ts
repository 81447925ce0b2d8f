/** A real server that sends mail to one of the tests, with people whose addresses the directory knows. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { startConsoleServer, type AskConsole } from '#test/support/console.ts';
import { until } from '#test/support/waiting.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { call, defaultCalendar, makeEntry } from '../calendar/service/calling.ts';
import { mailSettings, MailServer, trusting, type MailServerOptions } from './mail-server.ts';

export interface MailScene {
  readonly server: TestServer;
  readonly console: AskConsole;
  readonly mails: MailServer;
  readonly alice: Person;
  readonly bob: Person;
  /** Alice's default calendar. */
  readonly calendar: string;
}

/** Ends with the test. */
export async function openMailScene(t: TestContext, options: MailServerOptions = {}): Promise<MailScene> {
  const mails = await MailServer.open(t, options);
  const { console, server, stop } = await startConsoleServer({ environment: trusting(t) });
  t.after(stop);
  const { alice, bob } = await server.people('alice', 'bob');
  const profiles = { alice: 'Alice Ünal', bob: 'Bob' };
  for (const [user, name] of Object.entries(profiles)) {
    const body = { display_name: name, email: `${user}@example.org` };
    const reply = await console('PATCH', `/users/${user}`, body);
    assert.equal(reply.status, 200, reply.text);
  }
  const set = await console('PUT', '/settings/mail', mailSettings(mails.port));
  assert.equal(set.status, 200, set.text);
  const { id: calendar } = await defaultCalendar(server, alice);
  return { server, console, mails, alice, bob, calendar };
}

export const TALK = {
  title: 'Talk',
  location: 'Room 1',
  description: 'Bring notes.',
  local_start: '2027-03-29T09:00:00',
  local_end: '2027-03-29T10:00:00',
  tz: 'Europe/Berlin',
};

/** An entry of Alice's, with these attendees. */
export async function invite(
  { alice, calendar, server }: MailScene,
  attendees: readonly string[],
  form: object = {},
): Promise<EntryView> {
  return await makeEntry(server, alice, calendar, { ...TALK, ...form, attendees });
}

/** The stored bytes of an entry of somebody, unfolded. */
export async function bytesOf({ server }: MailScene, who: Person, calendar: string, uid: string): Promise<string> {
  const url = `${server.calendar}/v1/calendars/${calendar}/export`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${who.session.token}` } });
  const text = (await response.text()).replaceAll('\r\n ', '');
  const events = text.split('BEGIN:VEVENT').filter((part) => part.includes(`UID:${uid}\r\n`));
  return events.join('BEGIN:VEVENT');
}

/** The line of an address in an entry of Alice's, once it matches. */
export async function lineWhen(scene: MailScene, uid: string, address: string, right: RegExp): Promise<string> {
  return await until(
    async () => {
      const text = await bytesOf(scene, scene.alice, scene.calendar, uid);
      return text.split('\r\n').find((line) => line.toLowerCase().includes(address) && right.test(line)) ?? false;
    },
    `${address} ${String(right)}`,
  );
}

/** A change of an entry of Alice's. */
export async function change({ alice, calendar, server }: MailScene, entry: EntryView, form: object): Promise<void> {
  const path = `/v1/calendars/${calendar}/entries/${entry.id}`;
  const reply = await call(server, alice, 'PATCH', path, form);
  assert.equal(reply.status, 200, reply.text);
}

export async function remove({ alice, calendar, server }: MailScene, entry: EntryView): Promise<void> {
  const reply = await call(server, alice, 'DELETE', `/v1/calendars/${calendar}/entries/${entry.id}`);
  assert.ok(reply.status < 300, reply.text);
}
