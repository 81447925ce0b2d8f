/**
 * People of the installation who mean harm, with a session and the ids of others: what they keep after it was taken from them, what
 * they reach by ids, and what two requests at once leave behind (MTG-01, CAL-04, GST-01, VND-16).
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ProposalView } from '#src/protocol/calendars/calendar-proposals.ts';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import type { MeetingView } from '#src/protocol/meetings/meetings.ts';
import { defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const host = await startConsoleServer({}, { shards: 2 });
after(async () => await host.stop());
const { call, server } = host;
const { alice, bob, carl, dave } = await server.people('alice', 'bob', 'carl', 'dave');

interface Refused {
  readonly code?: string;
}

async function ask<T>(
  who: Person,
  service: 'coordinator' | 'messaging' | 'calendar',
  method: string,
  path: string,
  body?: object,
): Promise<Reply<T & Refused>> {
  return await request(method, `${server[service]}${path}`, { token: who.session.token, body });
}

const meeting = async <T = MeetingView>(who: Person, method: string, path: string, body?: object) =>
  await ask<T>(who, 'coordinator', method, `/v1/meetings${path}`, body);

async function meet(form: object = {}): Promise<MeetingView> {
  const made = await meeting(alice, 'POST', '', { title: 'Quarter results', lobby: 'everyone_waits', ...form });
  assert.equal(made.status, 201, made.text);
  return made.body;
}

const join = async (who: Person, link: string) => await meeting<{ status: string }>(who, 'POST', `/join/${link}`);

/** What somebody finds of a meeting: by its id, in their whole list, by its room, and of its room. */
async function foundBy(who: Person, { conversation_id: room, id }: MeetingView) {
  const lists = ['?', `?conversation=${room}`, `?conversation=${room}&waiting=true`, '?waiting=true'];
  const listed = lists.map(async (query) => {
    const { body, text } = await meeting<{ items: MeetingView[] }>(who, 'GET', query);
    assert.ok(!text.includes(room), query);
    return body.items.filter((one) => one.id === id).length;
  });
  const { body, status } = await meeting(who, 'GET', `/${id}`);
  const messages = await ask(who, 'messaging', 'GET', `/v1/conversations/${room}/messages`);
  return [status, body.code, ...(await Promise.all(listed)), messages.body.code];
}
/** A room that somebody takes no part in answers as one that is none. */
const NOTHING = [404, 'meeting_not_found', 0, 0, 0, 0, 'conversation_forbidden'];

test('MTG-01 who waits in a lobby finds nothing of the meeting but its title, by no id, list or filter', async () => {
  const made = await meet();
  const socket = await connect(server, carl);
  const waits = await join(carl, made.link);
  assert.deepEqual([waits.status, waits.body], [200, { status: 'waiting', title: 'Quarter results' }]);
  assert.deepEqual(await foundBy(carl, made), NOTHING);
  const own = [
    ['POST', `/${made.id}/waiting/carl/admit`],
    ['POST', `/${made.id}/waiting/carl/deny`],
    ['POST', `/${made.id}/link`],
    ['POST', `/${made.id}/cancel`],
    ['POST', `/${made.id}/host`, { user: 'carl' }],
    ['PATCH', `/${made.id}`, { lobby: 'open' }],
  ] as const;
  for (const [method, path, body] of own) {
    const reply = await meeting(carl, method, path, body);
    assert.deepEqual([reply.status, reply.body.code], [404, 'meeting_not_found'], path);
  }
  // What is posted in the room is not told to who waits: the next thing that carl hears of is the direct chat behind it.
  const posted = await ask(alice, 'messaging', 'POST', `/v1/conversations/${made.conversation_id}/messages`, {
    ...{ kind: 'text', body: 'minus forty percent', client_msg_id: 'results' },
  });
  assert.equal(posted.status, 201, posted.text);
  const chat = await ask<{ id: string }>(alice, 'messaging', 'POST', '/v1/conversations', {
    ...{ kind: 'direct', participants: ['carl'] },
  });
  const said = { kind: 'text', body: 'hello', client_msg_id: 'hello' };
  await ask(alice, 'messaging', 'POST', `/v1/conversations/${chat.body.id}/messages`, said);
  await socket.event(({ conv, type }) => type === 'message.new' && conv === chat.body.id, 'the chat');
  assert.deepEqual(
    socket.events.filter(({ conv }) => conv === made.conversation_id),
    [],
  );
  socket.raw.close();
});

