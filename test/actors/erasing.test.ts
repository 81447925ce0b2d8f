/** Erasing a person from a conversation, step by step. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErasureStep } from '#actors/conversation/erasing.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { checkFolder } from '#storage/check/check.ts';
import {
  readConversation,
  readHistory,
  readPersonal,
  readWatermark,
} from '#storage/conversations/conversation-reader.ts';
import { readListings } from '#storage/conversations/room-records.ts';
import { makeRoom, openHost, post, type ActorHost } from './actor-host.ts';

const ROOM = 'c_erased';
/** More than one step goes over, and some behind the last whole block. */
const POSTED = 300;

async function eraseBob(host: ActorHost): Promise<ErasureStep[]> {
  const steps: ErasureStep[] = [];
  for (let afterSeq: number | null = 0; afterSeq !== null;) {
    const answer = await host.converse(ROOM, { kind: 'erase', user: 'bob', afterSeq });
    assert.ok(answer.ok);
    const step = answer.value as ErasureStep;
    steps.push(step);
    afterSeq = step.next;
  }
  return steps;
}

test('what a person said and did goes in steps, nothing of the others does, and a repeat changes nothing', async (t) => {
  const host = openHost(t);
  const bob = { user: 'bob', device: 'd_bob' };
  await makeRoom(host, ROOM, ['bob']);
  // Blocks 3 and 4 are alice's alone.
  const isBobs = (seq: number) => seq % 2 === 0 && (seq <= 64 || seq > 128);
  for (let seq = 1; seq <= POSTED; seq += 1) await host.reply(ROOM, post(isBobs(seq) ? 'bob' : 'alice', `said ${seq}`));
  for (const emoji of ['👍', '🎉', '❤️']) {
    await host.reply(ROOM, { kind: 'react', seq: 101, emoji, added: true, ...bob });
    await host.reply(ROOM, { kind: 'react', seq: 101, emoji, added: true, user: 'alice', device: 'd_alice' });
  }
  await host.reply(ROOM, { kind: 'react', seq: 2, emoji: '👍', added: true, ...bob });
  await host.reply(ROOM, { kind: 'draft', body: 'unsent', ...bob });
  await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: 9, ...bob });
  const steps = await eraseBob(host);
  // Three steps over 300 messages; two more for the second and third reaction on one message.
  assert.deepEqual(
    steps.map(({ next }) => next),
    [0, 0, 128, 256, null],
  );
  assert.equal(
    steps.reduce((sum, { messages }) => sum + messages, 0),
    Array.from({ length: POSTED }, (_, at) => at + 1).filter(isBobs).length,
  );
  assert.ok(steps.some(({ bytes }) => bytes > 0));
  const record = readConversation(host.tables, ROOM);
  assert.ok(record !== undefined);
  const { items } = readHistory(host.tables, record, { afterSeq: 0, limit: 1_000 });
  const messages = items.map((json) => JSON.parse(json) as Message & { reactions?: unknown });
  assert.equal(messages.length, POSTED);
  for (const { body, deleted_at, sender, seq } of messages) {
    assert.equal(sender, isBobs(seq) ? 'bob' : 'alice');
    assert.equal(body, isBobs(seq) ? undefined : `said ${seq}`);
    assert.equal(deleted_at !== undefined, isBobs(seq));
  }
  assert.deepEqual(
    messages[100]?.reactions,
    ['👍', '🎉', '❤️'].map((emoji) => ({ emoji, count: 1, users: ['alice'] })),
  );
  assert.equal(readPersonal(host.tables, ROOM, 'bob').draft, undefined);
  assert.deepEqual(readWatermark(host.tables, ROOM, 'bob'), { delivered: 0, read: 0 });
  const { rev } = record;
  assert.equal(
    (await eraseBob(host)).reduce((sum, step) => sum + step.messages, 0),
    0,
  );
  assert.equal(readConversation(host.tables, ROOM)?.rev, rev);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('a conversation under a legal hold is left as it is', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('bob', 'kept'));
  await host.reply(ROOM, { kind: 'hold', isHeld: true });
  assert.deepEqual(await eraseBob(host), [{ next: null, messages: 0, bytes: 0, isHeld: true }]);
});

test('a stand-in takes the place of names in what a room is called, under a hold too, and nothing else of it changes', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, {
    kind: 'describe',
    form: {
      title: 'Bob, bobby and @bob',
      topic: 'Of ROBERT Smith (+1 555, x@bob.org)',
      purpose: 'Robert Smithers',
      visibility: 'organisation',
    },
    user: 'alice',
    device: 'd_alice',
  });
  await host.converse(ROOM, { kind: 'hold', isHeld: true });
  const names = { kind: 'eraseNames', user: 'bob', names: ['Robert Smith', ' ', '+1 555'] } as const;
  assert.deepEqual(await host.converse(ROOM, names), { ok: true, value: true });
  const record = readConversation(host.tables, ROOM);
  assert.deepEqual(
    [record?.title, record?.room?.topic, record?.room?.purpose],
    ['Bob, bobby and @[erased]', 'Of [erased] ([erased], x@bob.org)', 'Robert Smithers'],
  );
  assert.equal(readListings(host.tables, undefined, 9)[0]?.title, record?.title);
  assert.deepEqual(await host.converse(ROOM, names), { ok: true, value: false });
  assert.equal(readConversation(host.tables, ROOM)?.rev, record?.rev);
});
