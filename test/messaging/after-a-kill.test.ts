/**
 * What was acknowledged is there after kill -9. All cases share one server, its kill and the one that comes after it: each
 * says what it does before, and what holds then.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { request, startServer, type TestServer } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { append, attach, begin, download, idOf, offsetOf } from './attaching.ts';
import { assertRefused, heardUpTo, post, say, start } from './conversing.ts';

type Check = (second: TestServer) => Promise<void>;

/** By the names of the cases; those of each are people and conversations of its own. */
const cases = new Map<string, (first: TestServer) => Promise<Check>>();
const checks = new Map<string, Promise<Check>>();
const servers: TestServer[] = [];

before(async () => {
  const first = await startServer({ shards: 2 });
  servers.push(first);
  for (const [name, prepare] of cases) {
    const preparation = prepare(first);
    checks.set(name, preparation);
    // One that fails is the failure of its own case, which awaits it.
    await Promise.allSettled([preparation]);
  }
  await first.end('SIGKILL');
  servers.push(await startServer({ shards: 2, folder: first.folder }));
});
after(async () => {
  // The first one takes the folder away.
  for (const server of servers.toReversed()) await server.stop();
});

/** A case: `prepare` does something that is acknowledged and answers what looks at it after the kill. */
function afterAKill(name: string, prepare: (first: TestServer) => Promise<Check>): void {
  cases.set(name, prepare);
  test(name, async () => {
    const check = await checks.get(name);
    assert.ok(check !== undefined);
    await check(servers[1] as TestServer);
  });
}

afterAKill('CRD-08 a revocation survives a restart', async (first) => {
  const { hal, gil } = await first.people('hal', 'gil');
  await request('POST', `${first.coordinator}/v1/auth/logout`, { token: hal.session.token });
  return async (second) => {
    assertRefused(await second.api(hal, 'GET', '/v1/inbox'), 401, 'session_revoked');
    assert.equal((await second.api(gil, 'GET', '/v1/inbox')).status, 200);
  };
});

afterAKill('an upload survives the server being killed in the middle of it', async (first) => {
  const ada = await first.person('ada');
  const bytes = randomBytes(500_000);
  const path = await begin(first, ada, bytes.length);
  assert.equal((await append(first, ada, path, 0, bytes.subarray(0, 200_000))).status, 204);
  const whole = await begin(first, ada, 3);
  assert.equal((await append(first, ada, whole, 0, Buffer.from('abc'))).status, 204);
  return async (second) => {
    const again = { ...ada, session: await second.signIn(ada.username, ada.password) };
    const offset = await offsetOf(second, again, path);
    assert.equal(offset, 200_000);
    assert.equal((await append(second, again, path, offset, bytes.subarray(offset))).status, 204);
    const conversation = await start(second, again, 'room', [], 'Mine');
    for (const one of [path, whole]) {
      assert.equal((await attach(second, again, conversation.id, idOf(one))).status, 201);
    }
    assert.deepEqual((await download(second, again, idOf(path), conversation.id)).bytes, bytes);
  };
});

afterAKill('MSG-08 reactions, pins, drafts and mutes survive kill -9', async (first) => {
  const { alice, bob } = await first.people('alice', 'bob');
  const { id } = await start(first, alice, 'direct', ['bob']);
  const at = `/v1/conversations/${id}`;
  await say(first, alice, id, 'x');
  await first.api(bob, 'PUT', `${at}/messages/1/reactions/${encodeURIComponent('❤️')}`);
  await first.api(bob, 'PUT', `${at}/pins/1`);
  await first.api(bob, 'PUT', `${at}/draft`, { body: 'unsent' });
  await first.api(bob, 'PUT', `${at}/mute`, { until: '2030-01-01T00:00:00Z' });
  const inbox = async (from: TestServer) => (await from.api<{ items: object[] }>(bob, 'GET', '/v1/inbox')).body.items;
  const kept = await inbox(first);
  return async (second) => {
    assert.deepEqual(await inbox(second), kept);
    const pins = await second.api<{ items: Message[] }>(alice, 'GET', `${at}/pins`);
    assert.deepEqual(pins.body.items[0]?.reactions, [{ emoji: '❤️', count: 1, users: ['bob'] }]);
    assert.deepEqual(
      kept.map((item) => [(item as { draft: string }).draft, (item as { muted_until: string }).muted_until]),
      [['unsent', '2030-01-01T00:00:00Z']],
    );
  };
});

