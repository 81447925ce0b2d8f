/** Previews of links: who sees them, where there are none, and that nothing waits for them. */
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { after, test } from 'node:test';
import { portOf } from '#src/http/listening-address.ts';
import type { PageSummary } from '#src/outgoing/page-summary.ts';
import {
  LinkPreviews,
  PAGE_REMEMBERED_MILLIS,
  PAGES_REMEMBERED_MAX,
  PREVIEWS_AT_ONCE_MAX,
  PREVIEWS_WAITING_MAX,
} from '#src/messaging/conversations/link-previews.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { startServer } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused, heardUpTo, post, say, start } from './conversing.ts';

const PAGE =
  '<title>A page</title><meta name="description" content="About it"><meta property="og:site_name" content="S">';
/** Paths asked for, and answers of `/held…` that wait to be let go. */
const asked: string[] = [];
const held: ServerResponse[] = [];
const pages = createServer((request, response) => {
  asked.push(request.url ?? '');
  response.setHeader('content-type', request.url?.startsWith('/text') === true ? 'text/plain' : 'text/html');
  if (request.url?.startsWith('/held') === true) held.push(response);
  else response.end(PAGE);
});
await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve));
after(() => {
  pages.closeAllConnections();
  pages.close();
});
const link = (path: string) => `http://127.0.0.1:${portOf(pages.address())}${path}`;

const environment = { PARLEY_LINK_PREVIEWS: 'on', PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
const { server, alice, bob, mallory } = await shareServer(['alice', 'bob', 'mallory'], { shards: 2, environment });
const room = async () => (await start(server, alice, 'room', ['bob'])).id;
const stored = async (id: string, seq: number) =>
  (await server.api<Message>(bob, 'GET', `/v1/conversations/${id}/messages/${seq}`)).body;

/** Says something with a link whose preview comes: what was asked before it was looked at by then, on either shard. */
async function settle(): Promise<void> {
  for (let n = 0; n < 8; n += 1) {
    const id = await room();
    const { seq } = await say(server, alice, id, link(`/settle-${id}`));
    await until(async () => (await stored(id, seq)).preview !== undefined, 'a preview');
  }
}

test('a preview appears to everybody, as a change that edits nothing', async () => {
  // Conversations of both shards.
  for (let n = 0; n < 6; n += 1) {
    const id = await room();
    const [writer, reader] = [await connect(server, alice), await connect(server, bob)];
    const posted = await say(server, alice, id, `look: ${link('/a')}, and ${link('/b')}`);
    assert.equal(posted.preview, undefined);
    const preview = { url: link('/a'), title: 'A page', description: 'About it', site: 'S' };
    for (const socket of [writer, reader]) {
      const { data, rev } = await socket.event((event) => event.type === 'message.edit' && event.conv === id);
      assert.deepEqual(data, { ...posted, preview });
      assert.equal(rev, (await socket.event((event) => event.type === 'message.new' && event.conv === id)).rev! + 1);
      await socket.close();
    }
    assert.deepEqual(await stored(id, 1), { ...posted, preview });
  }
  // Once for all who link to it, on each shard that was asked.
  assert.ok(asked.filter((path) => path === '/a').length <= 2);
  assert.ok(!asked.includes('/b'));
});

test('an edit takes the preview away and brings that of its own link; a deletion takes it for good', async () => {
  const id = await room();
  const shown = (url: string) => async () => (await stored(id, 1)).preview?.url === url;
  await say(server, alice, id, link('/one'));
  await until(shown(link('/one')), 'the first preview');
  const path = `/v1/conversations/${id}/messages/1`;
  const edited = await server.api<Message>(alice, 'PATCH', path, { body: link('/two') });
  assert.deepEqual([edited.status, edited.body.preview], [200, undefined]);
  await until(shown(link('/two')), 'the second preview');
  assert.equal((await stored(id, 1)).edited_at, edited.body.edited_at);
  const stub = (await server.api<Message>(alice, 'DELETE', path)).body;
  assert.deepEqual([stub.preview, stub.body], [undefined, undefined]);
});

test('whoever wrote a message takes its preview off, or who may delete it; an edit may bring one again', async () => {
  const id = await room();
  const path = (seq: number) => `/v1/conversations/${id}/messages/${seq}/preview`;
  const isShown = async (seq: number) => (await stored(id, seq)).preview !== undefined;
  await say(server, bob, id, link('/off'));
  await say(server, alice, id, link('/hers'));
  for (const seq of [1, 2]) await until(() => isShown(seq), 'the previews');
  const reader = await connect(server, alice);
  assertRefused(await server.api(bob, 'DELETE', path(2)), 403, 'right_missing');
  assertRefused(await server.api(bob, 'DELETE', path(9)), 404, 'message_not_found');
  assertRefused(await server.api(mallory, 'DELETE', path(1)), 403, 'conversation_forbidden');
  const { preview, ...plain } = await stored(id, 1);
  assert.ok(preview !== undefined);
  const removed = await server.api<Message>(bob, 'DELETE', path(1));
  assert.deepEqual([removed.status, removed.body], [200, plain]);
  const told = await reader.event((event) => event.type === 'message.edit' && event.conv === id && event.seq === 1);
  assert.deepEqual(told.data, plain);
  assert.deepEqual(await stored(id, 1), plain);
  // Nothing is left to take off, and nothing is told of it.
  assert.deepEqual((await server.api<Message>(bob, 'DELETE', path(1))).body, plain);
  assert.deepEqual(await heardUpTo(server, reader, bob, id), ['message.edit']);
  const edited = await server.api(bob, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: link('/again') });
  assert.equal(edited.status, 200);
  await until(() => isShown(1), 'the preview of the edit');
  // The room is alice's: what she may delete, she may take the preview off.
  assert.equal((await server.api<Message>(alice, 'DELETE', path(1))).body.preview, undefined);
  assert.equal((await stored(id, 1)).body, link('/again'));
  assert.equal(await isShown(2), true);
  await server.api(alice, 'DELETE', `/v1/conversations/${id}/messages/2`);
  const stub = await server.api<Message>(alice, 'DELETE', path(2));
  assert.deepEqual([stub.status, stub.body], [200, await stored(id, 2)]);
  await reader.close();
});

