/** `parley check` on what is stored of pushes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import { CallSealing } from '#storage/conversations/call-sealing.ts';
import { key } from '#storage/engine/keys.ts';
import {
  writePushCursor,
  writePushRegistration,
  writePushRow,
  type PushRow,
} from '#storage/conversations/push-records.ts';
import { NOW, openHost } from '#test/actors/actor-host.ts';

const row: PushRow = {
  device: 'd_1',
  subject: 'c_1',
  seq: 7,
  kind: 'message',
  at: NOW,
  expiresAt: NOW + 1,
  call: undefined,
  isSent: false,
};
const calls = new CallSealing(Buffer.alloc(32));
const address = { provider: 'apns', token: 'ab'.repeat(32) } as const;

test('a push that waits for nobody, and records that cannot be read, are found', async (t) => {
  const host = openHost(t);
  const { folder, lane } = host;
  const registration = { device: 'd_1', sid: 's_1', until: NOW / 1000, at: NOW, address };
  lane.append([
    writePushRegistration('bob', registration),
    writePushRow('bob', row, calls),
    writePushCursor('bob', 'c_1', 7),
    writePushRow('carol', { ...row, device: 'd_2' }, calls),
    { table: 'pushRegistrations', key: key('dan', 'd_3'), value: Buffer.of(9) },
  ]);
  await host.close();
  const { problems } = await checkFolder(folder);
  assert.deepEqual(problems, [
    'In lane 0, pushRegistrations [dan, d_3] cannot be read (A push registration has version 9; 1 is known).',
    'In lane 0, pushOutbox [carol, d_2] waits for a device that is not registered.',
  ]);
});
