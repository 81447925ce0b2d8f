/** The push actor: which messages are due to whom, once each, across restarts, and what the outbox does when it is full. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CALL_LIFE_MILLIS, PUSH_LIFE_MILLIS, PUSHED_AT_ONCE_MAX } from '#actors/push/push.ts';
import { OUTBOX_PER_DEVICE_MAX } from '#actors/push/push.state.ts';
import { judge, type Moment, type Posted, type RecipientStatus, type Verdict } from '#actors/push/decision.ts';
import type { PushDelivery } from '#actors/runtime/actor.ts';
import { PUSH_REGISTRATIONS_MAX } from '#src/protocol/limits.ts';
import { checkFolder } from '#storage/check/check.ts';
import { numbered } from '#storage/engine/keys.ts';
import { pack } from '#storage/engine/record-codec.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { makeRoom } from './actor-host.ts';
import { openScene, ROOM, type PushScene } from './push-scene.ts';

const STANDING: RecipientStatus = {
  isPair: false,
  read: 3,
  delivered: 5,
  joinedSeq: 1,
  floorSeq: 0,
  headSeq: 9,
  mutedUntil: 0,
};
const POSTED: Posted = { seq: 6, sender: 'alice', isDeleted: false, at: 0, mentions: false };
const MOMENT: Moment = { level: 'all', user: 'bob', now: 1_000, countsDelivered: false, reaches: () => true };
const DECISIONS: readonly [
  say: string,
  verdict: Verdict,
  posted: Partial<Posted>,
  standing: Partial<RecipientStatus>,
  moment: Partial<Moment>,
][] = [
  ['a message of somebody else', 'due', {}, {}, {}],
  ['one’s own', 'own', { sender: 'bob' }, {}, {}],
  ['a deleted one', 'deleted', { isDeleted: true }, {}, {}],
  ['one of a conversation that was emptied', 'deleted', {}, { floorSeq: 6 }, {}],
  ['one that was read', 'read', {}, { read: 6 }, {}],
  ['one from before they joined', 'read', {}, { joinedSeq: 6 }, {}],
  ['one that a device has, while its socket lives', 'due', { seq: 5 }, {}, {}],
  ['one that a device has, after its socket died', 'delivered', { seq: 5 }, {}, { countsDelivered: true }],
  ['one that no device has, after a socket died', 'due', { seq: 6 }, {}, { countsDelivered: true }],
  ['one in a muted conversation', 'muted', {}, { mutedUntil: 1_001 }, {}],
  ['one after the mute', 'due', {}, { mutedUntil: 1_000 }, {}],
  ['one in a muted conversation that names them', 'due', { mentions: true }, { mutedUntil: 1_001 }, {}],
  ['one, where they want none', 'unwanted', { mentions: true }, { isPair: true }, { level: 'none' }],
  ['one, where they want what names them', 'unwanted', {}, {}, { level: 'mentions' }],
  ['one that names them, where they want such', 'due', { mentions: true }, {}, { level: 'mentions' }],
  ['one of two people, where they want what names them', 'due', {}, { isPair: true }, { level: 'mentions' }],
  [
    'one of somebody whom the policies keep away, or to a guest whose term is over',
    'forbidden',
    {},
    {},
    { reaches: () => false },
  ],
];
for (const [say, verdict, posted, standing, moment] of DECISIONS) {
  test(`FRM-05 ${say}: ${verdict}`, () => {
    assert.equal(judge({ ...POSTED, ...posted }, { ...STANDING, ...standing }, { ...MOMENT, ...moment }), verdict);
  });
}

const brief = (deliveries: readonly PushDelivery[]) =>
  deliveries.map(({ device, kind, seq }) => `${device} ${kind} ${seq}`).toSorted();

async function roomScene(t: TestContext, folder?: string): Promise<PushScene> {
  const scene = await openScene(t, folder);
  await makeRoom(scene.host, ROOM, ['bob', 'carol']);
  return scene;
}

test('FRM-05 a push is due to every device while no app is awake, and none while one is', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.register('d_2');
  const offline = await scene.post('alice', 'nobody there');
  assert.deepEqual(brief(scene.pushed()), [`d_1 message ${offline}`, `d_2 message ${offline}`]);
  scene.devices.set('d_1', { awake: false });
  const away = await scene.post('alice', 'asleep');
  assert.deepEqual(brief(scene.pushed()), [`d_1 message ${away}`, `d_2 message ${away}`]);
  scene.devices.set('d_1', { awake: true });
  await scene.post('alice', 'awake');
  assert.deepEqual(scene.pushed(), []);
});

test('FRM-05 no push for one’s own message, a muted one, a read one or a forbidden one', async (t) => {
  const scene = await roomScene(t);
  const by = { user: 'bob', device: 'd_1' };
  await scene.register('d_1');
  await scene.post('bob', 'mine');
  scene.forbidden.add('message carol bob');
  await scene.post('carol', 'kept away');
  await scene.host.reply(ROOM, { kind: 'mute', until: new Date(scene.host.now + 1_000).toISOString(), ...by });
  await scene.post('alice', 'muted');
  assert.deepEqual(scene.pushed(), []);
  assert.deepEqual(Object.fromEntries(scene.counted), { forbidden: 1, muted: 1, own: 1 });
});

test('FRM-05 a message is pushed once for each device, however often it is decided', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  const seq = await scene.post('alice', 'once');
  await scene.push({ kind: 'decide', conversation: ROOM, from: seq });
  const [delivery, ...more] = scene.pushed();
  assert.ok(delivery !== undefined && more.length === 0);
  await scene.settle(delivery, { result: 'sent' });
  await scene.push({ kind: 'decide', conversation: ROOM, from: seq });
  await scene.push({ kind: 'decide', conversation: ROOM, from: 0, since: 0 });
  assert.deepEqual(scene.pushed(), []);
});

test('FRM-05 what a mute held back is not pushed by what comes after it, also after a socket was lost', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.host.reply(ROOM, { kind: 'mute', user: 'bob', device: 'd', until: '2030-01-01T00:00:00Z' });
  const muted = await scene.post('alice', 'muted');
  await scene.push({ kind: 'decide', conversation: ROOM, from: muted });
  await scene.host.reply(ROOM, { kind: 'mute', user: 'bob', device: 'd', until: null });
  await scene.push({ kind: 'decide', conversation: ROOM, from: 0, since: 0 });
  assert.deepEqual(scene.pushed(), []);
  const seq = await scene.post('alice', 'heard');
  await scene.push({ kind: 'decide', conversation: ROOM, from: 0, since: 0 });
  assert.deepEqual(
    scene.pushed().map((delivery) => delivery.seq),
    [seq],
  );
});

test('what waits survives a restart, and what was acknowledged does not come back', async (t) => {
  const folder = temporaryFolder(t);
  const first = await roomScene(t, folder);
  await first.register('d_1');
  const acknowledged = await first.post('alice', 'one');
  const [delivery] = first.pushed();
  await first.settle(delivery as PushDelivery, { result: 'sent' });
  const waiting = await first.post('alice', 'two');
  await first.host.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const second = await openScene(t, folder);
  await second.push({ kind: 'tick' });
  await second.push({ kind: 'decide', conversation: ROOM, from: acknowledged });
  assert.deepEqual(brief(second.pushed()), [`d_1 message ${waiting}`]);
});

test('FRM-05 what a lost socket may not have heard is decided again, without what a device has', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  scene.devices.set('d_1', { awake: true });
  const had = await scene.post('alice', 'received');
  await scene.host.reply(ROOM, { kind: 'receipt', state: 'delivered', seq: had, user: 'bob', device: 'd_1' });
  const lost = await scene.post('alice', 'sent to a dead socket');
  scene.devices.clear();
  await scene.push({ kind: 'attentionLost', at: scene.host.now });
  scene.host.now += 60_000;
  await until(() => scene.host.said.some(({ kind }) => kind === 'push'), 'the second decision');
  assert.deepEqual(brief(scene.pushed()), [`d_1 message ${lost}`]);
});

test('FRM-05 what a lost socket may not have heard is not forgotten for what is posted before it is looked into', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  scene.devices.set('d_1', { awake: true });
  const lost = await scene.post('alice', 'sent to a dead socket');
  scene.devices.clear();
  await scene.push({ kind: 'attentionLost', at: scene.host.now });
  const next = await scene.post('alice', 'sent to nobody');
  assert.deepEqual(brief(scene.pushed()), [`d_1 message ${lost}`, `d_1 message ${next}`]);
});

test('who is back before the second decision gets no push', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  scene.devices.set('d_1', { awake: true });
  await scene.post('alice', 'heard or not');
  await scene.push({ kind: 'attentionLost', at: scene.host.now });
  scene.host.now += 60_000;
  await scene.push({ kind: 'tick' });
  assert.deepEqual(scene.pushed(), []);
});

test('a push that failed is tried again when it is due, and dropped and counted when it is too old', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.post('alice', 'later');
  const [delivery] = scene.pushed();
  await scene.settle(delivery as PushDelivery, { result: 'later', at: scene.host.now + 60_000 });
  await scene.push({ kind: 'tick' });
  assert.deepEqual(scene.pushed(), []);
  scene.host.now += 60_001;
  await scene.push({ kind: 'tick' });
  const [again] = scene.pushed();
  assert.equal(again?.attempts, 1);
  await scene.settle(again, { result: 'later', at: scene.host.now + 60_000 });
  scene.host.now += PUSH_LIFE_MILLIS;
  await scene.push({ kind: 'tick' });
  assert.deepEqual(scene.pushed(), []);
  assert.equal(scene.counted.get('expired'), 1);
});

test('an address that is nobody’s goes with all that waits for it', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.register('d_2');
  await scene.post('alice', 'one');
  const [delivery] = scene.pushed();
  await scene.settle(delivery as PushDelivery, { result: 'gone' });
  const seq = await scene.post('alice', 'two');
  const left = delivery?.device === 'd_1' ? 'd_2' : 'd_1';
  assert.deepEqual(brief(scene.pushed()), [`${left} message ${seq}`]);
});

test('an old address that is gone does not take along the new one of the device', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1', 'a'.repeat(64));
  await scene.post('alice', 'one');
  const [delivery] = scene.pushed();
  await scene.register('d_1', 'b'.repeat(64));
  await scene.settle(delivery as PushDelivery, { result: 'gone' });
  assert.equal(scene.registry.has('bob'), true);
});

test('a registration ends with its session, and when the address is registered elsewhere', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1', 'a'.repeat(64));
  await scene.register('d_2', 'a'.repeat(64));
  assert.equal(scene.registry.userOf('s_d_1'), undefined);
  await scene.push({ kind: 'sessionsEnded', sids: ['s_d_2'] });
  assert.equal(scene.registry.has('bob'), false);
  await scene.post('alice', 'to nobody');
  assert.deepEqual(scene.pushed(), []);
});

test('one registration more than a person may have takes the place of the oldest', async (t) => {
  const scene = await roomScene(t);
  for (let i = 0; i <= PUSH_REGISTRATIONS_MAX; i += 1) {
    await scene.register(`d_${i}`, i.toString(16).padStart(64, '0'));
    scene.host.now += 1;
  }
  const seq = await scene.post('alice', 'to sixteen');
  const expected = Array.from({ length: PUSH_REGISTRATIONS_MAX }, (_, i) => `d_${i + 1} message ${seq}`);
  assert.deepEqual(brief(scene.pushed()), expected.toSorted());
});

test('beyond its bound an outbox keeps the newest push of each conversation', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  let last = 0;
  for (let i = 0; i <= OUTBOX_PER_DEVICE_MAX; i += 1) last = await scene.post('alice', `number ${i}`);
  assert.equal(scene.counted.get('collapsed'), OUTBOX_PER_DEVICE_MAX);
  scene.pushed();
  await scene.host.close();
  const again = await openScene(t, scene.host.folder);
  await again.push({ kind: 'tick' });
  assert.deepEqual(brief(again.pushed()), [`d_1 message ${last}`]);
});

test('one decision pushes the newest of many', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  scene.devices.set('d_1', { awake: true });
  for (let i = 0; i <= PUSHED_AT_ONCE_MAX; i += 1) await scene.post('alice', `number ${i}`);
  scene.devices.clear();
  await scene.push({ kind: 'decide', conversation: ROOM, from: 1, since: 0 });
  const seqs = scene.pushed().map(({ seq }) => seq);
  assert.deepEqual(
    seqs,
    Array.from({ length: PUSHED_AT_ONCE_MAX }, (_, i) => i + 2),
  );
});

test('FRM-05 a call rings by push where no app is awake on the device, and its end says so there', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.register('d_2');
  scene.devices.set('d_2', { awake: true });
  const call = { call: 'x1', conversation: ROOM, host: 'alice', video: false };
  await scene.push({ kind: 'ring', call });
  const [ring] = scene.pushed();
  assert.deepEqual(brief([ring as PushDelivery]), ['d_1 call 0']);
  assert.equal(ring?.expiresAt, scene.host.now + CALL_LIFE_MILLIS);
  await scene.settle(ring, { result: 'sent' });
  await scene.push({ kind: 'hush', call: 'x1' });
  await scene.push({ kind: 'hush', call: 'x1' });
  assert.deepEqual(brief(scene.pushed()), ['d_1 cancel 1']);
});

test('a call that is over before anybody was told rings nowhere', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.push({ kind: 'ring', call: { call: 'x1', conversation: null, host: 'alice', video: true } });
  const [ring] = scene.pushed();
  await scene.settle(ring as PushDelivery, { result: 'later', at: scene.host.now + 5_000 });
  await scene.push({ kind: 'hush', call: 'x1' });
  assert.deepEqual(scene.pushed(), []);
  scene.forbidden.add('call alice bob');
  await scene.push({ kind: 'ring', call: { call: 'x2', conversation: null, host: 'alice', video: true } });
  assert.deepEqual(scene.pushed(), []);
});

test('the end of a call does not overtake the call', async (t) => {
  const scene = await roomScene(t);
  await scene.register('d_1');
  await scene.push({ kind: 'ring', call: { call: 'x1', conversation: ROOM, host: 'alice', video: false } });
  const [ring] = scene.pushed();
  await scene.push({ kind: 'hush', call: 'x1' });
  assert.deepEqual(scene.pushed(), []);
  await scene.settle(ring as PushDelivery, { result: 'sent' });
  assert.deepEqual(brief(scene.pushed()), ['d_1 cancel 1']);
});

test('SUR-01 a call that a version before stored as it is, is over after a start, and nothing of it stays', async (t) => {
  const folder = temporaryFolder(t);
  const first = await roomScene(t, folder);
  await first.register('d_1');
  const detail = JSON.stringify({ call: 'old', conversation: ROOM, host: 'alice', video: false });
  const value = pack(['call', first.host.now, first.host.now + CALL_LIFE_MILLIS, detail, true]);
  first.host.lane.append([{ table: 'pushOutbox', key: numbered(0, 'bob', 'd_1', 'call:old'), value }]);
  await first.host.close();
  const second = await openScene(t, folder);
  await second.push({ kind: 'callsLost' });
  const [over] = second.pushed();
  assert.deepEqual([over?.kind, over?.subject], ['cancel', 'call:old']);
  const stored = [...second.host.tables.pushOutbox.getRange()].map(({ key: itemKey, value: row }) =>
    Buffer.concat([itemKey, row]),
  );
  assert.equal(stored.length, 1);
  assert.ok(stored.every((row) => !row.includes('old')));
  await second.settle(over as PushDelivery, { result: 'sent' });
  assert.deepEqual([...second.host.tables.pushOutbox.getKeys()], []);
});

test('calls that went with the process are over wherever they may have rung, and ring nowhere after it', async (t) => {
  const folder = temporaryFolder(t);
  const first = await roomScene(t, folder);
  await first.register('d_1');
  await first.push({ kind: 'ring', call: { call: 'x1', conversation: ROOM, host: 'alice', video: false } });
  await first.settle(first.pushed()[0] as PushDelivery, { result: 'sent' });
  // Whether this one reached its provider is not known to anybody after the restart.
  await first.push({ kind: 'ring', call: { call: 'x2', conversation: ROOM, host: 'alice', video: false } });
  await first.host.close();
  const second = await openScene(t, folder);
  await second.push({ kind: 'callsLost' });
  assert.deepEqual(
    second.pushed().map(({ kind, subject }) => `${kind} ${subject}`),
    ['cancel call:x1', 'cancel call:x2'],
  );
});
