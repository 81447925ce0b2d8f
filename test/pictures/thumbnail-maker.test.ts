/** The processes that make thumbnails: what hangs or dies costs one picture, what waits is bounded. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test, type TestContext } from 'node:test';
import { ThumbnailMaker, type ThumbnailMakerOptions } from '#src/pictures/thumbnail-maker.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

/** Does what the path of its order says. */
const PROGRAM = `
let made = 0;
process.on('message', ({ source: { path }, size }) => {
  if (path === 'hang') return;
  if (path === 'spin') for (;;);
  if (path === 'die') process.exit(3);
  if (path === 'crash') process.abort();
  made += 1;
  process.send(path === 'fault' ? { fault: 'no picture' } : { picture: Buffer.from(path + ':' + size + ':' + made) });
});
process.on('disconnect', () => process.exit(0));
`;

function makerOf(t: TestContext, options: ThumbnailMakerOptions = {}): ThumbnailMaker {
  const path = join(temporaryFolder(t), 'program.mjs');
  writeFileSync(path, PROGRAM);
  const maker = new ThumbnailMaker({ processes: 1, program: pathToFileURL(path), ...options });
  t.after(() => maker.close());
  return maker;
}

async function make(maker: ThumbnailMaker, name: string, path: string, size = 128): Promise<string[]> {
  const kept: string[] = [];
  const order = { source: { path, bytes: 1, opened: undefined }, format: 'png', size };
  await maker.make(
    name,
    order,
    async (picture) => await Promise.resolve(void kept.push(Buffer.from(picture).toString())),
  );
  return kept;
}

test('what hangs is killed at its deadline, what dies is one picture, and the next one is made', async (t) => {
  const maker = makerOf(t, { deadlineMillis: 1_500 });
  assert.deepEqual(await make(maker, 'a', 'good'), ['good:128:1']);
  for (const way of ['hang', 'spin', 'die', 'crash', 'fault']) {
    await assert.rejects(make(maker, way, way), { code: 'thumbnail_not_found' });
    // Not tried again, not even when it would work now.
    await assert.rejects(make(maker, way, 'good'), { code: 'thumbnail_not_found' });
    const [next = ''] = await make(maker, `after ${way}`, 'good');
    assert.match(next, /^good:128:\d$/);
  }
});

test('however many ask for one, it is made once', async (t) => {
  const maker = makerOf(t);
  const all = await Promise.all(Array.from({ length: 50 }, async () => await make(maker, 'same', 'good')));
  assert.deepEqual(all.flat(), ['good:128:1']);
});

test('the queue is bounded, and what is beyond it is told to come back', async (t) => {
  const maker = makerOf(t, { queueMax: 2, deadlineMillis: 60_000 });
  // One is being made, two wait.
  const waiting = ['1', '2', '3'].map((name) => make(maker, name, 'hang'));
  await assert.rejects(make(maker, '4', 'hang'), { code: 'busy', retryAfter: 1 });
  // One who asks for what waits already is none more.
  const same = make(maker, '2', 'hang');
  maker.close();
  const ended = await Promise.allSettled([...waiting, same]);
  assert.deepEqual(
    ended.map((one) => one.status === 'rejected' && (one.reason as { code: string }).code),
    ['busy', 'busy', 'busy', 'busy'],
  );
  await assert.rejects(make(maker, '5', 'good'), { code: 'busy' });
});
