/** Who hears of a proposal of another time where what is organised lies in a calendar of somebody else. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { startConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { connect, type TestEvent, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { giveAddresses } from '../mail/mailing.ts';
import { call, defaultCalendar, makeEntry } from '../service/calling.ts';

const { console, server, stop } = await startConsoleServer({});
after(stop);
const { alice, bob, carol, dave } = (await giveAddresses(server, console, 'alice', 'bob', 'carol', 'dave')) as Record<
  'alice' | 'bob' | 'carol' | 'dave',
  Person
>;
const { id: bobs } = await defaultCalendar(server, bob);

const TALK = {
  title: 'Talk',
  local_start: '2027-03-30T09:00:00',
  local_end: '2027-03-30T10:00:00',
  tz: 'Europe/Berlin',
};
const NOON = { start_at: '2027-03-30T10:00:00Z', end_at: '2027-03-30T11:30:00Z' };

const isProposal =
  (calendar: string, entry: string) =>
  ({ data, type }: TestEvent) =>
    type === 'calendar.proposal' && data['calendar_id'] === calendar && data['entry_id'] === entry;

test('CAL-04 SOC-04 of a proposal for what somebody organises in a calendar of another, that calendar’s delegates hear nothing', async () => {
  const { id: daves } = await defaultCalendar(server, dave);
  const sharing = async (who: Person, access: string) =>
    await call(server, dave, 'PUT', `/v1/calendars/${daves}/shares/${who.username}`, { access });
  for (const [who, access] of [
    [alice, 'write'],
    [carol, 'delegate'],
  ] as const)
    assert.ok((await sharing(who, access)).status < 300);
  const sockets = await Promise.all([alice, carol].map(async (who) => await connect(server, who)));
  const [hers, delegates] = sockets as [TestSocket, TestSocket];
  // A program writes what it organises where it may write: the entry is Dave’s, and the meeting Alice’s.
  const { id, uid } = await makeEntry(server, alice, daves, { ...TALK, attendees: ['bob'] });
  const copy = await until(async () => {
    const reply = await call<{ items: EntryView[] }>(server, bob, 'GET', `/v1/calendars/${bobs}/changes?limit=200`);
    return reply.body.items.find((one) => one.uid === uid) ?? false;
  }, 'the invitation');
  assert.equal((await call(server, bob, 'POST', `/v1/invitations/${bobs}/${copy.id}/proposals`, NOON)).status, 204);
  await hers.event(isProposal(daves, id), 'the proposal');
  // What the delegate hears behind all of it is the change, and no proposal.
  const changes = () =>
    delegates.events.filter(({ data, type }) => type === 'calendar.changed' && data['calendar_id'] === daves).length;
  const before = changes();
  await makeEntry(server, dave, daves, { ...TALK, title: 'Behind it' });
  await until(() => changes() > before, 'the change to be heard');
  assert.deepEqual(delegates.events.filter(isProposal(daves, id)), []);
  for (const socket of sockets) socket.raw.close();
  for (const who of [alice, carol]) await call(server, dave, 'DELETE', `/v1/calendars/${daves}/shares/${who.username}`);
});
