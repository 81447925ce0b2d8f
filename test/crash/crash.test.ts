/** A few cycles of the crash campaign; `npm run crash` runs as many as one likes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '#test/support/random.ts';
import { startServer } from '#test/support/server.ts';
import { KILL_MILLIS_MAX, runCampaign } from './campaign.ts';
import { Checker } from './checker.ts';
import { Ledger } from './ledger.ts';
import type { PartName } from './part.ts';
import { sendPost } from './poster.ts';

const SEED = 20_261_101;
const CYCLES = 3;
/**
 * How many times as long as ever the server may live, campaign after campaign, until each part has done its work: on a machine that
 * was four times slower, nine lives of the usual length saw no message of a held conversation change.
 */
const LONGER = [1, 4, 16];
/** What each part has to have done, for the absence of losses to say anything. */
const DONE = {
  messages: ['acknowledged', 'repeated', 'counted'],
  uploads: ['posted', 'compared'],
  calls: ['calls', 'listed'],
  push: ['pushes', 'rung'],
  search: ['searched'],
  calendar: ['writes', 'deltas'],
  mail: ['changes', 'mails', 'received', 'receivedAgain'],
  feeds: ['refreshes', 'compared', 'deltas'],
  holds: ['kept', 'compared', 'released', 'lookedFor', 'erased'],
} satisfies Record<PartName, string[]>;

test('killed at any moment, the server keeps what it acknowledged: messages, files, calls, pushes, the index, the calendar, mail, feeds, holds', async () => {
  let idle = Object.entries(DONE).flatMap(([name, sums]) => sums.map((what) => ({ name: name as PartName, what })));
  for (const [at, longer] of LONGER.entries()) {
    const options = { cycles: CYCLES, seed: SEED + at, killMillisMax: longer * KILL_MILLIS_MAX };
    const { losses, figures } = await runCampaign(options);
    assert.deepEqual(losses, []);
    idle = idle.filter(({ name, what }) => (figures[name]?.[what] ?? 0) === 0);
    if (idle.length === 0) break;
  }
  assert.deepEqual(idle, []);
});

test('a lost, a moved and a foreign message are found', async (t) => {
  const server = await startServer({ shards: 2 });
  t.after(async () => await server.stop());
  const people = await server.people('ann', 'ben');
  const form = { kind: 'direct', participants: ['ben'] };
  const { body } = await server.api<{ id: string }>(people.ann, 'POST', '/v1/conversations', form);
  const losses: string[] = [];
  const ledger = new Ledger((sentence) => losses.push(sentence));
  const conversation = ledger.add(body.id, ['ann', 'ben']);
  const moved = conversation.begin('ann', 'stored');
  await sendPost(server, people.ann, moved);
  conversation.acknowledge(moved, 7);
  conversation.acknowledge(conversation.begin('ann', 'never sent'), 8);
  await server.api(people.ben, 'POST', `/v1/conversations/${body.id}/messages`, { kind: 'text', body: 'unknown' });
  await new Checker({ server, ledger, people, random: new SeededRandom(1) }).compare([], true);
  assert.deepEqual(losses, [
    `The post ann-1 in ${body.id} has seq 7 and is stored at 1.`,
    `Seq 2 of ${body.id} was posted by nobody.`,
    `The post ann-2 in ${body.id}, acknowledged as 8, is gone.`,
  ]);
});
