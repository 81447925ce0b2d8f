/** Damage to the folder that `check.test.ts` makes: what is written into it, and what the check must say. */
import {
  removeKey,
  writeChange,
  writeConversation,
  writeDeleted,
  writeIdempotency,
  writeMember,
  writeMembership,
  writeMessage,
  writePersonal,
  writePin,
  writePurge,
  writeReaction,
  writeReactionCounts,
  writeSenders,
  writeWatermark,
} from '#storage/conversations/conversation-writes.ts';
import { lanePath } from '#storage/engine/folder.ts';
import { writeHoldRevision } from '#storage/conversations/hold-revisions.ts';
import { writeInvitation } from '#storage/conversations/room-invitations.ts';
import { writeRoomLink } from '#storage/conversations/room-links.ts';
import { key, numbered } from '#storage/engine/keys.ts';
import { openLane, type LaneWrite } from '#storage/engine/lane.ts';
import {
  conversationRecord,
  messageRecord,
  NOTHING_PERSONAL,
  type ConversationRecord,
} from '#storage/engine/records.ts';

const NEVER = '2026-11-21T08:00:00.000Z';
export const ROOM = 'c_0000000000000000000001';
export const PAIR = 'c_0000000000000000000002';
/** With a whole block of messages and one behind it: alice's odd ones, bob's even ones. */
export const LONG = 'c_0000000000000000000003';
export const GONE = 'c_0000000000000000000009';

export async function recordOf(folder: string, id: string): Promise<ConversationRecord> {
  const environment = openLane(lanePath(folder, 0), 1024 ** 3);
  const record = conversationRecord.decode(environment.tables.conversations.get(key(id)) as Buffer);
  await environment.close();
  return record;
}

const message = (more: object) =>
  JSON.stringify({
    conversation_id: ROOM,
    seq: 1,
    kind: 'text',
    body: 'one',
    sender: 'alice',
    client_msg_id: 'm1',
    ...more,
  });
const record = (more: Partial<ConversationRecord>) => async (folder: string) => [
  writeConversation({ ...(await recordOf(folder, ROOM)), ...more }),
];
const broken = (table: LaneWrite['table'], itemKey: Buffer): LaneWrite => ({
  table,
  key: itemKey,
  value: Buffer.of(7, 7),
});

const LINK = { hash: 'aa', by: 'alice', epoch: 'e', at: 0, until: 1, uses: 2, used: 0 };
const ASKED = { state: 'waiting', role: 'member', at: 1, until: 2 } as const;

/** Name → what is written, and every sentence that tells of it. */
export const DAMAGE: Readonly<
  Record<string, readonly [LaneWrite[] | ((folder: string) => Promise<LaneWrite[]>), string[]]>
