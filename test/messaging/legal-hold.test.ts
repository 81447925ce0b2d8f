/** Legal holds over the running server: what people edit and delete meanwhile stays for the owners' export alone. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { blobPath } from '#storage/attachments/blobs.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import type { Person } from '#test/support/server.ts';
import { tablesWithWords } from '#test/support/stored-words.ts';
import { until } from '#test/support/waiting.ts';
import { attach, download, upload } from './attaching.ts';
import { assertRefused, post, say, start } from './conversing.ts';
import { searchAll } from './searching.ts';

const scene = await shareRestartedServer({}, { shards: 2 });
const { ask, folder, callers } = scene;
let { server } = scene;
const { alice, bob } = await server.people('alice', 'bob');

async function again(signal?: NodeJS.Signals, meanwhile?: () => Promise<void>): Promise<void> {
  server = await scene.restart(signal, meanwhile);
}

async function hold(id: string, held: boolean): Promise<void> {
  const { status, text } = await ask('owner', 'PUT', `/conversations/${id}/hold`, { held });
  assert.equal(status, 204, text);
}

interface Said {
  readonly seq: number;
  readonly body?: unknown;
  readonly edited_at?: string;
  readonly deleted_at?: string;
}
interface Line {
  readonly message?: Said;
  readonly hidden?: boolean;
  readonly kept?: { seq: number; change: string; by: string; at: string; message: Said; content?: string | null };
  readonly end?: { messages: number; kept?: number };
}

async function exported(id: string): Promise<Line[]> {
  const path = `${server.coordinator}/admin/api/message-export?conversation=${id}`;
  const response = await fetch(path, { headers: callers.owner });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** What owners read of words that were taken back: `[seq, change, by, body]`. */
const keptOf = (lines: readonly Line[]) =>
  lines.flatMap(({ kept }) => (kept === undefined ? [] : [[kept.seq, kept.change, kept.by, kept.message.body]]));

/** What the first test has nobody keep. */
const turbots = ['turbot the', 'turbot.txt', 'never held'];

const tablesWith = async (words: readonly string[]) => await tablesWithWords(folder, words);

async function untilOffTheDisk(...words: string[]): Promise<void> {
  await until(async () => (await tablesWith(words)).length === 0, 'the words to be off the disk');
}

async function edit(who: Person, id: string, seq: number, body: unknown): Promise<void> {
  const { status, text } = await server.api(who, 'PATCH', `/v1/conversations/${id}/messages/${seq}`, { body });
  assert.equal(status, 200, text);
}

async function remove(who: Person, id: string, seq: number): Promise<void> {
  const { status, text } = await server.api(who, 'DELETE', `/v1/conversations/${id}/messages/${seq}`);
  assert.equal(status, 200, text);
}

test('under a hold edits and deletions are accepted, kept for the export, and off the disk when it ends', async () => {
  const { id } = await start(server, alice, 'room', ['bob'], 'Held');
  const at = `/v1/conversations/${id}/messages`;
  await say(server, alice, id, 'turbot never held');
  await edit(alice, id, 1, 'turbot still free');
  await hold(id, true);
  const holds = async () =>
    (await ask<{ items: { conversation_id: string; held_by: string }[] }>('owner', 'GET', '/holds')).body.items.map(
      ({ conversation_id: one, held_by: by }) => [one, by],
    );
  assert.deepEqual(await holds(), [[id, 'user:owner']]);
  assertRefused(
    await ask('owner', 'PUT', '/conversations/c_0000000000000000000000/hold', { held: true }),
    403,
    'conversation_forbidden',
  );
  assert.deepEqual(await holds(), [[id, 'user:owner']]);
  await say(server, bob, id, 'turbot the first');
  for (const word of ['second', 'third']) await edit(bob, id, 2, `turbot the ${word}`);
  await remove(alice, id, 2);
  const attachment = await upload(server, bob, Buffer.from('the file of a turbot'), 'turbot.txt');
  assert.equal((await attach(server, bob, id, attachment)).status, 201);
  await remove(bob, id, 3);
  await say(server, bob, id, 'nothing of it');

  // Nobody reads any of it, and the file of the deleted message is nobody's either.
  for (const who of [alice, bob]) {
    const page = await server.api(who, 'GET', `${at}?limit=10`);
    assert.doesNotMatch(page.text, /the (?:first|second|third)|turbot\.txt|never held/);
    const found = await searchAll(server, who, { q: 'turbot' });
    assert.deepEqual(
      found.map(({ seq }) => seq),
      [1],
    );
    const changes = await server.api(who, 'GET', `/v1/conversations/${id}/changes?after_rev=0`);
    assert.doesNotMatch(changes.text, /the (?:first|second|third)|never held/);
    assertRefused(await download(server, who, attachment, id), 404, 'attachment_not_found');
  }
  const forward = { forward: { conversation_id: id, seq: 2 } };
  assertRefused(await post(server, bob, id, forward), 403, 'forward_forbidden', 'forward');

  await again('SIGKILL');
  const lines = await exported(id);
  const [first, second, third, deletedFile] = keptOf(lines);
  assert.deepEqual(
    [first, second, third],
    [
      [2, 'edit', 'bob', 'turbot the first'],
      [2, 'edit', 'bob', 'turbot the second'],
      [2, 'delete', 'alice', 'turbot the third'],
    ],
  );
  assert.deepEqual(deletedFile?.slice(0, 3), [3, 'delete', 'bob']);
  const kept = lines.flatMap((line) => line.kept ?? []);
  assert.equal(kept[3]?.content, contentHashOf('the file of a turbot'));
  const stub = lines.find(({ message }) => message?.seq === 2)?.message;
  assert.equal(stub?.deleted_at, kept[2]?.at);
  assert.equal(kept[1]?.message.edited_at, kept[0]?.at);
  assert.deepEqual(lines.at(-1), { end: { messages: 4, kept: 4 } });
  assert.equal((await ask('administrator', 'GET', `/message-export?conversation=${id}`)).status, 403);

  // The content outlives the look that follows each deletion: the next one goes, and this one stays.
  const loose = await upload(server, alice, Buffer.from('another file'), 'other.txt');
  const other = await start(server, alice, 'room', [], 'Other');
  const sent = await attach(server, alice, other.id, loose);
  await remove(alice, other.id, sent.body.seq);
  const isGone = (hash: string) => !existsSync(blobPath(folder, hash));
  await until(() => isGone(contentHashOf('another file')), 'the other content to go');
  const content = kept[3]?.content ?? '';
  assert.equal(isGone(content), false);

  await hold(id, false);
  await until(() => isGone(content), 'the content to go');
  assert.deepEqual(await holds(), []);
  assert.deepEqual(keptOf(await exported(id)), []);
  await untilOffTheDisk(...turbots);
  assert.deepEqual(await tablesWith(['turbot still free']), ['messages: turbot still free']);
});