afterAKill('what is hidden stays so over a kill, beside the draft and the mute', async (first) => {
  const { ida, jon } = await first.people('ida', 'jon');
  const { id } = await start(first, ida, 'direct', ['jon']);
  const at = `/v1/conversations/${id}`;
  await say(first, jon, id, 'hello');
  await first.api(ida, 'PUT', `${at}/draft`, { body: 'unsent' });
  await first.api(ida, 'PUT', `${at}/mute`, { until: '2030-01-01T00:00:00Z' });
  assert.equal((await first.api(ida, 'PUT', `${at}/hidden`, { seq: 1 })).status, 200);
  return async (second) => {
    const again = { ...ida, session: await second.signIn('ida', ida.password) };
    const standing = async () => {
      const reply = await second.api<{ items: Record<string, unknown>[] }>(again, 'GET', '/v1/inbox');
      const { draft, hidden, muted_until: muted } = reply.body.items[0] ?? {};
      return [hidden, draft, muted];
    };
    assert.deepEqual(await standing(), [true, 'unsent', '2030-01-01T00:00:00Z']);
    await say(second, again, id, 'one’s own message brings it back, too');
    assert.deepEqual(await standing(), [undefined, 'unsent', '2030-01-01T00:00:00Z']);
  };
});

afterAKill('RCP-03 watermarks survive kill -9 and still move only forward', async (first) => {
  const { eva, fay } = await first.people('eva', 'fay');
  const { id } = await start(first, eva, 'direct', ['fay']);
  const receipt = async (from: TestServer, state: string, seq: number) =>
    await from.api<object>(fay, 'POST', `/v1/conversations/${id}/receipts`, { state, seq });
  for (let n = 1; n <= 4; n += 1) await say(first, eva, id, `m ${n}`);
  await receipt(first, 'delivered', 4);
  await receipt(first, 'read', 3);
  return async (second) => {
    const path = `/v1/conversations/${id}/changes?after_rev=0`;
    const { watermarks } = (await second.api<{ watermarks: object[] }>(eva, 'GET', path)).body;
    assert.deepEqual(watermarks, [{ user: 'fay', delivered: 4, read: 3 }]);
    const socket = await connect(second, eva);
    assert.deepEqual((await receipt(second, 'read', 2)).body, { user: 'fay', delivered: 4, read: 3 });
    assert.deepEqual(await heardUpTo(second, socket, eva, id), []);
    await socket.close();
  };
});

// The last one: the kill comes in the moment in which its posts are acknowledged.
afterAKill(
  'MSG-03 MSG-04 MSG-08 after kill -9 a repeat still answers the first message, and seq goes on',
  async (first) => {
    const { cas, dot } = await first.people('cas', 'dot');
    const { id } = await start(first, cas, 'direct', ['dot']);
    const forms = Array.from({ length: 40 }, (_, n) => ({ kind: 'text', body: `m ${n}`, client_msg_id: `id-${n}` }));
    const acknowledged = await Promise.all(forms.map(async (form) => await post(first, cas, id, form)));
    return async (second) => {
      const repeats = await Promise.all(forms.map(async (form) => await post(second, cas, id, form)));
      for (const [n, repeat] of repeats.entries())
        assert.deepEqual([repeat.status, repeat.body], [200, acknowledged[n]?.body]);
      const socket = await connect(second, dot);
      const path = `/v1/conversations/${id}/changes?after_rev=1`;
      const changes = await second.api<{ items: { seq?: number }[] }>(dot, 'GET', path);
      assert.deepEqual(
        changes.body.items.map((item) => item.seq),
        Array.from({ length: 40 }, (_, n) => n + 1),
      );
      assert.equal((await say(second, cas, id, 'after')).seq, 41);
      assert.equal((await socket.event('message.new')).seq, 41);
      await socket.close();
    };
  },
);
