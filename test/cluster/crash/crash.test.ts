/**
 * A few cycles of the cluster's campaign, by a seed of their own each time; `npm run cluster-crash` runs as many as one likes. And
 * whether it would notice.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { unlessInstalled } from '#test/support/real-program.ts';
import { SeededRandom } from '#test/support/random.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { whyNot } from './network.ts';
import { Traffic } from './traffic.ts';

const CYCLES = 5;
const skip =
  unlessInstalled('nats-server', ['--version']) ||
  unlessInstalled('ip', ['-V']) ||
  unlessInstalled('nft', ['--version']) ||
  unlessInstalled('faketime', ['--version']) ||
  (whyNot() ?? false);

const PROGRAM = fileURLToPath(new URL('./run.ts', import.meta.url));

test(
  'CLU-01 CLU-02 whatever befalls three hosts and three NATS servers, what is acknowledged is there once, in order, at every host',
  { skip },
  async (t) => {
    const campaign = spawn(process.execPath, [PROGRAM, '--cycles', String(CYCLES)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const said: string[] = [];
    for (const stream of [campaign.stdout, campaign.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => said.push(text));
    }
    t.after(() => campaign.kill('SIGKILL'));
    const [code] = (await once(campaign, 'close')) as [number | null];
    const text = said.join('');
    t.diagnostic(text);
    assert.equal(code, 0, text);
    assert.match(text, new RegExp(`^No losses in ${CYCLES} cycles`, 'm'));
    const [, acknowledged] = /^(\d+) acknowledged, \d+ read, .* \d+ rows alike$/m.exec(text) ?? [];
    assert.ok(Number(acknowledged) > CYCLES * 100, text);
  },
);

test('CLU-01 what is lost, changed, there twice or of nobody is noticed', async (t) => {
  const server = await startServer();
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
