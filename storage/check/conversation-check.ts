/**
 * Checks one conversation: that its numbers have no gaps and its indexes agree with its messages.
 *
 * What is below the floor (messages up to `floorSeq`, changes up to `floorRev`) may still be there while its purge is
 * marked as under way, and must be gone when it is not. A deleted room keeps its members until the purge gets to them.
 */
import { AVATAR_SIZES } from '#src/protocol/account/avatars.ts';
import { CONVERSATION_KINDS, ROLES } from '#src/protocol/conversations/conversations.ts';
import { REACTION_USERS_MAX } from '#src/protocol/limits.ts';
import { checkChanges } from './change-check.ts';
import { isBelowFloor, isPurging, isRemembered, missing, type Subject } from './check-subject.ts';
import { key, lastPart, numberAt, numbered, numberedThen, numberOf, under, underNumber } from '../engine/keys.ts';
import { checkInvitations } from './invitation-check.ts';
import { checkHoldRevisions } from './hold-revision-check.ts';
import { blockEndingAt, indexedUpTo, POSTED_BLOCK } from '../conversations/posted-blocks.ts';
import { roomAvatarKey } from '../conversations/room-avatars.ts';
import { isListed, listingKey } from '../conversations/room-records.ts';
import { checkRoomLinks } from './room-link-check.ts';
import { checkSearch } from './search-check.ts';
import { checkLinks, checkMessageLinks } from './message-link-check.ts';
import {
  changeRecord,
  memberRecord,
  membershipRecord,
  messageRecord,
  MESSAGE_FLAGS,
  pinRecord,
  reactionCounts,
  senderCounts,
} from '../engine/records.ts';

/** What other records say about a message, as the message itself says it. */
interface Facts {
  readonly sender: unknown;
  readonly clientMsgId: unknown;
  readonly isDeleted: boolean;
  readonly hasReactions: boolean;
}

/** Looks for problems; answers how many messages there are. */
export function checkConversation(subject: Subject): number {
  checkRecord(subject);
  const messages = checkMessages(subject);
  checkSenders(subject);
  checkIdempotency(subject);
  checkDeleted(subject);
  checkReactionCounts(subject);
  checkReactions(subject);
  checkPins(subject);
  checkLinks(subject);
  checkMembers(subject);
  checkRoster(subject);
  checkWatermarks(subject);
  checkChanges(subject);
  checkSearch(subject);
  checkHoldRevisions(subject);
  checkInvitations(subject);
  checkRoomLinks(subject);
  return messages;
}

function checkRecord({ tables, record, stamp, findings }: Subject): void {
  const wrong = (predicate: string) => findings.add('conversations', [record.id], predicate);
  if (!CONVERSATION_KINDS.includes(record.kind)) wrong('is of a kind that does not exist');
  if (record.stamp > stamp) wrong(`has stamp ${record.stamp}, beyond the lane's ${stamp}`);
  if (record.floorSeq > record.headSeq)
    wrong(`was emptied up to ${record.floorSeq}, beyond its head ${record.headSeq}`);
  if (record.emptiedSeq > record.floorSeq) wrong(`was emptied up to ${record.emptiedSeq}, beyond its floor`);
  if ((record.retention !== undefined) !== (tables.meta.get(key('retention', record.id)) !== undefined)) {
    wrong('has a retention or the mark of one, but not both');
  }
  if (isListed(record) && tables.meta.get(listingKey(record.id)) === undefined) wrong('is public, but not listed');
  const isBare = AVATAR_SIZES.some((size) => tables.meta.get(roomAvatarKey(record.id, size)) === undefined);
  if (record.room?.avatar !== undefined && isBare) wrong('has the number of a picture, but not the picture');
  if (record.floorRev > record.rev) wrong(`was emptied up to rev ${record.floorRev}, beyond its rev ${record.rev}`);
  if (record.deleted && (record.floorSeq !== record.headSeq || record.floorRev !== record.rev)) {
    wrong('is deleted, but not all of it was emptied');
  }
}

