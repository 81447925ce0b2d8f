/** The conversation actor: idempotent posts, watermarks, limits at their value and one beyond, endings and beginnings. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConversationMessage, Reply } from '#actors/conversation/conversation.messages.ts';
import type { Answer } from '#actors/runtime/actor.ts';
import {
  CHANGES_REPLY_MAX,
  EVENT_PARTICIPANTS_MAX,
  HINT_PARTICIPANTS_MAX,
  HINT_SAMPLE_MAX,
  PARTICIPANTS_MAX,
  PINS_MAX,
  REACTION_USERS_MAX,
  REACTIONS_PER_MESSAGE_MAX,
  TYPING_INTERVAL_MILLIS,
  UNREAD_COUNT_MAX,
} from '#src/protocol/limits.ts';
import { checkFolder } from '#storage/check/check.ts';
import {
  readChanges,
  readConversation,
  readHistory,
  readMember,
  readWatermark,
} from '#storage/conversations/conversation-reader.ts';
import { countUnread, readLaneInbox, readPinnedSeqs, readPurges } from '#storage/conversations/inbox-reader.ts';
import { removeKey } from '#storage/conversations/conversation-writes.ts';
import { numbered } from '#storage/engine/keys.ts';
import { stampOf } from '#storage/engine/lane.ts';
import { POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { until } from '#test/support/waiting.ts';
import { EPOCH, makeRoom, openHost, post, type ActorHost } from './actor-host.ts';

const ROOM = 'c_0000000000000000000001';
const as = (user: string) => ({ user, device: `d_${user}` });
const said = (answer: Answer) => (answer.ok ? (answer.value as Reply).status : answer.code);
const people = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `p${from + i}`);
const record = (host: ActorHost) => {
  const found = readConversation(host.tables, ROOM);
  assert.ok(found);
  return found;
};
const bodies = (host: ActorHost) =>
  readHistory(host.tables, record(host), { limit: 100 }).items.map(
    (json) => (JSON.parse(json) as { body?: string }).body,
  );

test('RCP-02 unread leaves out one’s own messages, wherever the watermark stands between the blocks', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const senders = Array.from({ length: 3 * POSTED_BLOCK + 5 }, (_, i) => (i % 3 === 0 ? 'bob' : 'alice'));
  await Promise.all(senders.map((sender) => host.reply(ROOM, post(sender, 'x'))));
  for (let read = 0; read <= senders.length; read += 1) {
    const expected = senders.slice(read).filter((sender) => sender === 'alice').length;
    assert.equal(countUnread(host.tables, record(host), 'bob', read), expected, `read up to ${read}`);
  }
});

test('changes whose log lost a record are not told with a message in its place', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM);
  await host.reply(ROOM, post('alice', 'one'));
  await host.reply(ROOM, { kind: 'pin', seq: 1, pinned: true, ...as('alice') });
  await host.reply(ROOM, { kind: 'pin', seq: 1, pinned: false, ...as('alice') });
  assert.equal(readChanges(host.tables, record(host), EPOCH, 0)?.length, 4);
  await host.environment.commit([removeKey('changes', numbered(3, ROOM))]);
  assert.equal(readChanges(host.tables, record(host), EPOCH, 0), undefined);
});

test('MSG-04 seqs rise by one under concurrent posts, and a message has the server’s time and sender', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, i) => host.reply(ROOM, post(i % 2 === 0 ? 'alice' : 'bob', `${i}`))),
  );
  assert.deepEqual(
    answers.map(({ body }) => body['seq']),
    Array.from({ length: 500 }, (_, i) => i + 1),
  );
  assert.deepEqual(answers[1]?.body, {
    conversation_id: ROOM,
    seq: 2,
    kind: 'text',
    body: '1',
    sender: 'bob',
    created_at: '2026-11-21T08:00:00.000Z',
  });
});

test('MSG-10 a deleted message keeps seq, sender and times and loses body, reactions and pin', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', 'gone', 'm1'));
  await host.reply(ROOM, { kind: 'react', seq: 1, emoji: '👍', added: true, ...as('bob') });
  await host.reply(ROOM, { kind: 'pin', seq: 1, pinned: true, ...as('bob') });
  const { body } = await host.reply(ROOM, { kind: 'deleteMessage', seq: 1, ...as('alice') });
  assert.deepEqual(body, {
    conversation_id: ROOM,
    seq: 1,
    kind: 'text',
    sender: 'alice',
    client_msg_id: 'm1',
    created_at: '2026-11-21T08:00:00.000Z',
    deleted_at: '2026-11-21T08:00:00.000Z',
  });
  assert.deepEqual(readPinnedSeqs(host.tables, ROOM), []);
  assert.equal(host.tables.reactions.getCount(), 0);
  const refusals: ConversationMessage[] = [
    { kind: 'edit', seq: 1, body: 'back', ...as('alice') },
    { kind: 'react', seq: 1, emoji: '👍', added: true, ...as('bob') },
    { kind: 'pin', seq: 1, pinned: true, ...as('bob') },
  ];
  for (const refusal of refusals) assert.equal(said(await host.converse(ROOM, refusal)), 'message_deleted');
  assert.deepEqual((await host.reply(ROOM, { kind: 'deleteMessage', seq: 1, ...as('alice') })).body, body);
});

test('an edit keeps to the shape of the message’s kind, and an outcome is never edited', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM);
  const place = { latitude: 1, longitude: 2 };
  const outcome = { outcome: { result: 'missed' as const, duration: 0, flags: [] } };
  await host.reply(ROOM, post('alice', 'text'));
  await host.reply(ROOM, { kind: 'post', form: { kind: 'location', body: place }, ...as('alice') });
  await host.reply(ROOM, { kind: 'post', form: { kind: 'call', body: outcome }, ...as('alice') });
  const edit = async (seq: number, body: never) =>
    said(await host.converse(ROOM, { kind: 'edit', seq, body, ...as('alice') }));
  assert.equal(await edit(1, place as never), 'field_invalid');
  assert.equal(await edit(2, 'text' as never), 'field_invalid');
  assert.equal(await edit(2, { ...place, latitude: 3 } as never), 200);
  assert.equal(await edit(3, outcome as never), 'right_missing');
  assert.equal(await edit(4, 'text' as never), 'message_not_found');
});

test('RCP-01 watermarks rise, read implies delivered, and the head is as far as they go', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  for (const body of ['1', '2', '3']) await host.reply(ROOM, post('alice', body));
  const receipt = (state: 'delivered' | 'read', seq: number) =>
    host.converse(ROOM, { kind: 'receipt', state, seq, ...as('bob') });
  const events = () =>
    host
      .events(ROOM)
      .filter(({ type }) => type === 'receipt')
      .map(({ data }) => data);
  await receipt('read', 2);
  assert.deepEqual(readWatermark(host.tables, ROOM, 'bob'), { delivered: 2, read: 2 });
  await receipt('delivered', 3);
  await receipt('read', 1);
  await receipt('delivered', 3);
  assert.deepEqual(readWatermark(host.tables, ROOM, 'bob'), { delivered: 3, read: 2 });
  assert.equal(said(await receipt('read', 3)), 200);
  assert.equal(said(await receipt('read', 4)), 'receipt_beyond_head');
  assert.deepEqual(events(), [
    { user: 'bob', conversation_id: ROOM, seq: 2, state: 'read' },
    { user: 'bob', conversation_id: ROOM, seq: 3, state: 'delivered' },
    { user: 'bob', conversation_id: ROOM, seq: 3, state: 'read' },
  ]);
});

test('SOC-11 a receipt that everybody shows is among what changed for everybody, in a large room for the person alone', async (t) => {
  for (const [others, whose] of [
    [['bob'], ['alice', 'bob']],
    [['bob', ...people(HINT_PARTICIPANTS_MAX)], ['bob']],
  ] as const) {
    const host = openHost(t);
    await makeRoom(host, ROOM, others);
    await host.reply(ROOM, post('alice', 'x'));
    const cursor = stampOf(host.tables);
    await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: 1, ...as('bob') });
    const changed = ['alice', 'bob'].filter((user) => readLaneInbox(host.tables, 0, user, cursor).length === 1);
    assert.deepEqual(changed, whose);
  }
});

test('a message carries as many emoji as it may, and one more is reactions_full', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', 'x'));
  const react = (emoji: string, user = 'bob') =>
    host.converse(ROOM, { kind: 'react', seq: 1, emoji, added: true, ...as(user) });
  for (let i = 0; i < REACTIONS_PER_MESSAGE_MAX; i += 1)
    assert.equal(said(await react(String.fromCodePoint(0x1f600 + i))), 200);
  assert.equal(said(await react('👍')), 'reactions_full');
  assert.equal(said(await react('😀', 'alice')), 200);
});

test('a reaction lists the first people by name, counts all, and moves up who was not listed', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, people(REACTION_USERS_MAX + 1));
  await host.reply(ROOM, post('alice', 'x'));
  const react = async (user: string, added: boolean) => {
    const { body } = await host.reply(ROOM, { kind: 'react', seq: 1, emoji: '👍', added, ...as(user) });
    return (body['reactions'] as { count: number; users: string[] }[] | undefined)?.[0];
  };
  for (const user of people(REACTION_USERS_MAX)) await react(user, true);
  assert.deepEqual(await react('p16', true), { emoji: '👍', count: 17, users: people(16) });
  assert.deepEqual(await react('p0', false), { emoji: '👍', count: 16, users: people(16, 1) });
});

test('a conversation holds as many pins as it may, and one more is pins_full', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM);
  await Promise.all(Array.from({ length: PINS_MAX + 1 }, () => host.reply(ROOM, post('alice', 'x'))));
  const pin = (seq: number, pinned = true) => host.converse(ROOM, { kind: 'pin', seq, pinned, ...as('alice') });
  for (let seq = 1; seq <= PINS_MAX; seq += 1) assert.equal(said(await pin(seq)), 204);
  assert.equal(said(await pin(PINS_MAX + 1)), 'pins_full');
  await pin(1, false);
  assert.equal(said(await pin(PINS_MAX + 1)), 204);
});

test('a room holds as many people as it may, and one more is conversation_full', async (t) => {
  const host = openHost(t);
  const create = (others: number) =>
    host.converse(ROOM, { kind: 'create', conversation: 'room', participants: people(others), ...as('alice') });
  assert.equal(said(await create(PARTICIPANTS_MAX)), 'conversation_full');
  assert.equal(readConversation(host.tables, ROOM), undefined);
  assert.equal(said(await create(PARTICIPANTS_MAX - 1)), 201);
  const add = await host.converse(ROOM, { kind: 'add', participants: ['more'], role: 'member', ...as('alice') });
  assert.equal(said(add), 'conversation_full');
});

test('SOC-09 a room’s record lists its participants up to the limit, and leaves them out one beyond', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, people(EVENT_PARTICIPANTS_MAX - 1));
  const rename = async (title: string) =>
    (await host.reply(ROOM, { kind: 'describe', form: { title }, ...as('alice') })).body;
  assert.equal(((await rename('a'))['participants'] as object[]).length, 16);
  const { body } = await host.reply(ROOM, { kind: 'add', participants: ['more'], role: 'member', ...as('alice') });
  assert.deepEqual([body['participants'], body['participant_count']], [undefined, 17]);
  assert.equal((await rename('b'))['participants'], undefined);
});

test('RCP-02 FRM-01 receipts and typing reach everybody one by one up to the limit of hints, and beyond it in a frame each', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, people(HINT_PARTICIPANTS_MAX - 1));
  await host.reply(ROOM, post('alice', 'x'));
  await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: 1, ...as('p0') });
  assert.equal(host.said.at(-1)?.kind, 'publish');
  await host.reply(ROOM, { kind: 'add', participants: ['more'], role: 'member', ...as('alice') });
  host.said.splice(0);
  const many = people(HINT_SAMPLE_MAX + 2).slice(1);
  for (const user of many) {
    await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: 1, ...as(user) });
    host.system.deliver(`conversation:${ROOM}`, { kind: 'typing', ...as(user) });
  }
  const told = () => host.said.filter((one) => one.kind === 'publish');
  assert.deepEqual(
    [host.said.map((one) => (one.kind === 'publishTo' ? one.users : one.kind)), told()],
    [many.map((user) => [user]), []],
  );
  await until(() => told().length === 2, 'the frames of the second');
  const newest = many.toReversed().slice(0, HINT_SAMPLE_MAX);
  const [user] = newest;
  const frames = told().map(({ event, except }) => [(JSON.parse(event) as { data: object }).data, except?.users]);
  const sample = newest.map((one) => ({ user: one, seq: 1, state: 'read' }));
  assert.deepEqual(frames, [
    [{ user, count: many.length, sample: newest }, many.toReversed()],
    [{ ...sample[0], conversation_id: ROOM, count: many.length, sample }, undefined],
  ]);
});

test('FRM-01 typing is told to the others, once per interval and person', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  host.said.splice(0);
  const typed = async (user: string) => {
    host.system.deliver(`conversation:${ROOM}`, { kind: 'typing', ...as(user) });
    await host.reply(ROOM, { kind: 'mute', until: null, ...as('alice') });
  };
  await typed('alice');
  host.now += TYPING_INTERVAL_MILLIS - 1;
  await typed('alice');
  await typed('bob');
  await typed('mallory');
  host.now += 1;
  await typed('alice');
  const told = host.said.map((one) => (one.kind === 'publish' && one.type === 'typing' ? one.except : undefined));
  assert.deepEqual(told, [{ user: 'alice' }, { user: 'bob' }, { user: 'alice' }]);
});

test('unread is counted up to its limit, and says that much for one more', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await Promise.all(Array.from({ length: UNREAD_COUNT_MAX }, () => host.reply(ROOM, post('alice', 'x'))));
  assert.equal(countUnread(host.tables, record(host), 'bob', 0), 1_000);
  assert.equal(countUnread(host.tables, record(host), 'bob', 1), 999);
  await host.reply(ROOM, post('alice', 'x'));
  assert.equal(countUnread(host.tables, record(host), 'bob', 0), 1_000);
  assert.equal(countUnread(host.tables, record(host), 'alice', 0), 0);
});

test('changes are answered as far back as one reply holds, and one rev further is answered with none', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM);
  await Promise.all(Array.from({ length: 1_499 }, () => host.reply(ROOM, post('alice', 'x'))));
  const { rev } = record(host);
  assert.equal(rev, 1_500);
  assert.equal(readChanges(host.tables, record(host), EPOCH, rev - CHANGES_REPLY_MAX)?.length, 1_000);
  assert.equal(readChanges(host.tables, record(host), EPOCH, rev - CHANGES_REPLY_MAX - 1), undefined);
  assert.equal(readChanges(host.tables, record(host), EPOCH, rev + 1), undefined);
  assert.deepEqual(readChanges(host.tables, record(host), EPOCH, rev), []);
});

test('a room keeps an owner as long as anybody is in it, and goes with its last participant', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  const leave = (user: string) => host.converse(ROOM, { kind: 'remove', participant: user, ...as(user) });
  const demote = { kind: 'setRole', participant: 'alice', role: 'member', ...as('alice') } as const;
  assert.equal(said(await leave('alice')), 'owner_required');
  assert.equal(said(await host.converse(ROOM, demote)), 'owner_required');
  await host.reply(ROOM, { kind: 'setRole', participant: 'bob', role: 'owner', ...as('alice') });
  assert.equal(said(await host.converse(ROOM, demote)), 200);
  assert.equal(said(await leave('alice')), 204);
  assert.equal(said(await leave('bob')), 204);
  assert.equal(readConversation(host.tables, ROOM), undefined);
  assert.deepEqual(
    host.said.slice(-2).map(({ kind }) => kind),
    ['publish', 'disband'],
  );
});

test('who joins is told of what comes after, and who left finds the conversation gone', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  await host.reply(ROOM, post('alice', 'before'));
  await host.reply(ROOM, { kind: 'add', participants: ['carol'], role: 'member', ...as('alice') });
  assert.equal(readMember(host.tables, ROOM, 'carol')?.joinedSeq, 1);
  await host.reply(ROOM, post('alice', 'after'));
  assert.equal(countUnread(host.tables, record(host), 'carol', 0), 1);
  await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: 2, ...as('carol') });
  const cursor = stampOf(host.tables);
  await host.reply(ROOM, { kind: 'remove', participant: 'carol', ...as('alice') });
  assert.deepEqual(readLaneInbox(host.tables, 0, 'carol', cursor), [{ id: ROOM, lane: 0, record: undefined }]);
  assert.deepEqual(readLaneInbox(host.tables, 0, 'carol', 0), []);
  assert.deepEqual(readWatermark(host.tables, ROOM, 'carol'), { delivered: 0, read: 0 });
});

test('a pair that starts again goes on counting and sees nothing of before', async (t) => {
  const host = openHost(t);
  const begin = { kind: 'create', conversation: 'secret', participants: ['bob'], ...as('alice') } as const;
  assert.equal(said(await host.converse(ROOM, begin)), 201);
  await host.reply(ROOM, post('alice', 'before', 'm1'));
  assert.equal(said(await host.converse(ROOM, begin)), 200);
  await host.reply(ROOM, { kind: 'delete', ...as('bob') });
  assert.equal(said(await host.converse(ROOM, post('alice', 'nowhere'))), 'conversation_forbidden');
  const { body } = await host.reply(ROOM, begin);
  assert.deepEqual([body['head_seq'], body['rev']], [1, 4]);
  assert.deepEqual(bodies(host), []);
  assert.equal((await host.reply(ROOM, post('alice', 'after', 'm1'))).body['seq'], 2);
  assert.equal(readChanges(host.tables, record(host), EPOCH, 2), undefined);
  assert.equal(readChanges(host.tables, record(host), EPOCH, 3)?.length, 2);
  assert.equal(countUnread(host.tables, record(host), 'bob', 0), 1);
  await until(() => readPurges(host.tables).length === 0, 'the purge');
  assert.equal(host.tables.messages.getCount(), 1);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('a purge that a restart interrupted goes on from its mark', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, people(300));
  await Promise.all(Array.from({ length: 600 }, (_, i) => host.reply(ROOM, post('alice', 'x', `m${i}`))));
  await host.reply(ROOM, { kind: 'delete', ...as('alice') });
  await host.close();
  const again = openHost(t, { folder: host.folder });
  assert.deepEqual(readPurges(again.tables), [ROOM]);
  again.system.deliver(`conversation:${ROOM}`, { kind: 'purge' });
  await until(() => readPurges(again.tables).length === 0, 'the purge');
  for (const table of ['messages', 'changes', 'senders', 'idempotency', 'members', 'watermarks'] as const) {
    assert.equal(again.tables[table].getCount(), 0, table);
  }
  await again.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});
