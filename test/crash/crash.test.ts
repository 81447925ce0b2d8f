/** A few cycles of the crash campaign; `npm run crash` runs as many as one likes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '#test/support/random.ts';
import { startServer } from '#test/support/server.ts';
import { runCampaign } from './campaign.ts';
import { Checker } from './checker.ts';
import { Ledger } from './ledger.ts';
import { sendPost } from './poster.ts';

const SEED = 20_261_101;
const CYCLES = 5;

test('killed at any moment, the server keeps every acknowledged post once, in its place', async () => {
  const ledger = await runCampaign({ cycles: CYCLES, seed: SEED });
  assert.deepEqual(ledger.losses, []);
  assert.ok(ledger.acked > 0 && ledger.retried > 0 && ledger.repeated > 0, 'nothing was under way when it was killed');
});

test('a lost, a moved and a foreign message are found', async (t) => {
  const server = await startServer();
  t.after(async () => await server.stop());
  const people = await server.people('ann', 'ben');
  const form = { kind: 'direct', participants: ['ben'] };
  const { body } = await server.api<{ id: string }>(people.ann, 'POST', '/v1/conversations', form);
  const ledger = new Ledger();
  const conversation = ledger.add(body.id, ['ann', 'ben']);
  const moved = conversation.begin('ann', 'stored');
  await sendPost(server, people.ann, moved);
  conversation.acknowledge(moved, 7);
  conversation.acknowledge(conversation.begin('ann', 'never sent'), 8);
  await server.api(people.ben, 'POST', `/v1/conversations/${body.id}/messages`, { kind: 'text', body: 'unknown' });
  await new Checker({ server, ledger, people, random: new SeededRandom(1) }).compare([], true);
  assert.deepEqual(ledger.losses, [
    `The post ann-1 in ${body.id} has seq 7 and is stored at 1.`,
    `Seq 2 of ${body.id} was posted by nobody.`,
    `The post ann-2 in ${body.id}, acknowledged as 8, is gone.`,
  ]);
});