test('what was edited or deleted meanwhile gets nothing, and nobody waits for a page that is slow', async () => {
  const id = await room();
  const socket = await connect(server, bob);
  await say(server, alice, id, link('/held-1'));
  await say(server, alice, id, link('/held-2'));
  await until(() => held.length === 2, 'both pages to be asked for');
  assert.equal((await server.api(alice, 'PATCH', `/v1/conversations/${id}/messages/1`, { body: 'gone' })).status, 200);
  assert.equal((await server.api(alice, 'DELETE', `/v1/conversations/${id}/messages/2`)).status, 200);
  for (const response of held) response.end(PAGE);
  await settle();
  assert.deepEqual(await heardUpTo(server, socket, alice, id), [
    'message.new',
    'message.new',
    'message.edit',
    'message.delete',
  ]);
  assert.deepEqual([(await stored(id, 1)).preview, (await stored(id, 2)).preview], [undefined, undefined]);
  await socket.close();
});

test('a secret conversation, what is no text and what is no HTML bring none', async () => {
  const secret = await start(server, alice, 'secret', ['bob']);
  const id = await room();
  await say(server, alice, secret.id, link('/secret'));
  const contact = await post(server, alice, id, { kind: 'contact', body: { name: link('/contact') } });
  assert.equal(contact.status, 201);
  await say(server, alice, id, link('/text'));
  await settle();
  await until(() => asked.includes('/text'), 'the text to be asked for');
  assert.equal((await stored(secret.id, 1)).preview, undefined);
  assert.equal((await stored(id, 2)).preview, undefined);
  assert.ok(!asked.includes('/secret') && !asked.includes('/contact'));
});

