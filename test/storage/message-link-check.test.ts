/** Mentions, threads and outcomes in the lane: sound after every change, gone with what they belong to, damage found. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { MENTIONS_LOOKED_AT_MAX } from '#src/protocol/limits.ts';
import { checkFolder } from '#storage/check/check.ts';
import { removeKey, writeMessage } from '#storage/conversations/conversation-writes.ts';
import { lanePath } from '#storage/engine/folder.ts';
import { key, numbered } from '#storage/engine/keys.ts';
import { openLane, type LaneWrite } from '#storage/engine/lane.ts';
import { readLaneMentions, STAMP_MAX } from '#storage/conversations/mention-reader.ts';
import { EVERYBODY, mentionKey, writeMention } from '#storage/conversations/mention-records.ts';
import { writeOutcome } from '#storage/conversations/outcome-records.ts';
import { replyKey, writeReply } from '#storage/conversations/thread-records.ts';
import { ActorHost, makeRoom, openHost, post } from '#test/actors/actor-host.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

const ROOM = 'c_0000000000000000000001';
const as = (user: string) => ({ user, device: 'd' });
const place = { offset: 0, length: 2 };
const mention = (user: string, ...mentions: Mention[]): ConversationMessage => ({
  kind: 'post',
  form: { kind: 'text', body: '@a', mentions },
  ...as(user),
});
const reply = (user: string, to: number): ConversationMessage => ({
  kind: 'post',
  form: { kind: 'text', body: 'reply', reply_to: to },
  ...as(user),
});
const outcome = (
  user: string,
  call: string | undefined,
  attempts: string[] = [],
  duration = 0,
): ConversationMessage => ({
  kind: 'post',
  form: {
    kind: 'call',
    body: { outcome: { result: 'missed', duration, flags: [] }, ...(call === undefined ? {} : { call }) },
  },
  attempts,
  // The thread that takes the post names the call it is about, as it is stored.
  ...(call === undefined ? {} : { about: call }),
  ...as(user),
});

/** Seq 1 mentions bob and is a root; 2 mentions everybody; 3 and 4 are replies; 5 is bob's outcome of a call. */
async function fill(host: ActorHost): Promise<void> {
  await makeRoom(host, ROOM, ['bob', 'carol']);
  await host.reply(ROOM, mention('alice', { username: 'bob', ...place }, { username: 'alice', offset: 0, length: 1 }));
  await host.reply(ROOM, mention('alice', { all: true, ...place }));
  await host.reply(ROOM, reply('bob', 1));
  await host.reply(ROOM, reply('carol', 3));
  await host.reply(ROOM, outcome('bob', 'k'));
}

async function makeFolder(t: TestContext, then: (host: ActorHost) => Promise<void> = async () => undefined) {
  const folder = temporaryFolder(t);
  const host = new ActorHost(folder, []);
  await fill(host);
  await then(host);
  await host.close();
  return folder;
}

async function problems(folder: string, writes: readonly LaneWrite[] = []): Promise<string[]> {
  const environment = openLane(lanePath(folder, 0), 1024 ** 3);
  await environment.commit(writes);
  await environment.close();
  return (await checkFolder(folder)).problems;
}

test('what mentions, threads and outcomes leave in a lane is sound after posts, edits and deletions', async (t) => {
  assert.deepEqual(await problems(await makeFolder(t)), []);
  const changed = await makeFolder(t, async (host) => {
    const mentions = [{ username: 'carol', ...place }];
    await host.reply(ROOM, { kind: 'edit', seq: 1, body: '@b', mentions, ...as('alice') });
    await host.reply(ROOM, { kind: 'edit', seq: 2, body: 'nobody', ...as('alice') });
    await host.reply(ROOM, { kind: 'deleteMessage', seq: 3, ...as('bob') });
    await host.reply(ROOM, { kind: 'deleteMessage', seq: 5, ...as('bob') });
    await host.reply(ROOM, { kind: 'remove', participant: 'carol', ...as('alice') });
    assert.deepEqual(
      [...host.tables.mentions.getKeys()].map((itemKey) => itemKey.toString('latin1')),
      [mentionKey(ROOM, 'carol', 1).toString('latin1')],
    );
    assert.equal(host.tables.mentioned.getCount(), 1);
    assert.equal(host.tables.replies.getCount(), 2);
  });
  assert.deepEqual(await problems(changed), []);
});

