/**
 * Delegates of a calendar who mean harm: what they keep once the right is withdrawn, also in the midst of what they do; what they give
 * to others; and what two answers at once leave behind (CAL-03, CAL-04, CAL-05).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { appPassword, call, defaultCalendar, eventText, makeEntry } from '#test/calendar/service/calling.ts';
import type { Person, Reply } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const { server, alice, bob, carol, dave } = await shareServer(['alice', 'bob', 'carol', 'dave']);
const hers = (await defaultCalendar(server, alice)).id;
const his = (await defaultCalendar(server, bob)).id;
const TALK = { title: 'Talk', start_at: '2027-03-30T07:00:00Z', end_at: '2027-03-30T08:00:00Z' };
/** What somebody of a calendar is answered who has nothing of it any more; by DAV, 409 says that there is no such collection. */
const GONE = new Set([403, 404, 409]);

async function share(access: string | undefined): Promise<void> {
  const path = `/v1/calendars/${hers}/shares/dave`;
  const reply =
    access === undefined
      ? await call(server, alice, 'DELETE', path)
      : await call(server, alice, 'PUT', path, { access });
  assert.ok(reply.status < 300, reply.text);
}

async function entries(who: Person, calendar: string): Promise<EntryView[]> {
  const path = `/v1/calendars/${calendar}/changes?limit=200`;
  const reply = await call<{ items: EntryView[] }>(server, who, 'GET', path);
  assert.equal(reply.status, 200, reply.text);
  return reply.body.items;
}

/** An invitation of bob's, as it lies in alice's calendar. */
async function invited(title: string): Promise<{ original: EntryView; copy: EntryView }> {
  const original = await makeEntry(server, bob, his, { ...TALK, title, attendees: ['alice'] });
  const copy = await until(
    async () => (await entries(alice, hers)).find(({ uid }) => uid === original.uid),
    'the invitation',
  );
  return { original, copy };
}

const answerIn = (entry: EntryView | undefined, user: string) => {
  const attendee = entry?.attendees.find((one) => one.user === user);
  return [attendee?.answer, attendee?.sent_by?.user];
};

type Try = readonly [what: string, attempt: () => Promise<Pick<Reply<unknown>, 'status' | 'text'>>];

test('CAL-04 a delegate whose right is withdrawn has nothing left of it, by no door, whatever they hold', async () => {
  await share('delegate');
  const { copy, original } = await invited('Before');
  const secret = await makeEntry(server, alice, hers, { ...TALK, title: 'Oncologist', visibility: 'private' });
  const made = await makeEntry(server, dave, hers, { ...TALK, title: 'By the delegate' });
  // What a delegate holds: ids, ETags, a cursor, a password for programs, an open socket.
  const changes = `/v1/calendars/${hers}/changes?limit=200`;
  const seen = await call<{ next: string; items: EntryView[] }>(server, dave, 'GET', changes);
  assert.ok(seen.body.items.some(({ title }) => title === 'Oncologist'));
  const password = await appPassword(server, dave);
  const dav = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
    const reply = await fetch(`${server.calendar}${path}`, {
      ...{ method, headers: { ...password, 'content-type': 'text/calendar', ...headers } },
      ...(body === undefined ? {} : { body }),
    });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  };
  const home = `/dav/calendars/dave/${hers}/`;
  const name = encodeURIComponent(made.uid);
  const shown = await dav('GET', `${home}${name}.ics`);
  assert.equal(shown.status, 200, shown.text);
  const socket = await connect(server, dave);
  await share(undefined);
  const entry = `/v1/calendars/${hers}/entries/${made.id}`;
  const tries: Try[] = [
    ['reads', async () => await call(server, dave, 'GET', `/v1/calendars/${hers}/entries/${secret.id}`)],
    ['reads the calendar', async () => await call(server, dave, 'GET', `/v1/calendars/${hers}`)],
    ['goes on by a cursor', async () => await call(server, dave, 'GET', `${changes}&after=${seen.body.next}`)],
    ['changes', async () => await call(server, dave, 'PATCH', entry, { title: 'Mine still' })],
    ['removes', async () => await call(server, dave, 'DELETE', entry)],
    ['makes', async () => await call(server, dave, 'POST', `/v1/calendars/${hers}/entries`, TALK)],
    ['exports', async () => await call(server, dave, 'GET', `/v1/calendars/${hers}/export`)],
    [
      'answers',
      async () => await call(server, dave, 'PUT', `/v1/invitations/${hers}/${copy.id}/answer`, { answer: 'declined' }),
    ],
    [
      'proposes',
      async () =>
        await call(server, dave, 'POST', `/v1/invitations/${hers}/${copy.id}/proposals`, {
          ...{ start_at: '2027-03-30T10:00:00Z', end_at: '2027-03-30T11:00:00Z' },
        }),
    ],
    ['reads by DAV', async () => await dav('GET', `${home}${name}.ics`)],
    ['lists by DAV', async () => await dav('PROPFIND', home, undefined, { depth: '1' })],
    [
      'changes by DAV',
      async () =>
        await dav('PUT', `${home}${name}.ics`, shown.text.replace('By the delegate', 'Mine still'), {
          'if-match': shown.headers.get('etag') ?? '*',
        }),
    ],
    ['makes by DAV', async () => await dav('PUT', `${home}new.ics`, eventText('uid-of-dave'))],
    ['removes by DAV', async () => await dav('DELETE', `${home}${name}.ics`)],
  ];
  for (const [what, attempt] of tries) {
    const reply = await attempt();
    assert.ok(GONE.has(reply.status), `${what}: ${reply.status} ${reply.text}`);
    assert.doesNotMatch(reply.text, /Oncologist|By the delegate|Before/, what);
  }
  for (const list of ['/v1/calendars', '/v1/invitations', '/v1/proposals', '/v1/entries?q=Oncologist']) {
    const { text } = await call(server, dave, 'GET', list);
    assert.doesNotMatch(text, new RegExp(`Oncologist|By the delegate|Before|${hers}`), list);
  }
  // Nothing moved, and nobody heard that it did.
  const left = await entries(alice, hers);
  assert.deepEqual(
    left.filter(({ id }) => id === made.id).map(({ title }) => title),
    ['By the delegate'],
  );
  assert.deepEqual(
    left.filter(({ title }) => title === 'Mine' || title === 'Mine still'),
    [],
  );
  const ofBob = (await entries(bob, his)).find(({ uid }) => uid === original.uid);
  assert.deepEqual(answerIn(ofBob, 'alice'), ['needs_action', undefined]);
  // Changes from before may be told late; those from now on are not.
  const { sync_seq: seq } = await defaultCalendar(server, alice);
  await makeEntry(server, alice, hers, { ...TALK, title: 'After' });
  const own = await defaultCalendar(server, dave);
  await makeEntry(server, dave, own.id, { ...TALK, title: 'Own' });
  await socket.event(({ data, type }) => type === 'calendar.changed' && JSON.stringify(data).includes(own.id));
  assert.deepEqual(
    socket.events.filter(({ data }) => data['calendar_id'] === hers && (data['sync_seq'] as number) > seq),
    [],
  );
  socket.raw.close();
});

