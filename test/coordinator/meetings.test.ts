import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { guestRecords } from '#src/identity/guest-records.ts';
import {
  MEETING_PARTICIPANTS_MAX,
  MEETING_WAITING_MAX,
  MEETINGS_PER_HOST_MAX,
} from '#src/protocol/meetings/meetings.ts';
import { PASSWORD, START, startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };
const at = (seconds: number) => formatInstant(START + seconds * 1000);

async function started(context: TestContext, settings: Record<string, string> = {}) {
  const coordinator = await startCoordinator(context, settings);
  const { call, enrollment, login, people, post } = coordinator;
  for (const name of ['host', 'alice', 'bob']) await people.add(name, PASSWORD);
  const form = { kind: 'guest', phone: '+79161234567', guest_until: at(86_400) } as const;
  const { path } = await enrollment.invite(form, 'host', BY);
  await post(path, { username: 'visitor', password: PASSWORD });
  const tokens = new Map<string, string>();
  for (const name of ['host', 'alice', 'bob', 'visitor']) tokens.set(name, (await login(name)).token);
  const as = async (name: string, method: string, route: string, body?: object) =>
    await call(method, route, {
      headers: { authorization: `Bearer ${tokens.get(name)}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const meet = async (more: object = {}) =>
    (await as('host', 'POST', '/v1/meetings', { title: 'Standup', ...more })).json;
  const join = async (name: string, link: string) => await as(name, 'POST', `/v1/meetings/join/${link}`);
  return { ...coordinator, as, meet, join };
}

test('MTG-01 an instant meeting has a room, a link and its host; a scheduled one its times as well', async (context) => {
  const { as, meet, rooms } = await started(context);
  const instant = await meet({ participants: ['alice'] });
  assert.deepEqual(
    { ...instant, id: '', link: '', conversation_id: '' },
    {
      id: '',
      title: 'Standup',
      kind: 'instant',
      state: 'open',
      host: 'host',
      lobby: 'people',
      link: '',
      conversation_id: '',
      participants: ['host', 'alice'],
      waiting: [],
      created_at: at(0),
      rev: 1,
    },
  );
  assert.match(instant.link, /^mtg_[0-9a-z]{22}\.1\.[A-Za-z0-9_-]{43}$/);
  assert.deepEqual([...(rooms.get(instant.conversation_id) ?? [])], ['host', 'alice']);
  const scheduled = await meet({ starts_at: at(3600), ends_at: at(7200), lobby: 'open' });
  assert.deepEqual([scheduled.kind, scheduled.starts_at, scheduled.ends_at], ['scheduled', at(3600), at(7200)]);
  const own = (await as('alice', 'GET', `/v1/meetings/${instant.id}`)).json;
  assert.deepEqual([own.link, own.waiting], [instant.link, undefined]);
  const page = (await as('host', 'GET', '/v1/meetings?limit=1')).json;
  assert.deepEqual([page.items.length, page.next], [1, page.items[0].id]);
  const rest = (await as('host', 'GET', `/v1/meetings?limit=5&after=${page.next}`)).json;
  assert.deepEqual([rest.items.length, rest.next], [1, null]);
  assert.deepEqual((await as('bob', 'GET', '/v1/meetings')).json.items, []);
});

test('MTG-01 meetings are found by their room, and those by who waits in them', async (context) => {
  const { as, clock, meet, join } = await started(context);
  const one = await meet({ participants: ['alice'] });
  // Of what is made in one moment, any may come first.
  clock.advance(1);
  const other = await meet({ lobby: 'everyone_waits' });
  const found = async (who: string, query: string) => {
    const { json } = await as(who, 'GET', `/v1/meetings?${query}`);
    return json.items?.map(({ id }: { id: string }) => id) ?? json.code;
  };
  assert.deepEqual(await found('host', `conversation=${other.conversation_id}`), [other.id]);
  assert.deepEqual(await found('alice', `conversation=${other.conversation_id}`), [], 'not hers');
  assert.deepEqual(await found('alice', `conversation=${one.conversation_id}`), [one.id]);
  assert.deepEqual(await found('host', 'waiting=true'), []);
  await join('bob', other.link);
  assert.deepEqual(await found('host', 'waiting=true'), [other.id]);
  assert.deepEqual(await found('host', `waiting=true&conversation=${one.conversation_id}`), []);
  // A page is of what was looked at: what is left out of it makes it short.
  const first = (await as('host', 'GET', '/v1/meetings?waiting=true&limit=1')).json;
  assert.deepEqual([first.items, first.next], [[], one.id]);
  await as('host', 'POST', `/v1/meetings/${other.id}/waiting/bob/admit`);
  assert.deepEqual(await found('host', 'waiting=true'), []);
  assert.deepEqual(await found('bob', 'waiting=true'), []);
  for (const query of ['waiting=false', 'waiting=', 'conversation=x', `conversation=${one.id}`]) {
    assert.equal(await found('host', query), 'query_invalid', query);
  }
});

test('MTG-01 the lobby lets everybody in, or has guests wait, or all who were not invited', async (context) => {
  const { meet, join } = await started(context);
  const cases: [lobby: string, alice: string, visitor: string][] = [
    ['open', 'admitted', 'admitted'],
    ['people', 'admitted', 'waiting'],
    ['everyone_waits', 'waiting', 'waiting'],
  ];
  for (const [lobby, alice, visitor] of cases) {
    const { link } = await meet({ lobby });
    assert.equal((await join('alice', link)).json.status, alice, lobby);
    assert.equal((await join('visitor', link)).json.status, visitor, lobby);
    assert.equal((await join('host', link)).json.status, 'admitted');
  }
  const { link } = await meet({ lobby: 'everyone_waits', participants: ['bob'] });
  assert.equal((await join('bob', link)).json.status, 'admitted');
});

test('MTG-01 the host lets in who waits, and turns away', async (context) => {
  const { as, meet, join, rooms } = await started(context);
  const { id, link, conversation_id: room } = await meet({ lobby: 'everyone_waits' });
  assert.deepEqual((await join('alice', link)).json, { status: 'waiting', title: 'Standup' });
  await join('alice', link);
  await join('visitor', link);
  assert.deepEqual((await as('host', 'GET', `/v1/meetings/${id}`)).json.waiting, ['alice', 'visitor']);
  assert.equal((await as('alice', 'GET', `/v1/meetings/${id}`)).json.code, 'meeting_not_found');
  const admitted = (await as('host', 'POST', `/v1/meetings/${id}/waiting/alice/admit`)).json;
  assert.deepEqual([admitted.participants, admitted.waiting], [['host', 'alice'], ['visitor']]);
  assert.deepEqual([...(rooms.get(room) ?? [])], ['host', 'alice']);
  assert.equal((await join('alice', link)).json.status, 'admitted');
  assert.equal((await as('alice', 'POST', `/v1/meetings/${id}/waiting/visitor/admit`)).json.code, 'right_missing');
  assert.deepEqual((await as('host', 'POST', `/v1/meetings/${id}/waiting/visitor/deny`)).json.waiting, []);
  assert.equal((await join('visitor', link)).json.code, 'meeting_forbidden');
  const nobody = await as('host', 'POST', `/v1/meetings/${id}/waiting/bob/admit`);
  assert.deepEqual([nobody.status, nobody.json.code], [404, 'participant_not_found']);
});

test('MTG-01 a link ends when it is renewed or the meeting cancelled, and nobody makes one up', async (context) => {
  const { as, meet, join } = await started(context);
  const { id, link } = await meet();
  assert.equal((await as('bob', 'POST', `/v1/meetings/${id}/link`)).json.code, 'meeting_not_found');
  const fresh = (await as('host', 'POST', `/v1/meetings/${id}/link`)).json.link;
  const altered = fresh.slice(0, -1) + (fresh.endsWith('A') ? 'B' : 'A');
  for (const gone of [link, altered, fresh.replace('.2.', '.1.'), fresh.replace('.2.', '.3.'), 'mtg_', 'x']) {
    const answer = await join('alice', gone);
    assert.deepEqual([answer.status, answer.json.code], [404, 'meeting_not_found'], gone);
  }
  assert.equal((await join('alice', fresh)).json.status, 'admitted');
  assert.equal((await as('alice', 'POST', `/v1/meetings/${id}/cancel`)).json.code, 'right_missing');
  assert.equal((await as('host', 'POST', `/v1/meetings/${id}/cancel`)).json.state, 'cancelled');
  assert.equal((await join('bob', fresh)).json.code, 'meeting_over');
  assert.equal((await as('host', 'PATCH', `/v1/meetings/${id}`, { title: 'Later' })).json.code, 'meeting_over');
});

test('POL-01 a host invites nobody whom the policies keep from being invited', async (context) => {
  const { as, meet, join, policies, groups } = await started(context);
  const board = await groups.create({ name: 'Board', members: ['bob'] }, BY);
  const { id, link } = await meet({ lobby: 'open' });
  await policies.create({ action: 'invite', from: 'everyone', to: board.id, effect: 'deny' }, BY);
  const denied = await meet({ participants: ['alice', 'bob'] });
  const missing = await meet({ participants: ['alice', 'nobody'] });
  for (const refusal of [denied, missing]) {
    assert.deepEqual([refusal.code, refusal.field], ['participant_unknown', 'participants.1']);
  }
  assert.equal((await join('bob', link)).json.code, 'meeting_forbidden');
  assert.equal((await as('host', 'PATCH', `/v1/meetings/${id}`, { add: ['bob'] })).json.field, 'add.0');
  assert.deepEqual((await as('host', 'PATCH', `/v1/meetings/${id}`, { add: ['alice'] })).json.participants, [
    'host',
    'alice',
  ]);
});

test('one more than a lobby holds is refused', async (context) => {
  const { meet, join, accounts, meetings } = await started(context);
  const { link } = await meet({ lobby: 'everyone_waits' });
  const { passwordHash } = accounts.person('bob') as { passwordHash: string };
  await accounts.change((draft) => {
    for (let number = 0; number < MEETING_WAITING_MAX; number += 1) {
      const username = `person${number}`;
      draft.putPerson({ username, state: 'active', role: 'person', passwordHash, createdAt: at(0) });
    }
  });
  for (let number = 0; number < MEETING_WAITING_MAX; number += 1) await meetings.join(`person${number}`, link);
  assert.equal((await join('bob', link)).json.code, 'meeting_full');
  assert.deepEqual(await meetings.join('person0', link), { status: 'waiting', title: 'Standup' });
});

test('one meeting more than a host may have is refused, until one is cancelled', async (context) => {
  // A thousand in one day are beyond the quota of a day.
  const { meetings } = await started(context, { PARLEY_RATE_LIMITS: '0' });
  const form = { title: 'Standup', lobby: 'open', participants: [] } as const;
  const made = await Promise.all(
    Array.from({ length: MEETINGS_PER_HOST_MAX }, () => meetings.create('host', { ...form, participants: [] })),
  );
  await assert.rejects(meetings.create('host', { ...form, participants: [] }), { code: 'meetings_full' });
  const { id } = await meetings.create('alice', { title: 'Standup', lobby: 'open', participants: ['host', 'visitor'] });
  await assert.rejects(meetings.handOver('alice', id, 'host'), { code: 'meetings_full' });
  await assert.rejects(meetings.handOver('alice', id, 'visitor'), { code: 'field_invalid', field: 'user' });
  await meetings.cancel('host', made[0]?.id ?? '');
  assert.equal((await meetings.handOver('alice', id, 'host')).host, 'host');
  await assert.rejects(meetings.create('host', { ...form, participants: [] }), { code: 'meetings_full' });
  await meetings.cancel('host', id);
  assert.equal((await meetings.create('host', { ...form, participants: [] })).state, 'open');
});

test('one more than a meeting knows by name is refused', async (context) => {
  const { meet, join, meetings, accounts, as } = await started(context);
  const { passwordHash } = accounts.person('bob') as { passwordHash: string };
  const names = Array.from({ length: MEETING_PARTICIPANTS_MAX - 1 }, (_, number) => `person${number}`);
  await accounts.change((draft) => {
    for (const username of names) {
      draft.putPerson({ username, state: 'active', role: 'person', passwordHash, createdAt: at(0) });
    }
  });
  const { id, link } = await meetings.create('host', { title: 'All', lobby: 'open', participants: names });
  assert.equal((await join('bob', link)).json.code, 'meeting_full');
  assert.equal((await as('host', 'PATCH', `/v1/meetings/${id}`, { add: ['bob'] })).json.code, 'meeting_full');
  assert.equal((await meetings.join('person0', link)).status, 'admitted');
  assert.equal((await meet({ participants: [...names, 'bob'] })).field, 'participants');
});

test('bad forms name their field', async (context) => {
  const { as } = await started(context);
  const cases: [form: object, field: string][] = [
    [{}, 'title'],
    [{ title: ' ' }, 'title'],
    [{ title: 'x', starts_at: 'tomorrow' }, 'starts_at'],
    [{ title: 'x', ends_at: at(60) }, 'starts_at'],
    [{ title: 'x', starts_at: at(60), ends_at: at(60) }, 'ends_at'],
    [{ title: 'x', lobby: 'closed' }, 'lobby'],
    [{ title: 'x', participants: ['UPPER'] }, 'participants.0'],
    [{ title: 'x', host: 'alice' }, 'host'],
  ];
  for (const [form, field] of cases) {
    const answer = await as('host', 'POST', '/v1/meetings', form);
    assert.deepEqual([answer.status, answer.json.field], [400, field], JSON.stringify(form));
  }
  assert.equal((await as('host', 'GET', '/v1/meetings?after=c_1')).json.code, 'cursor_invalid');
});

test('GST-06 what a guest hosts from before guests could not is over with their term, and no guest begins another', async (context) => {
  const { access, accounts, as, join, meet } = await started(context);
  const { link } = await meet({ lobby: 'open' });
  assert.equal((await join('alice', link)).status, 200);
  const guest = { phone: '+79161234599', endsAt: START / 1000, invitedBy: 'alice', closed: false };
  await accounts.change((draft) => draft.putDocument(guestRecords, 'host', guest));
  await access.refresh();
  assert.deepEqual((await join('bob', link)).json.code, 'meeting_over');
  assert.equal((await as('visitor', 'POST', '/v1/meetings', { title: 'Mine' })).json.code, 'right_missing');
});
