import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIRECTORY_PAGES_MAX, DirectoryPages } from '#src/directory/directory-pages.ts';
import { PASSWORD, startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };
const HIDDEN = { code: 'person_forbidden', error: 'There is no such person for you.' };

async function started(context: Parameters<typeof startCoordinator>[0]) {
  const coordinator = await startCoordinator(context);
  const { people, login, call } = coordinator;
  for (const name of ['alice', 'bob', 'carol']) await people.add(name, PASSWORD);
  const { token } = await login('alice');
  const get = async (path: string) => await call('GET', path, { headers: { authorization: `Bearer ${token}` } });
  return { ...coordinator, get };
}

test('DIR-01 a profile is changed field by field, with a rev of the directory and an audit entry each time', async (context) => {
  const { people, get, announced, accounts } = await started(context);
  const before = announced.length;
  await people.change('bob', { display_name: 'Bob Brown', phone: '+79161234567', title: 'Engineer' }, BY);
  await people.change('bob', { title: null }, BY);
  await people.change('bob', { title: null }, BY);
  assert.deepEqual(announced.slice(before), [
    { what: 'directory', user: 'bob', rev: 4 },
    { what: 'directory', user: 'bob', rev: 5 },
  ]);
  const entry = {
    user: 'bob',
    display_name: 'Bob Brown',
    phone: '+79161234567',
    kind: 'person',
    state: 'active',
    rev: 5,
  };
  assert.deepEqual((await get('/v1/directory/bob')).json, entry);
  const { event, actor, subject, details } = accounts.auditEntries({ limit: 1 })[0] as never as Record<string, unknown>;
  assert.deepEqual(
    [event, actor, subject, details],
    ['user.changed', 'user:root', 'user:bob', { before: { title: 'Engineer' }, after: { title: null } }],
  );
});

test('DIR-01 what changed behind a rev comes in the order of the changes, once a person, page by page', async (context) => {
  const { people, get } = await started(context);
  await people.block('carol');
  await people.change('alice', { title: 'Lead' }, BY);
  const users = (body: { items: { user: string; rev: number }[] }) => body.items.map(({ user, rev }) => [user, rev]);
  const first = (await get('/v1/directory?after_rev=0&limit=2')).json;
  assert.deepEqual(
    [users(first), first.next, first.rev],
    [
      [
        ['bob', 2],
        ['carol', 4],
      ],
      '4',
      4,
    ],
  );
  const second = (await get('/v1/directory?after_rev=4&limit=2')).json;
  assert.deepEqual([users(second), second.next, second.rev], [[['alice', 5]], null, 5]);
  assert.deepEqual((await get('/v1/directory?after_rev=5')).json.items, []);
  await people.leave('carol');
  const left = (await get('/v1/directory?after_rev=5')).json;
  assert.deepEqual([left.items[0].state, left.rev], ['left', 6]);
});

test('DIR-01 the directory is walked by username', async (context) => {
  const { get } = await started(context);
  const first = (await get('/v1/directory?limit=2')).json;
  assert.deepEqual([first.items.map(({ user }: { user: string }) => user), first.next], [['alice', 'bob'], 'bob']);
  const second = (await get('/v1/directory?limit=2&after=bob')).json;
  assert.deepEqual([second.items.map(({ user }: { user: string }) => user), second.next], [['carol'], null]);
});

test('ERR-05 a person who is not there and one who may not be seen have one answer', async (context) => {
  const { policies, groups, get } = await started(context);
  const board = await groups.create({ name: 'Board', members: ['carol'] }, BY);
  const { scope } = (await get('/v1/directory')).json;
  await policies.create({ action: 'see', from: 'everyone', to: board.id, effect: 'deny' }, BY);
  const hidden = await get('/v1/directory/carol');
  const missing = await get('/v1/directory/nobody');
  const strange = await get('/v1/directory/No%21');
  for (const answer of [hidden, missing, strange]) assert.deepEqual([answer.status, answer.json], [403, HIDDEN]);
  const all = (await get('/v1/directory')).json;
  assert.deepEqual(
    all.items.map(({ user }: { user: string }) => user),
    ['alice', 'bob'],
  );
  assert.notEqual(all.scope, scope);
  assert.deepEqual(
    (await get('/v1/directory?after_rev=0')).json.items.map(({ user }: { user: string }) => user),
    ['alice', 'bob'],
  );
  await groups.change(board.id, { add: ['alice'], remove: ['carol'] }, BY);
  assert.equal((await get('/v1/directory/carol')).status, 200);
});

