/**
 * Somebody who was removed from a room, with sockets that are open and a device that is asleep: from the moment that they are told so
 * nothing of the room reaches them, neither what was on its way nor what waits (MSG-11, FRM-05, RCP-02, FRM-01).
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { portOf } from '#src/http/listening-address.ts';
import { HINT_PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import type { Route } from '#src/protocol/route.ts';
import { MESSAGING_ROUTES } from '#src/protocol/routes.ts';
import { attach, idOf, upload } from '#test/messaging/attaching.ts';
import { addPeople, anotherDevice, assertRefused, heardUpTo, post, say, start } from '#test/messaging/conversing.ts';
import { CERTIFICATE, LoopbackProvider, Subscription } from '#test/push/loopback-provider.ts';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect, type TestSocket } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
writeFileSync(join(folder, 'certificate.pem'), CERTIFICATE);
const provider = await LoopbackProvider.open();
/** Pages that previews are made of, answered when the test says so. */
const held: ServerResponse[] = [];
const pages = createServer((_request, response) => void held.push(response));
await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve));
const environment = {
  NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem'),
  PARLEY_LINK_PREVIEWS: 'on',
  PARLEY_ALLOW_PRIVATE_TARGETS: 'true',
};
const { server, alice, bob, mallory } = await shareServer(['alice', 'bob', 'mallory'], { shards: 2, environment });
after(async () => {
  pages.closeAllConnections();
  pages.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

function release(): void {
  for (const response of held.splice(0)) {
    response.setHeader('content-type', 'text/html');
    response.end('<title>A page that was slow</title>');
  }
}

const path = (id: string, rest = '') => `/v1/conversations/${id}${rest}`;

async function done(who: Person, method: string, to: string, body?: object): Promise<void> {
  const reply = await server.api(who, method, to, body);
  assert.ok(reply.status < 300, `${method} ${to}: ${reply.text}`);
}

/** What a socket heard of a room behind the word that mallory is out of it; everything where that word never came. */
function heardAfterwards({ events }: TestSocket, id: string): string[] {
  const isOut = ({ conv, data, type }: (typeof events)[number]) =>
    conv === id &&
    type === 'membership' &&
    data['action'] === 'removed' &&
    JSON.stringify(data['participants']).includes('"mallory"');
  const out = events.findIndex(isOut);
  return events
    .slice(out + 1)
    .filter((event) => event.conv === id || JSON.stringify(event.data).includes(id))
    .filter(({ type }) => type !== 'inbox')
    .map(({ data, type }) => `${type} ${JSON.stringify(data)}`);
}

/** Waits until a socket heard what was said last in another conversation, which both are in. */
async function settle(...sockets: TestSocket[]): Promise<void> {
  for (let count = 0; count < 4; count += 1) {
    const { id } = await start(server, alice, 'room', ['mallory']);
    for (const socket of sockets) await heardUpTo(server, socket, alice, id);
  }
}

test('MSG-11 whatever is done in a room while somebody is removed and afterwards, they hear nothing behind the word of it', async () => {
  // Rooms of every shard and lane.
  for (let round = 0; round < 6; round += 1) {
    const { id } = await start(server, alice, 'room', ['bob', 'mallory']);
    const phone = await anotherDevice(server, mallory);
    const sockets = [await connect(server, mallory), await connect(server, phone)];
    const ofBob = await connect(server, bob);
    for (const text of ['one', 'two', 'three']) await say(server, mallory, id, text);
    const linked = await say(server, alice, id, `http://127.0.0.1:${portOf(pages.address())}/${id}`);
    await until(() => held.length > 0, 'the page to be asked for');
    await done(mallory, 'PUT', path(id, '/draft'), { body: 'unsent' });
    const out = server.api(alice, 'DELETE', path(id, '/participants/mallory'));
    // At the same time, and on until they are out.
    const said = Promise.all(
      Array.from({ length: 20 }, async (_, at) => await say(server, at % 2 === 0 ? alice : bob, id, `meanwhile ${at}`)),
    );
    assert.equal((await out).status, 204);
    await said;
    ofBob.send({ kind: 'typing', conv: id });
    await done(alice, 'PUT', path(id, '/messages/1/reactions/%F0%9F%91%8D'));
    await done(alice, 'PUT', path(id, '/pins/2'));
    await done(bob, 'POST', path(id, '/receipts'), { seq: 4, state: 'read' });
    await done(alice, 'PATCH', path(id), { title: 'Without mallory' });
    await done(alice, 'DELETE', path(id, '/messages/3'));
    const reply = await post(server, bob, id, { kind: 'text', body: 'behind their back', reply_to: 1 });
    assert.equal(reply.status, 201, reply.text);
    await until(async () => {
      release();
      const { body } = await server.api(alice, 'GET', path(id, `/messages/${linked.seq}`));
      return body['preview'] !== undefined;
    }, 'the preview');
    await ofBob.event(
      ({ conv, data, type }) => conv === id && type === 'message.new' && data['body'] === 'behind their back',
    );
    await settle(...sockets);
    for (const socket of sockets) {
      assert.deepEqual(heardAfterwards(socket, id), [], `round ${round}`);
      assert.ok(!socket.texts.some((text) => text.includes('behind their back')));
    }
    await Promise.all([...sockets, ofBob].map(async (socket) => await socket.close()));
  }
});

test('RCP-02 FRM-01 what a large room gathers for a second is told to nobody who is out by then', async () => {
  const crowd = Array.from({ length: HINT_PARTICIPANTS_MAX }, (_, at) => `crowd${at}`);
  await addPeople(server, crowd);
  for (let round = 0; round < 3; round += 1) {
    const { id } = await start(server, alice, 'room', ['bob', 'mallory', ...crowd]);
    const [hers, his, theirs] = [
      await connect(server, alice),
      await connect(server, bob),
      await connect(server, mallory),
    ];
    await say(server, alice, id, 'hello');
    await theirs.event(({ conv, type }) => conv === id && type === 'message.new');
    const before = done(bob, 'POST', path(id, '/receipts'), { seq: 1, state: 'read' });
    his.send({ kind: 'typing', conv: id });
    await done(alice, 'DELETE', path(id, '/participants/mallory'));
    await before;
    await hers.event(({ conv, type }) => conv === id && type === 'typing');
    await hers.event(({ conv, type }) => conv === id && type === 'receipt');
    await settle(theirs);
    assert.deepEqual(heardAfterwards(theirs, id), [], `round ${round}`);
    await Promise.all([hers, his, theirs].map(async (socket) => await socket.close()));
  }
});

test('FRM-05 no push of a room goes to somebody who is out of it, whatever waited', async () => {
  const pushed = new Subscription(`${provider.url}/mallory/`);
  const phone = await anotherDevice(server, mallory);
  await done(phone, 'PUT', '/v1/push', pushed.address);
  const { id } = await start(server, alice, 'room', ['bob', 'mallory']);
  const direct = await start(server, alice, 'direct', ['mallory']);
  // The provider is busy with the one before: what comes behind waits its turn.
  const busy = Promise.withResolvers<void>();
  provider.answer = async () => {
    await busy.promise;
    return { status: 201 };
  };
  await say(server, alice, direct.id, 'before');
  await provider.askedOn('/mallory/', 1);
  await done(alice, 'DELETE', path(id, '/participants/mallory'));
  for (let count = 0; count < 5; count += 1) await say(server, bob, id, 'among ourselves');
  busy.resolve();
  provider.answer = () => ({ status: 201 });
  await say(server, alice, direct.id, 'afterwards');
  const asked = await provider.askedOn('/mallory/', 2);
  for (const { body } of asked) assert.notEqual(pushed.read(body)['conversation_id'] ?? pushed.read(body)['conv'], id);
  assert.ok(asked.every(({ body }) => !JSON.stringify(pushed.read(body)).includes(id)));
  await done(phone, 'DELETE', '/v1/push');
});

test('MSG-11 by no route and no list does somebody who is out find the room, its words, or what they left there', async () => {
  const { id } = await start(server, alice, 'room', ['bob', 'mallory'], 'Zanzibar');
  const other = await start(server, mallory, 'room', ['bob']);
  const mentions = [{ username: 'mallory', offset: 0, length: 8 }];
  await post(server, alice, id, { kind: 'text', body: '@mallory heronlike', mentions });
  await say(server, mallory, id, 'heronlike of my own');
  const file = await upload(server, alice, Buffer.from('a file of the room'), 'zanzibar.txt');
  assert.equal((await attach(server, alice, id, file)).status, 201);
  await done(alice, 'PUT', path(id, '/pins/1'));
  await done(mallory, 'PUT', path(id, '/draft'), { body: 'unsent heronlike' });
  await done(mallory, 'POST', path(id, '/receipts'), { seq: 1, state: 'read' });
  await done(alice, 'DELETE', path(id, '/participants/mallory'));
  const stranger = '/v1/conversations/c_0000000000000000000000';
  const reads = Object.values<Route>(MESSAGING_ROUTES).filter((route) => route.method === 'get');
  const ofRooms = reads.filter((route) => route.path.startsWith('/v1/conversations/:id'));
  assert.ok(ofRooms.length > 10, String(ofRooms.length));
  for (const route of ofRooms) {
    const to = route.path
      .replace(':seq', '1')
      .replace(':attachment', idOf(file))
      .replace(':avatar', 'a_1')
      .replace(/:(?!id)\w+/g, 'bob');
    const query = to.endsWith('/changes') ? '?after_rev=0' : '';
    const [there, none] = await Promise.all(
      [path(id), stranger].map(
        async (base) => await server.api(mallory, 'GET', to.replace('/v1/conversations/:id', base) + query),
      ),
    );
    assert.ok((there?.status ?? 0) >= 400, `${to}: ${there?.text}`);
    assert.deepEqual([there?.status, there?.text], [none?.status, none?.text], to);
  }
  const lists = reads.filter((route) => !route.path.includes(':'));
  assert.ok(lists.length > 5, String(lists.length));
  for (const { path: list } of lists) {
    const query = list === '/v1/search' ? '?q=heronlike' : '';
    const { text } = await server.api(mallory, 'GET', `${list}${query}`);
    assert.doesNotMatch(text, new RegExp(`${id}|heronlike|Zanzibar|zanzibar`), `${list}: ${text}`);
  }
  const forwarded = await post(server, mallory, other.id, { forward: { conversation_id: id, seq: 2 } });
  assertRefused(forwarded, 403, 'forward_forbidden', 'forward');
  assert.ok((await attach(server, mallory, other.id, file)).status >= 400);
  // Nor does the draft come back with them.
  await done(alice, 'POST', path(id, '/participants'), { participants: ['mallory'] });
  assertRefused(await server.api(mallory, 'GET', path(id, '/draft')), 404, 'draft_not_found');
});
