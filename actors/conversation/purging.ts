/** Takes what a deletion left off the disk, in blocks small enough that nobody notices. */
import { removeReference } from '#storage/attachment-references.ts';
import { removeKey, removeMember, writePurge } from '#storage/conversation-writes.ts';
import { lastPart, numberAt, numbered, numberOf, under } from '#storage/keys.ts';
import type { LaneWrite } from '#storage/lane.ts';
import { POSTED_BLOCK } from '#storage/posted-blocks.ts';
import type { Effect } from '../runtime/actor.ts';
import type { ConversationState } from './conversation.state.ts';

/** Records per block: about a millisecond of this thread, and one commit among the others. */
const PURGE_BLOCK = 500;
/** A pause between blocks leaves the lane to the living. */
const PURGE_PAUSE_MILLIS = 10;

/** The next block, and a wake-up for the one after; when nothing is left, the mark goes. */
export function purge(state: ConversationState): readonly Effect[] {
  if (state.record === undefined || state.record.floorRev === 0) return [];
  const writes = purgeBlock(state);
  if (writes.length === 0) return [{ kind: 'append', writes: [writePurge(state.id, false)] }];
  return [
    { kind: 'append', writes },
    { kind: 'wake', after: PURGE_PAUSE_MILLIS, message: { kind: 'purge' } },
  ];
}

function purgeBlock(state: ConversationState): LaneWrite[] {
  const { id, view } = state;
  const { floorSeq = 0, floorRev = 0, deleted = false, kind } = state.record ?? {};
  const { start, end } = under(id);
  const upTo = (number: number) => ({ start, end: numbered(number + 1, id) });
  for (const table of ['messages', 'deleted', 'reactionCounts', 'pins', 'reactions'] as const) {
    const keys = view.keys(table, upTo(floorSeq), PURGE_BLOCK);
    if (keys.length > 0) return keys.map((itemKey) => removeKey(table, itemKey));
  }
  const attached = view.keys('attachments', upTo(floorSeq), PURGE_BLOCK / 4);
  if (attached.length > 0) {
    return attached.flatMap((itemKey) => {
      const attachment = view.get('attachments', itemKey)?.toString() ?? '';
      return removeReference(id, numberOf(itemKey), attachment);
    });
  }
  const changes = view.keys('changes', upTo(floorRev), PURGE_BLOCK);
  if (changes.length > 0) return changes.map((itemKey) => removeKey('changes', itemKey));
  const blocks = view.keys('senders', upTo(Math.floor(floorSeq / POSTED_BLOCK)), PURGE_BLOCK);
  if (blocks.length > 0) return blocks.map((itemKey) => removeKey('senders', itemKey));
  // These are ordered by person, so what a new beginning wrote stands among what has to go.
  const posted = view.keys('idempotency', { start, end }).filter((itemKey) => {
    const seq = view.get('idempotency', itemKey);
    return seq !== undefined && numberAt(seq) <= floorSeq;
  });
  if (posted.length > 0) return posted.slice(0, PURGE_BLOCK).map((itemKey) => removeKey('idempotency', itemKey));
  if (!deleted || kind !== 'room') return [];
  return view
    .keys('members', { start, end }, PURGE_BLOCK / 4)
    .flatMap((itemKey) => removeMember(id, lastPart(itemKey), view.nextStamp()));
}
