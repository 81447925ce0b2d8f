/** Checks a conversation's change log: whole from its trimmed edge to the conversation's rev. */
import { EVENT_TYPES } from '#src/protocol/sockets/events.ts';
import { CHANGES_REPLY_MAX } from '#src/protocol/limits.ts';
import { isPurging, type Subject } from './check-subject.ts';
import { numberOf, under } from '../engine/keys.ts';
import { CHANGES_TRIM_BLOCK, changeRecord, type ChangeRecord, type ConversationRecord } from '../engine/records.ts';

/** The last rev whose change is no longer kept: what went with a deletion, or was too old for any answer. */
function changesTrimmedTo({ rev, floorRev }: ConversationRecord): number {
  const trimmed = rev - (rev % CHANGES_TRIM_BLOCK) - CHANGES_REPLY_MAX;
  return Math.max(trimmed, floorRev);
}

export function checkChanges(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id, rev: last } = record;
  const edge = changesTrimmedTo(record);
  let before: { rev: number; head: number } | undefined;
  for (const entry of tables.changes.getRange(under(id))) {
    const rev = numberOf(entry.key);
    if (rev <= record.floorRev) {
      if (!isPurging(subject))
        findings.add('changes', [id, rev], 'was deleted with its conversation and is still there');
      continue;
    }
    if (rev <= edge) {
      findings.add('changes', [id, rev], `is older than the log goes back, which is to ${edge + 1}`);
      continue;
    }
    const change = checkChange(subject, rev, entry.value);
    if (rev > last) findings.add('changes', [id, rev], `lies beyond the conversation's rev ${last}`);
    else if (change !== undefined) {
      checkGap(subject, before, { rev, head: change.head });
      before = { rev, head: change.head };
    }
  }
  // The conversation's record stands behind its last rev as a change would that is still to come.
  checkGap(subject, before, { rev: last + 1, head: record.headSeq });
}

/** Between two changes every rev is that of a new message: their heads are as far apart. */
function checkGap(
  { record, findings }: Subject,
  before: { readonly rev: number; readonly head: number } | undefined,
  after: { readonly rev: number; readonly head: number },
): void {
  if (before === undefined) return;
  const revs = after.rev - before.rev - 1;
  const messages = after.head - before.head;
  if (revs === messages) return;
  findings.add('changes', [record.id, before.rev], `is followed by ${revs} revs, but ${messages} new messages`);
}

function checkChange(subject: Subject, rev: number, stored: Buffer): ChangeRecord | undefined {
  const { record, findings } = subject;
  const parts = [record.id, rev];
  const change = findings.attempt('changes', parts, () => changeRecord.decode(stored));
  if (change === undefined) return undefined;
  const { type, seq, data } = change;
  if (!(EVENT_TYPES as readonly string[]).includes(type))
    findings.add('changes', parts, 'is of a type that does not exist');
  if (type === 'message.new') findings.add('changes', parts, 'is of a new message, which has no change of its own');
  // What was done to a message that is gone is told as its purge, once that got to it.
  if (seq !== undefined && seq <= record.floorSeq && !isPurging(subject)) {
    findings.add('changes', parts, `tells of message ${seq}, which was purged`);
  }
  if (seq !== undefined && seq > record.headSeq) {
    findings.add('changes', parts, `tells of message ${seq}, which is not there`);
  }
  if (data !== undefined) findings.attempt('changes', parts, () => JSON.parse(data));
  else if (seq === undefined && type !== 'conversation.updated') findings.add('changes', parts, 'tells of nothing');
  return change;
}
