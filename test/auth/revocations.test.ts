import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Revocations } from '#src/identity/credentials/revocations.ts';

test('CRD-08 a revoked session is known until no token of it could be valid or renewed', () => {
  const revocations = new Revocations();
  revocations.add({ sid: 's_one', until: 100 });
  revocations.add({ sid: 's_two', until: 200 });
  assert.equal(revocations.has('s_one'), true);
  assert.equal(revocations.has('s_three'), false);
  revocations.sweep(100);
  assert.equal(revocations.has('s_one'), true);
  revocations.sweep(101);
  assert.equal(revocations.has('s_one'), false);
  assert.equal(revocations.has('s_two'), true);
  assert.equal(revocations.size, 1);
});