function checkMessages(subject: Subject): number {
  const { tables, record, findings } = subject;
  const { id, headSeq } = record;
  let expected = record.floorSeq + 1;
  let count = 0;
  let senders: string[] = [];
  for (const entry of tables.messages.getRange(under(id))) {
    const seq = numberOf(entry.key);
    if (isBelowFloor(subject, 'messages', [id, seq], seq)) continue;
    count += 1;
    if (seq > headSeq) findings.add('messages', [id, seq], `lies beyond the head ${headSeq}`);
    else missing(findings, 'messages', id, expected, seq - 1);
    expected = seq + 1;
    const sender = checkMessage(subject, seq, entry.value);
    if (sender !== undefined) senders.push(sender);
    const block = blockEndingAt(seq);
    if (block === undefined) continue;
    // Of a block that the floor cuts, some of what was counted is gone.
    if (seq - POSTED_BLOCK >= record.floorSeq) checkBlock(subject, block, senders);
    senders = [];
  }
  missing(findings, 'messages', id, expected, headSeq);
  return count;
}

/** Answers the sender, if that can be read. */
function checkMessage(subject: Subject, seq: number, stored: Buffer): string | undefined {
  const { tables, record, findings } = subject;
  const { id } = record;
  const wrong = (predicate: string) => findings.add('messages', [id, seq], predicate);
  const facts = findings.attempt('messages', [id, seq], () => {
    const said = JSON.parse(messageRecord.json(stored)) as Record<string, unknown>;
    if (said['conversation_id'] !== id) wrong('names another conversation in its JSON');
    if (said['seq'] !== seq) wrong('names another seq in its JSON');
    const isMarked = (messageRecord.flags(stored) & MESSAGE_FLAGS.deleted) !== 0;
    if (isMarked !== (said['deleted_at'] !== undefined))
      wrong('is deleted by its flag or by its JSON, but not by both');
    if (isMarked === (said['body'] !== undefined)) wrong(isMarked ? 'is deleted and still has a body' : 'has no body');
    checkMessageLinks(subject, seq, said);
    return factsOf(said, messageRecord.flags(stored));
  });
  if (facts === undefined) return undefined;
  const { sender, clientMsgId, isDeleted } = facts;
  if (typeof sender !== 'string') {
    wrong('has no sender in its JSON');
    return undefined;
  }
  const deletedOf = tables.deleted.get(numbered(seq, id))?.toString();
  if (isDeleted && deletedOf === undefined) findings.add('deleted', [id, seq], 'is missing');
  if (isDeleted && deletedOf !== undefined && deletedOf !== sender) {
    findings.add('deleted', [id, seq], 'names another sender than the message');
  }
  if (typeof clientMsgId === 'string' && seq <= indexedUpTo(record.headSeq)) {
    const first = tables.idempotency.get(key(id, sender, clientMsgId));
    if (first === undefined) findings.add('idempotency', [id, sender, clientMsgId], 'is missing');
  }
  return sender;
}

/** Holds a block's counts against who posted its messages. */
function checkBlock({ tables, record, findings }: Subject, block: number, senders: readonly string[]): void {
  const stored = tables.senders.get(numbered(block, record.id));
  if (stored === undefined) return findings.add('senders', [record.id, block], 'is missing');
  const counts = findings.attempt('senders', [record.id, block], () => senderCounts.decode(stored));
  if (counts === undefined) return;
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const agrees = counts.every(([sender, count]) => senders.filter((one) => one === sender).length === count);
  if (!agrees || total !== senders.length) {
    findings.add('senders', [record.id, block], 'does not count who posted the messages of its block');
  }
}

function factsOf(said: Record<string, unknown>, flags: number): Facts {
  return {
    sender: said['sender'],
    clientMsgId: said['client_msg_id'],
    isDeleted: (flags & MESSAGE_FLAGS.deleted) !== 0,
    hasReactions: (flags & MESSAGE_FLAGS.reactions) !== 0,
  };
}

