/**
 * Another time for what one is invited to (RFC 5546, 3.2.7 and 3.2.8): proposed by JSON, by a program and by mail, taken or not by
 * who organises, and by nobody in anybody else's name.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ProposalView } from '#src/protocol/calendars/calendar-proposals.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { startConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { connect, type TestEvent, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { mailSettings, MailServer, trusting, type TakenMail } from '#test/mail/mail-server.ts';
import {
  attendee,
  AUTHSERV,
  calendarMail,
  EVE,
  giveAddresses,
  MAIL_ENVIRONMENT,
  message,
  organizer,
  outcomeOf,
  VOUCHED,
} from '../mail/mailing.ts';
import { appPassword, assertRefused, call, defaultCalendar, makeEntry } from '../service/calling.ts';

const ending = { after: (end: () => void | Promise<void>) => after(end) };
const mails = await MailServer.open(ending);
const { console, server, stop } = await startConsoleServer({
  environment: { ...trusting(ending), ...MAIL_ENVIRONMENT },
});
after(stop);
const { alice, bob, carol, dave } = (await giveAddresses(server, console, 'alice', 'bob', 'carol', 'dave')) as Record<
  'alice' | 'bob' | 'carol' | 'dave',
  Person
>;
const set = await console('PUT', '/settings/mail', { ...mailSettings(mails.port), trusted_authserv_id: AUTHSERV });
assert.equal(set.status, 200, set.text);
const { id: alices } = await defaultCalendar(server, alice);
const { id: bobs } = await defaultCalendar(server, bob);

const TALK = {
  title: 'Talk',
  local_start: '2027-03-30T09:00:00',
  local_end: '2027-03-30T10:00:00',
  tz: 'Europe/Berlin',
};
const NOON = { start_at: '2027-03-30T10:00:00Z', end_at: '2027-03-30T11:30:00Z' };

async function invite(attendees: readonly string[], form: object = {}): Promise<EntryView> {
  return await makeEntry(server, alice, alices, { ...TALK, ...form, attendees });
}

async function entryWhen(
  who: Person,
  calendar: string,
  uid: string,
  isRight: (one: EntryView) => boolean = () => true,
) {
  return await until(async () => {
    const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${calendar}/changes?limit=200`);
    return reply.body.items.find((one) => one.uid === uid && isRight(one)) ?? false;
  }, `${uid} of ${who.username}`);
}

async function propose(who: Person, calendar: string, entry: string, form: object) {
  return await call(server, who, 'POST', `/v1/invitations/${calendar}/${entry}/proposals`, form);
}

async function proposalsOf(who: Person, entry: string): Promise<ProposalView[]> {
  const reply = await call<{ items: ProposalView[] }>(server, who, 'GET', '/v1/proposals');
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items.filter(({ entry_id: id }) => id === entry);
}

async function proposalWhen(who: Person, entry: string, isRight: (one: ProposalView) => boolean = () => true) {
  return await until(async () => {
    const [only, second] = await proposalsOf(who, entry);
    assert.equal(second, undefined);
    return only !== undefined && isRight(only) && only;
  }, `a proposal for ${entry} to ${who.username}`);
}

const answer = async (who: Person, { id }: { id: string }, body: object) =>
  await call(server, who, 'PUT', `/v1/proposals/${id}/answer`, body);

async function mailTo(address: string, subject: string): Promise<TakenMail> {
  return await until(
    () => mails.mails.find(({ email, to }) => to[0] === address && email.subject === subject) ?? false,
    `${subject} to ${address}`,
  );
}

test('CAL-04 who is invited proposes another time, the organiser sees it and takes it, and everybody has it', async () => {
  const { id, uid } = await invite(['bob', 'carol']);
  const copy = await entryWhen(bob, bobs, uid);
  const proposed = await propose(bob, bobs, copy.id, { ...NOON, comment: 'I have a train.' });
  assert.equal(proposed.status, 204, proposed.text);
  const waiting = await proposalWhen(alice, id);
  assert.deepEqual(
    { ...waiting, id: '', proposed_at: '' },
    {
      ...{ id: '', standing: 'waiting', calendar_id: alices, entry_id: id, title: 'Talk' },
      from: { user: 'bob', address: 'mailto:bob@example.org', name: 'bob' },
      ...{ all_day: false, start_at: '2027-03-30T10:00:00.000Z', end_at: '2027-03-30T11:30:00.000Z' },
      ...{ local_start: '2027-03-30T12:00:00', tz: 'Europe/Berlin', comment: 'I have a train.', proposed_at: '' },
    },
  );
  // Nothing moved by it, and nobody else sees or answers it.
  assert.equal((await entryWhen(alice, alices, uid)).start_at, '2027-03-30T07:00:00.000Z');
  for (const other of [bob, carol]) {
    assert.deepEqual(await proposalsOf(other, id), []);
    assertRefused(await answer(other, waiting, { answer: 'accepted' }), 'proposal_not_found');
  }
  const taken = await answer(alice, waiting, { answer: 'accepted' });
  assert.equal(taken.status, 204, taken.text);
  assert.deepEqual(await proposalsOf(alice, id), []);
  assertRefused(await answer(alice, waiting, { answer: 'accepted' }), 'proposal_not_found');
  const moved = await entryWhen(alice, alices, uid);
  assert.deepEqual([moved.start_at, moved.end_at, moved.tz], [waiting.start_at, waiting.end_at, 'Europe/Berlin']);
  const { id: carols } = await defaultCalendar(server, carol);
  for (const [who, calendar] of [
    [bob, bobs],
    [carol, carols],
  ] as const) {
    const there = await entryWhen(who, calendar, uid, (one) => one.start_at === waiting.start_at);
    assert.equal(there.attendees.find(({ user }) => user === who.username)?.answer, 'needs_action');
  }
});

test('CAL-04 a proposal that is not taken is told to who made it, and nothing moves', async () => {
  const { id, uid } = await invite(['bob']);
  const copy = await entryWhen(bob, bobs, uid);
  await propose(bob, bobs, copy.id, NOON);
  const waiting = await proposalWhen(alice, id);
  const declined = await answer(alice, waiting, { answer: 'declined', comment: 'The room is taken.' });
  assert.equal(declined.status, 204, declined.text);
  assert.deepEqual(await proposalsOf(alice, id), []);
  const told = await proposalWhen(bob, copy.id);
  assert.deepEqual([told.standing, told.from.user, told.comment], ['declined', 'alice', 'The room is taken.']);
  assertRefused(await answer(bob, told, { answer: 'accepted' }), 'proposal_not_found');
  // Who has read that takes it from the list; nobody else does, and what waits is answered.
  const remove = async (who: Person, one: string) => await call(server, who, 'DELETE', `/v1/proposals/${one}`);
  for (const who of [alice, carol]) assertRefused(await remove(who, told.id), 'proposal_not_found');
  assert.equal((await remove(bob, told.id)).status, 204);
  assert.deepEqual(await proposalsOf(bob, copy.id), []);
  assertRefused(await remove(bob, told.id), 'proposal_not_found');
  assert.equal((await propose(bob, bobs, copy.id, NOON)).status, 204);
  const again = await proposalWhen(alice, id);
  assertRefused(await remove(alice, again.id), 'proposal_not_found');
  assert.deepEqual((await proposalsOf(alice, id)).length, 1);
  assert.equal((await entryWhen(bob, bobs, uid)).start_at, '2027-03-30T07:00:00.000Z');
});

test('CAL-04 one occurrence is proposed and moved by itself; the newest proposal of one person counts', async () => {
  const { id, uid } = await invite(['bob'], { rule: { frequency: 'weekly', count: 4 } });
  const copy = await entryWhen(bob, bobs, uid);
  const at = (recurrenceId: string) => ({ recurrence_id: recurrenceId });
  assertRefused(await propose(bob, bobs, copy.id, { ...NOON, ...at('20270331T090000') }), 'invitation_not_found');
  const first = { start_at: '2027-04-06T12:00:00Z', end_at: '2027-04-06T13:00:00Z' };
  assert.equal((await propose(bob, bobs, copy.id, { ...first, ...at('20270406T090000') })).status, 204);
  await proposalWhen(alice, id, (one) => one.recurrence_id === '20270406T090000');
  // Without an end it stays as long as it is.
  assert.equal(
    (await propose(bob, bobs, copy.id, { start_at: '2027-04-14T12:00:00Z', ...at('20270413T090000') })).status,
    204,
  );
  const waiting = await proposalWhen(alice, id, (one) => one.recurrence_id === '20270413T090000');
  assert.equal(waiting.end_at, '2027-04-14T13:00:00.000Z');
  const taken = await answer(alice, waiting, { answer: 'accepted' });
  assert.equal(taken.status, 204, taken.text);
  const entry = await entryWhen(bob, bobs, uid, ({ changed }) => changed.includes('20270413T090000'));
  assert.deepEqual(entry.changed, ['20270413T090000']);
  const path = `/v1/calendars/${bobs}/entries?from=2027-04-14T00:00:00Z&to=2027-04-15T00:00:00Z`;
  const there = await call<{ items: { entry_id: string; start_at: string }[] }>(server, bob, 'GET', path);
  assert.deepEqual(
    there.body.items.filter((one) => one.entry_id === copy.id).map((one) => one.start_at),
    ['2027-04-14T12:00:00.000Z'],
  );
});

test('CAL-04 what is outdated, the same, one’s own, cancelled or not at a time is refused and changes nothing', async () => {
  const { id, uid } = await invite(['bob']);
  const copy = await entryWhen(bob, bobs, uid);
  assertRefused(await propose(bob, bobs, copy.id, {}), 'field_invalid', 'local_start');
  assertRefused(await propose(bob, bobs, copy.id, { comment: 'x'.repeat(501), ...NOON }), 'field_invalid', 'comment');
  assertRefused(await propose(bob, bobs, copy.id, { ...NOON, date: '2027-03-30' }), 'field_invalid', 'local_start');
  assertRefused(await propose(bob, bobs, copy.id, { ...NOON, attendees: ['carol'] }), 'field_unknown', 'attendees');
  assertRefused(
    await propose(bob, bobs, copy.id, { local_start: TALK.local_start, local_end: TALK.local_end, tz: TALK.tz }),
    'proposal_forbidden',
  );
  assertRefused(await propose(alice, alices, id, NOON), 'proposal_forbidden');
  assertRefused(await propose(carol, bobs, copy.id, NOON), 'invitation_not_found');
  const plain = await makeEntry(server, bob, bobs, TALK);
  assertRefused(await propose(bob, bobs, plain.id, NOON), 'invitation_not_found');
  // Moved before it is answered: it is about what was before.
  assert.equal((await propose(bob, bobs, copy.id, NOON)).status, 204);
  const waiting = await proposalWhen(alice, id);
  const path = `/v1/calendars/${alices}/entries/${id}`;
  const moved = { scope: 'all', start_at: '2027-03-31T07:00:00Z', end_at: '2027-03-31T08:00:00Z' };
  assert.equal((await call(server, alice, 'PATCH', path, moved)).status, 200);
  assert.deepEqual(await proposalsOf(alice, id), []);
  assertRefused(await answer(alice, waiting, { answer: 'accepted' }), 'proposal_not_found');
  assertRefused(await answer(alice, { id: 'x' }, { answer: 'accepted' }), 'proposal_not_found');
  assert.equal((await call(server, alice, 'DELETE', path)).status, 204);
  await entryWhen(bob, bobs, uid, ({ status }) => status === 'cancelled');
  assertRefused(await propose(bob, bobs, copy.id, NOON), 'proposal_outdated');
});

test('CAL-04 who is taken out of a meeting has nothing proposed there any more, and proposes nothing', async () => {
  const { id, uid } = await invite(['bob', 'carol']);
  const copy = await entryWhen(bob, bobs, uid);
  assert.equal((await propose(bob, bobs, copy.id, { ...NOON, comment: 'Me first.' })).status, 204);
  const waiting = await proposalWhen(alice, id);
  const path = `/v1/calendars/${alices}/entries/${id}`;
  const without = await call(server, alice, 'PATCH', path, { scope: 'all', attendees: ['carol'] });
  assert.equal(without.status, 200, without.text);
  await entryWhen(bob, bobs, uid, ({ status }) => status === 'cancelled');
  assert.deepEqual(await proposalsOf(alice, id), []);
  assertRefused(await answer(alice, waiting, { answer: 'accepted' }), 'proposal_not_found');
  assertRefused(await answer(alice, waiting, { answer: 'declined' }), 'proposal_not_found');
  assertRefused(await propose(bob, bobs, copy.id, NOON), 'proposal_outdated');
  // Nor by a program that writes the message itself, as of a moment that is still to come.
  const sent = await post(bob, counter(uid, 'bob', ['SEQUENCE:9']).replace('20261123T08', '20361123T08'));
  assert.ok(sent.status >= 400, sent.text);
  // Nor where they hold their copy alive.
  const headers = { ...(await appPassword(server, bob)), 'content-type': 'text/calendar' };
  const name = await until(async () => {
    const listed = await fetch(`${server.calendar}/dav/calendars/bob/default/`, {
      ...{ method: 'PROPFIND', headers: { ...headers, depth: '1' } },
    });
    const names = [...(await listed.text()).matchAll(/\/default\/([^<]+\.ics)</g)].map(([, one = '']) => one);
    for (const one of names) {
      const text = await (await fetch(`${server.calendar}/dav/calendars/bob/default/${one}`, { headers })).text();
      if (text.includes(uid)) return one;
    }
    return false;
  }, 'the file of the copy');
  const file = `${server.calendar}/dav/calendars/bob/default/${name}`;
  const held = (await (await fetch(file, { headers })).text()).replace('STATUS:CANCELLED', 'STATUS:CONFIRMED');
  await (await fetch(file, { method: 'PUT', headers, body: held })).text();
  await propose(bob, bobs, copy.id, NOON);
  await post(bob, counter(uid, 'bob', ['SEQUENCE:9']).replace('20261123T08', '20361123T09'));
  // What Carol proposes afterwards comes behind whatever of Bob's was on its way.
  const { id: carols } = await defaultCalendar(server, carol);
  const { id: hers } = await entryWhen(carol, carols, uid);
  assert.equal((await propose(carol, carols, hers, NOON)).status, 204);
  const only = await proposalWhen(alice, id);
  assert.equal(only.from.user, 'carol');
  assert.equal((await entryWhen(alice, alices, uid)).start_at, '2027-03-30T07:00:00.000Z');
});

async function share(owner: Person, calendar: string, who: Person, access: string | undefined): Promise<void> {
  const path = `/v1/calendars/${calendar}/shares/${who.username}`;
  const reply =
    access === undefined
      ? await call(server, owner, 'DELETE', path)
      : await call(server, owner, 'PUT', path, { access });
  assert.ok([200, 201, 204, 404].includes(reply.status), reply.text);
}

const isProposal =
  (calendar: string, entry: string) =>
  ({ data, type }: TestEvent) =>
    type === 'calendar.proposal' && data['calendar_id'] === calendar && data['entry_id'] === entry;
/** Waits until a socket has heard of as many proposals for an entry. */
const heard = async (socket: TestSocket, calendar: string, entry: string, count: number) =>
  await until(
    () => socket.events.filter(isProposal(calendar, entry)).length >= count,
    `${count} events of ${entry} in ${calendar}`,
  );