test('a deletion takes all of it off the disk, and a secret chat begun again has none of it', async (t) => {
  const host = openHost(t);
  const begin = { kind: 'create', conversation: 'secret', participants: ['bob'], ...as('alice') } as const;
  await host.reply(ROOM, begin);
  await host.reply(ROOM, mention('alice', { username: 'bob', ...place }));
  await host.reply(ROOM, mention('alice', { all: true, ...place }));
  await host.reply(ROOM, reply('bob', 1));
  await host.reply(ROOM, outcome('bob', 'k'));
  await host.reply(ROOM, { kind: 'delete', ...as('bob') });
  await host.reply(ROOM, begin);
  assert.equal((await host.converse(ROOM, reply('bob', 1))).ok, false);
  assert.deepEqual(readLaneMentions(host.tables, 'bob', STAMP_MAX, 10).rows, []);
  await host.reply(ROOM, mention('alice', { username: 'bob', ...place }));
  await host.reply(ROOM, reply('alice', 5));
  assert.equal((await host.reply(ROOM, outcome('bob', 'k'))).status, 201);
  await until(() => host.tables.meta.get(key('purge', ROOM)) === undefined, 'the purge');
  const kept = (['mentions', 'mentioned', 'threads', 'replies', 'outcomes'] as const).map((table) =>
    host.tables[table].getCount(),
  );
  assert.deepEqual(kept, [1, 1, 1, 1, 1]);
  assert.deepEqual(
    readLaneMentions(host.tables, 'bob', STAMP_MAX, 10).rows.map(({ seq }) => seq),
    [5],
  );
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('a plain message writes nothing of mentions, threads or outcomes', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', 'plain', 'm1'));
  for (const table of ['mentions', 'mentioned', 'threads', 'replies', 'outcomes'] as const) {
    assert.equal(host.tables[table].getCount(), 0, table);
  }
});

test('MSG-07 a person posts one outcome of a call: the same again is answered with it, another is refused', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const first = await host.reply(ROOM, outcome('alice', 'k'));
  assert.deepEqual([first.status, first.body['seq']], [201, 1]);
  assert.deepEqual(await host.reply(ROOM, outcome('alice', 'k')), { status: 200, body: first.body });
  const other = await host.converse(ROOM, outcome('alice', 'k', [], 5));
  assert.deepEqual(other.ok ? [] : [other.code, other.field], ['call_outcome_posted', 'body.outcome']);
  assert.equal(
    (await host.reply(ROOM, outcome('bob', 'k', [], 5))).body['seq'],
    2,
    'somebody else has one of their own',
  );
  assert.equal((await host.reply(ROOM, outcome('alice', 'other'))).body['seq'], 3);
  await host.reply(ROOM, { kind: 'deleteMessage', seq: 1, ...as('alice') });
  assert.equal((await host.converse(ROOM, outcome('alice', 'k'))).ok, false, 'what was deleted was posted');
});

test('MSG-07 an outcome without its call is taken for the first of those it may be of', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const seqs = [];
  for (let n = 0; n < 3; n += 1) {
    const { status, body } = await host.reply(ROOM, outcome('alice', undefined, ['k1', 'k2']));
    seqs.push([status, body['seq']]);
  }
  assert.deepEqual(seqs, [
    [201, 1],
    [201, 2],
    [200, 2],
  ]);
  const refused = await host.converse(ROOM, outcome('alice', 'k1', [], 7));
  assert.equal(refused.ok ? '' : refused.code, 'call_outcome_posted');
  assert.equal((await host.reply(ROOM, outcome('alice', undefined))).status, 201, 'of nothing known it is believed');
  assert.equal((await host.reply(ROOM, outcome('alice', undefined))).status, 201);
});

