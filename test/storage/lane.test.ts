/** The lane: group commit, what its writer sees, and what is released when. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { key, under } from '#storage/engine/keys.ts';
import { Lane, stampOf, type Batch, type LaneWrite } from '#storage/engine/lane.ts';
import { HeldEnvironment } from '#test/actors/held-environment.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

interface Reported {
  readonly records: number;
  readonly failed: boolean;
}

function openLane(t: TestContext, paceMillis?: number) {
  const environment = new HeldEnvironment(join(temporaryFolder(t), '00.mdb'));
  const reports: Reported[] = [];
  const lane = new Lane(
    0,
    environment,
    (records, _nanos, failed) => reports.push({ records, failed }),
    paceMillis === undefined ? {} : { paceMillis },
  );
  t.after(async () => {
    environment.letGo();
    await lane.settle();
    await environment.close();
  });
  return { environment, lane, reports };
}

const put = (name: string, value = name): LaneWrite => ({
  table: 'meta',
  key: key('t', name),
  value: Buffer.from(value),
});
const drop = (name: string): LaneWrite => ({ table: 'meta', key: key('t', name), value: null });
const read = (lane: Lane, name: string) => lane.get('meta', key('t', name))?.toString();

/** Notes when a batch is released or fails. */
function note(batch: Batch, name: string, log: string[]): void {
  batch.gated.push({
    done: () => log.push(`${name} done`),
    failed: (error) => log.push(`${name} failed: ${error.message}`),
  });
}

test('the appends of one turn make one commit', async (t) => {
  const { environment, lane, reports } = openLane(t);
  for (let i = 0; i < 100; i += 1) lane.append([put(`k${i}`)]);
  assert.equal(lane.backlog, 100);
  await lane.settle();
  assert.equal(environment.commits, 1);
  assert.deepEqual(reports, [{ records: 100, failed: false }]);
  assert.equal(lane.backlog, 0);
});

test('what arrives while a commit is written goes with the next one, together', async (t) => {
  const { environment, lane, reports } = openLane(t);
  environment.isHolding = true;
  lane.append([put('first')]);
  await until(() => environment.held.length === 1, 'the first commit');
  for (let turn = 0; turn < 3; turn += 1) {
    lane.append([put(`later ${turn}`)]);
    await nextTurn();
  }
  environment.letGo();
  await lane.settle();
  assert.deepEqual(reports, [
    { records: 1, failed: false },
    { records: 3, failed: false },
  ]);
});

test('appends of several turns that come sooner than the pace share a commit, and a quiet lane does not wait', async (t) => {
  // Longer than a busy machine takes for the turns below.
  const { environment, lane } = openLane(t, 2_000);
  lane.append([put('a')]);
  await lane.settle();
  assert.equal(environment.commits, 1);
  for (const name of ['b', 'c', 'd']) {
    lane.append([put(name)]);
    await nextTurn();
    await nextTurn();
  }
  await lane.settle();
  assert.equal(environment.commits, 2);
});

test('several writes to one key in a batch leave the last one', async (t) => {
  const { environment, lane, reports } = openLane(t);
  lane.append([put('k', 'one')]);
  lane.append([put('k', 'two'), put('other')]);
  lane.append([drop('other')]);
  await lane.settle();
  assert.equal(environment.tables.meta.get(key('t', 'k'))?.toString(), 'two');
  assert.equal(environment.tables.meta.get(key('t', 'other')), undefined);
  assert.deepEqual(reports, [{ records: 2, failed: false }]);
});

test('the writer sees what it appended before it is on disk, and readers do not', async (t) => {
  const { environment, lane } = openLane(t);
  lane.append([put('old', '1'), put('gone')]);
  await lane.settle();
  environment.isHolding = true;
  lane.append([put('old', '2'), drop('gone'), put('new', '1')]);
  await until(() => environment.held.length === 1, 'the commit in flight');
  lane.append([put('new', '2'), put('newer', '1')]);
  assert.deepEqual(
    [read(lane, 'old'), read(lane, 'gone'), read(lane, 'new'), read(lane, 'newer')],
    ['2', undefined, '2', '1'],
  );
  const keys = lane.keys('meta', under('t')).map((itemKey) => itemKey.toString().slice(2));
  assert.deepEqual(keys, ['new', 'newer', 'old']);
  environment.refresh();
  const onDisk = [...environment.tables.meta.getKeys(under('t'))].map((itemKey) => itemKey.toString().slice(2));
  assert.deepEqual(onDisk, ['gone', 'old']);
});