test('CAL-04 SOC-04 who organises, their delegate and who proposed hear of a proposal, and nobody else does', async () => {
  const sharees = { carol: 'delegate', dave: 'write' };
  await share(alice, alices, carol, sharees.carol);
  await share(alice, alices, dave, sharees.dave);
  const sockets = await Promise.all([alice, bob, carol, dave].map(async (who) => await connect(server, who)));
  const [hers, his, delegates, writers] = sockets as [TestSocket, TestSocket, TestSocket, TestSocket];
  const { id, uid } = await invite(['bob']);
  const copy = await entryWhen(bob, bobs, uid);
  assert.equal((await propose(bob, bobs, copy.id, NOON)).status, 204);
  for (const socket of [hers, delegates]) {
    const { data, conv } = await socket.event(isProposal(alices, id), 'the proposal');
    // Where it is, and nothing of what it says.
    assert.deepEqual([data, conv], [{ calendar_id: alices, entry_id: id }, undefined]);
  }
  const waiting = await proposalWhen(alice, id);
  assert.equal((await answer(alice, waiting, { answer: 'declined' })).status, 204);
  await heard(his, bobs, copy.id, 1);
  for (const socket of [hers, delegates]) await heard(socket, alices, id, 2);
  // A program that clears the inbox is heard of by the other devices, too.
  assert.equal((await propose(bob, bobs, copy.id, NOON)).status, 204);
  const again = await proposalWhen(alice, id);
  await heard(hers, alices, id, 3);
  const headers = await appPassword(server, alice);
  const url = `${server.calendar}/dav/inbox/alice/${again.id}.ics`;
  assert.equal((await fetch(url, { method: 'DELETE', headers })).status, 204);
  await heard(hers, alices, id, 4);
  // What the writer hears behind all of it is the change, and no proposal.
  await call(server, alice, 'PATCH', `/v1/calendars/${alices}/entries/${id}`, { title: 'Heard by all' });
  await writers.event(({ data, type }) => type === 'calendar.changed' && data['calendar_id'] === alices);
  for (const socket of [writers, his]) assert.deepEqual(socket.events.filter(isProposal(alices, id)), []);
  assert.deepEqual(
    writers.events.filter(({ type }) => type === 'calendar.proposal'),
    [],
  );
  for (const socket of sockets) socket.raw.close();
  for (const who of [carol, dave]) await share(alice, alices, who, undefined);
});