test('MTG-01 a participant has no right of the host, and who was taken out has none at all', async () => {
  const made = await meet({ participants: ['bob', 'carl'] });
  await join(dave, made.link);
  const rights = [
    ['POST', `/${made.id}/waiting/dave/admit`],
    ['POST', `/${made.id}/waiting/dave/deny`],
    ['POST', `/${made.id}/link`],
    ['POST', `/${made.id}/cancel`],
    ['POST', `/${made.id}/host`, { user: 'carl' }],
    ['PATCH', `/${made.id}`, { lobby: 'open' }],
  ] as const;
  const tried = async () => {
    const replies = [];
    for (const [method, path, body] of rights) replies.push(await meeting(carl, method, path, body));
    return replies.map(({ body, status }) => `${status} ${body.code}`);
  };
  assert.deepEqual(new Set(await tried()), new Set(['403 right_missing']));
  const seen = (await meeting(carl, 'GET', `/${made.id}`)).body;
  assert.deepEqual([seen.waiting, JSON.stringify(seen).includes('dave')], [undefined, false]);
  const removed = await ask(
    alice,
    'messaging',
    'DELETE',
    `/v1/conversations/${made.conversation_id}/participants/carl`,
  );
  assert.ok(removed.status < 300, removed.text);
  await until(async () => (await meeting(carl, 'GET', `/${made.id}`)).status === 404, 'carl to be out');
  assert.deepEqual(new Set(await tried()), new Set(['404 meeting_not_found']));
  assert.deepEqual((await foundBy(carl, made)).slice(0, 6), NOTHING.slice(0, 6));
  // Neither does the link that they kept let them in, also where the lobby lets everybody through.
  assert.equal((await meeting(alice, 'PATCH', `/${made.id}`, { lobby: 'open' })).status, 200);
  assert.equal((await join(carl, made.link)).body.status, 'waiting');
});

test('MTG-01 of a meeting that is handed over twice at once there is one host, who alone is shown who waits', async () => {
  const made = await meet({ participants: ['bob', 'carl'] });
  await join(dave, made.link);
  const [first, second] = await Promise.all(
    ['bob', 'carl'].map(async (user) => await meeting(alice, 'POST', `/${made.id}/host`, { user })),
  );
  assert.ok([first?.status, second?.status].includes(200));
  const views = await Promise.all(
    [alice, bob, carl].map(async (who) => [who.username, (await meeting(who, 'GET', `/${made.id}`)).body] as const),
  );
  const names = new Set(views.map(([, view]) => view.host));
  assert.equal(names.size, 1);
  for (const [name, view] of views) assert.equal(view.waiting !== undefined, names.has(name), name);
  const shown = await Promise.all(
    [alice, bob, carl].map(async (who) => {
      const query = `?waiting=true&conversation=${made.conversation_id}`;
      return (await meeting<{ items: unknown[] }>(who, 'GET', query)).body.items.length;
    }),
  );
  assert.equal(
    shown.reduce((sum, one) => sum + one, 0),
    1,
  );
});

test('MTG-01 who was turned away, and a link that was renewed, let nobody in however many ask at the same moment', async () => {
  const made = await meet();
  await join(carl, made.link);
  const denied = meeting(alice, 'POST', `/${made.id}/waiting/carl/deny`);
  const admitted = meeting(alice, 'POST', `/${made.id}/waiting/carl/admit`);
  const joins = Array.from({ length: 8 }, async () => await join(carl, made.link));
  const outcomes = [(await denied).status, (await admitted).status];
  await Promise.all(joins);
  // Whichever came first counts, for everything behind it.
  const isIn = (await meeting(carl, 'GET', `/${made.id}`)).status === 200;
  assert.equal(isIn, outcomes[1] === 200, String(outcomes));
  assert.equal((await join(carl, made.link)).status, isIn ? 200 : 403);
  const other = await meet({ lobby: 'open' });
  const renewed = await meeting(alice, 'POST', `/${other.id}/link`);
  assert.equal(renewed.status, 200);
  const late = await Promise.all(Array.from({ length: 4 }, async () => await join(dave, other.link)));
  assert.deepEqual([...new Set(late.map(({ body, status }) => `${status} ${body.code}`))], ['404 meeting_not_found']);
  assert.deepEqual(await foundBy(dave, other), NOTHING);
});

