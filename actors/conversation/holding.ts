/** Legal holds: what is edited or deleted meanwhile stays on the disk for owners to export, until the hold is over. */
import { formatInstant } from '#src/base/time.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { attachmentOf, removeReference } from '#storage/conversations/attachment-references.ts';
import { removeKey, writeConversation } from '#storage/conversations/conversation-writes.ts';
import { keptAt, holdRevision, writeHoldRevision, type HoldRevision } from '#storage/conversations/hold-revisions.ts';
import { under } from '#storage/engine/keys.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { isOnHold } from '#storage/conversations/retention.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';

/** Versions per block of the purge: each may be as large as a message, and names an attachment at most. */
const RELEASED_AT_ONCE = 100;

/** Holds everything here, or ends that: on the server's word. What a deletion left in place is held with the rest. */
export function hold(
  state: ConversationState,
  { isHeld }: Extract<ConversationMessage, { kind: 'hold' }>,
): readonly Effect[] {
  const { record } = state;
  if (record === undefined || (record.deleted && !record.isHeld && !state.isEmptying)) {
    return refuse('conversation_forbidden');
  }
  record.isHeld = isHeld;
  // No change that participants are told of: who is investigated need not know.
  return [
    { kind: 'append', writes: [writeConversation(record)] },
    { kind: 'answer', value: { status: 204, json: '' } },
    ...(isOnHold(record) ? [] : [{ kind: 'wake', after: 0, message: { kind: 'purge' } } as const]),
  ];
}

/** Keeps a message as it was before the change that the record has the rev of; nothing where nothing is held. */
export function keepVersion(
  state: ConversationState,
  record: ConversationRecord,
  { seq, ...version }: Pick<HoldRevision, 'change' | 'by' | 'json'> & { readonly seq: number },
  now: number,
): LaneWrite[] {
  if (!isOnHold(record)) return [];
  return [writeHoldRevision(state.id, seq, record.rev, { ...version, at: formatInstant(now) })];
}

/** A block of the versions that a hold kept, off the disk, with the attachments of what was deleted meanwhile. */
export function releaseVersions({ id, view }: ConversationState): LaneWrite[] {
  return view.keys('keptVersions', under(id), RELEASED_AT_ONCE).flatMap((itemKey) => {
    const value = view.get('keptVersions', itemKey);
    const kept = value === undefined ? undefined : holdRevision(value);
    const attachment = kept?.change === 'delete' ? attachmentOf((JSON.parse(kept.json) as Message).body) : undefined;
    return [
      removeKey('keptVersions', itemKey),
      ...(attachment === undefined ? [] : removeReference(id, keptAt(itemKey).seq, attachment)),
    ];
  });
}
