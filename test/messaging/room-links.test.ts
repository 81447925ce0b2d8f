/** Links into rooms over the running server: who makes them, whom they let in, and everything that ends them. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { hashSecret } from '#src/identity/credentials/opaque-secrets.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import type { RoomLink } from '#src/protocol/conversations/room-link-routes.ts';
import { ROOM_LINK_SECONDS_MAX, ROOM_LINK_USES_MAX, ROOM_LINKS_MAX } from '#src/protocol/limits.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { tablesWithWords } from '#test/support/stored-words.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, say } from './conversing.ts';

const site = await shareRestartedServer({}, { shards: 2 });
let people: Record<'alice' | 'bob' | 'carol' | 'dave', Person>;
before(async () => {
  people = await site.server.people('alice', 'bob', 'carol', 'dave');
});

interface MadeLink extends RoomLink {
  readonly link: string;
}

const api = async <T = Conversation>(who: Person, method: string, path: string, body?: unknown): Promise<Reply<T>> =>
  await site.server.api<T>(who, method, `/v1${path}`, body);
const make = async (who: Person, id: string, form: object = {}) =>
  await api<MadeLink>(who, 'POST', `/conversations/${id}/links`, form);
const join = async (who: Person, link: string) => await api(who, 'POST', `/room-links/${link}/join`);
const listed = async (who: Person, id: string) =>
  await api<{ items: RoomLink[] }>(who, 'GET', `/conversations/${id}/links`);
const revoke = async (who: Person, id: string, link: string) =>
  await api(who, 'DELETE', `/conversations/${id}/links/${link}`);
const remove = async (who: Person, id: string, user: string) =>
  assert.equal((await api(who, 'DELETE', `/conversations/${id}/participants/${user}`)).status, 204);

async function open(participants: readonly string[] = [], more: object = {}): Promise<string> {
  const made = await api(people.alice, 'POST', '/conversations', {
    kind: 'room',
    title: 'Herons',
    participants,
    ...more,
  });
  assert.equal(made.status, 201, made.text);
  return made.body.id;
}

async function linkOf(who: Person, id: string, form: object = {}): Promise<MadeLink> {
  const made = await make(who, id, form);
  assert.equal(made.status, 201, made.text);
  return made.body;
}

test('who has a link comes into the room by their own will, and reads what was said before', async () => {
  const { alice, bob } = people;
  const id = await open();
  await say(site.server, alice, id, 'said before');
  const socket = await connect(site.server, alice);
  const { link, ...made } = await linkOf(alice, id, { seconds: 3_600, uses: 2 });
  assert.equal(Date.parse(made.expires_at) - Date.parse(made.created_at), 3_600_000);
  const joined = await join(bob, link);
  assert.deepEqual([joined.status, joined.body.id], [200, id], joined.text);
  const told = await socket.event('membership');
  assert.deepEqual(told.data, {
    ...{ action: 'joined', user: 'bob', participant_count: 2, participants: [{ user: 'bob', role: 'member' }] },
  });
  await socket.close();
  const { body } = await api<{ items: { body: string }[] }>(bob, 'GET', `/conversations/${id}/messages`);
  assert.deepEqual(
    body.items.map((one) => one.body),
    ['said before'],
  );
  // Whoever takes part already uses nothing up, and a link that is one is no guess, however often it is opened.
  for (let count = 0; count < 30; count += 1) assert.equal((await join(bob, link)).status, 200);
  assert.deepEqual((await listed(alice, id)).body.items, [{ ...made, used: 1 }]);
  // The secret is on the disk as its hash alone.
  assert.deepEqual(await tablesWithWords(site.server.folder, [link.slice(22)]), []);
  assert.deepEqual(await tablesWithWords(site.server.folder, [hashSecret(link.slice(22))]), [
    `roomLinks: ${hashSecret(link.slice(22))}`,
  ]);
});

test('a link is used up, is over, and is counted over a kill; its bounds are refused with their fields', async () => {
  const { alice, bob, carol } = people;
  const id = await open();
  const once = await linkOf(alice, id, { uses: 1 });
  assert.equal((await join(bob, once.link)).status, 200);
  await site.restart('SIGKILL');
  assertRefused(await join(carol, once.link), 404, 'room_link_not_found');
  assert.deepEqual((await listed(alice, id)).body.items, []);
  for (const [form, field] of [
    [{ seconds: 59 }, 'seconds'],
    [{ seconds: ROOM_LINK_SECONDS_MAX + 1 }, 'seconds'],
    [{ uses: 0 }, 'uses'],
    [{ uses: ROOM_LINK_USES_MAX + 1 }, 'uses'],
  ] as const) {
    assertRefused(await make(alice, id, form), 400, 'field_invalid', field);
  }
  assertRefused(await make(alice, id, { role: 'owner' }), 400, 'field_unknown', 'role');
  assert.equal((await make(alice, id, { seconds: ROOM_LINK_SECONDS_MAX, uses: ROOM_LINK_USES_MAX })).status, 201);
  // What was used up takes no place of another.
  for (let count = 1; count < ROOM_LINKS_MAX; count += 1) await linkOf(alice, id);
  assertRefused(await make(alice, id), 409, 'room_links_full');
  const [first] = (await listed(alice, id)).body.items;
  assert.equal((await revoke(alice, id, first?.id ?? '')).status, 204);
  assert.equal((await make(alice, id)).status, 201);
});

test('links are made by who may add people, and seen and taken away by their makers and who may remove people', async () => {
  const { alice, bob, carol, dave } = people;
  const id = await open(['bob', 'carol']);
  const bobs = await linkOf(bob, id);
  const alices = await linkOf(alice, id);
  const ids = async (who: Person) => (await listed(who, id)).body.items.map((one) => one.id);
  assert.deepEqual([await ids(bob), await ids(carol)], [[bobs.id], []]);
  assert.deepEqual(new Set(await ids(alice)), new Set([bobs.id, alices.id]));
  assertRefused(await revoke(carol, id, bobs.id), 404, 'room_link_not_found');
  assertRefused(await revoke(bob, id, alices.id), 404, 'room_link_not_found');
  assertRefused(await revoke(bob, id, 'none'), 404, 'room_link_not_found');
  assert.equal((await revoke(alice, id, bobs.id)).status, 204);
  assertRefused(await revoke(alice, id, bobs.id), 404, 'room_link_not_found');
  assertRefused(await join(dave, bobs.link), 404, 'room_link_not_found');
  for (const reply of [await make(dave, id), await listed(dave, id), await revoke(dave, id, alices.id)]) {
    assertRefused(reply, 403, 'conversation_forbidden');
  }
  const direct = await api(alice, 'POST', '/conversations', { kind: 'direct', participants: ['bob'] });
  assertRefused(await make(alice, direct.body.id), 409, 'participants_fixed');
});

test('a link does not outlive what lets its maker add people: their seat, their account, the policies, the room', async () => {
  const { alice, bob, carol, dave } = people;
  const id = await open(['bob']);
  const seat = await linkOf(bob, id);
  await remove(alice, id, 'bob');
  assertRefused(await join(carol, seat.link), 404, 'room_link_not_found');
  // Whoever is asked in again has none of their links back.
  await api(alice, 'POST', `/conversations/${id}/participants`, { participants: ['bob'], role: 'member' });
  assertRefused(await join(carol, seat.link), 404, 'room_link_not_found');
  const role = await linkOf(bob, id);
  await api(alice, 'PATCH', `/conversations/${id}/participants/bob`, { role: 'guest' });
  assertRefused(await join(carol, role.link), 404, 'room_link_not_found');
  await api(alice, 'PATCH', `/conversations/${id}/participants/bob`, { role: 'member' });
  const account = await linkOf(bob, id);
  assert.ok((await site.ask('administrator', 'POST', '/users/bob/block')).status < 300);
  assertRefused(await join(carol, account.link), 404, 'room_link_not_found');
  assert.ok((await site.ask('administrator', 'POST', '/users/bob/unblock')).status < 300);
  const ruled = await linkOf(alice, id);
  for (const action of ['invite', 'message']) {
    const rule = { action, from: 'people', to: 'people', effect: 'deny' };
    const { body } = await site.ask<{ id: string }>('owner', 'POST', '/policies', rule);
    assertRefused(await join(carol, ruled.link), 404, 'room_link_not_found');
    assert.equal((await site.ask('owner', 'DELETE', `/policies/${body.id}`)).status, 204);
  }
  assert.equal((await api(alice, 'PATCH', `/conversations/${id}`, { archived: true })).status, 200);
  assertRefused(await join(carol, ruled.link), 409, 'conversation_archived');
  assertRefused(await make(alice, id), 409, 'conversation_archived');
  assert.equal((await api(alice, 'PATCH', `/conversations/${id}`, { archived: false })).status, 200);
  assert.equal((await join(carol, ruled.link)).status, 200);
  assert.equal((await api(alice, 'DELETE', `/conversations/${id}`)).status, 204);
  assertRefused(await join(dave, ruled.link), 404, 'room_link_not_found');
});

test('who was removed does not come back by a link, who left does, and a guest comes by none (GST-06)', async () => {
  const { alice, carol, dave } = people;
  const id = await open(['carol', 'dave']);
  const { link } = await linkOf(alice, id);
  await remove(alice, id, 'carol');
  assertRefused(await join(carol, link), 404, 'room_link_not_found');
  await remove(dave, id, 'dave');
  assert.equal((await join(dave, link)).status, 200);
  const guest_until = formatInstant(Math.floor(Date.now() / 1000 + 3_600) * 1000);
  const form = { kind: 'guest', phone: '+79161234567', guest_until };
  const invited = await site.ask<{ url: string }>('administrator', 'POST', '/enroll', form);
  const account = { username: 'vera', password: 'password of vera' };
  assert.equal((await request('POST', invited.body.url, { body: account })).status, 201);
  const vera = { ...account, session: await site.server.signIn('vera', account.password) };
  assertRefused(await join(vera, link), 404, 'room_link_not_found');
  await api(alice, 'POST', `/conversations/${id}/participants`, { participants: ['vera'], role: 'guest' });
  assertRefused(await make(vera, id), 403, 'right_missing');
});

test('the SDK makes, lists, uses and revokes links, and guesses are counted', async () => {
  const { alice } = people;
  const id = await open();
  const { eve, finn } = await site.server.people('eve', 'finn');
  const { coordinator: coordinatorUrl, messaging: messagingUrl } = site.server;
  const sdk = async ({ password, username }: Person) =>
    await ParleyClient.signIn({ coordinatorUrl, messagingUrl, username, password });
  const [one, other] = [await sdk(alice), await sdk(eve)];
  const made = await one.makeRoomLink(id);
  assert.equal((await other.joinByLink(made.link)).id, id);
  assert.deepEqual(
    (await one.roomLinks(id)).map(({ id: link, used, uses }) => [link, used, uses]),
    [[made.id, 1, 25]],
  );
  await one.revokeRoomLink(id, made.id);
  await assert.rejects(other.revokeRoomLink(id, made.id), { code: 'room_link_not_found' });
  one.close();
  other.close();
  const good = await linkOf(alice, id);
  const guess = `${id.slice(2)}${'x'.repeat(43)}`;
  const codes: string[] = [];
  while (codes.at(-1) !== 'rate_limited' && codes.length < 40) {
    codes.push(
      ((await join(finn, codes.length % 2 === 0 ? guess : 'nonsense')).body as unknown as { code: string }).code,
    );
  }
  assert.ok(codes.length > 20 && codes.length < 40, codes.join(' '));
  assert.deepEqual(new Set(codes), new Set(['room_link_not_found', 'rate_limited']));
  // Who guessed too often does not come in by the right one either.
  const last = await until(async () => {
    // A guess takes what came back meanwhile.
    await join(finn, guess);
    const reply = await join(finn, good.link);
    return reply.status === 429 ? reply : undefined;
  }, 'the right link to be refused');
  assertRefused(last, 429, 'rate_limited');
});