test('DIR-01 a page has a tag, of what this reader may see, and is not sent again to whoever has it', async (context) => {
  const { call, login, people, policies } = await started(context);
  const [alice, bob] = [(await login('alice')).token, (await login('bob')).token];
  const read = async (token: string, path: string, tag?: string) => {
    const known = tag === undefined ? {} : { 'if-none-match': tag };
    const answer = await call('GET', path, { headers: { authorization: `Bearer ${token}`, ...known } });
    return { ...answer, tag: answer.headers.get('etag') ?? '' };
  };
  for (const path of ['/v1/directory', '/v1/directory?after_rev=1', '/v1/directory?after=alice&limit=1']) {
    const first = await read(alice, path);
    assert.equal(first.status, 200);
    assert.match(first.tag, /^"[\w-]{22}"$/);
    assert.equal(first.headers.get('cache-control'), 'private, no-cache');
    for (const tag of [first.tag, `W/${first.tag}`, `"x", ${first.tag}`, '*']) {
      const again = await read(alice, path, tag);
      assert.deepEqual([again.status, again.text, again.tag], [304, '', first.tag], tag);
    }
    assert.equal((await read(alice, path, '"x"')).status, 200);
    assert.equal((await read(bob, path)).text, first.text);
  }
  const whole = await read(alice, '/v1/directory');
  await people.change('carol', { title: 'Lead' }, BY);
  const changed = await read(alice, '/v1/directory', whole.tag);
  assert.deepEqual([changed.status, changed.json.items[2].title], [200, 'Lead']);
  // A rule that hides somebody from everyone: the page under the old tag is no answer any more, nor is that of another.
  await policies.create({ action: 'see', from: 'everyone', to: 'everyone', effect: 'deny' }, BY);
  const users = ({ json }: { json: { items: { user: string }[] } }) => json.items.map(({ user }) => user);
  const [hers, his] = [await read(alice, '/v1/directory', changed.tag), await read(bob, '/v1/directory', changed.tag)];
  assert.deepEqual([users(hers), users(his)], [['alice'], ['bob']]);
  assert.notEqual(hers.tag, his.tag);
  // The tag is no way past the session.
  assert.equal((await call('GET', '/v1/directory', { headers: { 'if-none-match': hers.tag } })).status, 401);
});

test('a page of the directory is made once for all who ask, until somebody changes, and so many are kept', () => {
  const pages = new DirectoryPages();
  const made: string[] = [];
  const entry = { user: 'ann', kind: 'person', state: 'active', rev: 1 } as const;
  const read = (asked: string, rev = 1, isVisible = true) => {
    const make = () => ({ entries: [entry], next: null, rev: made.push(asked) });
    return pages.reply(rev, asked, 'scope', () => isVisible, make).json.toString();
  };
  for (let page = 1; page <= DIRECTORY_PAGES_MAX; page += 1) read(`page ${page}`);
  assert.deepEqual([DIRECTORY_PAGES_MAX, made.length], [100, 100]);
  assert.deepEqual(JSON.parse(read('page 1')), { items: [entry], next: null, rev: 1, scope: 'scope' });
  assert.deepEqual(JSON.parse(read('page 1', 1, false)), { items: [], next: null, rev: 1, scope: 'scope' });
  assert.equal(made.length, 100);
  // One step beyond: the page that was read longest ago is the second now.
  read('page 101');
  read('page 1');
  assert.deepEqual(made.slice(100), ['page 101']);
  read('page 2');
  assert.deepEqual(made.slice(100), ['page 101', 'page 2']);
  read('page 1', 2);
  assert.deepEqual(made.slice(100), ['page 101', 'page 2', 'page 1']);
});

test('who has left cannot sign in, be let in again or be replaced', async (context) => {
  const { people, post, get } = await started(context);
  await people.leave('alice');
  assert.equal((await get('/v1/directory')).json.code, 'session_revoked');
  const login = await post('/v1/auth/login', { username: 'alice', password: PASSWORD });
  assert.equal(login.json.code, 'login_failed');
  await assert.rejects(people.unblock('alice'), { code: 'person_left' });
  await assert.rejects(people.block('alice'), { code: 'person_left' });
  await assert.rejects(people.add('alice', PASSWORD), { code: 'username_taken' });
});

