/** Whether the cluster's campaign (`npm run cluster-crash`) would notice what it looks for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '#test/support/random.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { Traffic } from './traffic.ts';

test('CLU-01 what is lost, changed, there twice or of nobody is noticed', async (t) => {
  const server = await startServer({ shards: 2 });
  t.after(async () => await server.stop());
  const { ann, ben } = await server.people('ann', 'ben');
  const form = { kind: 'direct', participants: ['ben'] };
  const { body } = await server.api<{ id: string }>(ann, 'POST', '/v1/conversations', form);
  const losses: string[] = [];
  const door = { name: 'one', messaging: server.messaging };
  const traffic = new Traffic({
    hosts: [door],
    people: [ann],
    rooms: [body.id],
    random: new SeededRandom(1),
    lose: (sentence) => losses.push(sentence),
  });
  traffic.begin();
  await until(() => traffic.acks >= 3, 'posts');
  await traffic.end();
  await traffic.verify(door);
  assert.deepEqual([...losses], []);
  const path = `/v1/conversations/${body.id}/messages`;
  const [first] = (await server.api<{ items: { body: string }[] }>(ann, 'GET', `${path}?after_seq=0&limit=1`)).body
    .items;
  await server.api(ben, 'POST', path, { kind: 'text', body: 'of nobody' });
  await server.api(ben, 'POST', path, { kind: 'text', body: first?.body });
  await server.api(ann, 'PATCH', `${path}/2`, { body: 'changed' });
  const count = traffic.acks;
  await traffic.verify(door);
  const said = losses.map((sentence) => sentence.replace(/ann \d+ [\da-f-]{36}/, 'what was sent'));
  assert.deepEqual(said, [
    `one has something of ${body.id} twice.`,
    `one has at 2 of ${body.id} changed, not what was sent.`,
    `one has changed in ${body.id}, which nobody sent.`,
    `one has of nobody in ${body.id}, which nobody sent.`,
    `one has ${count + 2} messages of ${body.id}, of which ${count} were acknowledged.`,
  ]);
});
