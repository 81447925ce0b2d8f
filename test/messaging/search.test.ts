/** Search over the real server: what is found, by whom, and what a query may be. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { SEARCH_HIGHLIGHTS_MAX, SEARCH_TERMS_MAX } from '#src/protocol/conversations/search.ts';
import { SEARCH_LENGTH_MAX } from '#src/protocol/limits.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { checkFolder } from '#storage/check/check.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { assertRefused, post, say, start } from './conversing.ts';
import { search, searchAll, type Found } from './searching.ts';

const { server, alice, bob, carol } = await shareServer(['alice', 'bob', 'carol'], { shards: 2 });

const found = async (who: Person, query: Record<string, string>, on: TestServer = server) =>
  await searchAll(on, who, query);

const bodies = (items: readonly Found[]) => items.map(({ body }) => body);

test('a message is found with its conversation, its seq and the places of what was searched', async () => {
  const room = await start(server, alice, 'room', ['bob'], 'Birds');
  const said = await say(server, bob, room.id, 'The Kingfisher and the kingfisher’s nest');
  const [item, ...others] = await found(alice, { q: 'kingFISHER' });
  assert.deepEqual(others, []);
  assert.deepEqual(item, {
    ...said,
    highlights: [
      [4, 14],
      [23, 33],
    ],
  });
});

test('case, accents, ё and е, full width and parts of words are found in every script, phrases as they stand', async () => {
  const room = await start(server, alice, 'room', ['bob'], 'Scripts');
  const texts = [
    'Crème brûlée',
    'Ещё одна ёлка',
    '東京都に住んでいます',
    '서울에서 만나요',
    'ＦＵＬＬ width',
    'see you at noon',
    'at noon see you',
  ];
  for (const text of texts) await say(server, alice, room.id, text);
  const of = async (q: string) => bodies(await found(bob, { q, conversation: room.id }));
  assert.deepEqual(await of('creme'), ['Crème brûlée']);
  assert.deepEqual(await of('ЕЛКА еще'), ['Ещё одна ёлка']);
  assert.deepEqual(await of('ёлк'), ['Ещё одна ёлка']);
  assert.deepEqual(await of('京'), ['東京都に住んでいます']);
  assert.deepEqual(await of('住んで'), ['東京都に住んでいます']);
  assert.deepEqual(await of('서울'), ['서울에서 만나요']);
  assert.deepEqual(await of('full'), ['ＦＵＬＬ width']);
  assert.deepEqual(await of('noon you'), ['at noon see you', 'see you at noon']);
  assert.deepEqual(await of('"you at noon"'), ['see you at noon']);
});

test('regex-like and hostile queries are literal text', async () => {
  const room = await start(server, alice, 'room', [], 'Literal');
  const texts = [
    'a.*b matches',
    'axxb',
    '100% [sure] (yes) \\d+',
    '{"$gt":""}',
    "'; DROP TABLE messages;--",
    'quote " in it',
  ];
  for (const text of texts) await say(server, alice, room.id, text);
  for (const [q, body] of [
    ['a.*b', texts[0]],
    ['[sure]', texts[2]],
    ['\\d+', texts[2]],
    ['{"$gt":""}', texts[3]],
    ["'; DROP", texts[4]],
  ] as const) {
    assert.deepEqual(bodies(await found(alice, { q, conversation: room.id })), [body], q);
  }
  assert.deepEqual(await found(alice, { q: `${'(a+)+'.repeat(50)}$`, conversation: room.id }), []);
});

test('sender, kind, time and conversation narrow what is found', async () => {
  const room = await start(server, alice, 'room', ['bob'], 'Filters');
  const other = await start(server, alice, 'room', ['bob'], 'Others');
  const first = await say(server, alice, room.id, 'marmot one');
  const second = await say(server, bob, room.id, 'marmot two');
  const place = await post(server, bob, other.id, {
    kind: 'location',
    body: { latitude: 1, longitude: 2, name: 'Marmot Hill' },
  });
  assert.equal(place.status, 201, place.text);
  const seqs = async (more: Record<string, string>) =>
    (await found(alice, { q: 'marmot', ...more })).map(({ conversation_id: id, seq }) => [id, seq]);
  // Of two conversations, the newer message may be of the same millisecond.
  assert.equal((await seqs({})).length, 3);
  assert.deepEqual(await seqs({ conversation: room.id }), [
    [room.id, 2],
    [room.id, 1],
  ]);
  assert.deepEqual(await seqs({ sender: 'alice' }), [[room.id, 1]]);
  assert.deepEqual(await seqs({ kind: 'location' }), [[other.id, 1]]);
  const later = Date.parse(second.created_at) > Date.parse(first.created_at);
  assert.deepEqual(await seqs({ before: second.created_at, conversation: room.id }), later ? [[room.id, 1]] : []);
  assert.deepEqual((await seqs({ after: second.created_at, conversation: room.id }))[0], [room.id, 2]);
  assert.deepEqual(await seqs({ after: '2100-01-01T00:00:00Z' }), []);
  assert.deepEqual((await found(alice, { q: 'hill' }))[0]?.highlights, [[7, 11]]);
});

test('pages follow one another while messages arrive, and none is told twice', async () => {
  const room = await start(server, alice, 'room', ['bob'], 'Pages');
  for (let i = 0; i < 12; i += 1) await say(server, i % 2 === 0 ? alice : bob, room.id, `heron ${i}`);
  const seen: (string | undefined)[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const reply = await search(server, alice, { q: 'heron', limit: '5', ...(cursor === undefined ? {} : { cursor }) });
    assert.equal(reply.status, 200, reply.text);
    seen.push(...reply.body.items.map(({ body }) => body as string));
    cursor = reply.body.next;
    await say(server, bob, room.id, 'heron that came later');
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 12 }, (_, i) => `heron ${11 - i}`),
  );
});

test('MSG-11 nobody finds a thing in a conversation they are not in, have left or were removed from, and may not name it', async () => {
  const room = await start(server, alice, 'room', ['bob'], 'Private');
  await say(server, alice, room.id, 'the wombat sleeps');
  assert.deepEqual(await found(carol, { q: 'wombat' }), []);
  const missing = `${room.id.slice(0, -1)}${room.id.endsWith('0') ? '1' : '0'}`;
  assertRefused(await search(server, carol, { q: 'wombat', conversation: room.id }), 403, 'conversation_forbidden');
  assertRefused(await search(server, carol, { q: 'wombat', conversation: missing }), 403, 'conversation_forbidden');
  assert.equal((await found(bob, { q: 'wombat' })).length, 1);
  await server.api(bob, 'DELETE', `/v1/conversations/${room.id}/participants/bob`);
  assert.deepEqual(await found(bob, { q: 'wombat' }), []);
  assertRefused(await search(server, bob, { q: 'wombat', conversation: room.id }), 403, 'conversation_forbidden');
  await server.api(alice, 'POST', `/v1/conversations/${room.id}/participants`, { participants: ['carol'] });
  assert.equal((await found(carol, { q: 'wombat' })).length, 1);
  await server.api(alice, 'DELETE', `/v1/conversations/${room.id}/participants/carol`);
  assert.deepEqual(await found(carol, { q: 'wombat' }), []);
  await server.api(alice, 'DELETE', `/v1/conversations/${room.id}`);
  assert.deepEqual(await found(alice, { q: 'wombat' }), []);
});

test('an edited message is found by what it says now, a deleted one not at all', async () => {
  const room = await start(server, alice, 'room', [], 'Edits');
  for (let i = 0; i < POSTED_BLOCK + 1; i += 1) await say(server, alice, room.id, `plover ${i}`);
  const path = `/v1/conversations/${room.id}/messages`;
  assert.equal((await server.api(alice, 'PATCH', `${path}/2`, { body: 'now a dotterel' })).status, 200);
  assert.deepEqual(bodies(await found(alice, { q: 'dotterel' })), ['now a dotterel']);
  assert.equal((await server.api(alice, 'DELETE', `${path}/2`)).status, 200);
  assert.deepEqual(await found(alice, { q: 'dotterel' }), []);
  assert.deepEqual(bodies(await found(alice, { q: '"plover 32"' })), ['plover 32']);
});

test('secret conversations are not searched', async () => {
  const pair = await start(server, alice, 'secret', ['bob']);
  await say(server, alice, pair.id, 'the capybara password');
  assert.deepEqual(await found(alice, { q: 'capybara' }), []);
  assert.deepEqual(await found(alice, { q: 'capybara', conversation: pair.id }), []);
});

test('a sentence of two dozen words finds where it was said, and another one that lacks one of them does not', async () => {
  const room = await start(server, alice, 'room', ['bob']);
  const sentence =
    'the quick brown okapi jumps over a lazy dog while eleven wise owls watch from under my roof in pale october moonlight again and again';
  const said = await say(server, alice, room.id, `As they say: ${sentence}!`);
  await say(server, alice, room.id, sentence.replace('pale', 'dark'));
  const hits = await found(alice, { q: sentence, conversation: room.id });
  assert.deepEqual(
    hits.map(({ seq }) => seq),
    [said.seq],
  );
});

test('the longest query and the largest page are taken; one step beyond names the parameter', async () => {
  const exact = 'x'.repeat(SEARCH_LENGTH_MAX);
  assert.deepEqual(await found(alice, { q: exact }), []);
  assertRefused(await search(server, alice, { q: `${exact}x` }), 400, 'query_invalid', 'q');
  const words = (count: number) => Array.from({ length: count }, (_, at) => at.toString(36).padStart(2, 'a'));
  assert.equal((await search(server, alice, { q: words(SEARCH_TERMS_MAX).join(' ') })).status, 200);
  assertRefused(await search(server, alice, { q: words(SEARCH_TERMS_MAX + 1).join(' ') }), 400, 'query_invalid', 'q');
  assert.equal((await search(server, alice, { q: 'aa', limit: '50' })).status, 200);
  assertRefused(await search(server, alice, { q: 'aa', limit: '51' }), 400, 'query_invalid', 'limit');
  assertRefused(await search(server, alice, { q: 'aa', limit: '0' }), 400, 'query_invalid', 'limit');
  assertRefused(await search(server, alice, { q: 'a' }), 400, 'search_too_short', 'q');
  assertRefused(await search(server, alice, { q: '"" "' }), 400, 'search_too_short', 'q');
  assert.equal((await search(server, alice, { q: '中' })).status, 200);
  assertRefused(await search(server, alice, {}), 400, 'query_invalid', 'q');
  assertRefused(await search(server, alice, { q: 'a\0b' }), 400, 'query_invalid', 'q');
  assertRefused(await search(server, alice, { q: 'aa', kind: 'poem' }), 400, 'query_invalid', 'kind');
  assertRefused(await search(server, alice, { q: 'aa', after: 'yesterday' }), 400, 'query_invalid', 'after');
  assertRefused(await search(server, alice, { q: 'aa', sender: 'No Name' }), 400, 'query_invalid', 'sender');
  assertRefused(await search(server, alice, { q: 'aa', conversation: 'c_x' }), 400, 'query_invalid', 'conversation');
  for (const cursor of [
    'nonsense',
    Buffer.from('[1,2]').toString('base64url'),
    Buffer.from('[null,"c",0.5]').toString('base64url'),
  ]) {
    assertRefused(await search(server, alice, { q: 'aa', cursor }), 400, 'cursor_invalid', 'cursor');
  }
  assertRefused(await search(server, undefined, { q: 'aa' }), 401, 'token_missing');
});

test('as many places are marked as may be, and the message is whole', async () => {
  const room = await start(server, alice, 'room', [], 'Marks');
  const text = 'lemur '.repeat(SEARCH_HIGHLIGHTS_MAX + 1);
  await say(server, alice, room.id, text);
  const [item] = await found(alice, { q: 'lemur' });
  assert.deepEqual([item?.body, item?.highlights.length], [text, SEARCH_HIGHLIGHTS_MAX]);
});

/** Those of the last tests, one after the other over one folder. */
const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
const running: TestServer[] = [];
after(async () => {
  for (const one of running) await one.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

test('CAP-03 switched off, search answers so and nothing is indexed; switched on again, everything is found', async () => {
  const off = await startServer({ shards: 2, folder, environment: { PARLEY_SEARCH: 'off', PARLEY_RATE_LIMITS: '0' } });
  running.push(off);
  const { eve } = await off.people('eve');
  const room = await start(off, eve, 'room', [], 'Off');
  for (let i = 0; i < POSTED_BLOCK + 3; i += 1) await say(off, eve, room.id, `tapir ${i}`);
  assertRefused(await search(off, eve, { q: 'tapir' }), 404, 'search_disabled');
  const offered = await off.api<{ rights: string[] }>(eve, 'GET', '/v1/me/capabilities');
  assert.ok(!offered.body.rights.includes('message.search'));
  await off.stop();
  const on = await startServer({ shards: 2, folder });
  running.push(on);
  const again = { ...eve, session: await on.signIn('eve', eve.password) };
  assert.deepEqual(bodies(await found(again, { q: '"tapir 5"' }, on)), ['tapir 5']);
  assert.equal((await found(again, { q: 'tapir', limit: '50' }, on)).length, POSTED_BLOCK + 3);
});

test('what was posted is found after kill -9, and the index is sound', async () => {
  const before = running.at(-1) as TestServer;
  const { dan } = await before.people('dan');
  const room = await start(before, dan, 'room', [], 'Killed');
  // As many at once as the rate allows; the last ones may be on their way to the disk when it ends.
  const acked: Message[] = [];
  const posts = Array.from({ length: 3 * POSTED_BLOCK }, async (_, i) => {
    const reply = await post(before, dan, room.id, { kind: 'text', body: `okapi ${i}` }).catch(() => undefined);
    if (reply?.status === 201) acked.push(reply.body);
    if (acked.length === 2 * POSTED_BLOCK + 5) before.process.kill('SIGKILL');
  });
  await Promise.all([...posts, once(before.process, 'exit')]);
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const next = await startServer({ shards: 2, folder });
  running.push(next);
  const again = { ...dan, session: await next.signIn('dan', dan.password) };
  for (const { body, seq } of [acked[0]!, acked[POSTED_BLOCK]!, acked.at(-1)!]) {
    const items = await found(again, { q: `"${body as string}"`, limit: '50' }, next);
    assert.ok(
      items.some((item) => item.seq === seq),
      body as string,
    );
  }
});