test('CAL-03 CAL-04 a delegate reads, takes and declines what is proposed to the owner, and proposes in their name', async () => {
  const second = await call<{ id: string }>(server, alice, 'POST', '/v1/calendars', { displayname: 'Not shared' });
  const { id, uid } = await invite(['bob']);
  const other = await makeEntry(server, alice, second.body.id, { ...TALK, attendees: ['bob'] });
  const copies = [await entryWhen(bob, bobs, uid), await entryWhen(bob, bobs, other.uid)] as const;
  for (const copy of copies)
    assert.equal((await propose(bob, bobs, copy.id, { ...NOON, comment: 'Noon?' })).status, 204);
  const own = await proposalWhen(alice, id);
  const unshared = await proposalWhen(alice, other.id);
  const asDelegates = (calendar: string, one: ProposalView) => ({ id: `${calendar}-${one.id}` });
  for (const access of [undefined, 'free_busy', 'read', 'write']) {
    await share(alice, alices, dave, access);
    assert.deepEqual(await proposalsOf(dave, id), [], access);
    for (const form of [own, asDelegates(alices, own)]) {
      assertRefused(await answer(dave, form, { answer: 'accepted' }), 'proposal_not_found');
    }
  }
  await share(alice, alices, dave, 'delegate');
  // The same as the owner reads, under an id of their own; of a calendar that is not theirs nothing.
  const [theirs] = await proposalsOf(dave, id);
  assert.deepEqual(theirs, { ...own, ...asDelegates(alices, own) });
  assert.deepEqual(await proposalsOf(dave, other.id), []);
  for (const form of [
    own,
    asDelegates(second.body.id, unshared),
    asDelegates(alices, unshared),
    asDelegates(bobs, own),
  ]) {
    assertRefused(await answer(dave, form, { answer: 'accepted' }), 'proposal_not_found');
  }
  const declined = await answer(dave, asDelegates(alices, own), { answer: 'declined', comment: 'No.' });
  assert.equal(declined.status, 204, declined.text);
  const told = await proposalWhen(bob, copies[0].id);
  const byDave = { user: 'dave', address: person('dave'), name: 'dave' };
  assert.deepEqual(
    [told.standing, told.comment, told.from],
    ['declined', 'No.', { user: 'alice', address: person('alice'), name: 'alice', sent_by: byDave }],
  );
  assert.deepEqual(await proposalsOf(alice, id), []);
  // Taken, it is a change of the entry by the delegate.
  assert.equal((await propose(bob, bobs, copies[0].id, NOON)).status, 204);
  const again = await proposalWhen(dave, id);
  assert.equal((await answer(dave, again, { answer: 'accepted' })).status, 204);
  const moved = await entryWhen(bob, bobs, uid, (one) => one.start_at === '2027-03-30T10:00:00.000Z');
  assert.deepEqual([moved.organizer?.user, moved.organizer?.sent_by?.user], ['alice', 'dave']);

  // What Alice is invited to: her delegate proposes, and it is from Alice.
  const bobsTalk = await makeEntry(server, bob, bobs, { ...TALK, attendees: ['alice'] });
  const copy = await entryWhen(alice, alices, bobsTalk.uid);
  const proposed = await propose(dave, alices, copy.id, NOON);
  assert.equal(proposed.status, 204, proposed.text);
  const toBob = await proposalWhen(bob, bobsTalk.id);
  assert.deepEqual([toBob.from.user, toBob.from.sent_by], ['alice', byDave]);
  // What she then says herself says so.
  assert.equal((await propose(alice, alices, copy.id, { ...NOON, comment: 'I' })).status, 204);
  const hers = await proposalWhen(bob, bobsTalk.id, ({ comment }) => comment === 'I');
  assert.deepEqual([hers.from.user, hers.from.sent_by], ['alice', undefined]);
  assert.equal((await answer(bob, hers, { answer: 'declined' })).status, 204);
  const refusedOnes = [await proposalWhen(alice, copy.id), await proposalWhen(dave, copy.id)];
  assert.deepEqual(
    refusedOnes.map(({ from, standing }) => [from.user, from.sent_by, standing]),
    [
      ['bob', undefined, 'declined'],
      ['bob', undefined, 'declined'],
    ],
  );
  await share(alice, alices, dave, 'write');
  assertRefused(await propose(dave, alices, copy.id, NOON), 'invitation_not_found');
  await share(alice, alices, dave, undefined);
});

