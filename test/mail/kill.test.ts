/** Mail over kill -9: what was promised leaves, and a repeat is known by its Message-ID (CAL-03). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { checkFolder } from '#storage/check/check.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { call } from '../calendar/service/calling.ts';
import { calendarOf, trusting } from './mail-server.ts';
import { openMailScene, TALK } from './scene.ts';

test('CAL-03 after kill -9 each mail of an entry that was acknowledged leaves, a repeat under its Message-ID', async (t) => {
  const scene = await openMailScene(t);
  const { alice, calendar, mails, server } = scene;
  const guests = ['mailto:zoe@example.net', 'mailto:yan@example.net'];
  const acknowledged: string[] = [];
  const killed = { is: false };
  const writers = Array.from({ length: 4 }, async () => {
    while (!killed.is) {
      const path = `/v1/calendars/${calendar}/entries`;
      const reply = await call<EntryView>(server, alice, 'POST', path, { ...TALK, attendees: guests }).catch(
        () => undefined,
      );
      if (reply?.status === 201) acknowledged.push(reply.body.uid);
    }
  });
  await until(() => acknowledged.length >= 20 && mails.mails.length >= 5, 'some entries and mails');
  await server.end('SIGKILL');
  killed.is = true;
  await Promise.all(writers);
  assert.ok(mails.mails.length < acknowledged.length * 2, 'something was on its way when the process ended');
  assert.deepEqual((await checkFolder(server.folder)).problems, []);

  const again = await startServer({ folder: server.folder, environment: trusting(t) });
  t.after(async () => await again.end('SIGKILL'));
  const wanted = acknowledged.flatMap((uid) => guests.map((guest) => `${uid} ${guest.slice('mailto:'.length)}`));
  const arrived = () => {
    const found = new Map<string, Set<string | undefined>>();
    for (const mail of mails.mails) {
      const [, uid] = /^UID:(.*)$/m.exec(calendarOf(mail)) ?? [];
      const which = `${uid} ${mail.to[0]}`;
      found.set(which, (found.get(which) ?? new Set()).add(mail.email.messageId));
    }
    return found;
  };
  await until(
    () => mails.mails.length >= wanted.length && wanted.every((one) => arrived().has(one)),
    'all mails',
    30_000,
  );
  assert.deepEqual(
    [...arrived().values()].filter((ids) => ids.size !== 1),
    [],
  );
  const session = await again.signIn(alice.username, alice.password);
  const statuses = async () => {
    const url = `${again.calendar}/v1/calendars/${calendar}/export`;
    const text = await (await fetch(url, { headers: { authorization: `Bearer ${session.token}` } })).text();
    const lines = text.replaceAll('\r\n ', '').split('\r\n');
    return lines.filter((line) => line.startsWith('ATTENDEE') && line.includes('@example.net'));
  };
  await until(async () => (await statuses()).every((line) => line.includes('SCHEDULE-STATUS=1.1')), 'the statuses');
  await again.end('SIGTERM');
  assert.deepEqual((await checkFolder(server.folder)).problems, []);
});