test('MTG-01 who was turned away stays out by any link, and the host lets in or turns away nobody who does not wait', async () => {
  const made = await meet({ participants: ['bob'] });
  const waiting = async (user: string, what: 'admit' | 'deny') => {
    const { body, status } = await meeting<{ readonly code?: string }>(
      alice,
      'POST',
      `/${made.id}/waiting/${user}/${what}`,
    );
    return `${status} ${body.code ?? ''}`;
  };
  for (const user of ['carl', 'bob']) {
    for (const what of ['admit', 'deny'] as const) {
      assert.equal(await waiting(user, what), '404 participant_not_found', `${what} ${user}`);
    }
  }
  assert.equal((await meeting(carl, 'GET', `/${made.id}`)).status, 404);
  assert.equal((await meeting(bob, 'GET', `/${made.id}`)).status, 200);
  assert.equal((await join(carl, made.link)).body.status, 'waiting');
  assert.equal(await waiting('carl', 'deny'), '200 ');
  const renewed = await meeting(alice, 'POST', `/${made.id}/link`);
  for (const link of [renewed.body.link, renewed.body.link]) {
    const { body, status } = await join(carl, link);
    assert.deepEqual([status, body.code], [403, 'meeting_forbidden']);
  }
  assert.equal(await waiting('carl', 'admit'), '404 participant_not_found');
  assert.deepEqual((await foundBy(carl, made)).slice(0, 6), NOTHING.slice(0, 6));
});

test('MTG-01 the host lets nobody in who was blocked while they waited', async () => {
  const { eve } = await server.people('eve');
  const made = await meet();
  assert.equal((await join(eve, made.link)).body.status, 'waiting');
  await callControl(server.folder, 'user.block', { username: 'eve' });
  const admitted = await meeting(alice, 'POST', `/${made.id}/waiting/eve/admit`);
  assert.deepEqual([admitted.status, admitted.body.code], [404, 'participant_not_found']);
  const room = await ask<{ participants: { user: string }[] }>(
    alice,
    'messaging',
    'GET',
    `/v1/conversations/${made.conversation_id}`,
  );
  assert.ok(!room.text.includes('"eve"'), room.text);
});