test('CAL-04 nobody is named as a delegate by a program or a mail that says so', async () => {
  const { id, uid } = await invite(['bob', `mailto:${EVE}`]);
  await entryWhen(bob, bobs, uid);
  const claiming = counter(uid, 'bob').replace('ATTENDEE:', `ATTENDEE;SENT-BY="${person('carol')}":`);
  const sent = await post(bob, claiming);
  assert.equal(sent.status, 200, sent.text);
  assert.equal((await proposalWhen(alice, id)).from.sent_by, undefined);
  const evil = evesCounter(uid).replace(/ATTENDEE;/, `ATTENDEE;SENT-BY="${person('carol')}";`);
  assert.match(evil, /SENT-BY/);
  assert.equal(await mailed(evil), 'applied');
  const both = await until(async () => {
    const all = await proposalsOf(alice, id);
    return all.length === 2 && all;
  }, 'both proposals');
  assert.deepEqual(
    both.map(({ from }) => from.sent_by),
    [undefined, undefined],
  );
});

/** An iTIP message as a program posts it to the outbox. */
async function post(who: Person, text: string) {
  const headers = { ...(await appPassword(server, who)), 'content-type': 'text/calendar' };
  const response = await fetch(`${server.calendar}/dav/outbox/${who.username}/`, {
    method: 'POST',
    headers,
    body: text,
  });
  return { status: response.status, text: await response.text() };
}

