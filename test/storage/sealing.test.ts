/** Sealing and the key ring: the form on disk stays what it is, and keys leave memory as zeros. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '#src/protocol/errors.ts';
import { OpenKeys } from '#storage/vault/key-ring.ts';
import { checkValueOf, readMasterKey, seal, sealedUnder, unseal, wrappingKey } from '#storage/vault/sealing.ts';

const KEY = Buffer.alloc(32, 1);
const KEY_ID = '0011223344556677';
/** “sesame”, sealed for `totp:alice` under KEY by the first version of this form. */
const SEALED = '010011223344556677a3f1fe12dd42648dfe35b8d53cb2d9c15895a38258084000e80d9427c7ee73237f0a';

test('a value sealed by the first version opens for ever', () => {
  const sealed = Buffer.from(SEALED, 'hex');
  assert.equal(unseal(KEY, 'totp:alice', sealed).toString(), 'sesame');
  assert.equal(sealedUnder(sealed), KEY_ID);
  assert.throws(() => unseal(KEY, 'totp:bob', sealed));
  assert.throws(() => unseal(Buffer.alloc(32, 2), 'totp:alice', sealed));
});

test('keys follow from a master key as they did in the first version', () => {
  const derived = '24ca28d03791d7559fbe9391b2d29f3ef55d0aadc874f9c09d4f90a6e1619e00';
  assert.equal(wrappingKey(KEY, Buffer.alloc(16, 9)).toString('hex'), derived);
  assert.equal(checkValueOf(KEY), 'd89be56da185da0e');
});

test('the same secret sealed twice is two values, an empty one included', () => {
  const [one, two] = [0, 1].map(() => seal(KEY, KEY_ID, 'a', Buffer.alloc(0)));
  assert.ok(one && two);
  assert.notDeepEqual(one, two);
  assert.deepEqual([unseal(KEY, 'a', one).length, unseal(KEY, 'a', two).length], [0, 0]);
});

test('what is shorter than a sealed value, or of another version, is not sealed', () => {
  assert.equal(sealedUnder(Buffer.alloc(36, 1)), undefined);
  assert.equal(sealedUnder(Buffer.alloc(37, 1)), '0101010101010101');
  assert.equal(sealedUnder(Buffer.alloc(37, 2)), undefined);
  for (const value of [Buffer.alloc(36, 1), Buffer.alloc(37, 2)]) {
    assert.throws(() => unseal(KEY, 'a', value), /It is not sealed/);
  }
});

test('a master key is 64 hex digits, and nothing else', () => {
  assert.deepEqual(readMasterKey('01'.repeat(32)), KEY);
  assert.deepEqual(readMasterKey('AB'.repeat(32)), Buffer.alloc(32, 0xab));
  for (const text of ['', '01'.repeat(31), '01'.repeat(33), `${'01'.repeat(31)}0g`, ` ${'01'.repeat(32)}`]) {
    assert.throws(
      () => readMasterKey(text),
      (error) => error instanceof Refusal && error.code === 'field_invalid' && error.field === 'master_key',
    );
  }
});

test('wiped keys are zeros, and so is one that is not kept', () => {
  const { keys, ring } = OpenKeys.make(KEY, '2026-11-21T08:00:00.000Z');
  const first = keys.get(ring.current);
  const added = keys.add('2026-11-21T08:00:00.000Z');
  const second = keys.get(added.id);
  assert.ok(first && second);
  assert.notDeepEqual(Buffer.from(first), Buffer.alloc(32));
  keys.keep(new Set([added.id]));
  assert.deepEqual(Buffer.from(first), Buffer.alloc(32));
  assert.equal(keys.get(ring.current), undefined);
  assert.notDeepEqual(Buffer.from(second), Buffer.alloc(32));
  keys.wipe();
  assert.deepEqual(Buffer.from(second), Buffer.alloc(32));
  assert.equal(keys.get(added.id), undefined);
});

test('wrapped data keys cannot change places in the ring', () => {
  const at = '2026-11-21T08:00:00.000Z';
  const { keys, ring } = OpenKeys.make(KEY, at);
  const added = keys.add(at);
  const [first] = ring.keys;
  assert.ok(first);
  const whole = { ...ring, keys: [first, added] };
  assert.deepEqual(OpenKeys.open(KEY, whole).get(added.id), keys.get(added.id));
  const swapped = { ...ring, keys: [{ ...first, wrapped: added.wrapped }] };
  assert.throws(() => OpenKeys.open(KEY, swapped), /does not unwrap/);
});