/** What a message says of itself; undefined when it is not there or cannot be read, which `checkMessages` tells. */
function readFacts({ tables, record }: Subject, seq: number): Facts | undefined {
  const stored = tables.messages.get(numbered(seq, record.id));
  if (stored === undefined) return undefined;
  try {
    return factsOf(JSON.parse(messageRecord.json(stored)) as Record<string, unknown>, messageRecord.flags(stored));
  } catch {
    return undefined;
  }
}

/** Finds counts of blocks that are not whole, or whose messages went with a deletion. */
function checkSenders(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const itemKey of tables.senders.getKeys(under(record.id))) {
    const block = numberOf(itemKey);
    const parts = [record.id, block];
    if (isBelowFloor(subject, 'senders', parts, block * POSTED_BLOCK)) continue;
    if (block * POSTED_BLOCK > record.headSeq) findings.add('senders', parts, 'counts a block that is not whole');
  }
}

/** A NUL and the six bytes of a number end a numbered key. */
const SEQ_TAIL_BYTES = 7;

function checkIdempotency(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  for (const entry of tables.idempotency.getRange(under(id))) {
    const [, user = '', clientMsgId = ''] = entry.key.toString().split('\0');
    const parts = [id, user, clientMsgId];
    const seq = findings.attempt('idempotency', parts, () => numberAt(entry.value));
    if (seq === undefined || isRemembered(subject, 'idempotency', parts, seq)) continue;
    const facts = readFacts(subject, seq);
    if (facts === undefined) findings.add('idempotency', parts, `leads to message ${seq}, which is not there`);
    else if (facts.sender !== user || facts.clientMsgId !== clientMsgId) {
      findings.add(
        'idempotency',
        parts,
        `leads to message ${seq}, which was posted by somebody else or under another key`,
      );
    }
  }
}

function checkDeleted(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const itemKey of tables.deleted.getKeys(under(record.id))) {
    const seq = numberOf(itemKey);
    if (isBelowFloor(subject, 'deleted', [record.id, seq], seq)) continue;
    if (readFacts(subject, seq)?.isDeleted !== true) {
      findings.add('deleted', [record.id, seq], 'is of a message that is not deleted');
    }
  }
}

function checkReactionCounts(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  for (const entry of tables.reactionCounts.getRange(under(id))) {
    const seq = numberOf(entry.key);
    if (isBelowFloor(subject, 'reactionCounts', [id, seq], seq)) continue;
    const counts = findings.attempt('reactionCounts', [id, seq], () => reactionCounts.decode(entry.value));
    if (counts === undefined) continue;
    const facts = readFacts(subject, seq);
    if (facts === undefined || facts.isDeleted) {
      findings.add('reactionCounts', [id, seq], 'is of a message that is not there or deleted');
      continue;
    }
    if (!facts.hasReactions) findings.add('reactionCounts', [id, seq], 'is of a message whose flag says it has none');
    let total = 0;
    for (const [emoji, count, users] of counts) {
      total += count;
      const start = numberedThen(seq, id, emoji, '');
      const end = Buffer.concat([numberedThen(seq, id, emoji), Buffer.of(1)]);
      const stored = tables.reactions.getKeysCount({ start, end });
      if (stored !== count)
        findings.add('reactionCounts', [id, seq, emoji], `counts ${count}, but reactions has ${stored}`);
      if (users.length !== Math.min(count, REACTION_USERS_MAX) || new Set(users).size !== users.length) {
        findings.add('reactionCounts', [id, seq, emoji], `lists ${users.length} people for a count of ${count}`);
      }
      for (const user of users) {
        if (tables.reactions.get(numberedThen(seq, id, emoji, user)) === undefined) {
          findings.add('reactionCounts', [id, seq, emoji], `lists ${user}, who did not react`);
        }
      }
    }
    const stored = tables.reactions.getKeysCount(underNumber(seq, id));
    if (stored > total) findings.add('reactions', [id, seq], `holds ${stored - total} more than reactionCounts counts`);
  }
}