const person = (name: string) => `mailto:${name}@example.org`;
const counter = (uid: string, who: string, more: readonly string[] = []) =>
  message('COUNTER', uid, [
    ...['DTSTAMP:20261123T080000Z', 'DTSTART:20270330T120000Z', 'DTEND:20270330T130000Z', 'SUMMARY:Something else'],
    ...[`ORGANIZER:${person('alice')}`, `ATTENDEE:${person(who)}`, ...more],
  ]);

test('CAL-04 a program proposes and declines by the outbox, in the own name alone', async () => {
  const { id, uid } = await invite(['bob', 'carol']);
  await entryWhen(bob, bobs, uid);
  // As somebody else, as who organises, for what one is not invited to, and what is no proposal.
  for (const [who, text] of [
    [bob, counter(uid, 'carol')],
    [bob, counter('nothing', 'bob')],
    [alice, counter(uid, 'alice')],
    [alice, counter(uid, 'bob')],
    [bob, counter(uid, 'bob', ['RECURRENCE-ID;RANGE=THISANDFUTURE:20270330T070000Z'])],
    [
      bob,
      counter(uid, 'bob').replace(
        `ATTENDEE:${person('bob')}`,
        `ATTENDEE;DELEGATED-TO="${person('carol')}":${person('bob')}`,
      ),
    ],
    [bob, counter(uid, 'bob').replace('COUNTER', 'REPLY')],
  ] as const) {
    const refused = await post(who, text);
    assert.ok([403, 404].includes(refused.status), `${refused.status} ${text}`);
  }
  assert.deepEqual(await proposalsOf(alice, id), []);
  const sent = await post(bob, counter(uid, 'bob', ['COMMENT:Later\\, please', 'X-EVIL:1']));
  assert.equal(sent.status, 200, sent.text);
  assert.match(sent.text, /<D:href>mailto:alice@example.org<\/D:href>.*2\.0;Success/s);
  const waiting = await proposalWhen(alice, id);
  assert.deepEqual(
    [waiting.start_at, waiting.comment, waiting.from.user],
    ['2027-03-30T12:00:00.000Z', 'Later, please', 'bob'],
  );
  // In the inbox it is a message as the server writes it: of what Bob sent there are the time and the words.
  const headers = await appPassword(server, alice);
  const kept = await (await fetch(`${server.calendar}/dav/inbox/alice/${waiting.id}.ics`, { headers })).text();
  assert.match(kept, /METHOD:COUNTER\r\n/);
  assert.match(kept, /SUMMARY:Talk\r\n/);
  assert.doesNotMatch(kept, /X-EVIL|Something else|carol/);
  const decline = (who: string) =>
    counter(uid, who).replace('METHOD:COUNTER', 'METHOD:DECLINECOUNTER').replace('080000Z', '080100Z');
  // Only who organises declines.
  assert.ok((await post(carol, decline('bob'))).status >= 400);
  assert.deepEqual((await proposalsOf(alice, id)).length, 1);
  const declined = await post(alice, decline('bob'));
  assert.equal(declined.status, 200, declined.text);
  assert.match(declined.text, /<D:href>mailto:bob@example.org<\/D:href>/);
  assert.deepEqual(await proposalsOf(alice, id), []);
  const copy = await entryWhen(bob, bobs, uid);
  assert.equal((await proposalWhen(bob, copy.id)).standing, 'declined');
  assert.equal((await entryWhen(alice, alices, uid)).start_at, '2027-03-30T07:00:00.000Z');
});