test('CAL-04 of a change and the end of the right at once, what was taken is whole and what came behind is refused', async () => {
  for (let round = 0; round < 5; round += 1) {
    await share('delegate');
    const title = (at: number) => `round ${round} entry ${at}`;
    const writing = Array.from(
      { length: 12 },
      async (_, at) =>
        await call<EntryView>(server, dave, 'POST', `/v1/calendars/${hers}/entries`, { ...TALK, title: title(at) }),
    );
    await share(undefined);
    const replies = await Promise.all(writing);
    const stored = (await entries(alice, hers)).map((one) => one.title);
    for (const [at, { status, text }] of replies.entries()) {
      assert.ok(status === 201 || GONE.has(status), text);
      assert.equal(stored.includes(title(at)), status === 201, `${title(at)}: ${status}`);
    }
    const late = await call(server, dave, 'POST', `/v1/calendars/${hers}/entries`, { ...TALK, title: 'late' });
    assert.ok(GONE.has(late.status), late.text);
  }
});

test('CAL-04 a delegate gives nothing of the calendar on: no share, no feed, no setting of it, not the calendar itself', async () => {
  await share('delegate');
  const base = `/v1/calendars/${hers}`;
  const tries: Try[] = [
    ['shares', async () => await call(server, dave, 'PUT', `${base}/shares/carol`, { access: 'read' })],
    ['makes a delegate', async () => await call(server, dave, 'PUT', `${base}/shares/carol`, { access: 'delegate' })],
    ['raises themselves', async () => await call(server, dave, 'PUT', `${base}/shares/dave`, { access: 'delegate' })],
    ['takes a share away', async () => await call(server, dave, 'DELETE', `${base}/shares/bob`)],
    ['reads the shares', async () => await call(server, dave, 'GET', `${base}/shares`)],
    ['publishes', async () => await call(server, dave, 'POST', `${base}/feeds`, {})],
    ['changes it', async () => await call(server, dave, 'PATCH', base, { displayname: 'Mine' })],
    ['removes it', async () => await call(server, dave, 'DELETE', base)],
  ];
  for (const [what, attempt] of tries) {
    const { status, text } = await attempt();
    assert.ok(status >= 400 && status < 500, `${what}: ${status} ${text}`);
  }
  const carols = await call<{ items: { id: string }[] }>(server, carol, 'GET', '/v1/calendars');
  assert.ok(!carols.body.items.some(({ id }) => id === hers));
  const shares = await call<{ items: { user: string; access: string }[] }>(server, alice, 'GET', `${base}/shares`);
  assert.equal(shares.status, 200, shares.text);
  assert.ok(!shares.text.includes('carol') && shares.text.includes('delegate'), shares.text);
  await share(undefined);
});