> = {
  'a missing message': [[removeKey('messages', numbered(3, ROOM))], [`messages [${ROOM}, 3] is missing`]],
  'several missing messages': [
    [removeKey('messages', numbered(2, ROOM)), removeKey('messages', numbered(3, ROOM))],
    [
      `messages [${ROOM}, 2] is missing, and so is everything up to 3`,
      `deleted [${ROOM}, 2] is of a message that is not deleted`,
    ],
  ],
  'a message beyond the head': [
    record({ headSeq: 2 }),
    [`messages [${ROOM}, 3] lies beyond the head 2`, `changes [${ROOM}, 7] is followed by 0 revs, but -1 new messages`],
  ],
  'a message of another conversation': [
    [writeMessage(ROOM, 1, message({ conversation_id: PAIR }), 2)],
    [`messages [${ROOM}, 1] names another conversation in its JSON`],
  ],
  'a message of another seq': [
    [writeMessage(ROOM, 1, message({ seq: 5 }), 2)],
    [`messages [${ROOM}, 1] names another seq in its JSON`],
  ],
  'a message without a sender': [
    [writeMessage(ROOM, 1, message({ sender: undefined }), 2)],
    [`messages [${ROOM}, 1] has no sender in its JSON`],
  ],
  'a message without a body': [
    [writeMessage(ROOM, 1, message({ body: undefined }), 2)],
    [`messages [${ROOM}, 1] has no body`],
  ],
  'a deleted message with its body': [
    [writeMessage(ROOM, 2, message({ seq: 2, sender: 'bob', client_msg_id: 'm2', deleted_at: 'x' }), 1)],
    [`messages [${ROOM}, 2] is deleted and still has a body`],
  ],
  'a deletion by flag alone': [
    [
      writeMessage(ROOM, 3, JSON.stringify({ conversation_id: ROOM, seq: 3, sender: 'bob' }), 1),
      writeDeleted(ROOM, 3, 'bob'),
    ],
    [`messages [${ROOM}, 3] is deleted by its flag or by its JSON, but not by both`],
  ],
  'a message that is not JSON': [
    [{ table: 'messages', key: numbered(3, ROOM), value: messageRecord.encode('{"seq":', 0) }],
    [`messages [${ROOM}, 3] cannot be read (Unexpected end of JSON input)`],
  ],
  'a missing count of senders': [[removeKey('senders', numbered(1, LONG))], [`senders [${LONG}, 1] is missing`]],
  'a wrong count of senders': [
    [
      writeSenders(LONG, 1, [
        ['alice', 17],
        ['bob', 15],
      ]),
    ],
    [`senders [${LONG}, 1] does not count who posted the messages of its block`],
  ],
  'a count of a stranger': [
    [
      writeSenders(LONG, 1, [
        ['alice', 16],
        ['bob', 16],
        ['carol', 1],
      ]),
    ],
    [`senders [${LONG}, 1] does not count who posted the messages of its block`],
  ],
  'a count of a block that is not whole': [
    [writeSenders(LONG, 2, [['alice', 1]])],
    [`senders [${LONG}, 2] counts a block that is not whole`],
  ],
  'a missing idempotency key': [
    [removeKey('idempotency', key(LONG, 'bob', 'm32'))],
    [`idempotency [${LONG}, bob, m32] is missing`],
  ],
  'an idempotency key that leads nowhere': [
    [writeIdempotency(ROOM, 'bob', 'm9', 9)],
    [`idempotency [${ROOM}, bob, m9] leads to message 9, which is not there`],
  ],
  'an idempotency key that leads to another message': [
    [writeIdempotency(ROOM, 'alice', 'm1', 3)],
    [`idempotency [${ROOM}, alice, m1] leads to message 3, which was posted by somebody else or under another key`],
  ],
  'a missing deletion mark': [[removeKey('deleted', numbered(2, ROOM))], [`deleted [${ROOM}, 2] is missing`]],
  'a deletion mark of a living message': [
    [writeDeleted(ROOM, 3, 'bob')],
    [`deleted [${ROOM}, 3] is of a message that is not deleted`],
  ],
  'a deletion mark of another sender': [
    [writeDeleted(ROOM, 2, 'alice')],
    [`deleted [${ROOM}, 2] names another sender than the message`],
  ],
  'a wrong reaction count': [
    [writeReactionCounts(ROOM, 1, [['👍', 2, ['bob', 'alice']]])],
    [
      `reactionCounts [${ROOM}, 1, 👍] counts 2, but reactions has 1`,
      `reactionCounts [${ROOM}, 1, 👍] lists alice, who did not react`,
    ],
  ],
  'reactions without a count': [
    [writeReactionCounts(ROOM, 1, [])],
    [`reactions [${ROOM}, 1] holds reactions that reactionCounts lacks`],
  ],
  'a reaction that is not counted': [
    [writeReaction(ROOM, 1, '🎉', 'alice', true)],
    [`reactions [${ROOM}, 1] holds 1 more than reactionCounts counts`],
  ],
  'a count that lists too few': [
    [writeReactionCounts(ROOM, 1, [['👍', 1, []]])],
    [`reactionCounts [${ROOM}, 1, 👍] lists 0 people for a count of 1`],
  ],
  'a message that denies its reactions': [
    [writeMessage(ROOM, 1, message({}), 0)],
    [`reactionCounts [${ROOM}, 1] is of a message whose flag says it has none`],
  ],
  'reactions to a deleted message': [
    [writeReactionCounts(ROOM, 2, [['👍', 1, ['bob']]]), writeReaction(ROOM, 2, '👍', 'bob', true)],
    [`reactionCounts [${ROOM}, 2] is of a message that is not there or deleted`],
  ],
  'a pin too many': [
    [writePin(ROOM, 3, { by: 'alice', at: 0 })],
    [`conversations [${ROOM}] counts 1 pins, but pins has 2`],
  ],
  'a pin of a deleted message': [
    [writePin(ROOM, 2, { by: 'alice', at: 0 }), writePin(ROOM, 1, null)],
    [`pins [${ROOM}, 2] is of a message that is not there or deleted`],
  ],
  'a member without a membership': [
    [removeKey('memberships', key('bob', ROOM))],
    [`memberships [bob, ${ROOM}] is missing`],
  ],
  'a member whose membership has ended': [
    [writeMembership(ROOM, 'bob', true, 1)],
    [`memberships [bob, ${ROOM}] has ended, but members has the person`],
  ],
  'a membership without a member': [
    [writeMembership(ROOM, 'carol', false, 1)],
    [`memberships [carol, ${ROOM}] goes on, but members lacks the person`],
  ],
  'a membership from the future': [
    [writeMembership(ROOM, 'carol', true, 999)],
    [`memberships [carol, ${ROOM}] has stamp 999, beyond the lane's 48`],
  ],
  'a membership of no conversation': [
    [writeMembership(GONE, 'carol', true, 1)],
    [`memberships [carol, ${GONE}] is of a conversation that is not there`],
  ],
  'a member too many': [
    writeMember(ROOM, 'carol', { role: 'owner', joinedSeq: 9 }, 1),
    [
      `members [${ROOM}, carol] joined at 9, beyond the head`,
      `conversations [${ROOM}] counts 2 participants, but members has 3`,
      `conversations [${ROOM}] counts 1 owners, but members has 2`,
    ],
  ],
  'a role that does not exist': [
    writeMember(ROOM, 'bob', { role: 'king' as 'owner', joinedSeq: 0 }, 1),
    [`members [${ROOM}, bob] has a role that does not exist`],
  ],
  'read beyond delivered': [
    [writeWatermark(ROOM, 'bob', { delivered: 1, read: 2 })],
    [`watermarks [${ROOM}, bob] has read up to 2, but delivered up to 1 only`],
  ],
  'a watermark beyond the head': [
    [writeWatermark(ROOM, 'bob', { delivered: 4, read: 1 })],
    [`watermarks [${ROOM}, bob] lies at 4, beyond the head 3`],
  ],
  'a watermark of a stranger': [
    [writeWatermark(ROOM, 'carol', { delivered: 1, read: 1 })],
    [`watermarks [${ROOM}, carol] is of a person who does not take part`],
  ],
  'a draft of a stranger': [
    [writePersonal(ROOM, 'carol', NOTHING_PERSONAL)],
    [`personal [carol, ${ROOM}] is of a person who does not take part`],
  ],
  'a missing change': [
    [removeKey('changes', numbered(6, ROOM))],
    [`changes [${ROOM}, 5] is followed by 1 revs, but 0 new messages`],
  ],
  'a missing change at the end': [
    [removeKey('changes', numbered(7, ROOM))],
    [`changes [${ROOM}, 6] is followed by 1 revs, but 0 new messages`],
  ],
  'a change of a new message': [
    [writeChange(ROOM, 4, { type: 'message.new', seq: 3, ts: 1, data: undefined, head: 3 })],
    [
      `changes [${ROOM}, 4] is of a new message, which has no change of its own`,
      `changes [${ROOM}, 1] is followed by 2 revs, but 3 new messages`,
    ],
  ],
  'a change beyond the rev': [
    [writeChange(ROOM, 8, { type: 'pin', seq: 1, ts: 1, data: '{}', head: 3 })],
    [`changes [${ROOM}, 8] lies beyond the conversation's rev 7`],
  ],
  'a change of no type': [
    [writeChange(ROOM, 7, { type: 'message.newer', seq: 1, ts: 1, data: '{}', head: 3 })],
    [`changes [${ROOM}, 7] is of a type that does not exist`],
  ],
  'a change that tells of nothing': [
    [writeChange(ROOM, 7, { type: 'pin', seq: undefined, ts: 1, data: undefined, head: 3 })],
    [`changes [${ROOM}, 7] tells of nothing`],
  ],
  'a conversation from the future': [
    record({ stamp: 99 }),
    [`conversations [${ROOM}] has stamp 99, beyond the lane's 48`],
  ],
  'a conversation of no kind': [
    record({ kind: 'mob' as 'room' }),
    [`conversations [${ROOM}] is of a kind that does not exist`],
  ],
  'a conversation that is half deleted': [
    record({ deleted: true }),
    [
      `conversations [${ROOM}] is deleted, but not all of it was emptied`,
      `members [${ROOM}] still holds people of a deleted conversation`,
      `roster [${ROOM}, 1] is of a deleted conversation`,
    ],
  ],
  'a conversation under another key': [
    async (folder) => [
      { table: 'conversations', key: key(GONE), value: conversationRecord.encode(await recordOf(folder, ROOM)) },
    ],
    [`conversations [${GONE}] is of another conversation`],
  ],
  'a kept version of another message': [
    [
      writeHoldRevision(ROOM, 1, 1, { change: 'edit', by: 'alice', at: NEVER, json: message({ seq: 2 }) }),
      writeHoldRevision(ROOM, 99, 9_999, { change: 'edit', by: 'alice', at: NEVER, json: message({ seq: 99 }) }),
    ],
    [
      `keptVersions [${ROOM}, 1, 1] is of another message by its JSON`,
      `keptVersions [${ROOM}, 99, 9999] is of a message beyond the head 3`,
      `keptVersions [${ROOM}, 99, 9999] is of a change beyond the rev 7`,
    ],
  ],
  'invitations that lead nowhere': [
    [
      ...writeInvitation({ conversation: ROOM, user: 'bob', by: 'alice', ...ASKED }),
      ...writeInvitation({ conversation: PAIR, user: 'carol', by: 'alice', ...ASKED }),
      removeKey('invited', key('carol', PAIR, 'alice')),
      { table: 'invited', key: key('dave', ROOM, 'alice'), value: Buffer.of(1) },
      broken('roomInvitations', key(ROOM, 'eve', 'alice')),
      { table: 'invited', key: key('eve', ROOM, 'alice'), value: Buffer.of(1) },
    ],
    [
      `roomInvitations [${ROOM}, bob, alice] is of a person who takes part`,
      `roomInvitations [${ROOM}, eve, alice] cannot be read (An invitation has version 7; 1 is known)`,
      `roomInvitations [${PAIR}, carol, alice] is to a conversation that nobody is added to`,
      `invited [carol, ${PAIR}, alice] is missing`,
      `invited [dave, ${ROOM}, alice] is of no invitation`,
    ],
  ],
  'links that lead nowhere': [
    [
      writeRoomLink({ conversation: ROOM, id: 'rml_1', ...LINK, used: 3 }),
      writeRoomLink({ conversation: PAIR, id: 'rml_2', ...LINK }),
      broken('roomLinks', key(ROOM, 'rml_3')),
    ],
    [
      `roomLinks [${ROOM}, rml_1] let in 3 people, and may 2`,
      `roomLinks [${ROOM}, rml_3] cannot be read (A room link has version 7; 1 is known)`,
      `roomLinks [${PAIR}, rml_2] is into a conversation that nobody is added to`,
    ],
  ],
  'records of no conversation': [
    [writeSenders(GONE, 1, []), writeSenders(GONE, 2, [])],
    [`senders [${GONE}] holds records of a conversation that is not there`],
  ],
  'what a purge should have taken': [
    [
      writeMessage(PAIR, 1, '{}', 0),
      writeSenders(PAIR, 0, []),
      writeChange(PAIR, 1, { type: 'membership', seq: undefined, ts: 1, data: '{}', head: 0 }),
    ],
    [
      `messages [${PAIR}, 1] was deleted with its conversation and is still there`,
      `senders [${PAIR}, 0] was deleted with its conversation and is still there`,
      `changes [${PAIR}, 1] was deleted with its conversation and is still there`,
    ],
  ],
  'a purge of what was never deleted': [
    [writePurge(ROOM, 'emptied')],
    [`meta [purge, ${ROOM}] marks a purge of what was never deleted`],
  ],
  'a key of nobody': [
    [{ table: 'meta', key: key('other'), value: Buffer.of(1) }],
    ['meta [other] is not a key that this server writes'],
  ],
  'a record of another version': [
    [broken('members', key(ROOM, 'bob'))],
    [`members [${ROOM}, bob] cannot be read (A member has version 7; 1 is known)`],
  ],
  'a conversation of another version': [
    [broken('conversations', key(ROOM))],
    [`conversations [${ROOM}] cannot be read (A conversation has version 7; 1 is known)`],
  ],
};
