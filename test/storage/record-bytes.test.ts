/**
 * The bytes of records, taken from what a server wrote on 2026-11-22 before all records were made by one codec: a folder
 * of before reads as it did, and what is written now an earlier server of the same format reads.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { devicesRecord, invitationRecord, personRecord, revocationRecord } from '#storage/accounts/account-records.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { attachmentRecord } from '#storage/attachments/attachment-records.ts';
import {
  calendarRecord,
  deliveryRecord,
  feedsRecord,
  objectRecord,
  pendingAuditRecord,
  propertiesRecord,
  revisionRecord,
} from '#storage/calendars/calendar-records.ts';
import { CallSealing } from '#storage/conversations/call-sealing.ts';
import {
  pushRegistrationRecord,
  pushRowKey,
  pushRowRecord,
  writePushRow,
} from '#storage/conversations/push-records.ts';
import { pack, recordOf } from '#storage/engine/record-codec.ts';
import { numbered } from '#storage/engine/keys.ts';
import {
  changeRecord,
  conversationRecord,
  memberRecord,
  membershipRecord,
  personalRecord,
  pinRecord,
  reactionCounts,
  senderCounts,
} from '#storage/engine/records.ts';

const CONVERSATION = {
  id: 'c_1',
  kind: 'room',
  title: 'Team',
  createdAt: '2026-11-22T08:00:00.000Z',
  createdBy: 'alice',
  headSeq: 300,
  rev: 70000,
  participantCount: 3,
  ownerCount: 1,
  pinCount: 0,
  stamp: 4294967296,
  activeAt: 1795248000000,
  deleted: false,
  floorSeq: 1,
  floorRev: 2,
  retention: 86400,
  isHeld: true,
  emptiedSeq: 1,
  room: { isPublic: true, archivedAt: undefined, topic: 'Plans', purpose: undefined, avatar: undefined },
};

interface AnyCodec {
  encode(record: never): Buffer;
  decode(value: Buffer): unknown;
}

/** What is sealed has other bytes each time; here it stays as it is. */
const UNSEALED = {
  nameOf: (call: string) => call,
  seal: (text: string) => Buffer.from(text, 'utf8'),
  open: (sealed: Uint8Array) => Buffer.from(sealed).toString('utf8'),
} as CallSealing;

/** Pushes take what stands in the key of a row from there. */
const registrations: AnyCodec = {
  encode: pushRegistrationRecord.encode,
  decode: (value) => pushRegistrationRecord.decode('d_1', value),
};
function rows(subject: string, seq: number): AnyCodec {
  const itemKey = numbered(seq, 'alice', 'd_1', subject);
  return {
    encode: (row) => pushRowRecord.encode(row, UNSEALED),
    decode: (value) => pushRowRecord.decode(itemKey, value, UNSEALED),
  };
}