test('bad queries name their parameter', async (context) => {
  const { get } = await started(context);
  const cases: [path: string, code: string, field: string][] = [
    ['/v1/directory?limit=201', 'query_invalid', 'limit'],
    ['/v1/directory?limit=0', 'query_invalid', 'limit'],
    ['/v1/directory?after=UPPER', 'query_invalid', 'after'],
    ['/v1/directory?after_rev=-1', 'query_invalid', 'after_rev'],
    ['/v1/directory?after=bob&after_rev=1', 'query_invalid', 'after_rev'],
    ['/v1/directory?user=bob', 'query_invalid', 'user'],
  ];
  for (const [path, code, field] of cases) {
    const answer = await get(path);
    assert.deepEqual([answer.status, answer.json.code, answer.json.field], [400, code, field], path);
  }
});

test('nobody reads the directory without a session', async (context) => {
  const { call, post } = await startCoordinator(context);
  assert.equal((await call('GET', '/v1/directory')).json.code, 'token_missing');
  const invented = await call('GET', '/v1/directory/bob', { headers: { authorization: 'Bearer x.y.z' } });
  assert.equal(invented.json.code, 'token_invalid');
  assert.equal((await post('/v1/meetings', { title: 'x' })).json.code, 'token_missing');
});

test('a session of a person ends alone, and one that is not theirs is not found', async (context) => {
  const { people, login, get } = await started(context);
  await login('bob');
  await login('bob', { device: { name: 'phone', platform: 'ios' } });
  const [first, second] = people.sessions('bob');
  assert.deepEqual([first?.name, second?.name, second?.platform], ['unnamed', 'phone', 'ios']);
  await people.endSession('bob', first?.id ?? '', BY);
  assert.deepEqual(
    people.sessions('bob').map(({ id }) => id),
    [second?.id],
  );
  await assert.rejects(people.endSession('bob', first?.id ?? '', BY), { code: 'user_session_not_found' });
  await assert.rejects(people.endSession('alice', second?.id ?? '', BY), { code: 'user_session_not_found' });
  assert.equal((await get('/v1/directory')).status, 200);
});

test('DIR-01 people are found by the beginnings of the words in their names, the best first, page by page', async (context) => {
  const { people, get } = await started(context);
  const called: [username: string, display_name: string, email?: string][] = [
    ['petr', 'Пётр Алексеев', 'petr.alekseev@example.org'],
    ['j.mueller', 'Jürgen Müller', 'muller@example.org'],
    ['anna', 'Anna Peters'],
    ['peters', 'Zoë Weiß'],
    ['peter2', 'Peter Anders'],
    ['peter1', 'Peter'],
  ];
  for (const [name, display_name, email] of called) await people.add(name, PASSWORD, { display_name, email }, BY);
  const find = async (q: string, more = '') => (await get(`/v1/directory?q=${encodeURIComponent(q)}${more}`)).json;
  const users = async (q: string) => (await find(q)).items.map(({ user }: { user: string }) => user);
  // Exact, then names that begin so, then a word of the name; by name in each.
  assert.deepEqual(await users('peter'), ['peter1', 'peter2', 'peters', 'anna']);
  assert.deepEqual(await users('PETERS'), ['peters', 'anna']);
  assert.deepEqual(await users('an pe'), ['anna', 'peter2']);
  for (const q of ['петр', 'Пётр', 'ПЕТР ал', 'petr.al', 'petr.alekseev@exam'])
    assert.deepEqual(await users(q), ['petr'], q);
  for (const q of ['muller', 'Mülle', 'ju mu', 'j.mueller', 'm j']) assert.deepEqual(await users(q), ['j.mueller'], q);
  assert.deepEqual(await users('weiss'), ['peters']);
  // Neither the domain of everybody's address, nor the middle of a word, nor what has no letter.
  for (const q of ['example', 'eter', '...', 'peter nobody']) assert.deepEqual(await users(q), [], q);
  assert.deepEqual((await users('p')).toSorted(), ['anna', 'peter1', 'peter2', 'peters', 'petr']);
  const paged: string[] = [];
  for (let next: string | null = ''; next !== null;) {
    const page: { items: { user: string }[]; next: string | null } = await find(
      'peter',
      `&limit=3${next === '' ? '' : `&after=${next}`}`,
    );
    paged.push(...page.items.map(({ user }) => user), '|');
    ({ next } = page);
  }
  assert.deepEqual(paged, ['peter1', 'peter2', 'peters', '|', 'anna', '|']);
  // What changed is found as it is now, and who may not come any more is not.
  await people.change('anna', { display_name: 'Anna Smith' }, BY);
  await people.block('peter2');
  await people.leave('peters');
  assert.deepEqual(await users('peter'), ['peter1']);
  assert.deepEqual(await users('smi'), ['anna']);
  await people.unblock('peter2');
  assert.deepEqual(await users('peter'), ['peter1', 'peter2']);
});

