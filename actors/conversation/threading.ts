/** Threads: what a message may answer, and what its commit writes of the thread. */
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { writeMessage } from '#storage/conversations/conversation-writes.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import { MESSAGE_FLAGS } from '#storage/engine/records.ts';
import { writeReply } from '#storage/conversations/thread-records.ts';
import type { ConversationState } from './conversation.state.ts';

/**
 * The root of the thread that a reply to this message belongs to: the message itself, or the one that it is in the
 * thread of. A deleted message is answered no more, but the thread that began with it goes on.
 */
export function rootOf(state: ConversationState, replyTo: number): number | ErrorCode {
  const found = state.message(replyTo);
  if (found === undefined) return 'message_not_found';
  const isRoot = (found.flags & MESSAGE_FLAGS.replies) !== 0;
  if ((found.flags & MESSAGE_FLAGS.deleted) !== 0 && !isRoot) return 'message_deleted';
  if (isRoot) return replyTo;
  const { root_seq = replyTo } = JSON.parse(found.json) as Message;
  // A thread whose beginning is gone goes on under what is left of it.
  return state.message(root_seq) === undefined ? replyTo : root_seq;
}

/** Puts a message into a thread; the first one marks the root as having replies. */
export function replyWrites(state: ConversationState, root: number, seq: number): LaneWrite[] {
  const thread = state.thread(root);
  const writes = writeReply(state.id, root, seq, { count: (thread?.count ?? 0) + 1, last: seq });
  const found = thread === undefined ? state.message(root) : undefined;
  if (found !== undefined) writes.push(writeMessage(state.id, root, found.json, found.flags | MESSAGE_FLAGS.replies));
  return writes;
}