const STORED: readonly [name: string, codec: AnyCodec, record: object, hex: string][] = [
  [
    'conversation',
    conversationRecord,
    CONVERSATION,
    '01dc0013a3635f31a4726f6f6da45465616db8323032362d31312d32325430383a30303a30302e3030305aa5616c696365cd012cce00011170030100cb41f0000000000000cb427a1fd1e8c00000c20102ce00015180c301de0005a869735075626c6963c3aa61726368697665644174c0a5746f706963a5506c616e73a7707572706f7365c0a6617661746172c0',
  ],
  [
    'conversation without',
    conversationRecord,
    { ...CONVERSATION, title: undefined, retention: undefined, kind: 'direct', isHeld: false, room: undefined },
    '01dc0013a3635f31a6646972656374c0b8323032362d31312d32325430383a30303a30302e3030305aa5616c696365cd012cce00011170030100cb41f0000000000000cb427a1fd1e8c00000c20102c0c201c0',
  ],
  ['member', memberRecord, { role: 'moderator', joinedSeq: 9 }, '0192a96d6f64657261746f7209'],
  ['membership', membershipRecord, { gone: true, stamp: 77, removed: undefined }, '0193c34dc0'],
  ['membership that others ended', membershipRecord, { gone: true, stamp: 77, removed: true }, '0193c34dc3'],
  [
    'change',
    changeRecord,
    { type: 'message.edit', seq: 5, ts: 1795248000, data: undefined, head: 9 },
    '0195ac6d6573736167652e6564697405ce6b014f80c009',
  ],
  [
    'change data',
    changeRecord,
    { type: 'pin', seq: undefined, ts: 1795248000, data: '{}', head: 9 },
    '0195a370696ec0ce6b014f80a27b7d09',
  ],
  [
    'personal',
    personalRecord,
    {
      draft: { body: 'hi', updatedAt: '2026-11-22T08:00:00.000Z' },
      mutedUntil: undefined,
      hiddenSeq: undefined,
      favourite: true,
      category: 'Work',
    },
    '0196a26869b8323032362d31312d32325430383a30303a30302e3030305ac0c0c3a4576f726b',
  ],
  [
    'personal muted',
    personalRecord,
    { draft: undefined, mutedUntil: '2027-01-01T00:00:00.000Z', hiddenSeq: 7, favourite: false, category: undefined },
    '0196c0c0b8323032372d30312d30315430303a30303a30302e3030305a07c2c0',
  ],
  ['pin', pinRecord, { by: 'bob', at: 1795248000000 }, '0192a3626f62cb427a1fd1e8c00000'],
  ['reactions', reactionCounts, [['👍', 2, ['alice', 'bob']]], '019193a4f09f918d0292a5616c696365a3626f62'],
  [
    'senders',
    senderCounts,
    [
      ['alice', 31],
      ['bob', 1],
    ],
    '019292a5616c6963651f92a3626f6201',
  ],
  [
    'person',
    personRecord,
    {
      username: 'alice',
      state: 'active',
      role: 'owner',
      passwordHash: '$argon2id$x',
      createdAt: '2026-11-22T08:00:00.000Z',
      rev: 12,
    },
    '0196a5616c696365a6616374697665a56f776e6572ab246172676f6e3269642478b8323032362d31312d32325430383a30303a30302e3030305a0c',
  ],
  [
    'devices',
    devicesRecord,
    [
      {
        id: 'd_1',
        name: 'Phone',
        platform: 'ios',
        createdAt: '2026-11-22T08:00:00.000Z',
        usedAt: 1795248000,
        session: { sid: 's_1', iat: 1, rnw: 2 },
      },
      { id: 'd_2', name: '', platform: 'web', createdAt: '2026-11-22T08:00:00.000Z', usedAt: 0, session: undefined },
    ],
    '019296a3645f31a550686f6e65a3696f73b8323032362d31312d32325430383a30303a30302e3030305ace6b014f8093a3735f31010296a3645f32a0a3776562b8323032362d31312d32325430383a30303a30302e3030305a00c0',
  ],
  ['revocation', revocationRecord, { sid: 's_1', until: 1795248000 }, '0192a3735f31ce6b014f80'],
  [
    'invitation',
    invitationRecord,
    { kind: 'owner', expiresAt: 1795248000, usedBy: undefined },
    '0193a56f776e6572ce6b014f80c0',
  ],
  [
    'invitation used',
    invitationRecord,
    { kind: 'owner', expiresAt: 1795248000, usedBy: 'alice' },
    '0193a56f776e6572ce6b014f80a5616c696365',
  ],
  [
    'attachment',
    attachmentRecord,
    {
      id: 'att_1',
      owner: 'alice',
      name: 'a.png',
      bytes: 1048576,
      createdAt: 1795248000000,
      type: 'image/png',
      hash: 'ab12',
    },
    '0197a56174745f31a5616c696365a5612e706e67ce00100000cb427a1fd1e8c00000a9696d6167652f706e67a461623132',
  ],
  [
    'attachment begun',
    attachmentRecord,
    {
      id: 'att_1',
      owner: 'alice',
      name: 'a.png',
      bytes: 0,
      createdAt: 1795248000000,
      type: undefined,
      hash: undefined,
    },
    '0197a56174745f31a5616c696365a5612e706e6700cb427a1fd1e8c00000c0c0',
  ],
  [
    'push registration',
    registrations,
    { device: 'd_1', sid: 's_1', until: 1795248000, at: 1795248000000, address: { provider: 'fcm', token: 't' } },
    '0194a3735f31ce6b014f80cb427a1fd1e8c00000be7b2270726f7669646572223a2266636d222c22746f6b656e223a2274227d',
  ],
  [
    'push row',
    rows('c_1', 4),
    { device: 'd_1', subject: 'c_1', seq: 4, kind: 'message', at: 1, expiresAt: 2, call: undefined, isSent: false },
    '0195a76d6573736167650102c0c2',
  ],
  [
    'push row of a call',
    rows('call:x', 0),
    {
      device: 'd_1',
      subject: 'call:x',
      seq: 0,
      kind: 'call',
      at: 1,
      expiresAt: 2,
      call: { call: 'x', conversation: null, host: 'bob', video: true },
      isSent: true,
    },
    '0195a463616c6c0102c43a7b2263616c6c223a2278222c22636f6e766572736174696f6e223a6e756c6c2c22686f7374223a22626f62222c22766964656f223a747275657dc3',
  ],
  [
    'push row of a reminder',
    rows('reminder:x', 0),
    {
      device: 'd_1',
      subject: 'reminder:x',
      seq: 0,
      kind: 'reminder',
      at: 1,
      expiresAt: 2,
      call: undefined,
      reminder: { title: 't' },
      isSent: false,
    },
    '0196a872656d696e6465720102c0c2ad7b227469746c65223a2274227d',
  ],
  [
    'calendar',
    calendarRecord,
    {
      id: 'cal_1',
      owner: 'alice',
      name: 'home',
      displayname: 'Home',
      description: '',
      color: '#ff0000',
      order: 1,
      zone: 'Europe/Zurich',
      kinds: ['event', 'todo'],
      transparency: 'opaque',
      createdAt: 1795248000000,
      syncSeq: 7,
      floorSeq: 0,
      objects: 2,
      removed: 0,
      shares: 1,
      subscribed: undefined,
      bytes: 300,
      followsOwner: undefined,
    },
    '01dc0013a563616c5f31a5616c696365a4686f6d65a4486f6d65a0a72366663030303001ad4575726f70652f5a757269636892a56576656e74a4746f646fa66f7061717565cb427a1fd1e8c000000700020001d40000cd012cd40000',
  ],
  [
    'calendar subscribed',
    calendarRecord,
    {
      id: 'cal_1',
      owner: 'alice',
      name: 'home',
      displayname: 'Home',
      description: '',
      color: '',
      order: -1,
      zone: 'UTC',
      kinds: ['event'],
      transparency: 'transparent',
      createdAt: 1,
      syncSeq: 7,
      floorSeq: 0,
      objects: 2,
      removed: 0,
      shares: 1,
      subscribed: true,
      bytes: 0,
      followsOwner: true,
    },
    '01dc0013a563616c5f31a5616c696365a4686f6d65a4486f6d65a0a0ffa355544391a56576656e74ab7472616e73706172656e74010700020001c300c3',
  ],
  [
    'object',
    objectRecord,
    {
      uid: 'u',
      kind: 'event',
      firstAt: -5,
      lastAt: null,
      recurring: true,
      transparent: false,
      scheduled: true,
      unanswered: false,
      etag: 'e',
      scheduleTag: 's',
      seq: 3,
      bytes: 200,
      createdAt: 1,
      changedAt: 2,
      revisions: [1, 2],
      classification: 'private',
      wasShown: false,
      hiddenAt: 9,
      beginsWithin: 7,
    },
    '01dc0013a175a56576656e74fbc0c3c2c3c2a165a17303ccc80102920102a770726976617465c20907',
  ],
  [
    'revision',
    revisionRecord,
    { etag: 'e', until: 1795248000000, bytes: Buffer.from('BEGIN') },
    '0193a165cb427a1fd1e8c00000c405424547494e',
  ],
  [
    'feeds',
    feedsRecord,
    { feeds: [{ id: 'feed_1', hash: 'h', detail: 'full', note: '', createdAt: 1 }] },
    '019191de0005a26964a6666565645f31a468617368a168a664657461696ca466756c6ca46e6f7465a0a963726561746564417401',
  ],
  ['properties', propertiesRecord, { values: { '{DAV:}x': 'y' } }, '0191de0001a77b4441563a7d78a179'],
  ['delivery', deliveryRecord, { message: 5, to: 'bob', isLast: true }, '019305a3626f62c3'],
  [
    'pending audit',
    pendingAuditRecord,
    { event: 'a.b', actor: 'alice', address: null, subject: 'calendar:cal_1', details: { n: 1 } },
    '0195a3612e62a5616c696365c0ae63616c656e6461723a63616c5f31de0001a16e01',
  ],
  ['collection', defineCollection('x', { version: 3 }), { a: 1, b: undefined }, '03de0002a16101a162d40000'],
];

