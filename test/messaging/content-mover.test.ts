/** Contents that come faster than they can be moved to the object store: how many are known by name, and that none is left behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ContentMover, FRESH_MAX, type ContentMoverOptions } from '#src/messaging/attachments/content-mover.ts';
import { until } from '#test/support/waiting.ts';

test('ATT-01 one content more than is kept by name is found by looking through all of them', async () => {
  const asked = new Set<string>();
  let walks = 0;
  const last = `content-${FRESH_MAX}`;
  // Nobody uses any of them by now, so that looking at one is all that is to be done.
  const attachments = {
    usesContent: (name: string) => {
      asked.add(name);
      return false;
    },
    contentsAfter: (after: string) => {
      walks += 1;
      return after === '' ? [last] : undefined;
    },
    doomedAt: () => [],
    countObjects: () => ({ placed: 0, doomed: 0 }),
  };
  const options = {
    attachments,
    faulted: () => {},
    folder: '',
    log: { error: (...said: unknown[]) => assert.fail(String(said)), info: () => {}, warn: () => {} },
    now: () => 0,
    storeClient: { isSet: true, keepsContents: true, close: () => {} },
  };
  const mover = new ContentMover(options as unknown as ContentMoverOptions);
  // The look through everything that the start makes.
  mover.changed();
  await until(() => walks === 2 && asked.has(last), 'the first look through all contents, to its end');
  asked.clear();
  walks = 0;
  for (let at = 0; at < FRESH_MAX; at += 1) mover.note(`content-${at}`);
  await until(() => asked.size === FRESH_MAX, 'all that are known by name');
  assert.deepEqual([walks, asked.has(last)], [0, false]);
  for (let at = 0; at <= FRESH_MAX; at += 1) mover.note(`content-${at}`);
  await until(() => asked.has(last), 'the one that is not known by name');
  assert.ok(walks > 0);
  await mover.stop();
});