test('POL-01 GST-06 a search answers whom the reader may see and nothing of the others, not by a page either', async (context) => {
  const { people, policies, groups, enrollment, rooms, login, call, post, get } = await started(context);
  for (const at of [1, 2, 3]) await people.add(`bob${at}`, PASSWORD, { display_name: `Bob ${at}` }, BY);
  const board = await groups.create({ name: 'Board', members: ['bob', 'bob2'] }, BY);
  await policies.create({ action: 'see', from: 'people', to: board.id, effect: 'deny' }, BY);
  const page = async (path: string) => {
    const { items, next } = (await get(path)).json;
    return [items.map(({ user }: { user: string }) => user), next === null];
  };
  assert.deepEqual(await page('/v1/directory?q=bob'), [['bob1', 'bob3'], true]);
  // Full as long as there is somebody for this reader, and the last when there is nobody: who is hidden is not counted.
  assert.deepEqual(await page('/v1/directory?q=bob&limit=1'), [['bob1'], false]);
  assert.deepEqual(await page('/v1/directory?q=bob&limit=2'), [['bob1', 'bob3'], true]);
  assert.deepEqual(await page('/v1/directory?q=bob2'), [[], true]);
  const { path } = await enrollment.invite(
    { kind: 'guest', phone: '+79161234567', guest_until: '2026-12-21T08:00:00Z' },
    'alice',
    BY,
  );
  const guest = 'visitor';
  assert.equal((await post(path, { username: guest, password: PASSWORD })).status, 201);
  const { token } = await login(guest);
  const seen = async () => {
    const answer = await call('GET', '/v1/directory?q=bob', { headers: { authorization: `Bearer ${token}` } });
    return answer.json.items.map(({ user }: { user: string }) => user);
  };
  assert.deepEqual(await seen(), []);
  rooms.set('c_one', new Set([guest, 'bob2', 'bob3']));
  assert.deepEqual(await seen(), ['bob2', 'bob3']);
  rooms.delete('c_one');
  assert.deepEqual(await seen(), []);
});

test('a search that is none names its parameter, and takes no cursor but its own', async (context) => {
  const { get } = await started(context);
  const { next } = (await get('/v1/directory?q=o&limit=1')).json;
  assert.equal(next, null);
  const long = 'b'.repeat(100);
  assert.equal((await get(`/v1/directory?q=${long}`)).status, 200);
  const cases: [query: string, code: string, field: string][] = [
    ['q=', 'query_invalid', 'q'],
    [`q=${long}b`, 'query_invalid', 'q'],
    ['q=bob&after_rev=1', 'query_invalid', 'after_rev'],
    ['q=bob&after=bob', 'cursor_invalid', 'after'],
    [`q=bob&after=${Buffer.from('["fit",1,"bob"]').toString('base64url')}`, 'cursor_invalid', 'after'],
    [`q=bob&after=${Buffer.from('["user","bob"]').toString('base64url')}`, 'cursor_invalid', 'after'],
    [`q=bob&after=${Buffer.from('{}').toString('base64url')}`, 'cursor_invalid', 'after'],
    [`after=${Buffer.from('["user","bob"]').toString('base64url')}`, 'query_invalid', 'after'],
  ];
  for (const [query, code, field] of cases) {
    const answer = await get(`/v1/directory?${query}`);
    assert.deepEqual([answer.status, answer.json.code, answer.json.field], [400, code, field], query);
  }
});

test('NAM-01 ERR-05 people are read by name, so many at once, and who is not there is left out like who is hidden', async (context) => {
  const { policies, groups, get } = await started(context);
  const board = await groups.create({ name: 'Board', members: ['carol'] }, BY);
  await policies.create({ action: 'see', from: 'everyone', to: board.id, effect: 'deny' }, BY);
  const users = async (names: string) =>
    (await get(`/v1/directory?users=${names}`)).json.items.map(({ user }: { user: string }) => user);
  assert.deepEqual(await users('bob,nobody,carol,alice,bob'), ['bob', 'alice']);
  const names = Array.from({ length: 99 }, (_, at) => `nobody${at}`);
  assert.deepEqual(await users([...names, 'bob'].join(',')), ['bob']);
  for (const query of [`users=${[...names, 'bob', 'alice'].join(',')}`, 'users=', 'users=A', 'users=bob&q=bob']) {
    const answer = await get(`/v1/directory?${query}`);
    assert.deepEqual([answer.status, answer.json.code, answer.json.field], [400, 'query_invalid', 'users'], query);
  }
});
