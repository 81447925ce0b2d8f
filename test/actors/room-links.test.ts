/** Links into rooms as the conversation decides on them: to the millisecond, to the last use, and what goes with a room. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';
import { checkFolder } from '#storage/check/check.ts';
import { type ActorHost, makeRoom, openHost } from './actor-host.ts';

const ROOM = 'c_0000000000000000000001';
const as = (user: string) => ({ user, device: `d_${user}` });
const make = (user: string, link: string, uses = 2): ConversationMessage => ({
  ...{ kind: 'makeLink', link, hash: `hash of ${link}`, seconds: 60, uses },
  ...as(user),
});
const join = (user: string, link: string): ConversationMessage => ({
  ...{ kind: 'joinByLink', hash: `hash of ${link}` },
  ...as(user),
});

/** The status of an answer, or the code of a refusal. */
async function said(host: ActorHost, message: ConversationMessage): Promise<unknown> {
  const answer = await host.converse(ROOM, message);
  return answer.ok ? (answer.value as { status: number }).status : answer.code;
}

test('a link lets people in up to its last millisecond and its last use, together or one by one', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  assert.equal(await said(host, make('bob', 'one')), 201);
  assert.equal(await said(host, make('alice', 'two')), 201);
  const together = await Promise.all(['carol', 'dave', 'eve'].map(async (user) => await said(host, join(user, 'one'))));
  assert.deepEqual(
    together.map(String).toSorted((a, b) => (a < b ? -1 : 1)),
    ['200', '200', 'room_link_not_found'],
  );
  host.now += 59_999;
  assert.equal(await said(host, join('fay', 'two')), 200);
  host.now += 1;
  assert.equal(await said(host, join('gil', 'two')), 'room_link_not_found');
  const count = async (): Promise<number> => {
    await host.lane.settle();
    return [...host.tables.roomLinks.getKeys()].length;
  };
  assert.equal(await count(), 2);
  // What lets nobody in any more goes with the next one that is made.
  assert.equal(await said(host, make('alice', 'three')), 201);
  assert.equal(await count(), 1);
  assert.equal(await said(host, { kind: 'delete', ...as('alice') }), 204);
  assert.equal(await said(host, join('gil', 'three')), 'room_link_not_found');
  for (let block = 0; block < 5; block += 1) host.system.deliver(`conversation:${ROOM}`, { kind: 'purge' });
  await said(host, join('gil', 'three'));
  assert.equal(await count(), 0);
  await host.close();
  assert.deepEqual((await checkFolder(host.folder)).problems, []);
});

test('an erased person takes along the links that they made', async (t) => {
  const host = openHost(t);
  await makeRoom(host, ROOM, ['bob']);
  assert.equal(await said(host, make('bob', 'his')), 201);
  assert.equal(await said(host, make('alice', 'hers')), 201);
  await host.converse(ROOM, { kind: 'erase', user: 'bob', afterSeq: 0 });
  assert.equal(await said(host, join('carol', 'his')), 'room_link_not_found');
  assert.equal(await said(host, join('carol', 'hers')), 200);
});
