/** Where a person keeps a conversation among theirs: with the favourites, in a category of their own. */
import { unixSeconds } from '#src/base/clock.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import { writeMembership, writePersonal } from '#storage/conversations/conversation-writes.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import type { Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';

type Place = Extract<ConversationMessage, { kind: 'place' }>;

/** The person's own and nobody else's: their devices are told, and find it in the inbox since an earlier walk. */
export function place(
  state: ConversationState,
  record: ConversationRecord,
  { category, favourite, user }: Place,
  now: number,
): readonly Effect[] {
  const personal = { ...state.personal(user), favourite, category: category ?? undefined };
  const touched = writeMembership(state.id, user, false, state.view.nextStamp());
  const event = encodeEvent(
    { type: 'inbox', conv: state.id, ts: unixSeconds(now) },
    JSON.stringify(state.toWire(record)),
  );
  return [
    { kind: 'append', writes: [writePersonal(state.id, user, personal), touched] },
    { kind: 'answer', value: { status: 200, json: JSON.stringify({ favourite, category: category ?? null }) } },
    { kind: 'publishTo', users: [user], type: 'inbox', event },
  ];
}
