/** Which file of the snapshot is copied next: what the stream may hold, and what a copy has to be worth (CLU-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseLog, SNAPSHOT_AGE_MILLIS, type Snapshotted } from '#storage/cluster/snapshot-choice.ts';
import { freshSeed, SeededRandom } from '#test/support/random.ts';

const NOW = 1_800_000_000_000;
const MEBIBYTE = 1_048_576;

const logs = (...bytes: number[]): Snapshotted[] =>
  bytes.map((size, lane) => ({ log: `lane-0${lane}`, file: { bytes: size, made_at: NOW } }));
const stream = (bytes: number, ...counts: number[]) => ({
  bytes,
  messages: counts.reduce((sum, count) => sum + count, 0),
  counts: new Map(counts.map((count, lane) => [`lane-0${lane}`, count])),
});

test('CLU-01 nothing is copied up to the bytes that the stream may hold in any case, and the first beyond them begins it', () => {
  const small = logs(1_000, 1_000);
  assert.equal(chooseLog(stream(MEBIBYTE, 500, 500), small, MEBIBYTE, NOW), undefined);
  assert.equal(chooseLog(stream(MEBIBYTE + 1, 499, 501), small, MEBIBYTE, NOW), 'lane-01');
});

test('CLU-01 the stream may hold an eighth of the files, however large these are', () => {
  const large = logs(800 * MEBIBYTE, 800 * MEBIBYTE);
  assert.equal(chooseLog(stream(200 * MEBIBYTE, 10, 10), large, MEBIBYTE, NOW), undefined);
  assert.equal(chooseLog(stream(200 * MEBIBYTE + 1, 11, 10), large, MEBIBYTE, NOW), 'lane-00');
});

test('CLU-01 of two logs that one is copied which frees more of the stream for each byte that is copied', () => {
  assert.equal(chooseLog(stream(2 * MEBIBYTE, 1_000, 400), logs(10_000, 1_000), MEBIBYTE, NOW), 'lane-01');
  assert.equal(chooseLog(stream(2 * MEBIBYTE, 1_000, 90), logs(10_000, 1_000), MEBIBYTE, NOW), 'lane-00');
});

test('CLU-01 a stream that has the last message of each log alone is not cut: nothing of it would go', () => {
  assert.equal(chooseLog(stream(2 * MEBIBYTE, 1, 1), logs(1_000, 1_000), MEBIBYTE, NOW), undefined);
  assert.equal(chooseLog(stream(2 * MEBIBYTE), logs(1_000, 1_000), MEBIBYTE, NOW), undefined);
});

test('CLU-01 a file that the snapshot lacks is copied at once, and one that is too old where the stream has more of it', () => {
  const lacking: Snapshotted[] = [...logs(1_000), { log: 'lane-01', file: undefined }];
  assert.equal(chooseLog(stream(0), lacking, MEBIBYTE, NOW), 'lane-01');
  const old = logs(1_000, 1_000);
  assert.equal(chooseLog(stream(10, 1, 2), old, MEBIBYTE, NOW + SNAPSHOT_AGE_MILLIS), undefined);
  assert.equal(chooseLog(stream(10, 1, 2), old, MEBIBYTE, NOW + SNAPSHOT_AGE_MILLIS + 1), 'lane-01');
  assert.equal(chooseLog(stream(10, 1, 1), old, MEBIBYTE, NOW + SNAPSHOT_AGE_MILLIS + 1), undefined);
});

test('CLU-01 whatever is written where, less than nine bytes are copied for each of the stream, and the stream stays short', (t) => {
  const random = new SeededRandom(Number(process.env['SEED'] ?? freshSeed()));
  t.diagnostic(`SEED=${random.seed}`);
  const files = Array.from({ length: 20 }, () => random.whole(1_000, 4_000_000));
  const [waiting, weights] = [files.map(() => 0), files.map(() => random.whole(1, 1_000))];
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const total = () => files.reduce((sum, size) => sum + size, 0);
  let [written, copied] = [0, 0];
  const MESSAGE = 500;
  for (let round = 0; round < 20_000; round += 1) {
    let at = random.whole(0, all - 1);
    const log = weights.findIndex((weight) => (at -= weight) < 0);
    const count = random.whole(1, 40);
    waiting[log] = (waiting[log] as number) + count;
    written += count * MESSAGE;
    for (;;) {
      const messages = waiting.reduce((sum, one) => sum + one, 0);
      const content = {
        bytes: messages * MESSAGE,
        messages,
        counts: new Map(waiting.map((one, lane) => [`lane-${lane}`, one])),
      };
      const known = files.map((bytes, lane) => ({ log: `lane-${lane}`, file: { bytes, made_at: NOW } }));
      const next = chooseLog(content, known, MEBIBYTE, NOW);
      if (next === undefined) {
        assert.ok(content.bytes <= Math.max(MEBIBYTE, total() / 8) + 20 * MESSAGE, `${content.bytes} bytes stay`);
        break;
      }
      const lane = Number(next.slice('lane-'.length));
      // Everything that was written is kept: files only grow.
      files[lane] = (files[lane] as number) + ((waiting[lane] as number) - 1) * MESSAGE;
      copied += files[lane];
      waiting[lane] = 1;
    }
  }
  t.diagnostic(`${(copied / written).toFixed(2)} bytes copied for each that was written`);
  assert.ok(copied < 9 * written, `${copied} bytes were copied for ${written}`);
});
