/**
 * Scheduling between people who share calendars with one another, in every way that they can: what one of them sees of the
 * other's calendar is no copy of their own, and nothing that is told may get lost over it.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { uuidAddress } from '#src/calendar/address-book.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';
import { appPassword, assertRefused, call, defaultCalendar, eventText, makeEntry, range } from '../service/calling.ts';

const { server, alice, bob, carol, dave } = await shareServer(['alice', 'bob', 'carol', 'dave']);
const TALK = { title: 'Talk', start_at: '2026-11-23T09:00:00Z', end_at: '2026-11-23T10:00:00Z' };
const SHARES = ['none', 'free_busy', 'read', 'write'] as const;
type Access = (typeof SHARES)[number] | 'delegate';

const ADDRESSES: Record<string, string> = Object.fromEntries(
  [alice, bob, carol, dave].map(({ username }) => [username, uuidAddress(username)]),
);

async function entryOf(who: Person, uid: string): Promise<EntryView | undefined> {
  const { id } = await defaultCalendar(server, who);
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', `/v1/calendars/${id}/changes?limit=200`);
  return reply.body.items.find((one) => one.uid === uid);
}

async function entryWhen(who: Person, uid: string, isRight: (entry: EntryView) => boolean): Promise<EntryView> {
  return await until(async () => {
    const entry = await entryOf(who, uid);
    return entry !== undefined && isRight(entry) ? entry : false;
  }, `${uid} of ${who.username}`);
}

const answerOf = (entry: EntryView, user: string) => entry.attendees.find((one) => one.user === user)?.answer;

async function setShare(owner: Person, sharee: Person, access: Access): Promise<void> {
  const { id } = await defaultCalendar(server, owner);
  const path = `/v1/calendars/${id}/shares/${sharee.username}`;
  const reply =
    access === 'none' ? await call(server, owner, 'DELETE', path) : await call(server, owner, 'PUT', path, { access });
  assert.ok([200, 201, 204, 404].includes(reply.status), reply.text);
}

async function isBusy(asker: Person, who: Person): Promise<unknown[]> {
  const body = { users: [who.username], from: '2026-11-23T00:00:00Z', to: '2026-11-24T00:00:00Z' };
  const reply = await call<{ items: { busy: unknown[] }[] }>(server, asker, 'POST', '/v1/free-busy', body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items[0]?.busy ?? [];
}

for (const given of SHARES) {
  for (const taken of SHARES) {
    test(`CAL-03 attendees share ${given} and get ${taken}: cancelling and declining reach everybody`, async () => {
      for (const attendee of [bob, carol]) {
        await setShare(attendee, alice, given);
        await setShare(alice, attendee, taken);
      }
      const { id } = await defaultCalendar(server, alice);
      const entry = await makeEntry(server, alice, id, { ...TALK, attendees: ['bob', 'carol'] });
      const copies = await Promise.all([bob, carol].map((who) => entryWhen(who, entry.uid, () => true)));

      // Bob takes his copy away: that declines, and the organiser sees it.
      const own = await defaultCalendar(server, bob);
      const removed = await call(server, bob, 'DELETE', `/v1/calendars/${own.id}/entries/${copies[0]?.id}`);
      assert.equal(removed.status, 204, removed.text);
      await entryWhen(alice, entry.uid, (one) => answerOf(one, 'bob') === 'declined');
      assert.equal(answerOf((await entryOf(alice, entry.uid)) as EntryView, 'carol'), 'needs_action');
      await until(async () => (await isBusy(alice, bob)).length === 0, 'bob is free');

      // Alice takes the meeting away: that cancels it for Carol, whoever sees whose calendar.
      const cancelled = await call(server, alice, 'DELETE', `/v1/calendars/${id}/entries/${entry.id}`);
      assert.equal(cancelled.status, 204, cancelled.text);
      await entryWhen(carol, entry.uid, (one) => one.status === 'cancelled');
      assert.deepEqual(await isBusy(alice, carol), []);
      const waiting = await call<{ items: { entry: EntryView }[] }>(server, carol, 'GET', '/v1/invitations');
      assert.deepEqual(
        waiting.body.items.filter((one) => one.entry.uid === entry.uid),
        [],
      );
    });
  }
}

test('CAL-03 free and busy times follow answers: declined is free, tentative and unanswered may be busy', async () => {
  for (const attendee of [bob, carol]) {
    await setShare(attendee, alice, 'none');
    await setShare(alice, attendee, 'none');
  }
  const { id } = await defaultCalendar(server, alice);
  const entry = await makeEntry(server, alice, id, { ...TALK, attendees: ['bob'] });
  const copy = await entryWhen(bob, entry.uid, () => true);
  const own = await defaultCalendar(server, bob);
  const time = { start_at: '2026-11-23T09:00:00.000Z', end_at: '2026-11-23T10:00:00.000Z' };
  assert.deepEqual(
    await isBusy(alice, alice),
    [{ ...time, tentative: false, unavailable: false }],
    'who organises it is there',
  );
  assert.deepEqual(await isBusy(alice, bob), [{ ...time, tentative: true, unavailable: false }]);
  for (const [answer, busy] of [
    ['accepted', [{ ...time, tentative: false, unavailable: false }]],
    ['tentative', [{ ...time, tentative: true, unavailable: false }]],
    ['declined', []],
  ] as const) {
    const path = `/v1/invitations/${own.id}/${copy.id}/answer`;
    assert.equal((await call(server, bob, 'PUT', path, { answer })).status, 200);
    assert.deepEqual(await isBusy(alice, bob), busy, answer);
  }
});

const speakerOf = (entry: EntryView) => [entry.organizer?.user, entry.organizer?.sent_by?.user];
const answeredBy = (entry: EntryView, user: string) => {
  const attendee = entry.attendees.find((one) => one.user === user);
  return [attendee?.answer, attendee?.sent_by?.user];
};

test('CAL-03 a delegate organises in the name of whose calendar it is, and everybody reads who did', async () => {
  const { id } = await defaultCalendar(server, alice);
  await setShare(alice, dave, 'delegate');
  const entry = await makeEntry(server, dave, id, { ...TALK, attendees: ['bob', 'dave'] });
  assert.deepEqual(speakerOf(entry), ['alice', 'dave']);
  assert.deepEqual(speakerOf(await entryWhen(bob, entry.uid, () => true)), ['alice', 'dave']);
  assert.deepEqual(
    speakerOf(await entryWhen(dave, entry.uid, () => true)),
    ['alice', 'dave'],
    'own copy of the delegate',
  );

  // What Alice changes herself comes from her, and what the delegate changes then from the delegate.
  const path = `/v1/calendars/${id}/entries/${entry.id}`;
  const own = await call<EntryView>(server, alice, 'PATCH', path, { title: 'Own' });
  assert.deepEqual([own.status, ...speakerOf(own.body)], [200, 'alice', undefined], own.text);
  const copy = await entryWhen(bob, entry.uid, ({ title }) => title === 'Own');
  assert.deepEqual(speakerOf(copy), ['alice', undefined]);
  const changed = await call<EntryView>(server, dave, 'PATCH', path, { title: 'Moved', attendees: ['bob', 'carol'] });
  assert.deepEqual([changed.status, ...speakerOf(changed.body)], [200, 'alice', 'dave'], changed.text);
  assert.deepEqual(speakerOf(await entryWhen(carol, entry.uid, () => true)), ['alice', 'dave']);
  await entryWhen(dave, entry.uid, ({ status }) => status === 'cancelled');

  // Answers go to Alice, whoever organised in her name, and the delegate may take it all back.
  const bobs = await defaultCalendar(server, bob);
  const answer = `/v1/invitations/${bobs.id}/${copy.id}/answer`;
  assert.equal((await call(server, bob, 'PUT', answer, { answer: 'accepted' })).status, 200);
  await entryWhen(alice, entry.uid, (one) => answerOf(one, 'bob') === 'accepted');
  assert.equal((await call(server, dave, 'DELETE', path)).status, 204);
  const cancelled = await entryWhen(bob, entry.uid, ({ status }) => status === 'cancelled');
  assert.equal(answerOf(cancelled, 'bob'), 'accepted');
});

test('CAL-03 a delegate answers in the name of whose calendar it is; whoever may only write there does not', async () => {
  const [alices, bobs] = [await defaultCalendar(server, alice), await defaultCalendar(server, bob)];
  const entry = await makeEntry(server, bob, bobs.id, { ...TALK, attendees: ['alice', 'carol'] });
  const copy = await entryWhen(alice, entry.uid, () => true);
  const answer = `/v1/invitations/${alices.id}/${copy.id}/answer`;
  for (const access of SHARES) {
    await setShare(alice, dave, access);
    assertRefused(await call(server, dave, 'PUT', answer, { answer: 'accepted' }), 'invitation_not_found');
  }
  await setShare(alice, dave, 'delegate');
  const reply = await call<{ entry: EntryView }>(server, dave, 'PUT', answer, { answer: 'tentative' });
  assert.deepEqual([reply.status, ...answeredBy(reply.body.entry, 'alice')], [200, 'tentative', 'dave'], reply.text);
  const told = await entryWhen(bob, entry.uid, (one) => answerOf(one, 'alice') === 'tentative');
  assert.deepEqual(answeredBy(told, 'alice'), ['tentative', 'dave']);
  // What is not answered anew keeps who answered it; what Alice answers herself is hers.
  const changed = await call<EntryView>(server, bob, 'PATCH', `/v1/calendars/${bobs.id}/entries/${entry.id}`, {
    title: 'Other',
  });
  assert.deepEqual(answeredBy(changed.body, 'alice'), ['tentative', 'dave']);
  for (const who of [alice, carol]) {
    const other = await entryWhen(who, entry.uid, ({ title }) => title === 'Other');
    assert.deepEqual(answeredBy(other, 'alice'), ['tentative', 'dave']);
  }
  assert.equal((await call(server, alice, 'PUT', answer, { answer: 'accepted' })).status, 200);
  const own = await entryWhen(bob, entry.uid, (one) => answerOf(one, 'alice') === 'accepted');
  assert.deepEqual(answeredBy(own, 'alice'), ['accepted', undefined]);
  // Removing the copy declines, in the name of Alice as well.
  assert.equal((await call(server, dave, 'DELETE', `/v1/calendars/${alices.id}/entries/${copy.id}`)).status, 204);
  const gone = await entryWhen(bob, entry.uid, (one) => answerOf(one, 'alice') === 'declined');
  assert.deepEqual(answeredBy(gone, 'alice'), ['declined', 'dave']);
});

test('CAL-03 a delegate’s list has what waits for the owner’s answer, page by page, and nobody else’s has', async () => {
  const [alices, bobs, daves] = await Promise.all([alice, bob, dave].map((who) => defaultCalendar(server, who)));
  const waiting = async (who: Person, limit = 100) => {
    const found: string[] = [];
    for (let after = ''; ;) {
      const path = `/v1/invitations?limit=${limit}${after}`;
      type Invited = { items: { calendar_id: string; entry: EntryView }[]; next: string | null };
      const reply = await call<Invited>(server, who, 'GET', path);
      assert.equal(reply.status, 200, reply.text);
      assert.ok(reply.body.items.length <= limit);
      found.push(...reply.body.items.map(({ calendar_id: calendar, entry }) => `${calendar} ${entry.uid}`));
      if (reply.body.next === null) return found;
      after = `&after=${reply.body.next}`;
    }
  };
  const before = [await waiting(alice), await waiting(dave)];
  await setShare(alice, dave, 'none');
  const made = [
    await makeEntry(server, bob, bobs?.id ?? '', { ...TALK, attendees: ['alice'] }),
    await makeEntry(server, bob, bobs?.id ?? '', { ...TALK, attendees: ['alice', 'dave'] }),
    await makeEntry(server, bob, bobs?.id ?? '', { ...TALK, attendees: ['dave'] }),
  ];
  const [first, both, last] = made.map(({ uid }) => uid);
  for (const uid of [first, both]) await entryWhen(alice, uid ?? '', () => true);
  for (const uid of [both, last]) await entryWhen(dave, uid ?? '', () => true);
  const of = (calendar: string | undefined, uids: readonly (string | undefined)[]) =>
    uids.map((uid) => `${calendar} ${uid}`);
  const hers = of(alices?.id, [first, both]);
  const his = of(daves?.id, [both, last]);
  const added = async (who: Person, known: readonly string[] | undefined, limit?: number) =>
    (await waiting(who, limit)).filter((one) => known?.includes(one) !== true).toSorted();
  for (const access of SHARES) {
    await setShare(alice, dave, access);
    assert.deepEqual(await added(dave, before[1]), his.toSorted(), access);
  }
  await setShare(alice, dave, 'delegate');
  for (const limit of [1, 2, 3, 100]) {
    const known = [...(before[0] ?? []), ...(before[1] ?? [])];
    assert.deepEqual(await added(dave, known, limit), [...his, ...hers].toSorted(), `${limit} a page`);
  }
  assert.deepEqual(await added(alice, before[0]), hers.toSorted(), 'the owner has their own alone');
  await setShare(alice, dave, 'none');
  assert.deepEqual(await added(dave, before[1]), his.toSorted());
});

test('CAL-03 a delegate who organises answers for whose copy it is', async () => {
  await setShare(alice, dave, 'delegate');
  const [alices, daves] = [await defaultCalendar(server, alice), await defaultCalendar(server, dave)];
  const entry = await makeEntry(server, dave, daves.id, { ...TALK, attendees: ['alice'] });
  const copy = await entryWhen(alice, entry.uid, () => true);
  const answer = `/v1/invitations/${alices.id}/${copy.id}/answer`;
  assert.equal((await call(server, dave, 'PUT', answer, { answer: 'accepted' })).status, 200);
  const told = await entryWhen(dave, entry.uid, (one) => answerOf(one, 'alice') === 'accepted');
  assert.deepEqual(answeredBy(told, 'alice'), ['accepted', 'dave']);
  // The copy is no place to organise at: what it says is said in the organiser's own calendar.
  const path = `/v1/calendars/${alices.id}/entries/${copy.id}`;
  assertRefused(await call(server, dave, 'PATCH', path, { title: 'Elsewhere' }), 'invitation_change_forbidden');
  assert.equal((await entryOf(alice, entry.uid))?.title, 'Talk');
});

test('CAL-02 CAL-03 by CalDAV SENT-BY says who wrote, whatever the client says, and nobody speaks in a name they were not given', async () => {
  const { id } = await defaultCalendar(server, alice);
  const headers = { ...(await appPassword(server, dave)), 'content-type': 'text/calendar' };
  const own = { ...(await appPassword(server, alice)), 'content-type': 'text/calendar' };
  const [a, b, c, d] = ['alice', 'bob', 'carol', 'dave'].map((name) => ADDRESSES[name]);
  const lines = (sentBy: string) => [`ORGANIZER${sentBy}:${a}`, `ATTENDEE;PARTSTAT=ACCEPTED:${a}`, `ATTENDEE:${b}`];
  const put = async (name: string, text: string, by = headers, more = {}) => {
    const url = `${server.calendar}${by === own ? '/dav/calendars/alice/default/' : home}${name}.ics`;
    const reply = await fetch(url, { method: 'PUT', headers: { ...by, ...more }, body: text });
    return { status: reply.status, etag: reply.headers.get('etag'), text: await reply.text() };
  };
  const home = `/dav/calendars/dave/${id}/`;
  for (const access of ['write', 'read', 'free_busy'] as const) {
    await setShare(alice, dave, access);
    const reply = await put(`as-${access}`, eventText(`as-${access}`, lines('')));
    assert.equal(reply.status, 403, access);
    if (access === 'write') assert.match(reply.text, /allowed-organizer-scheduling-object-change/);
  }
  await setShare(alice, dave, 'delegate');
  const stored = async (name: string) => {
    const reply = await fetch(`${server.calendar}${home}${name}.ics`, { headers });
    return (await reply.text()).replaceAll('\r\n ', '');
  };
  for (const [name, sentBy, isKept] of [
    ['none', '', false],
    ['own', `;SENT-BY="${d}"`, true],
    ['forged', `;SENT-BY="${c}"`, false],
    ['organisers', `;SENT-BY="${a}"`, false],
    ['outside', ';SENT-BY="mailto:x@outside.test"', false],
  ] as const) {
    const reply = await put(`by-${name}`, eventText(`by-${name}`, lines(sentBy)));
    assert.equal(reply.status, 201, reply.text);
    assert.equal(reply.etag, null, 'the server wrote the status of what was sent');
    const line = (await stored(`by-${name}`)).match(/^ORGANIZER.*/m)?.[0];
    assert.equal(line, `ORGANIZER;SENT-BY="${d}":${a}`, `${name} ${isKept}`);
    assert.deepEqual(speakerOf(await entryWhen(bob, `by-${name}`, () => true)), ['alice', 'dave']);
  }
  // Nobody says of themselves that somebody else wrote for them.
  const claimed = eventText('claimed', lines(`;SENT-BY="${c}"`));
  assert.equal((await put('claimed', claimed, own)).status, 201);
  assert.deepEqual(speakerOf(await entryWhen(bob, 'claimed', () => true)), ['alice', undefined]);
  // An attendee's own copy says what its organiser was told to be, and their answer is their own.
  const bobs = { ...(await appPassword(server, bob)), 'content-type': 'text/calendar' };
  const { id: entryId } = (await entryOf(bob, 'by-none')) as EntryView;
  const url = `${server.calendar}/dav/calendars/bob/default/${entryId}.ics`;
  const read = (await (await fetch(url, { headers: bobs })).text()).replaceAll('\r\n ', '');
  const forged = read
    .replace(/^ORGANIZER.*$/m, `ORGANIZER;SENT-BY="${c}":${a}`)
    .replace(/^ATTENDEE.*:urn.*$/gm, (line) =>
      line.endsWith(b as string) ? `ATTENDEE;PARTSTAT=ACCEPTED;SENT-BY="${c}":${b}` : line,
    );
  assert.notEqual(forged, read);
  assert.ok((await fetch(url, { method: 'PUT', headers: bobs, body: forged })).status < 300);
  const [kept, told] = [
    await entryWhen(bob, 'by-none', (one) => answerOf(one, 'bob') === 'accepted'),
    await entryWhen(alice, 'by-none', (one) => answerOf(one, 'bob') === 'accepted'),
  ];
  assert.deepEqual([...speakerOf(kept), ...answeredBy(kept, 'bob')], ['alice', 'dave', 'accepted', undefined]);
  assert.deepEqual([...speakerOf(told), ...answeredBy(told, 'bob')], ['alice', 'dave', 'accepted', undefined]);
  // What was organised for somebody moves between their calendars as it is.
  const target = await call<{ id: string; name: string }>(server, alice, 'POST', '/v1/calendars', {
    displayname: 'Two',
  });
  const destination = `${server.calendar}/dav/calendars/alice/${target.body.name}/moved.ics`;
  const moved = await fetch(`${server.calendar}/dav/calendars/alice/default/by-own.ics`, {
    method: 'MOVE',
    headers: { ...own, destination },
  });
  assert.equal(moved.status, 201, await moved.text());
  assert.equal((await range(server, alice, target.body.id, '2026-11-23T00:00:00Z', '2026-11-24T00:00:00Z')).length, 1);
  await setShare(alice, dave, 'none');
});