test('MTG-01 the link of a meeting leads nowhere else, whatever is in its place', async () => {
  const places = [
    '%2F%2Fevil.example',
    '..%2F..%2F..%2Fevil',
    'x%0d%0aset-cookie:%20a=b',
    '%3Cscript%3E',
    '@evil.example',
  ];
  const headers = { accept: 'text/html', host: 'evil.example', 'x-forwarded-host': 'evil.example' };
  const made = await meet();
  for (const place of [...places, made.link]) {
    const url = `${server.coordinator}/v1/meetings/join/${place}`;
    const reply = await fetch(url, { headers, redirect: 'manual' });
    const text = await reply.text();
    const location = reply.headers.get('location') ?? '';
    assert.doesNotMatch(`${location}${text}`, /evil\.example|<script>[^{]*x|Quarter results/, place);
    assert.ok(location === '' || /^(?:\.{0,2}\/)+[^/\\]*#?/.test(location), `${place}: ${location}`);
    assert.equal(reply.headers.get('set-cookie'), null, place);
  }
});

test('GST-01 an invitation of a guest is used once, by nobody after its host was blocked, and lets into its one room', async () => {
  const { frank } = await server.people('frank');
  assert.equal((await call('owner', 'PUT', '/settings/guests', { body: { everybody: true } })).status, 200);
  const invite = async (phone: string) =>
    await ask<{ url?: string; id: string }>(frank, 'coordinator', 'POST', '/v1/guests', {
      phone,
      guest_until: new Date(Date.now() + 3 * 86_400_000).toISOString(),
    });
  const one = await invite('+79161230001');
  assert.equal(one.status, 201, one.text);
  const exchange = async (text: string, username: string) => {
    const [, path = ''] = /(\/v1\/enroll\/\w+)/.exec(text) ?? [];
    return await request<Refused>('POST', `${server.coordinator}${path}`, {
      body: { username, password: 'heron over the quiet lake' },
    });
  };
  const both = await Promise.all(['guest-a', 'guest-b'].map(async (name) => await exchange(one.text, name)));
  assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([201, 410]));
  const two = await invite('+79161230002');
  // Nobody takes another's invitation back, or reads of it.
  const taken = await ask(bob, 'coordinator', 'DELETE', `/v1/guests/invitations/${two.body.id}`);
  assert.equal(taken.status, 404, taken.text);
  const seen = await ask(bob, 'coordinator', 'GET', '/v1/guests');
  assert.ok(!/frank|guest-|7916123/.test(seen.text), seen.text);
  await callControl(server.folder, 'user.block', { username: 'frank' });
  const late = await exchange(two.text, 'guest-c');
  assert.deepEqual([late.status, late.body.code], [410, 'invitation_used']);
});

test('CAL-05 a time is looked for among those alone whom one sees: others are as people who never were, in whatever place', async () => {
  const { heidi, ivan } = await server.people('heidi', 'ivan');
  const { id } = await defaultCalendar(server, ivan);
  const taken = { start_at: '2027-03-30T07:00:00Z', end_at: '2027-03-30T08:00:00Z' };
  await makeEntry(server, ivan, id, { title: 'Talk', ...taken });
  const find = async (who: Person, form: object) => {
    const reply = await ask<Record<string, unknown>>(who, 'calendar', 'POST', '/v1/find-time', {
      ...{ from: '2027-03-30T06:00:00Z', to: '2027-03-30T09:00:00Z', duration_minutes: 60, ...form },
    });
    assert.equal(reply.status, 200, reply.text);
    return reply.text;
  };
  const places = [
    (name: string) => ({ people: [name] }),
    (name: string) => ({ people: ['heidi', name] }),
    (name: string) => ({ people: ['heidi'], optional: [name] }),
    (name: string) => ({ people: ['heidi'], rooms: [name] }),
    (name: string) => ({ people: [name], optional: [name], rooms: [name] }),
  ];
  const isAsNobody = async (who: Person, what: string) => {
    for (const place of places) {
      const [there, never] = [await find(who, place('ivan')), await find(who, place('nobody'))];
      assert.equal(there.replaceAll('ivan', 'nobody'), never, `${what} ${JSON.stringify(place('ivan'))}`);
    }
  };
  // The attack has something to find: of whom one sees, the hour that is taken is told.
  assert.notEqual(
    (await find(heidi, places[0]!('ivan'))).replaceAll('ivan', 'nobody'),
    await find(heidi, places[0]!('nobody')),
  );
  const group = await call<{ id: string }>('owner', 'POST', '/groups', { body: { name: 'Apart', members: ['heidi'] } });
  assert.equal(group.status, 201, group.text);
  const rule = { action: 'see', from: group.body.id, to: 'people', effect: 'deny' };
  const policy = await call<{ id: string }>('owner', 'POST', '/policies', { body: rule });
  assert.equal(policy.status, 201, policy.text);
  // A policy is on its way for a moment.
  await until(async () => (await find(heidi, places[0]!('ivan'))).includes('"unknown":["ivan"]'), 'the policy');
  await isAsNobody(heidi, 'unseen');
  // Nor does a share of before, or a delegate's, open what the policy closes, or a name written otherwise.
  await ask(ivan, 'calendar', 'PUT', `/v1/calendars/${id}/shares/heidi`, { access: 'free_busy' });
  await isAsNobody(heidi, 'unseen with a share');
  for (const name of ['IVAN', 'ivan ', 'mailto:ivan@example.org']) {
    const reply = await ask(heidi, 'calendar', 'POST', '/v1/find-time', {
      ...{ from: '2027-03-30T06:00:00Z', to: '2027-03-30T09:00:00Z', duration_minutes: 60, people: [name] },
    });
    assert.deepEqual([reply.status, reply.body.code], [400, 'field_invalid'], name);
  }
  assert.equal((await call('owner', 'DELETE', `/policies/${policy.body.id}`)).status, 204);
  await until(async () => (await find(heidi, places[0]!('ivan'))).includes('"unknown":[]'), 'the end of the policy');
  await callControl(server.folder, 'user.block', { username: 'ivan' });
  await isAsNobody(heidi, 'blocked');
});

test('CAL-04 a proposal is answered and put away by nobody but who may, and by a delegate no longer than they are one', async () => {
  const { id: hers } = await defaultCalendar(server, alice);
  const { id: his } = await defaultCalendar(server, bob);
  const share = async (access: string | undefined) =>
    await (access === undefined
      ? ask(alice, 'calendar', 'DELETE', `/v1/calendars/${hers}/shares/carl`)
      : ask(alice, 'calendar', 'PUT', `/v1/calendars/${hers}/shares/carl`, { access }));
  const talk = { title: 'Talk', start_at: '2027-03-30T07:00:00Z', end_at: '2027-03-30T08:00:00Z', attendees: ['bob'] };
  const entry = await makeEntry(server, alice, hers, talk);
  const copy = await until(async () => {
    const changes = `/v1/calendars/${his}/changes?limit=200`;
    const { body } = await ask<{ items: EntryView[] }>(bob, 'calendar', 'GET', changes);
    return body.items.find(({ uid }) => uid === entry.uid);
  }, 'the copy of the invitation');
  const proposed = await ask(bob, 'calendar', 'POST', `/v1/invitations/${his}/${copy.id}/proposals`, {
    ...{ start_at: '2027-03-30T10:00:00Z', end_at: '2027-03-30T11:00:00Z' },
  });
  assert.equal(proposed.status, 204, proposed.text);
  const read = async (who: Person) =>
    (await ask<{ items: ProposalView[] }>(who, 'calendar', 'GET', '/v1/proposals')).body.items;
  const proposal = await until(async () => (await read(alice))[0], 'the proposal');
  assert.equal((await share('delegate')).status < 300, true);
  const { id: named } = await until(async () => (await read(carl))[0], 'the delegate to see it');
  assert.ok(named.startsWith(hers), named);
  for (const access of ['write', 'read', 'free_busy', undefined]) {
    assert.ok((await share(access)).status < 300, access);
    await until(async () => (await read(carl)).length === 0, `${access} to end what a delegate may`);
    for (const one of [proposal.id, named]) {
      for (const [method, path, body] of [
        ['PUT', `/v1/proposals/${one}/answer`, { answer: 'accepted' }],
        ['DELETE', `/v1/proposals/${one}`, undefined],
      ] as const) {
        for (const who of [carl, dave, bob]) {
          const reply = await ask(who, 'calendar', method, path, body);
          assert.deepEqual([reply.status, reply.body.code], [404, 'proposal_not_found'], `${who.username} ${method}`);
        }
      }
    }
  }
  assert.deepEqual(
    (await read(alice)).map(({ id }) => id),
    [proposal.id],
  );
  // Of two answers at once one counts.
  const answers = await Promise.all(
    ['accepted', 'declined'].map(
      async (answer) => await ask(alice, 'calendar', 'PUT', `/v1/proposals/${proposal.id}/answer`, { answer }),
    ),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([204, 404]));
});

test('VND-16 a vendor is shown no way into a meeting, filters by nothing of it, and reads nothing of it in the trail', async () => {
  const made = await meet({ title: 'Zanzibar merger', participants: ['bob'] });
  await join(dave, made.link);
  const given = await meeting(alice, 'POST', `/${made.id}/host`, { user: 'bob' });
  assert.equal(given.status, 200, given.text);
  const words = { shown: [made.link, made.conversation_id], logged: ['Zanzibar', made.id, 'alice', 'bob', 'dave'] };
  const listed = await call('vendor_active', 'GET', '/meetings');
  assert.equal(listed.status, 200, listed.text);
  for (const word of words.shown) assert.ok(!listed.text.includes(word), word);
  for (const query of [`conversation=${made.conversation_id}`, 'waiting=true', 'q=Zanzibar', 'host=alice']) {
    const { body, status } = await call<Refused>('vendor_active', 'GET', `/meetings?${query}`);
    assert.deepEqual([status, body.code], [400, 'query_invalid'], query);
  }
  const administrators = await call('administrator', 'GET', `/audit?about=meeting:${made.id}`);
  assert.ok(
    administrators.text.includes('meeting.host_changed') && administrators.text.includes(made.id),
    administrators.text,
  );
  const asked = await call<{ items?: unknown[] }>('vendor_active', 'GET', `/audit?about=meeting:${made.id}`);
  assert.deepEqual([asked.status, asked.body.items], [200, []]);
  const trail = await call('vendor_active', 'GET', '/audit?limit=200');
  assert.ok(trail.text.includes('meeting.host_changed'));
  for (const word of [...words.shown, ...words.logged]) assert.ok(!trail.text.includes(word), word);
});