for (const [name, codec, record, hex] of STORED) {
  test(`a record is stored and read by the byte: ${name}`, () => {
    assert.equal(codec.encode(record as never).toString('hex'), hex);
    assert.deepEqual(codec.decode(Buffer.from(hex, 'hex')), record);
  });
}

test('a calendar from before zones followed their owners has the one that it says', () => {
  const older = Buffer.from(
    '01dc0012a563616c5f31a5616c696365a4686f6d65a4486f6d65a0a0ffa355544391a56576656e74ab7472616e73706172656e74010700020001c300',
    'hex',
  );
  const { bytes, followsOwner, zone } = calendarRecord.decode(older);
  assert.deepEqual([zone, bytes, followsOwner], ['UTC', 0, undefined]);
});

test('an object from before its class, and how dense it is, were kept has none, and may have been shown', () => {
  const older = Buffer.from('019fa175a56576656e74fbc0c3c2c3c2a165a17303ccc80102920102', 'hex');
  const { beginsWithin, classification, hiddenAt, uid, wasShown } = objectRecord.decode(older);
  assert.deepEqual([uid, classification, wasShown, hiddenAt], ['u', undefined, undefined, undefined]);
  assert.equal(beginsWithin, undefined);
});

test('a conversation from before there was a retention has none, and was emptied as far as it goes', () => {
  const names = Object.keys(CONVERSATION);
  const values = Object.values(CONVERSATION).slice(0, names.indexOf('retention'));
  const ended = { retention: undefined, isHeld: false, emptiedSeq: CONVERSATION.floorSeq, room: undefined };
  const older = { ...CONVERSATION, ...ended };
  assert.deepEqual(conversationRecord.decode(pack(values)), older);
});

