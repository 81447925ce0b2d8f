/** Client sessions, page by page, as an administrator and as a vendor reads them (RED-03, RED-10). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startConsoleServer } from './console-server.ts';

interface Page {
  readonly items: readonly { readonly user: string; readonly name: string }[];
  readonly next: string | null;
}

test('RED-03 RED-10 no page of client sessions names anybody to a vendor, in its items, its names or its cursor', async (t) => {
  const host = await startConsoleServer({}, { shards: 2 });
  t.after(async () => await host.stop());
  const { call, server } = host;
  const people = ['heron', 'ibis', 'kestrel'];
  for (const username of people) {
    await call('owner', 'POST', '/users', { body: { username, password: 'a long password' } });
    const device = { name: `Phone of ${username}`, platform: 'ios' };
    const reply = await fetch(`${server.coordinator}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: 'a long password', device }),
    });
    assert.equal(reply.status, 200);
  }
  const walk = async (who: 'administrator' | 'vendor_active') => {
    const texts: string[] = [];
    const users: string[] = [];
    for (let after = ''; ;) {
      const page = await call<Page>(who, 'GET', `/client-sessions?limit=1${after}`);
      assert.equal(page.status, 200, page.text);
      texts.push(page.text);
      users.push(...page.body.items.map(({ user }) => user));
      if (page.body.next === null) return { text: texts.join('\n'), users };
      after = `&after=${encodeURIComponent(page.body.next)}`;
    }
  };
  const raw = await walk('administrator');
  assert.deepEqual(
    raw.users.filter((user) => people.includes(user)),
    people,
  );
  assert.match(raw.text, /Phone of heron/);
  const clean = await walk('vendor_active');
  assert.equal(clean.users.length, raw.users.length);
  assert.doesNotMatch(clean.text, /heron|ibis|kestrel|Phone/);
  const wrong = await call<{ code: string }>('vendor_active', 'GET', '/client-sessions?after=heron');
  assert.deepEqual([wrong.status, wrong.body.code], [400, 'cursor_invalid']);
});

test('DIR-01 the list of people is searched and ordered by the server, page by page', async (t) => {
  const host = await startConsoleServer({}, { shards: 2 });
  t.after(async () => await host.stop());
  const { call } = host;
  const named = { heron: 'Zoë Heron', ibis: 'Ада Heron', kestrel: 'Bea Kestrel' };
  for (const [username, display_name] of Object.entries(named)) {
    await call('owner', 'POST', '/users', { body: { username, password: 'a long password', display_name } });
  }
  const walk = async (query: string) => {
    const users: string[] = [];
    for (let after = ''; ;) {
      const { status, text, body } = await call<Page>('administrator', 'GET', `/users?${query}&limit=2${after}`);
      assert.equal(status, 200, text);
      users.push(...body.items.map(({ user }) => user));
      if (body.next === null) return users;
      after = `&after=${encodeURIComponent(body.next)}`;
    }
  };
  assert.deepEqual(await walk('q=HER'), ['heron', 'ibis']);
  assert.deepEqual(await walk('q=her&sort=name'), ['heron', 'ibis']);
  assert.deepEqual(await walk('q=her&sort=changed'), ['ibis', 'heron']);
  // An administrator finds who may not come any more, too.
  await call('owner', 'POST', '/users/heron/block');
  assert.deepEqual(await walk('q=zoe'), ['heron']);
  const ours = (users: readonly string[]) => users.filter((user) => user in named);
  assert.deepEqual(ours(await walk('sort=changed')), ['heron', 'kestrel', 'ibis']);
  assert.deepEqual(ours(await walk('sort=name')), ['kestrel', 'heron', 'ibis']);
  assert.deepEqual(await walk('sort=user'), (await walk('')).toSorted());
  const cases = [
    ['sort=age', 'query_invalid', 'sort'],
    ['after=%21', 'query_invalid', 'after'],
    ['sort=name&after=heron', 'cursor_invalid', 'after'],
  ];
  for (const [query, ...answer] of cases) {
    const { status, body } = await call<{ code: string; field: string }>('administrator', 'GET', `/users?${query}`);
    assert.deepEqual([status, body.code, body.field], [400, ...answer], query);
  }
});
