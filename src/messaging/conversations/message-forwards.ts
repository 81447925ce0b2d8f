/** Forwards: the message that a form passes on, as the caller may read it, with whose it is by the server's word. */
import { Refusal } from '#src/protocol/errors.ts';
import type { ForwardMessage, ForwardOrigin, Message, PostMessage } from '#src/protocol/conversations/messages.ts';
import { readMessage } from '#storage/conversations/conversation-reader.ts';
import { readable, type ClientRequest } from '../http/caller.ts';

/**
 * The form of a forward with the body of what it passes on. A forward of a forward keeps the first origin. Mentions stay
 * behind: they called people of the other conversation.
 * @throws Refusal `forward_forbidden`: one answer for what is not there, deleted, not the caller's to read, said in a
 * secret chat, and for the outcome of a call.
 */
export function readForwarded(
  request: ClientRequest,
  posted: ForwardMessage,
): { form: PostMessage; origin: ForwardOrigin } {
  const { forward, ...carried } = posted;
  const source = readSource(request, forward);
  if (source?.body === undefined || source.kind === 'call' || source.kind === 'system') {
    throw new Refusal('forward_forbidden', { field: 'forward' });
  }
  const { kind, body, sender, created_at } = source;
  return { form: { ...carried, kind, body } as PostMessage, origin: source.forward ?? { sender, created_at } };
}

function readSource(
  request: ClientRequest,
  { conversation_id: id, seq }: ForwardMessage['forward'],
): Message | undefined {
  if (request.reach?.has(id) === false) return undefined;
  try {
    const { record, tables } = readable({ ...request, params: { id } });
    const json = record.kind === 'secret' ? undefined : readMessage(tables, record, seq);
    return json === undefined ? undefined : (JSON.parse(json) as Message);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'conversation_forbidden') return undefined;
    throw error;
  }
}
