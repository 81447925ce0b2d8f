import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRecoveryCodes, spendRecoveryCode } from '#src/identity/credentials/recovery-codes.ts';

test('TFA-01 ten recovery codes are made, all different, and stored as hashes', () => {
  const { codes, hashes } = makeRecoveryCodes();
  assert.equal(codes.length, 10);
  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, /^(?:[0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
  assert.equal(hashes.length, 10);
  for (const hash of hashes) assert.match(hash, /^[0-9a-f]{64}$/);
});

test('TFA-01 a recovery code is good once', () => {
  const { codes, hashes } = makeRecoveryCodes();
  const left = spendRecoveryCode(hashes, codes[3] as string);
  assert.deepEqual(left, hashes.toSpliced(3, 1));
  assert.equal(spendRecoveryCode(left, codes[3] as string), undefined);
  assert.equal(spendRecoveryCode(left, codes[4] as string)?.length, 8);
});

test('a recovery code is the same with capitals and other dashes', () => {
  const { codes, hashes } = makeRecoveryCodes();
  const typed = (codes[0] as string).toUpperCase().replaceAll('-', ' ');
  assert.equal(spendRecoveryCode(hashes, typed)?.length, 9);
});

test('what is no code spends nothing', () => {
  const { hashes } = makeRecoveryCodes();
  for (const text of ['', '-', hashes[0] as string, '0000-0000-0000-0000']) {
    assert.equal(spendRecoveryCode(hashes, text), undefined);
  }
});