test('a conversation and a person’s side of it from before there were public rooms and categories have none', () => {
  const { room, ...values } = CONVERSATION;
  assert.deepEqual(conversationRecord.decode(pack(Object.values(values))), { ...values, room: undefined });
  assert.equal(room.topic, 'Plans');
  const personal = personalRecord.decode(pack(['hi', '2026-11-22T08:00:00.000Z', null]));
  assert.deepEqual([personal.draft?.body, personal.favourite, personal.category], ['hi', false, undefined]);
});

test('a calendar from before there were subscriptions is none', () => {
  const { subscribed, ...calendar } = calendarRecord.decode(pack(['cal_1', 'alice', 'home']));
  assert.equal(subscribed, undefined);
  assert.deepEqual([calendar.id, calendar.owner, calendar.name], ['cal_1', 'alice', 'home']);
});

test('a record of another version is refused by its name', () => {
  const door = recordOf<{ isOpen: boolean }>('door', ['isOpen']);
  assert.deepEqual(door.decode(pack([true])), { isOpen: true });
  assert.throws(() => door.decode(pack([true], 'nil', 2)), { message: 'A door has version 2; 1 is known.' });
  const entry = recordOf<{ isOpen: boolean }>('entry', ['isOpen']);
  assert.throws(() => entry.decode(pack([true], 'nil', 2)), { message: 'An entry has version 2; 1 is known.' });
});

test('SUR-01 a call of the outbox of pushes is sealed and found by a name; one from before is read as it is', () => {
  const calls = new CallSealing(Buffer.alloc(32, 1));
  const call = { call: 'known-from-signalling', conversation: 'c_1', host: 'bob', video: true };
  const row = {
    device: 'd_1',
    subject: `call:${call.call}`,
    seq: 0,
    kind: 'call',
    at: 1,
    expiresAt: 2,
    call,
    isSent: true,
  } as const;
  const { key: itemKey, value } = writePushRow('alice', row, calls);
  assert.ok(value !== null && !Buffer.concat([itemKey, value]).includes(call.call));
  assert.deepEqual(pushRowRecord.decode(itemKey, value, calls), row);
  assert.deepEqual(pushRowKey('alice', row, calls), itemKey);
  assert.notDeepEqual(pushRowRecord.encode(row, calls), value);
  assert.throws(() => pushRowRecord.decode(itemKey, value, new CallSealing(Buffer.alloc(32, 2))));
  const before = Buffer.from(
    '0195a463616c6c0102d93a7b2263616c6c223a2278222c22636f6e766572736174696f6e223a6e756c6c2c22686f7374223a22626f62222c22766964656f223a747275657dc3',
    'hex',
  );
  const { subject, call: told } = pushRowRecord.decode(numbered(0, 'alice', 'd_1', 'call:x'), before, calls);
  assert.deepEqual([subject, told?.call], ['call:x', 'x']);
});
