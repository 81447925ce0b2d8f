/** Checks invitations to rooms: each is readable, found both ways, and to a room that is there by one who is not in it yet. */
import { invitationAt, invitedNamed } from '../conversations/room-invitations.ts';
import type { Findings } from '../engine/findings.ts';
import { key, under } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { isPurging, type Subject } from './check-subject.ts';

export function checkInvitations(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const { key: itemKey, value } of tables.roomInvitations.getRange(under(record.id))) {
    const [, user = '', by = ''] = itemKey.toString('latin1').split('\0');
    const parts = [record.id, user, by];
    const wrong = (predicate: string) => findings.add('roomInvitations', parts, predicate);
    findings.attempt('roomInvitations', parts, () => invitationAt(itemKey, value));
    if (record.kind !== 'room') wrong('is to a conversation that nobody is added to');
    if (record.deleted && !isPurging(subject)) wrong('is to a deleted conversation');
    if (!record.deleted && tables.members.get(key(record.id, user)) !== undefined) {
      wrong('is of a person who takes part');
    }
    if (tables.invited.get(key(user, record.id, by)) === undefined) {
      findings.add('invited', [user, record.id, by], 'is missing');
    }
  }
}

/** Finds rows by person of one lane that no row by room leads to. */
export function checkInvited(tables: LaneEnvironment['tables'], findings: Findings): void {
  for (const itemKey of tables.invited.getKeys()) {
    const { by, conversation, user } = invitedNamed(itemKey);
    if (tables.roomInvitations.get(key(conversation, user, by)) === undefined) {
      findings.add('invited', [user, conversation, by], 'is of no invitation');
    }
  }
}