/** The COUNTER of somebody outside, as their program mails it. */
const evesCounter = (uid: string, { minute = 1, from = EVE, more = [] as readonly string[], sequence = 0 } = {}) =>
  message('COUNTER', uid, [
    ...[`DTSTAMP:20261123T08${String(minute).padStart(2, '0')}00Z`, `SEQUENCE:${sequence}`],
    ...['DTSTART:20270330T120000Z', 'DTEND:20270330T130000Z', 'SUMMARY:Other words', 'LOCATION:Elsewhere'],
    ...[`ORGANIZER:${person('alice')}`, attendee(from, 'TENTATIVE'), ...more],
  ]);
const mailed = async (text: string, form: Parameters<typeof calendarMail>[1] = {}, to = 'alice@example.org') =>
  await outcomeOf(server, calendarMail(text, form), to);

test('CAL-04 a mail proposes for its sender alone, and moves nothing by itself', async () => {
  const { id, uid } = await invite(['bob', `mailto:${EVE}`]);
  const other = await makeEntry(server, bob, bobs, { ...TALK, attendees: [`mailto:${EVE}`] });
  const uninvited = await invite(['bob']);
  const forged = `Authentication-Results: ${AUTHSERV}; dmarc=fail header.from=outside.test`;
  const cases: readonly (readonly [string, Promise<string>])[] = [
    ['sender_unverified', mailed(evesCounter(uid), { top: [] })],
    ['sender_unverified', mailed(evesCounter(uid), { top: [forged] })],
    ['sender_unverified', mailed(evesCounter(uid), { from: 'eve@elsewhere.test', top: [VOUCHED] })],
    [
      'sender_is_local',
      mailed(evesCounter(uid, { from: 'bob@example.org' }), {
        from: 'bob@example.org',
        top: [`Authentication-Results: ${AUTHSERV}; dmarc=pass header.from=example.org`],
      }),
    ],
    ['attendee_mismatch', mailed(evesCounter(uid, { from: 'bob@example.org' }))],
    ['attendee_mismatch', mailed(evesCounter(uid), { from: 'mallory@outside.test' })],
    ['not_invited', mailed(evesCounter(uninvited.uid))],
    ['event_unknown', mailed(evesCounter('nothing@here'))],
    // What Bob organises is not Alice's to be asked about.
    ['event_unknown', mailed(evesCounter(other.uid))],
    ['event_foreign', mailed(evesCounter(uid), {}, 'bob@example.org')],
    [
      'delegation_refused',
      mailed(evesCounter(uid).replace('RSVP=TRUE', 'RSVP=TRUE;DELEGATED-TO="mailto:mallory@outside.test"')),
    ],
    ['range_refused', mailed(evesCounter(uid, { more: ['RECURRENCE-ID;RANGE=THISANDFUTURE:20270330T070000Z'] }))],
    ['calendar_invalid', mailed(evesCounter(uid).replaceAll('VEVENT', 'VTODO').replace('DTEND', 'DUE'))],
    ['unchanged', mailed(evesCounter(uid).replace('120000Z', '070000Z').replace('130000Z', '080000Z'))],
    ['method_mismatch', mailed(evesCounter(uid), { content: ['Content-Type: text/calendar; method=REPLY'] })],
  ];
  for (const [outcome, happened] of cases) assert.equal(await happened, outcome);
  await entryWhen(bob, bobs, uid);
  for (const who of [alice, bob]) assert.deepEqual(await proposalsOf(who, id), []);
  const before = await entryWhen(alice, alices, uid);
  const asked = evesCounter(uid, { more: ['COMMENT:Noon?', attendee('bob@example.org', 'DECLINED')] });
  assert.equal(await mailed(asked), 'applied');
  const waiting = await proposalWhen(alice, id);
  assert.deepEqual([waiting.from.address, waiting.from.user, waiting.comment], [`mailto:${EVE}`, undefined, 'Noon?']);
  const now = await entryWhen(alice, alices, uid);
  // Behind the tilde is what the server alone writes: how the invitation to Eve went.
  const tagOf = (etag: string) => etag.split('~')[0];
  assert.deepEqual(
    [tagOf(now.etag), now.start_at, now.attendees],
    [tagOf(before.etag), before.start_at, before.attendees],
  );
  // In the order in which they were written, and once.
  assert.equal(await mailed(asked), 'unchanged');
  assert.equal(await mailed(evesCounter(uid, { minute: 0 })), 'stale');
  assert.equal(await mailed(evesCounter(uid, { minute: 2 }).replace('120000Z', '123000Z')), 'applied');
  const newer = await proposalWhen(alice, id, (one) => one.start_at === '2027-03-30T12:30:00.000Z');
  assertRefused(await answer(alice, waiting, { answer: 'accepted' }), 'proposal_not_found');
  const declined = await answer(alice, newer, { answer: 'declined', comment: 'Not then.' });
  assert.equal(declined.status, 204, declined.text);
  const told = await mailTo(EVE, 'Proposed time declined: Talk');
  assert.match(told.source, /method=DECLINECOUNTER/i);
  assert.equal((await entryWhen(alice, alices, uid)).start_at, before.start_at);
});

