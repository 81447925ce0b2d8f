/** Whose an e-mail address is when two people have it, over a running server and its restart. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { plantCallers } from '#test/console/callers.ts';
import { request, startServer, type Person } from '#test/support/server.ts';
import { basic, defaultCalendar } from './calling.ts';

const ADDRESS = 'desk@example.org';

function meeting(uid: string): string {
  const times = ['DTSTAMP:20260101T000000Z', 'DTSTART:20960328T080000Z'];
  const people = [`ORGANIZER:mailto:${ADDRESS}`, 'ATTENDEE:mailto:guest@elsewhere.example'];
  const lines = ['BEGIN:VEVENT', `UID:${uid}`, ...times, ...people, 'END:VEVENT'];
  return ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:test', ...lines, 'END:VCALENDAR', ''].join('\r\n');
}

test('CAL-01 an address of two people stays with who had it first, whoever changed last and after a restart', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const callers = await plantCallers(folder);
  let server = await startServer({ folder });
  t.after(async () => await server.stop());
  const { bob, carol } = await server.people('bob', 'carol');
  const change = async (user: string, body: object) => {
    const url = `${server.coordinator}/admin/api/users/${user}`;
    const { status, text } = await request('PATCH', url, { headers: callers['owner'], body });
    assert.equal(status, 200, text);
  };
  const headers: Record<string, Record<string, string>> = {};
  for (const person of [bob, carol]) {
    await defaultCalendar(server, person);
    const { token } = person.session;
    const made = await request('POST', `${server.coordinator}/v1/app-passwords`, { token, body: { name: 'Laptop' } });
    headers[person.session.user] = basic(person.session.user, String(made.body['password']));
  }
  const mayOrganise = async ({ session: { user } }: Person, uid: string) => {
    const url = `${server.calendar}/dav/calendars/${user}/default/${uid}.ics`;
    const type = { 'content-type': 'text/calendar' };
    const put = await fetch(url, { method: 'PUT', headers: { ...headers[user], ...type }, body: meeting(uid) });
    return put.status === 201;
  };
  await change('bob', { email: ADDRESS });
  await change('carol', { email: 'Desk@example.org' });
  await change('bob', { title: 'Front desk' });
  assert.deepEqual([await mayOrganise(bob, 'b1'), await mayOrganise(carol, 'c1')], [true, false]);
  await server.stop();
  server = await startServer({ folder });
  assert.deepEqual([await mayOrganise(bob, 'b2'), await mayOrganise(carol, 'c2')], [true, false]);
  await change('bob', { email: null });
  assert.deepEqual([await mayOrganise(bob, 'b3'), await mayOrganise(carol, 'c3')], [false, true]);
  await change('bob', { email: ADDRESS });
  assert.deepEqual([await mayOrganise(bob, 'b4'), await mayOrganise(carol, 'c4')], [false, true]);
  await server.stop();
  assert.deepEqual((await checkFolder(folder)).problems, []);
});