test('CAL-03 of answers that a delegate and the owner give at once one counts, for both and for who invited', async () => {
  await share('delegate');
  for (let round = 0; round < 4; round += 1) {
    const { copy, original } = await invited(`Answered ${round}`);
    const path = `/v1/invitations/${hers}/${copy.id}/answer`;
    const given = (['accepted', 'declined', 'tentative', 'accepted', 'declined'] as const).map(
      async (answer, at) => await call(server, at % 2 === 0 ? dave : alice, 'PUT', path, { answer }),
    );
    const statuses = (await Promise.all(given)).map(({ status }) => status);
    assert.ok(statuses.includes(200), String(statuses));
    assert.ok(
      statuses.every((status) => status === 200 || status === 409 || status === 404),
      String(statuses),
    );
    const mine = async () =>
      answerIn(
        (await entries(alice, hers)).find(({ uid }) => uid === original.uid),
        'alice',
      );
    const theirs = async () =>
      answerIn(
        (await entries(bob, his)).find(({ uid }) => uid === original.uid),
        'alice',
      );
    await until(async () => (await mine()).join() === (await theirs()).join(), 'both to say the same');
    // Twice the same is the same, and a later answer is taken. An answer that is there already stays whose it was, and
    // of those at once the owner's own 'accepted' may have counted: another one lies between.
    assert.equal((await call(server, dave, 'PUT', path, { answer: 'declined' })).status, 200);
    assert.equal((await call(server, dave, 'PUT', path, { answer: 'accepted' })).status, 200);
    assert.equal((await call(server, dave, 'PUT', path, { answer: 'accepted' })).status, 200);
    await until(async () => (await theirs()).join() === 'accepted,dave', 'the last answer');
    assert.deepEqual(await mine(), ['accepted', 'dave']);
  }
  await share(undefined);
});

test('CAL-04 of answers to one proposal that the owner and a delegate give at once, however many, one counts', async () => {
  await share('delegate');
  for (let round = 0; round < 4; round += 1) {
    const entry = await makeEntry(server, alice, hers, { ...TALK, title: `Proposed ${round}`, attendees: ['bob'] });
    const copy = await until(
      async () => (await entries(bob, his)).find(({ uid }) => uid === entry.uid),
      'the copy of the invitation',
    );
    const other = { start_at: '2027-03-30T10:00:00Z', end_at: '2027-03-30T11:00:00Z' };
    const proposed = await call(server, bob, 'POST', `/v1/invitations/${his}/${copy.id}/proposals`, other);
    assert.equal(proposed.status, 204, proposed.text);
    const idFor = async (who: Person) =>
      await until(async () => {
        const { body } = await call<{ items: { id: string; entry_id: string }[] }>(server, who, 'GET', '/v1/proposals');
        return body.items.find(({ entry_id: of }) => of === entry.id)?.id;
      }, 'the proposal');
    const ids = new Map([
      [alice, await idFor(alice)],
      [dave, await idFor(dave)],
    ]);
    const given = await Promise.all(
      [alice, dave, alice, dave, alice, dave].map(async (who, at) => {
        const answer = at % 3 === 0 ? 'accepted' : 'declined';
        const reply = await call(server, who, 'PUT', `/v1/proposals/${ids.get(who)}/answer`, { answer });
        return { answer, status: reply.status, text: reply.text };
      }),
    );
    const counted = given.filter(({ status }) => status === 204);
    assert.equal(counted.length, 1, JSON.stringify(given));
    assert.ok(
      given.every(({ status }) => [204, 404, 409].includes(status)),
      JSON.stringify(given),
    );
    const now = (await entries(alice, hers)).find(({ id }) => id === entry.id);
    assert.equal(now?.start_at?.startsWith('2027-03-30T10'), counted[0]?.answer === 'accepted', JSON.stringify(given));
  }
  await share(undefined);
});

test('CAL-05 what is private is shown whole to a delegate alone, and goes from them with the right, down to any reader’s', async () => {
  const secret = await makeEntry(server, alice, hers, { ...TALK, title: 'Lawyer', visibility: 'private' });
  const finds = async () => (await entries(dave, hers)).filter(({ id }) => id === secret.id).map(({ title }) => title);
  for (const [access, found] of [
    ['read', []],
    ['delegate', ['Lawyer']],
    ['write', []],
    ['delegate', ['Lawyer']],
    ['read', []],
  ] as const) {
    await share(access);
    assert.deepEqual(await finds(), found, access);
    const read = await call(server, dave, 'GET', `/v1/calendars/${hers}/entries/${secret.id}`);
    assert.equal(read.status, access === 'delegate' ? 200 : 404, read.text);
    const searched = await call(server, dave, 'GET', '/v1/entries?q=Lawyer');
    assert.equal(searched.text.includes('Lawyer'), access === 'delegate', `${access}: ${searched.text}`);
  }
  await share(undefined);
});
