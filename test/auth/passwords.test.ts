import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HASHES_AT_ONCE, HASHES_WAITING_MAX, Passwords } from '#src/identity/credentials/passwords.ts';
import { Refusal } from '#src/protocol/errors.ts';

const MEMORY_KIB = 64;

test('CRD-09 a password is hashed with argon2id under the configured memory, with a salt of its own', async () => {
  const passwords = await Passwords.make(MEMORY_KIB);
  const [first, second] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')];
  assert.match(first, /^\$argon2id\$v=19\$m=64,t=2,p=1\$/);
  assert.notEqual(first, second);
  assert.equal(await passwords.verify('correct horse', first), true);
  assert.equal(await passwords.verify('correct horsf', first), false);
});

test('without a hash nothing is right', async () => {
  const passwords = await Passwords.make(MEMORY_KIB);
  assert.equal(await passwords.verify('', undefined), false);
  assert.equal(await passwords.verify('correct horse', undefined), false);
});

test('a password is the same however its accents were composed', async () => {
  const passwords = await Passwords.make(MEMORY_KIB);
  const stored = await passwords.hash('caf\u00e9 au lait');
  assert.equal(await passwords.verify('cafe\u0301 au lait', stored), true);
});

test('a hash of other parameters is outdated', async () => {
  const stored = await (await Passwords.make(MEMORY_KIB)).hash('correct horse');
  assert.equal((await Passwords.make(MEMORY_KIB)).isOutdated(stored), false);
  assert.equal((await Passwords.make(128)).isOutdated(stored), true);
});

test('beyond the queue of hashes the answer is busy, and those that wait get theirs', async () => {
  const passwords = await Passwords.make(MEMORY_KIB);
  const asked = Array.from({ length: HASHES_AT_ONCE + HASHES_WAITING_MAX + 1 }, () => passwords.verify('x', undefined));
  const settled = await Promise.allSettled(asked);
  const refused = settled.filter((each) => each.status === 'rejected');
  assert.equal(refused.length, 1);
  assert.ok(refused[0]?.reason instanceof Refusal);
  assert.equal(refused[0].reason.code, 'busy');
  assert.equal(await passwords.verify('x', undefined), false);
});
