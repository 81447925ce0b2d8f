/** Outcomes of calls: a person posts one for each attempt (MSG-07). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { anotherDevice, assertRefused, post, start } from './conversing.ts';

const { server, ann, dee } = await shareServer(['ann', 'dee'], { shards: 2 });

async function take(who: Person, to: string, call: string, step: string, body: object): Promise<void> {
  const reply = await server.api(who, 'POST', '/v1/signal', { to, kind: 'call', step, call, seq: 1, body });
  assert.equal(reply.status, 202, reply.text);
}

test('MSG-07 a person posts one outcome of an attempt, named or not, however often they try', async () => {
  const call = 'attempt';
  const { id } = await start(server, ann, 'direct', ['dee']);
  await take(ann, 'dee', call, 'invite', { video: true, room: 'r' });
  await take(dee, 'ann', call, 'decline', {});
  const outcome = async (who: Person, result: string, more: object = {}, key?: string) => {
    const body = { outcome: { result, duration: 0, flags: [] }, ...more };
    return await post(server, who, id, { kind: 'call', body, ...(key === undefined ? {} : { client_msg_id: key }) });
  };
  const first = await outcome(ann, 'declined', {}, 'key');
  assert.equal(first.status, 201, first.text);
  const again = await Promise.all([
    outcome(ann, 'declined', { call }),
    outcome(ann, 'declined', { call }, 'other-key'),
    outcome(ann, 'declined'),
    outcome(ann, 'failed', {}, 'key'),
    outcome(await anotherDevice(server, ann), 'declined', { call }),
  ]);
  for (const reply of again) assert.deepEqual([reply.status, reply.body], [200, first.body]);
  for (const more of [{ call }, {}]) {
    assertRefused(await outcome(ann, 'missed', more), 409, 'call_outcome_posted', 'body.outcome');
  }
  const contradicting = await outcome(ann, 'completed', { call }, 'key');
  assert.deepEqual([contradicting.status, contradicting.body], [200, first.body], 'a repeat is answered all the same');
  assert.equal((await outcome(dee, 'missed', { call })).status, 201, 'the other one has an outcome of their own');
});