test('the installation’s hold keeps what is deleted anywhere; a kill while it ends is made good', async () => {
  const { id } = await start(server, alice, 'direct', ['bob']);
  assert.equal((await ask('owner', 'PUT', '/retention/hold', { held: true })).status, 200);
  // Two blocks of the purge, and one more.
  for (let n = 1; n <= 205; n += 1) await say(server, alice, id, `plaice ${n}`);
  for (let n = 1; n <= 205; n += 1) await remove(alice, id, n);
  const pages = await exported(id);
  assert.deepEqual(pages.at(-1), { end: { messages: 205, kept: 205 } });
  assert.equal((await ask('owner', 'PUT', '/retention/hold', { held: false })).status, 200);
  await again('SIGKILL');
  await untilOffTheDisk('plaice ');
});

test('a deleted conversation stays on disk while it is held, and its owners’ export has it', async () => {
  const { id } = await start(server, alice, 'room', ['bob'], 'Short-lived');
  for (let n = 1; n <= 3; n += 1) await say(server, bob, id, `halibut ${n}`);
  await edit(bob, id, 3, 'halibut three');
  await hold(id, true);
  await edit(bob, id, 2, 'halibut two');
  assert.equal((await server.api(alice, 'DELETE', `/v1/conversations/${id}`)).status, 204);
  assertRefused(await server.api(bob, 'GET', `/v1/conversations/${id}`), 403, 'conversation_forbidden');
  await again('SIGKILL');
  const lines = await exported(id);
  assert.deepEqual(
    lines.flatMap(({ hidden, message }) => (message === undefined ? [] : [[message.seq, message.body, hidden]])),
    [
      [1, 'halibut 1', true],
      [2, 'halibut two', true],
      [3, 'halibut three', true],
    ],
  );
  assert.deepEqual(keptOf(lines), [[2, 'edit', 'bob', 'halibut 2']]);
  await hold(id, false);
  await until(async () => {
    const path = `${server.coordinator}/admin/api/message-export?conversation=${id}`;
    return (await fetch(path, { headers: callers.owner })).status === 403;
  }, 'the export to end');
  assertRefused(await ask('owner', 'PUT', '/conversations/c_none/hold', { held: true }), 403, 'conversation_forbidden');
  await untilOffTheDisk('halibut ');
  // Nor does a server that ends, or starts again, bring back anything of what went in any of these tests.
  const gone = [...turbots, 'plaice ', 'halibut '];
  await again('SIGTERM', async () => assert.deepEqual(await tablesWith(gone), []));
  assert.deepEqual(await tablesWith(gone), []);
  await until(
    async () => (await ask('owner', 'PUT', `/conversations/${id}/hold`, { held: false })).status === 403,
    'nothing to be left to hold',
  );
});
