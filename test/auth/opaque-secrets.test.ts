import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSecret, makeSecret, sameHash, SECRET_PATTERN } from '#src/identity/credentials/opaque-secrets.ts';

test('CRD-09 a secret has 32 random bytes', () => {
  const [one, other] = [makeSecret(), makeSecret()];
  assert.match(one, new RegExp(`^${SECRET_PATTERN}$`));
  assert.equal(Buffer.from(one, 'base64url').length, 32);
  assert.notEqual(one, other);
});

test('CRD-09 a secret is stored as its SHA-256', () => {
  assert.equal(hashSecret('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('hashes are the same only when they are, and nothing is the same as nothing', () => {
  assert.equal(sameHash(hashSecret('a'), hashSecret('a')), true);
  assert.equal(sameHash(hashSecret('a'), hashSecret('b')), false);
  assert.equal(sameHash(hashSecret('a'), hashSecret('a').slice(0, 62)), false);
  assert.equal(sameHash('', ''), false);
});
