/** Reminders as pushes: to devices that are not awake, once, and none to others (CAL-02, FRM-05). */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import { CERTIFICATE, LoopbackProvider, Subscription } from '#test/push/loopback-provider.ts';
import { startServer, type Person } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { makeCalendar } from '../service/calling.ts';
import { alarm, event, importEvents, inSeconds } from './importing.ts';

test('CAL-02 a reminder is pushed to the devices of the owner that are not awake, by its ids', async (t) => {
  const trusted = mkdtempSync(join(tmpdir(), 'parley-test-'));
  t.after(() => rmSync(trusted, { recursive: true, force: true }));
  const certificate = join(trusted, 'certificate.pem');
  writeFileSync(certificate, CERTIFICATE);
  const provider = await LoopbackProvider.open();
  t.after(async () => await provider.close());
  provider.answer = () => ({ status: 201 });
  const environment = { NODE_EXTRA_CA_CERTS: certificate, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  const server = await startServer({ shards: 2, environment });
  t.after(async () => await server.stop());
  const alice = await server.person('alice');
  const desktop: Person = { ...alice, session: await server.signIn('alice', alice.password) };
  const subscribe = async (who: Person, path: string) => {
    const subscription = new Subscription(`${provider.url}${path}`);
    const reply = await server.api(who, 'PUT', '/v1/push', subscription.address);
    assert.equal(reply.status, 200, reply.text);
    return subscription;
  };
  const phone = await subscribe(alice, '/push/phone/');
  await subscribe(desktop, '/push/desktop/');
  const socket = await connect(server, desktop);
  const { id } = await makeCalendar(server, alice);
  const at = inSeconds(6);
  await importEvents(server, alice, id, event('Dentist', at, alarm(at)), event('Train', at, alarm(at + 1000)));
  await socket.event(({ data }) => data['title'] === 'Train', 'the second reminder');
  const pushes = (await provider.askedOn('/push/phone/', 2)).map(({ body }) => phone.read(body));
  const told = socket.events.filter(({ type }) => type === 'calendar.reminder').map(({ data }) => data);
  const byTime = (a: Record<string, unknown>, b: Record<string, unknown>) =>
    String(a['remind_at']) < String(b['remind_at']) ? -1 : 1;
  assert.deepEqual(
    pushes.toSorted(byTime),
    ['Dentist', 'Train'].map((title, index) => ({
      reminder_id: told.find((one) => one['title'] === title)?.['reminder_id'],
      calendar_id: id,
      entry_id: entryIdOf(title),
      remind_at: new Date(at + index * 1000).toISOString(),
      late: false,
    })),
  );
  assert.deepEqual(await provider.askedOn('/push/desktop/', 0), [], 'a device that is awake hears of it by its socket');
  await socket.close();
});
