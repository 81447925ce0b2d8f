/** Checks one lane: every conversation in it, and that nothing in it belongs to no conversation. */
import { checkConversation } from './conversation-check.ts';
import { readRecord } from '../conversations/conversation-reader.ts';
import type { Findings } from '../engine/findings.ts';
import { key, lastPart, numberAt, under } from '../engine/keys.ts';
import { stampOf, type LaneEnvironment, type LaneTable } from '../engine/lane.ts';
import { laneOf } from '../engine/lanes.ts';
import { checkInvited } from './invitation-check.ts';
import { isListed } from '../conversations/room-records.ts';
import { checkMentioned } from './message-link-check.ts';
import { checkPushes } from './push-check.ts';
import { checkLaneUse } from './usage-check.ts';
import { conversationRecord, membershipRecord, personalRecord } from '../engine/records.ts';

type Tables = LaneEnvironment['tables'];

/** Tables whose keys start with the conversation. `memberships` and `personal` start with the person. */
const BY_CONVERSATION = [
  'messages',
  'idempotency',
  'watermarks',
  'members',
  'roster',
  'changes',
  'reactions',
  'reactionCounts',
  'pins',
  'senders',
  'deleted',
  'attachments',
  'signatures',
  'segments',
  'mentions',
  'threads',
  'replies',
  'outcomes',
  'keptVersions',
  'roomInvitations',
  'roomLinks',
] as const satisfies readonly LaneTable[];

/** Looks for problems in one of a folder's `lanes`; answers how much there is. */
export function checkLane(
  tables: Tables,
  lane: number,
  lanes: number,
  findings: Findings,
): { conversations: number; messages: number } {
  const stamp = findings.attempt('meta', ['stamp'], () => stampOf(tables)) ?? 0;
  let conversations = 0;
  let messages = 0;
  for (const entry of tables.conversations.getRange()) {
    conversations += 1;
    const id = entry.key.toString();
    const record = findings.attempt('conversations', [id], () => conversationRecord.decode(entry.value));
    if (record === undefined) continue;
    if (record.id !== id) {
      findings.add('conversations', [id], 'is of another conversation');
      continue;
    }
    if (laneOf(id, lanes) !== lane) findings.add('conversations', [id], `belongs in lane ${laneOf(id, lanes)}`);
    messages += checkConversation({ tables, record, stamp, findings });
  }
  for (const table of BY_CONVERSATION) checkOwners(tables, table, findings);
  checkMentioned(tables, findings);
  checkMemberships(tables, stamp, findings);
  checkPersonal(tables, findings);
  checkPushes(tables, findings);
  checkInvited(tables, findings);
  checkMeta(tables, findings);
  // Where something is wrong already, counts that differ say nothing more.
  if (findings.problems.length === 0) checkLaneUse(tables, findings);
  return { conversations, messages };
}

/** Finds records of conversations that are not here, one look-up for each conversation that has records. */
function checkOwners(tables: Tables, table: LaneTable, findings: Findings): void {
  let start: Buffer = Buffer.of(0);
  for (;;) {
    const [first] = tables[table].getKeys({ start, limit: 1 });
    if (first === undefined) return;
    const end = first.indexOf(0);
    const id = first.toString('latin1', 0, end < 0 ? first.length : end);
    if (tables.conversations.get(key(id)) === undefined) {
      findings.add(table, [id], 'holds records of a conversation that is not there');
    }
    start = under(id).end;
  }
}

function checkMemberships(tables: Tables, stamp: number, findings: Findings): void {
  for (const entry of tables.memberships.getRange()) {
    const [user = '', id = ''] = entry.key.toString().split('\0');
    const membership = findings.attempt('memberships', [user, id], () => membershipRecord.decode(entry.value));
    if (membership === undefined) continue;
    if (membership.stamp > stamp) {
      findings.add('memberships', [user, id], `has stamp ${membership.stamp}, beyond the lane's ${stamp}`);
    }
    if (tables.conversations.get(key(id)) === undefined) {
      findings.add('memberships', [user, id], 'is of a conversation that is not there');
      continue;
    }
    const isMember = tables.members.get(key(id, user)) !== undefined;
    if (isMember && membership.gone) findings.add('memberships', [user, id], 'has ended, but members has the person');
    if (!isMember && !membership.gone) findings.add('memberships', [user, id], 'goes on, but members lacks the person');
  }
}

function checkPersonal(tables: Tables, findings: Findings): void {
  for (const entry of tables.personal.getRange()) {
    const [user = '', id = ''] = entry.key.toString().split('\0');
    findings.attempt('personal', [user, id], () => personalRecord.decode(entry.value));
    if (tables.members.get(key(id, user)) === undefined) {
      findings.add('personal', [user, id], 'is of a person who does not take part');
    }
  }
}

/** The lane's change number, and the marks of conversations that are being purged. */
function checkMeta(tables: Tables, findings: Findings): void {
  for (const entry of tables.meta.getRange()) {
    const parts = entry.key.toString().split('\0');
    if (parts.length === 1 && (parts[0] === 'stamp' || parts[0] === 'push')) {
      findings.attempt('meta', parts, () => numberAt(entry.value));
    } else if (parts.length === 1 && parts[0] === 'search') {
      // Which version the index is whole by; what that means is checked with each conversation.
      continue;
    } else if (parts.length === 2 && parts[0] === 'purge') {
      const id = lastPart(entry.key);
      const record = findings.attempt('conversations', [id], () => readRecord(tables, id));
      if (record === undefined || record.floorRev === 0) {
        findings.add('meta', parts, 'marks a purge of what was never deleted');
      }
    } else if (parts.length === 2 && (parts[0] === 'posted' || parts[0] === 'rooms')) {
      // What they say is held to a full count by checkLaneUse.
      findings.attempt('meta', parts, () => numberAt(entry.value));
    } else if (parts.length === 2 && parts[0] === 'retention') {
      const id = lastPart(entry.key);
      if (tables.conversations.get(key(id)) === undefined) findings.add('meta', parts, 'is of no conversation');
    } else if (parts.length === 3 && parts[0] === 'avatar') {
      const [, id = ''] = parts;
      const record = findings.attempt('conversations', [id], () => readRecord(tables, id));
      if (record?.room?.avatar === undefined) findings.add('meta', parts, 'is a picture that its room does not have');
    } else if (parts.length === 2 && parts[0] === 'public') {
      const id = lastPart(entry.key);
      const record = findings.attempt('conversations', [id], () => readRecord(tables, id));
      if (record === undefined || !isListed(record)) findings.add('meta', parts, 'lists a room that is not public');
      else if (record.title !== entry.value.toString('utf8'))
        findings.add('meta', parts, 'has another title than its room');
    } else if (parts.length !== 2 || parts[0] !== 'release') {
      findings.add('meta', parts, 'is not a key that this server writes');
    }
  }
}