test('CAL-05 by busy times of two people nobody learns that one meeting takes both, nor which one that is', async () => {
  for (const owner of [alice, bob]) await setShare(owner, dave, 'free_busy');
  const { id } = await defaultCalendar(server, alice);
  const when = { start_at: '2026-12-21T09:00:00Z', end_at: '2026-12-21T10:00:00Z' };
  const { uid } = await makeEntry(server, alice, id, { title: 'Between us', ...when, attendees: ['bob'] });
  await entryWhen(bob, uid, () => true);
  for (const owner of [alice, bob]) {
    const calendar = await defaultCalendar(server, owner);
    const idsFor = async (who: Person) =>
      (await range(server, who, calendar.id, '2026-12-21T00:00:00Z', '2026-12-22T00:00:00Z')).map(
        ({ entry_id: entry }) => String(entry),
      );
    const [[own], [shown = '', ...others]] = [await idsFor(owner), await idsFor(dave)];
    // Whoever knows the UID works out the owner's, and it is the same in both calendars.
    assert.equal(own, createHash('sha256').update(uid).digest('base64url'));
    assert.deepEqual(others, []);
    assert.match(shown, /^\d+$/);
    assertRefused(await call(server, dave, 'GET', `/v1/calendars/${calendar.id}/entries/${shown}`), 'right_missing');
  }
});
