/** The watch: what is noted is decided once for each person it concerns, and nothing counts as decided before it is. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { PushWatch } from '#actors/push/push-watch.ts';
import { PushReader } from '#actors/push/push-reader.ts';
import { type Answer, type Tell, refused } from '#actors/runtime/actor.ts';
import { until } from '#test/support/waiting.ts';
import { makeRoom } from './actor-host.ts';
import { openScene, ROOM } from './push-scene.ts';

interface AskedOf {
  readonly to: string;
  readonly message: Tell & { readonly from?: number; readonly since?: number };
  readonly settle: (answer: Answer) => void;
}

const DONE: Answer = { ok: true, value: null };

async function watchScene(t: TestContext) {
  const scene = await openScene(t);
  const { attention, host, registry } = scene;
  await makeRoom(host, ROOM, ['bob', 'carol']);
  await scene.register('d_1');
  const asked: AskedOf[] = [];
  const environments = [host.environment];
  const laneOf = () => host.environment;
  const watch = new PushWatch({
    registry,
    attention,
    reader: new PushReader({ environments, laneOf }),
    environments,
    laneOf,
    now: () => host.now,
    ask: (to, message, settle) => void asked.push({ to, message, settle }),
    failed: (_conversation, error) => assert.ifError(error),
  });
  t.after(() => watch.stop());
  const event = (seq: number) => `{"type":"message.new","conv":"${ROOM}","seq":${seq},"ts":1,"data":{"seq":99}}`;
  const askedTimes = async (count: number) => await until(() => asked.length >= count, `${count} decisions`);
  return { scene, watch, asked, event, askedTimes };
}

test('posts of one round are decided once, from the first of them, for those whom pushes reach', async (t) => {
  const { asked, askedTimes, event, watch } = await watchScene(t);
  for (const seq of [5, 6, 7]) watch.posted(ROOM, event(seq));
  await askedTimes(1);
  assert.deepEqual(
    asked.map(({ to, message }) => [to, message]),
    [['push:bob', { kind: 'decide', conversation: ROOM, from: 5 }]],
  );
});

test('FRM-05 whoever is awake is passed over, and whoever left is none of the audience', async (t) => {
  const { asked, askedTimes, event, scene, watch } = await watchScene(t);
  const devices = new Map([['d_1', { awake: true }]]);
  scene.attention.follow('bob', { announced: 'online', devices });
  watch.posted(ROOM, event(1));
  await until(() => watch.decidedUpTo === scene.host.now - 1_000, 'an empty round');
  devices.set('d_1', { awake: false });
  watch.posted(ROOM, event(2));
  await askedTimes(1);
  watch.membership(ROOM, ['bob'], false);
  watch.posted(ROOM, event(3));
  watch.membership(ROOM, ['bob'], true);
  await askedTimes(2);
  watch.membership(ROOM, ['bob'], false);
  watch.posted(ROOM, event(4));
  asked.forEach(({ settle }) => settle(DONE));
  await until(() => watch.decidedUpTo === scene.host.now - 1_000, 'a round for nobody');
  assert.deepEqual(
    asked.map(({ message }) => message.from),
    [2, 3],
  );
});

test('nothing counts as decided before its actor has answered, and what was refused is asked again', async (t) => {
  const { asked, askedTimes, event, scene, watch } = await watchScene(t);
  const before = watch.decidedUpTo;
  scene.host.now += 60_000;
  watch.posted(ROOM, event(8));
  await askedTimes(1);
  assert.equal(watch.decidedUpTo, before);
  asked[0]?.settle(refused('busy'));
  assert.equal(watch.decidedUpTo, before);
  await askedTimes(2);
  assert.equal(asked[1]?.message.from, 8);
  asked[1]?.settle(DONE);
  await until(() => watch.decidedUpTo === scene.host.now - 1_000, 'the decision to count');
});

test('a recovery decides what was posted since as after the loss of a socket', async (t) => {
  const { asked, scene, watch } = await watchScene(t);
  const since = scene.host.now - 1_000;
  await scene.post('alice', 'told to nobody');
  await watch.recover(since);
  assert.deepEqual(
    asked.map(({ message }) => message),
    [{ kind: 'decide', conversation: ROOM, from: 0, since }],
  );
  assert.equal(watch.decidedUpTo <= since, true);
  asked[0]?.settle(DONE);
  await watch.recover(scene.host.now + 1);
  assert.equal(asked.length, 1);
});

test('until a recovery has run, a post has what may be undecided before it decided along', async (t) => {
  const { asked, askedTimes, event, scene, watch } = await watchScene(t);
  const since = scene.host.now - 1_000;
  await scene.post('alice', 'told to nobody');
  const recover = watch.expectRecovery(since);
  watch.posted(ROOM, event(2));
  await askedTimes(1);
  await recover();
  watch.posted(ROOM, event(3));
  // What was noted before the gap was known has it decided along, too.
  const again = watch.expectRecovery(since);
  await askedTimes(3);
  await again();
  watch.posted(ROOM, event(4));
  await askedTimes(5);
  const wide = { kind: 'decide', conversation: ROOM, from: 0, since };
  assert.deepEqual(
    asked.map(({ message }) => message),
    [wide, wide, wide, wide, { kind: 'decide', conversation: ROOM, from: 4 }],
  );
});