test('a limited list of keys is not empty because what it would show first is already removed', async (t) => {
  const { environment, lane } = openLane(t);
  lane.append(Array.from({ length: 30 }, (_, i) => put(String(i).padStart(2, '0'))));
  await lane.settle();
  environment.isHolding = true;
  lane.append(Array.from({ length: 10 }, (_, i) => drop(String(i).padStart(2, '0'))));
  const keys = lane.keys('meta', under('t'), 10).map((itemKey) => itemKey.toString().slice(2));
  assert.deepEqual(keys.slice(0, 3), ['10', '11', '12']);
  assert.equal(keys.length >= 10, true);
});

test('nothing is released before it is on disk, and then in order', async (t) => {
  const { environment, lane } = openLane(t);
  const log: string[] = [];
  environment.isHolding = true;
  note(lane.append([put('a')]), 'a', log);
  note(lane.append([put('b')]), 'b', log);
  await until(() => environment.held.length === 1, 'the first commit');
  note(lane.append([put('c')]), 'c', log);
  await nextTurn();
  assert.deepEqual(log, []);
  environment.held.shift()?.go();
  await until(() => environment.held.length === 1, 'the second commit');
  assert.deepEqual(log, ['a done', 'b done']);
  assert.equal(environment.tables.meta.get(key('t', 'b'))?.toString(), 'b');
  environment.letGo();
  await lane.settle();
  assert.deepEqual(log, ['a done', 'b done', 'c done']);
});

test('a failed commit fails its batch and everything appended behind it, and the lane goes on', async (t) => {
  const { environment, lane, reports } = openLane(t);
  const log: string[] = [];
  lane.append([put('k', 'before')]);
  await lane.settle();
  environment.isHolding = true;
  const first = lane.append([put('k', 'lost')]);
  note(first, 'first', log);
  await until(() => environment.held.length === 1, 'the commit that fails');
  const behind = lane.append([put('behind')]);
  note(behind, 'behind', log);
  assert.equal(read(lane, 'k'), 'lost');
  environment.isHolding = false;
  environment.held.shift()?.fail(new Error('no space left on device'));
  await lane.settle();
  assert.deepEqual(log, ['first failed: no space left on device', 'behind failed: no space left on device']);
  assert.deepEqual([first.settled, behind.settled], [true, true]);
  assert.deepEqual([read(lane, 'k'), read(lane, 'behind')], ['before', undefined]);
  note(lane.append([put('after')]), 'after', log);
  await lane.settle();
  assert.equal(log.at(-1), 'after done');
  assert.equal(environment.tables.meta.get(key('t', 'behind')), undefined);
  assert.deepEqual(
    reports.map(({ failed }) => failed),
    [false, true, false],
  );
});

test('the change number goes on where the disk left it', async (t) => {
  const { environment, lane } = openLane(t);
  assert.deepEqual([lane.nextStamp(), lane.nextStamp()], [1, 2]);
  lane.append([put('k')]);
  await lane.settle();
  assert.equal(stampOf(environment.tables), 2);
  assert.equal(new Lane(0, environment, () => undefined).nextStamp(), 3);
});

test('a full disk refuses a commit whole, leaves everything readable, and serves again once there is room', async () => {
  const child = spawn(
    'bash',
    [
      '-c',
      `ulimit -S -f 1024; exec '${process.execPath}' '${fileURLToPath(new URL('full-disk.ts', import.meta.url))}'`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(
    output,
    'failed: EFBIG: file too large, write\nreadable: true\nsmall: stored\nlost writes: 0\nfollowed: true\n',
  );
  assert.equal(code, 0);
});
