/** The audit trail as a vendor reads it: people by their pseudonyms, whoever is nobody as they are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';

const engine = new Redactor({ key: Buffer.alloc(32, 1), secrets: [] });
const pseudonym = (name: string) => engine.text(`user=${name}`).slice('user='.length);
const read = (value: unknown) => engine.value(value);

const entry = (actor: string, about: string | null, details: object = {}) => ({
  number: 1,
  event: 'x.y',
  actor,
  about,
  details,
  hash: 'ab'.repeat(32),
});

test('RED-07 an actor has the pseudonym that its person has in a log', () => {
  assert.match(pseudonym('alice'), /^u-[0-9a-f]{8}$/);
  const alice = `user:${pseudonym('alice')}`;
  assert.deepEqual(read({ items: [entry('user:alice', 'user:alice')], next: null }), {
    items: [entry(alice, alice)],
    next: null,
  });
});

test('actors that name nobody stay as they are', () => {
  const token = 'vendor:01kd3m5x7q9r2t4v6w8y0z';
  const items = [entry('break-glass', null), entry(token, 'node:n_01kd3m5x7q9r2t4v6w8y0z'), entry('server', token)];
  for (const about of ['settings:sign-in', 'client:ios', 'policy:pol_1', 'meeting:m_1', 'conversation:c_1']) {
    items.push(entry('command', about));
  }
  assert.deepEqual(read(items), items);
});

test('whoever issued, revoked, made or set something is an actor too', () => {
  for (const field of ['issued_by', 'revoked_by', 'created_by', 'set_by']) {
    assert.deepEqual(read({ [field]: 'user:bob' }), { [field]: `user:${pseudonym('bob')}` });
    assert.deepEqual(read({ [field]: 'break-glass' }), { [field]: 'break-glass' });
  }
});

test('people in the details of an entry are pseudonyms, in lists too', () => {
  const details = { added: { members: ['alice', 'bob'] }, removed: { members: ['carol'] }, username: ['dora'] };
  assert.deepEqual(
    read(entry('server', null, details)),
    entry('server', null, {
      added: { members: [pseudonym('alice'), pseudonym('bob')] },
      removed: { members: [pseudonym('carol')] },
      username: [pseudonym('dora')],
    }),
  );
});
