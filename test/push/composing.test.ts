/** What a push says: ids and a badge, a text only where the operator wants one, and nothing about what is not due any more. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { PushReader } from '#actors/push/push-reader.ts';
import { PUSH_BADGE_MAX } from '#src/protocol/limits.ts';
import { makeComposing } from '#src/push/composing.ts';
import type { PushDelivery } from '#actors/runtime/actor.ts';
import { makeRoom, post } from '#test/actors/actor-host.ts';
import { openScene, ROOM } from '#test/actors/push-scene.ts';

async function composingScene(t: TestContext, showsText: boolean) {
  const scene = await openScene(t);
  const { attention, host } = scene;
  await makeRoom(host, ROOM, ['bob', 'carol']);
  await scene.register('d_1');
  const reader = new PushReader({ environments: [host.environment], laneOf: () => host.environment });
  const reaches = () => true;
  const compose = makeComposing({
    levelAt: () => 'all',
    watchedBy: () => [],
    reader,
    attention,
    now: () => host.now,
    reaches,
    showsText,
  });
  const push = async (text: string): Promise<PushDelivery> => {
    await scene.post('alice', text);
    const [delivery] = scene.pushed();
    assert.ok(delivery !== undefined);
    return delivery;
  };
  return { scene, compose, push };
}

test('a push carries ids, and its text only where the operator switched that on', async (t) => {
  const plain = await composingScene(t, false);
  const { seq } = await plain.push('between us');
  const [delivery] = [await plain.push('between us, too')];
  assert.deepEqual(plain.compose(delivery), {
    push: { data: { conversation_id: ROOM, seq: seq + 1 }, badge: 2, text: undefined },
  });
  const shown = await composingScene(t, true);
  const told = shown.compose(await shown.push(`${'x'.repeat(199)}😀`));
  assert.ok('push' in told);
  assert.equal(told.push.text, `alice: ${'x'.repeat(199)}`);
});

test('the badge counts up to its bound', async (t) => {
  const { scene, compose, push } = await composingScene(t, false);
  for (let i = 0; i < PUSH_BADGE_MAX; i += 1) await scene.host.reply(ROOM, post('alice', `number ${i}`));
  const told = compose(await push('one more'));
  assert.ok('push' in told);
  assert.equal(told.push.badge, PUSH_BADGE_MAX);
});

test('FRM-05 right before it goes out a push is dropped when it is read, deleted, muted, left, or somebody is awake', async (t) => {
  const { scene, compose, push } = await composingScene(t, false);
  const { host } = scene;
  const bob = { user: 'bob', device: 'd_1' };
  const read = await push('read');
  await host.reply(ROOM, { kind: 'receipt', state: 'read', seq: read.seq, ...bob });
  assert.deepEqual(compose(read), { dropped: 'read' });
  const deleted = await push('deleted');
  await host.reply(ROOM, { kind: 'deleteMessage', seq: deleted.seq, user: 'alice', device: 'd_a' });
  assert.deepEqual(compose(deleted), { dropped: 'deleted' });
  const late = await push('muted, then left');
  await host.reply(ROOM, { kind: 'mute', until: new Date(host.now + 60_000).toISOString(), ...bob });
  assert.deepEqual(compose(late), { dropped: 'muted' });
  scene.attention.follow('bob', { announced: 'online', devices: new Map([['d_9', { awake: true }]]) });
  assert.deepEqual(compose(late), { dropped: 'awake' });
  scene.attention.follow('bob', { announced: 'offline', devices: new Map() });
  await host.reply(ROOM, { kind: 'remove', participant: 'bob', ...bob });
  assert.deepEqual(compose(late), { dropped: 'left' });
});
