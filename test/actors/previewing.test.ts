/** What a preview of a link changes in a conversation, and where it changes nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { readConversation, readMessage } from '#storage/conversations/conversation-reader.ts';
import { makeRoom, openHost, post, type ActorHost } from './actor-host.ts';

const ROOM = 'c_linked';
const LINK = 'https://a.example/';
const PREVIEW = { url: LINK, title: 'A "page",\n"body":"x' };
const as = { user: 'alice', device: 'd_alice' };

/** Tells of a preview, and answers the events that the next post comes behind. */
async function shown(host: ActorHost, id: string, seq: number, preview = PREVIEW): Promise<unknown[]> {
  const before = host.events(id).length;
  host.system.deliver(`conversation:${id}`, { kind: 'preview', seq, preview } as { kind: string });
  await host.reply(id, post('alice', 'behind it'));
  return host
    .events(id)
    .slice(before, -1)
    .map(({ type }) => type);
}

function stored(host: ActorHost, id: string, seq: number): Record<string, unknown> {
  host.environment.refresh();
  const record = readConversation(host.tables, id);
  assert.ok(record !== undefined);
  return JSON.parse(readMessage(host.tables, record, seq) ?? '{}') as Record<string, unknown>;
}

test('a preview goes on the text that has its link, keeps the rest of the message, and comes once', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const { body: posted } = await host.reply(ROOM, post('bob', `see ${LINK}`, 'one'));
  await host.reply(ROOM, { kind: 'react', seq: 1, emoji: '👍', added: true, ...as });
  assert.deepEqual(await shown(host, ROOM, 1), ['message.edit']);
  const reactions = [{ emoji: '👍', count: 1, users: ['alice'] }];
  assert.deepEqual(stored(host, ROOM, 1), { ...posted, preview: PREVIEW, reactions });
  assert.deepEqual(await shown(host, ROOM, 1), []);
  assert.deepEqual(await shown(host, ROOM, 1, { ...PREVIEW, title: 'Another' }), ['message.edit']);
  // Who repeats the post is answered with the message as it is now.
  const repeated = await host.reply(ROOM, post('bob', 'again', 'one'));
  assert.deepEqual([repeated.status, repeated.body['preview']], [200, { ...PREVIEW, title: 'Another' }]);
  const edited = await host.reply(ROOM, { kind: 'edit', seq: 1, body: `also ${LINK}`, user: 'bob', device: 'd_bob' });
  assert.equal(edited.body['preview'], undefined);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('nothing is put on what is not there, was deleted, says something else, or is secret', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', LINK));
  await host.reply(ROOM, { kind: 'deleteMessage', seq: 1, ...as });
  await host.reply(ROOM, post('alice', 'http://b.example and https://a.example'));
  await host.reply(ROOM, {
    kind: 'post',
    form: { kind: 'contact', body: { name: LINK } },
    ...as,
  });
  for (const seq of [1, 2, 3, 99]) assert.deepEqual(await shown(host, ROOM, seq), [], `message ${seq}`);
  await host.reply('c_secret', { kind: 'create', conversation: 'secret', participants: ['bob'], ...as });
  await host.reply('c_secret', post('alice', LINK));
  assert.deepEqual(await shown(host, 'c_secret', 1), []);
  host.system.deliver('conversation:c_nowhere', { kind: 'preview', seq: 1, preview: PREVIEW } as { kind: string });
  assert.equal((await host.converse('c_nowhere', post('alice', 'x'))).ok, false);
  assert.deepEqual(host.reports, []);
});
