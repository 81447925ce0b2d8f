/** What the server read of the page behind a message's first link, put on the message. */
import type { Message } from '#src/protocol/messages.ts';
import { firstLink } from '#src/protocol/links.ts';
import { writeMessage } from '#storage/conversation-writes.ts';
import type { ConversationRecord } from '#storage/records.ts';
import type { Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import { makeChange, type ConversationState } from './conversation.state.ts';

/**
 * Puts a preview on a text that still begins its links with that one. The message changes without having been edited:
 * nobody touched its words. Nothing is done in a secret conversation, to what was deleted or purged, or where it says
 * something else by now.
 */
export function showPreview(
  state: ConversationState,
  record: ConversationRecord | undefined,
  { preview, seq }: Extract<ConversationMessage, { kind: 'preview' }>,
  now: number,
): readonly Effect[] {
  const found = record === undefined || record.kind === 'secret' ? undefined : state.message(seq);
  if (record === undefined || found === undefined) return [];
  const { body, preview: before, ...kept } = JSON.parse(found.json) as Message;
  if (kept.kind !== 'text' || typeof body !== 'string' || firstLink(body) !== preview.url) return [];
  if (JSON.stringify(before) === JSON.stringify(preview)) return [];
  // The body stays last, where readers of the other fields need not look at it.
  const json = JSON.stringify({ ...kept, preview, body } satisfies Message);
  const data = state.dress(seq, json, found.flags);
  const change = makeChange(record, state.view, now, { type: 'message.edit', seq, data, keepData: false });
  return [
    { kind: 'append', writes: [...change.writes, writeMessage(state.id, seq, json, found.flags)] },
    { kind: 'publish', topic: state.id, type: 'message.edit', event: change.event },
  ];
}