test('nothing is fetched where previews are off, nor from private addresses unless they are allowed', async () => {
  for (const [environmentOff, outcome] of [
    [{ PARLEY_ALLOW_PRIVATE_TARGETS: 'true' }, undefined],
    [{ PARLEY_LINK_PREVIEWS: 'on' }, 'refused'],
  ] as const) {
    const other = await startServer({ shards: 2, environment: environmentOff });
    try {
      const { carol } = await other.people('carol');
      const { id } = await start(other, carol, 'room', []);
      await say(other, carol, id, link('/never'));
      const exposed = async () =>
        await (await fetch(`${other.messaging}/healthz`, { headers: { accept: 'text/plain' } })).text();
      if (outcome !== undefined)
        await until(
          async () => /link_previews_total{[^}]*outcome="refused"[^}]*} 1$/m.test(await exposed()),
          'the refusal',
        );
      const one = await other.api<Message>(carol, 'GET', `/v1/conversations/${id}/messages/1`);
      assert.equal(one.body.preview, undefined);
    } finally {
      await other.stop();
    }
  }
  assert.ok(!asked.includes('/never'));
});

/** Previews whose pages come when they are let go. */
function previewing() {
  let now = 0;
  const reads: { url: string; end: (page?: PageSummary) => void; fail: () => void }[] = [];
  const told: [string, number, string][] = [];
  const previews = new LinkPreviews({
    read: (url) =>
      new Promise((resolve, reject) => void reads.push({ url, end: resolve, fail: () => reject(new Error('no')) })),
    isOpen: () => true,
    tell: (conversation, seq, { url }) => void told.push([conversation, seq, url]),
    now: () => now,
  });
  let seq = 0;
  return {
    reads,
    told,
    note: (body: string) => {
      seq += 1;
      previews.note(JSON.stringify({ conversation_id: 'c', seq, kind: 'text', sender: 'a', created_at: '', body }));
    },
    pass: (millis: number) => void (now += millis),
    outcomes: () =>
      Object.fromEntries(
        (previews.metrics.parley_messaging_link_previews_total ?? []).map(({ labels, value }) => [labels[0], value]),
      ),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a few pages are read at once, a bounded number waits, and one more is dropped and counted', async () => {
  const { note, outcomes, reads, told } = previewing();
  for (let n = 0; n < PREVIEWS_AT_ONCE_MAX; n += 1) note(`https://a.example/${n}`);
  await turn();
  for (let n = 0; n <= PREVIEWS_WAITING_MAX; n += 1) note(`https://b.example/${n}`);
  await turn();
  assert.equal(reads.length, PREVIEWS_AT_ONCE_MAX);
  assert.deepEqual(outcomes(), { dropped: 1 });
  reads[0]?.end({ title: 'A' });
  reads[1]?.end();
  reads[2]?.fail();
  await until(() => reads.length === PREVIEWS_AT_ONCE_MAX + 3, 'three more');
  assert.deepEqual(outcomes(), { dropped: 1, shown: 1, nothing: 1, failed: 1 });
  assert.deepEqual(told, [['c', 1, 'https://a.example/0']]);
});

test('a page is read once for all who link to it, and again when it is forgotten', async () => {
  const { note, pass, reads, told } = previewing();
  const url = 'https://a.example/';
  note(url);
  note(url);
  await turn();
  assert.equal(reads.length, 1);
  reads[0]?.end({ title: 'A' });
  await until(() => told.length === 2, 'both');
  pass(PAGE_REMEMBERED_MILLIS - 1);
  note(url);
  await until(() => told.length === 3, 'the third');
  assert.equal(reads.length, 1);
  pass(1);
  note(url);
  await until(() => reads.length === 2, 'the page to be read again');
  reads[1]?.end({ title: 'A' });
  for (let n = 0; n < PAGES_REMEMBERED_MAX; n += 1) {
    note(`https://b.example/${n}`);
    await until(() => reads.length === n + 3, 'the next page');
    reads.at(-1)?.end();
  }
  note(url);
  await until(() => reads.length === PAGES_REMEMBERED_MAX + 3, 'the forgotten page');
});