test('CAL-04 a time that somebody outside proposes is taken: the mail that follows has it', async () => {
  const { id, uid } = await invite(['bob', `mailto:${EVE}`], { title: 'Lunch' });
  assert.equal(await mailed(evesCounter(uid)), 'applied');
  const taken = await answer(alice, await proposalWhen(alice, id), { answer: 'accepted' });
  assert.equal(taken.status, 204, taken.text);
  await entryWhen(bob, bobs, uid, (one) => one.start_at === '2027-03-30T12:00:00.000Z');
  const told = await mailTo(EVE, 'Updated invitation: Lunch');
  assert.match(told.source, /method=REQUEST/i);
  const moved = await entryWhen(alice, alices, uid);
  // Of the mail no more came in than the time.
  assert.deepEqual([moved.title, moved.location], ['Lunch', undefined]);
  assert.equal(await mailed(evesCounter(uid, { minute: 9 })), 'stale');
});

test('CAL-04 people here propose to who invites them from outside, and hear that it is not taken', async () => {
  const uid = 'eves@outside.test';
  const when = [
    'DTSTAMP:20261123T080000Z',
    'DTSTART:20270330T070000Z',
    'DTEND:20270330T080000Z',
    'SUMMARY:Tea',
    'SEQUENCE:0',
  ];
  const request = message('REQUEST', uid, [...when, organizer(), attendee('bob@example.org')]);
  assert.equal(await mailed(request, {}, 'bob@example.org'), 'applied');
  const copy = await entryWhen(bob, bobs, uid);
  const proposed = await propose(bob, bobs, copy.id, { ...NOON, comment: 'Later?' });
  assert.equal(proposed.status, 204, proposed.text);
  const mail = await mailTo(EVE, 'Another time proposed: Tea');
  assert.match(mail.source, /method=COUNTER/i);
  const attached = mail.email.attachments.find(({ mimeType }) => /calendar|ics/.test(mimeType))?.content;
  const text = (typeof attached === 'string' ? attached : Buffer.from(attached as ArrayBuffer).toString()).replaceAll(
    '\r\n ',
    '',
  );
  assert.match(text, /METHOD:COUNTER/);
  assert.match(text, new RegExp(`ORGANIZER[^\\r]*:mailto:${EVE}`));
  assert.match(text, /ATTENDEE[^\r]*:mailto:bob@example\.org/);
  assert.match(text, /COMMENT:Later\?/);
  assert.doesNotMatch(text, /SENT-BY/);
  // Bob's own calendar has it as it was, and only Eve may say no.
  const decline = (from: string) =>
    message('DECLINECOUNTER', uid, [...when, organizer(from), attendee('bob@example.org'), 'COMMENT:No']);
  assert.equal(
    await mailed(decline('mallory@outside.test'), { from: 'mallory@outside.test' }, 'bob@example.org'),
    'event_foreign',
  );
  assert.equal(await mailed(decline(EVE), { from: 'mallory@outside.test' }, 'bob@example.org'), 'organizer_mismatch');
  assert.equal(await mailed(decline(EVE), {}, 'alice@example.org'), 'event_unknown');
  assert.equal(await mailed(decline(EVE), {}, 'bob@example.org'), 'applied');
  const told = await proposalWhen(bob, copy.id);
  assert.deepEqual([told.standing, told.comment, told.from.address], ['declined', 'No', `mailto:${EVE}`]);
  assert.equal((await entryWhen(bob, bobs, uid)).etag, copy.etag);
});