/** Finds reactions that no count stands for, one look-up for each message that has reactions. */
function checkReactions(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  const { end } = under(id);
  for (let { start } = under(id); ;) {
    const [first] = tables.reactions.getKeys({ start, end, limit: 1 });
    if (first === undefined) return;
    const seq = first.readUIntBE(id.length + 1, SEQ_TAIL_BYTES - 1);
    if (
      !isBelowFloor(subject, 'reactions', [id, seq], seq) &&
      tables.reactionCounts.get(numbered(seq, id)) === undefined
    ) {
      findings.add('reactions', [id, seq], 'holds reactions that reactionCounts lacks');
    }
    start = underNumber(seq, id).end;
  }
}

function checkPins(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  let pins = 0;
  for (const entry of tables.pins.getRange(under(id))) {
    const seq = numberOf(entry.key);
    if (isBelowFloor(subject, 'pins', [id, seq], seq)) continue;
    pins += 1;
    findings.attempt('pins', [id, seq], () => pinRecord.decode(entry.value));
    if (readFacts(subject, seq)?.isDeleted !== false)
      findings.add('pins', [id, seq], 'is of a message that is not there or deleted');
  }
  if (!record.deleted && pins !== record.pinCount) {
    findings.add('conversations', [id], `counts ${record.pinCount} pins, but pins has ${pins}`);
  }
}

function checkMembers(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  let members = 0;
  let owners = 0;
  for (const entry of tables.members.getRange(under(id))) {
    const user = lastPart(entry.key);
    members += 1;
    const member = findings.attempt('members', [id, user], () => memberRecord.decode(entry.value));
    if (member !== undefined) {
      if (!ROLES.includes(member.role)) findings.add('members', [id, user], 'has a role that does not exist');
      if (member.joinedSeq > record.headSeq)
        findings.add('members', [id, user], `joined at ${member.joinedSeq}, beyond the head`);
      if (member.role === 'owner') owners += 1;
    }
    const stored = tables.memberships.get(key(user, id));
    // An ended one is told where memberships are walked.
    if (stored === undefined) findings.add('memberships', [user, id], 'is missing');
    else findings.attempt('memberships', [user, id], () => membershipRecord.decode(stored));
  }
  if (record.deleted) {
    if (members > 0 && !isPurging(subject))
      findings.add('members', [id], 'still holds people of a deleted conversation');
    return;
  }
  if (members !== record.participantCount) {
    findings.add('conversations', [id], `counts ${record.participantCount} participants, but members has ${members}`);
  }
  if (owners !== record.ownerCount) {
    findings.add('conversations', [id], `counts ${record.ownerCount} owners, but members has ${owners}`);
  }
}

function checkRoster(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const entry of tables.roster.getRange(under(record.id))) {
    const rev = numberOf(entry.key);
    const change = findings.attempt('roster', [record.id, rev], () => changeRecord.decode(entry.value));
    if (rev > record.rev) findings.add('roster', [record.id, rev], `lies beyond the conversation's rev ${record.rev}`);
    if (change !== undefined && change.head > record.headSeq) {
      findings.add('roster', [record.id, rev], `tells of the head ${change.head}, beyond ${record.headSeq}`);
    }
    if (record.deleted && !isPurging(subject)) findings.add('roster', [record.id, rev], 'is of a deleted conversation');
  }
}

function checkWatermarks(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  for (const entry of tables.watermarks.getRange(under(id))) {
    const user = lastPart(entry.key);
    const wrong = (predicate: string) => findings.add('watermarks', [id, user], predicate);
    const mark = findings.attempt(
      'watermarks',
      [id, user],
      () => [numberAt(entry.value), numberAt(entry.value, 1)] as const,
    );
    if (tables.members.get(key(id, user)) === undefined) wrong('is of a person who does not take part');
    if (mark === undefined) continue;
    const [delivered, read] = mark;
    if (read > delivered) wrong(`has read up to ${read}, but delivered up to ${delivered} only`);
    if (delivered > record.headSeq) wrong(`lies at ${delivered}, beyond the head ${record.headSeq}`);
  }
}
