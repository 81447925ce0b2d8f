/** Contents that come and go at once: what an upload is becoming an attachment with is on disk when it has become one. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test, type TestContext } from 'node:test';
import { blobPath, removeBlob } from '#storage/attachments/blobs.ts';
import { ContentClaims } from '#storage/attachments/content-claims.ts';
import { contentHashOf } from '#storage/attachments/content-hash.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const NAME = contentHashOf('same');

function setStage(t: TestContext): { claims: ContentClaims; used: Set<string>; path: string; write: () => void } {
  const folder = temporaryFolder(t);
  const used = new Set<string>();
  const path = blobPath(folder, NAME);
  mkdirSync(dirname(path), { recursive: true });
  const write = (): void => writeFileSync(path, 'same');
  const remove = async (name: string): Promise<void> => await removeBlob(folder, name);
  return { claims: new ContentClaims(remove, (name) => used.has(name)), used, path, write };
}

test('one that is claimed stays, and goes when the last claim failed', async (t) => {
  const { claims, path, used, write } = setStage(t);
  write();
  const { promise, reject } = Promise.withResolvers<void>();
  const [one, two] = [claims.claim(NAME, async () => await promise), claims.claim(NAME, async () => await promise)];
  assert.equal(await claims.removeUnused(NAME), false);
  reject(new Error('no room'));
  await assert.rejects(one, { message: 'no room' });
  await assert.rejects(two, { message: 'no room' });
  assert.equal(existsSync(path), false);
  write();
  await claims.claim(NAME, async () => void used.add(NAME));
  assert.equal(await claims.removeUnused(NAME), false);
  used.delete(NAME);
  assert.equal(await claims.removeUnused(NAME), true);
  assert.equal(existsSync(path), false);
});

test('a claim waits for a removal that had begun, so that the content it brings is not the one that goes', async (t) => {
  const { claims, path, used, write } = setStage(t);
  for (let round = 0; round < 20; round += 1) {
    used.clear();
    write();
    const removal = claims.removeUnused(NAME);
    const claim = claims.claim(NAME, async () => {
      assert.equal(existsSync(path), false);
      write();
      used.add(NAME);
    });
    assert.deepEqual([await removal, await claim], [true, undefined]);
    assert.equal(existsSync(path), true);
  }
});