test('what lies in conversations that a person left costs a page a bounded look, and hides nothing behind it', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, mention('alice', { username: 'bob', ...place }));
  const other = 'c_0000000000000000000002';
  const row = (n: number) =>
    writeMention('bob', { conversation: other, seq: n, sender: 'alice', at: n, stamp: 1_000 + n });
  await host.environment.commit(Array.from({ length: MENTIONS_LOOKED_AT_MAX }, (_, n) => row(n + 1)).flat());
  const first = readLaneMentions(host.tables, 'bob', STAMP_MAX, 10);
  assert.deepEqual(first, { rows: [], rest: 1_001 });
  const second = readLaneMentions(host.tables, 'bob', first.rest, 10);
  assert.deepEqual([second.rows.map(({ seq }) => seq), second.rest], [[1], 0]);
});

const DAMAGE: Readonly<Record<string, readonly [LaneWrite[], string[]]>> = {
  'a mention that its message does not lead to': [
    [removeKey('mentions', mentionKey(ROOM, 'bob', 1))],
    [`mentions [${ROOM}, bob, 1] is missing`, 'mentioned [bob, 2] is of no mention'],
  ],
  'a mention by a message that makes none': [
    writeMention('carol', { conversation: ROOM, seq: 1, sender: 'alice', at: 0, stamp: 3 }),
    [`mentions [${ROOM}, carol, 1] is of a message that mentions them not`],
  ],
  'a mention by somebody else': [
    writeMention(EVERYBODY, { conversation: ROOM, seq: 2, sender: 'carol', at: 0, stamp: 3 }),
    [`mentions [${ROOM}, *, 2] names another sender than the message`],
  ],
  'a mention that nobody finds': [[removeKey('mentioned', numbered(2, 'bob'))], ['mentioned [bob, 2] is missing']],
  'a mention from beyond the lane': [
    writeMention('bob', { conversation: ROOM, seq: 1, sender: 'alice', at: 0, stamp: 900 }),
    [`mentions [${ROOM}, bob, 1] has stamp 900, beyond the lane's 6`, 'mentioned [bob, 2] is of no mention'],
  ],
  'a reply that its thread lacks': [
    [removeKey('replies', replyKey(ROOM, 1, 4))],
    [
      `replies [${ROOM}, 1, 4] is missing`,
      `threads [${ROOM}, 1] counts 2 replies, but replies has 1`,
      `threads [${ROOM}, 1] ends with 4, but replies does not`,
    ],
  ],
  'a thread of what was no reply': [
    writeReply(ROOM, 2, 5, { count: 1, last: 5 }),
    [
      `replies [${ROOM}, 2, 5] is of a message that is not in the thread`,
      `threads [${ROOM}, 2] is of a message whose flag says it has none`,
    ],
  ],
  'a thread without its count': [
    [removeKey('threads', numbered(1, ROOM))],
    [`threads [${ROOM}, 1] is missing`, `threads [${ROOM}, 1] is missing`],
  ],
  'an outcome of no call': [
    [writeOutcome(ROOM, 'k', 'bob', 1)],
    [`outcomes [${ROOM}, k, bob] leads to message 1, which is no outcome by them`],
  ],
  'an outcome of somebody else': [
    [writeOutcome(ROOM, 'k', 'alice', 5)],
    [`outcomes [${ROOM}, k, alice] leads to message 5, which is no outcome by them`],
  ],
  'mentions of a conversation that is not there': [
    [
      writeMessage(ROOM, 1, '{', 4),
      ...writeMention('bob', { conversation: 'c_0000000000000000000009', seq: 1, sender: 'a', at: 0, stamp: 1 }),
    ],
    [
      `messages [${ROOM}, 1] cannot be read (Expected property name or '}' in JSON at position 1 (line 1 column 2))`,
      `mentions [${ROOM}, bob, 1] is of a message that mentions them not`,
      'mentions [c_0000000000000000000009] holds records of a conversation that is not there',
    ],
  ],
};

for (const [name, [writes, sentences]] of Object.entries(DAMAGE)) {
  test(`${name} is found`, async (t) => {
    assert.deepEqual(
      await problems(await makeFolder(t), writes),
      sentences.map((sentence) => `In lane 0, ${sentence}.`),
    );
  });
}
