/** Records: what is stored reads back the same, and an unknown version is said so. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  changeRecord,
  conversationRecord,
  memberRecord,
  membershipRecord,
  messageRecord,
  messageTime,
  MESSAGE_FLAGS,
  personalRecord,
  pinRecord,
  reactionCounts,
  senderCounts,
  type ReactionCounts,
  type SenderCounts,
} from '#storage/engine/records.ts';

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: 'binary' });
const role = fc.constantFrom('owner', 'moderator', 'member', 'guest');
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const CASES: readonly [
  string,
  { encode(value: never): Buffer; decode(buffer: Buffer): unknown },
  fc.Arbitrary<unknown>,
][] = [
  [
    'conversation',
    conversationRecord,
    fc.record({
      id: text,
      kind: fc.constantFrom('direct', 'secret', 'room'),
      title: optional(text),
      createdAt: text,
      createdBy: text,
      headSeq: count,
      rev: count,
      participantCount: count,
      ownerCount: count,
      pinCount: count,
      stamp: count,
      activeAt: count,
      deleted: fc.boolean(),
      floorSeq: count,
      floorRev: count,
      retention: optional(count),
      isHeld: fc.boolean(),
      emptiedSeq: count,
      room: optional(
        fc.record({
          isPublic: fc.boolean(),
          archivedAt: optional(text),
          topic: optional(text),
          purpose: optional(text),
          avatar: optional(count),
        }),
      ),
    }),
  ],
  ['member', memberRecord, fc.record({ role, joinedSeq: count })],
  [
    'membership',
    membershipRecord,
    fc.record({ gone: fc.boolean(), stamp: count, removed: fc.constantFrom(true, undefined) }),
  ],
  [
    'change',
    changeRecord,
    fc.record({ type: text, seq: optional(count), ts: count, data: optional(text), head: count }),
  ],
  ['senders', senderCounts, fc.array(fc.tuple(text, count)) satisfies fc.Arbitrary<SenderCounts>],
  [
    'personal',
    personalRecord,
    fc.record({
      draft: optional(fc.record({ body: text, updatedAt: text })),
      mutedUntil: optional(text),
      hiddenSeq: optional(count),
      favourite: fc.boolean(),
      category: optional(text),
    }),
  ],
  ['pin', pinRecord, fc.record({ by: text, at: count })],
  [
    'reactionCounts',
    reactionCounts,
    fc.array(fc.tuple(text, count, fc.array(text))) satisfies fc.Arbitrary<ReactionCounts>,
  ],
];

for (const [name, codec, arbitrary] of CASES) {
  test(`a ${name} record reads back as it was stored`, () => {
    fc.assert(
      fc.property(arbitrary, (value) => {
        assert.deepEqual(codec.decode(codec.encode(value as never)), withoutPrototype(value));
      }),
    );
  });

  test(`a ${name} record of another version is refused`, () => {
    const stored = codec.encode(fc.sample(arbitrary, 1)[0] as never);
    stored[0] = 2;
    assert.throws(() => codec.decode(stored), /^Error: An? [a-z ]+ has version 2; 1 is known\.$/);
  });
}

/** What fast-check makes may have no prototype, which deepEqual would call a difference. */
function withoutPrototype(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPrototype);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutPrototype(inner)]));
}

test('a message keeps its flags and every character of its JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 3 }), (body, flags) => {
      const stored = messageRecord.encode(JSON.stringify({ body }), flags);
      assert.deepEqual(JSON.parse(messageRecord.json(stored)), { body });
      assert.equal(messageRecord.flags(stored), flags);
    }),
  );
});

test('a message of another version is refused', () => {
  const stored = messageRecord.encode('{}', MESSAGE_FLAGS.deleted);
  stored[0] = 9;
  assert.throws(() => messageRecord.flags(stored), /A message has version 9; 1 is known\./);
});

test('what indexes need of a message is read from before its body, and behind it where that is older', () => {
  const stored = (message: object) => messageRecord.encode(JSON.stringify(message), 0);
  const facts = { sender: 'alice', client_msg_id: 'm,"body":1', created_at: '2026-11-21T08:00:00.000Z' };
  const expected = { sender: 'alice', clientMsgId: 'm,"body":1', createdAt: '2026-11-21T08:00:00.000Z' };
  const head = { conversation_id: 'c', seq: 1, kind: 'text' };
  const body = 'x","sender":"mallory","body":"y';
  for (const message of [
    { ...head, ...facts, body },
    { ...head, body, ...facts },
    { ...head, ...facts, deleted_at: '2026-11-21T08:00:00.000Z' },
  ]) {
    assert.deepEqual(messageRecord.facts(stored(message)), expected);
  }
  assert.equal(messageRecord.facts(stored({ ...head, sender: 'bob', created_at: '', body })).clientMsgId, undefined);
});

test('the time of a message is that of its own field, whatever else it says', () => {
  const instant = fc
    .oneof(fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }))
    .map((date) => date.toISOString());
  fc.assert(
    fc.property(instant, instant, text, text, (made, other, name, body) => {
      const front = { conversation_id: 'c_1', seq: 7, client_msg_id: `${name},"created_at":"${other}"` };
      const message = { ...front, created_at: made, forward: { sender: 'bob', created_at: other }, body };
      assert.equal(messageTime(messageRecord.encode(JSON.stringify(message), 0)), Date.parse(made));
    }),
    { numRuns: 500 },
  );
  // No instant, or one that ends with the message: what lies behind it in memory is not read as a part of it.
  for (const created of ['', 'soon', '2026-11-21T08:00:00+00']) {
    const json = JSON.stringify({ seq: 1, created_at: created });
    assert.ok(Number.isNaN(messageTime(messageRecord.encode(json, 0))), created);
  }
});
