/** Messages, conversations and events as a server writes them, with what does not matter filled in. */
import type { Step } from '#src/client/conversations/conversation-mirror.ts';
import { readEvent } from '#src/client/events.ts';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';

export const CONV = 'c_room';

export function wireMessage(seq: number, more: Partial<Message> = {}): Message {
  return {
    conversation_id: CONV,
    seq,
    kind: 'text',
    body: `text ${seq}`,
    sender: 'bob',
    created_at: '2026-11-21T08:00:00.500Z',
    ...more,
  };
}

export function wireConversation(more: Partial<Conversation> = {}): Conversation {
  return {
    id: CONV,
    kind: 'room',
    title: 'Room',
    created_at: '2026-11-21T08:00:00Z',
    created_by: 'alice',
    head_seq: 0,
    rev: 0,
    epoch: 'ep_1',
    participant_count: 2,
    participants: [
      { user: 'alice', role: 'owner' },
      { user: 'bob', role: 'member' },
    ],
    ...more,
  };
}

/** A change of the conversation in the envelope of its event. */
export function wireChange(rev: number, type: string, data: object, more: object = {}) {
  return { type, conv: CONV, ts: 1_795_248_000, data, rev, rev_count: 1, ...more };
}

/** A posted message as change `rev`. */
export function wirePost(rev: number, seq: number, more: Partial<Message> = {}) {
  return wireChange(rev, 'message.new', wireMessage(seq, more), { seq });
}

export function wireChanges(items: unknown[], more: object = {}) {
  const last = items.at(-1) as { rev: number } | undefined;
  return { complete: true, items, rev: last?.rev ?? 0, head_seq: 0, epoch: 'ep_1', watermarks: [], ...more };
}

/** A change as a mirror takes it in. */
export function stepOf(wire: { rev: number; rev_count: number }): Step {
  return { rev: wire.rev, revCount: wire.rev_count, event: readEvent(wire) };
}
