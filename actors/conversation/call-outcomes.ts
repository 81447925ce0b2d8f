/** Outcomes of calls: a person posts one for each attempt. */
import { isDeepStrictEqual } from 'node:util';
import type { Message, PostMessage } from '#src/protocol/conversations/messages.ts';
import { numberAt } from '#storage/engine/keys.ts';
import { outcomeKey } from '#storage/conversations/outcome-records.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';

/**
 * Which attempt an outcome is taken for: the one that it is `about`, or else the first of `attempts` whose outcome the person
 * has not posted yet, by the names that they are stored under. `posted` is the message that has it already. Undefined for another message, and for an outcome
 * of which nobody knows what it is about.
 */
export function attemptOf(
  state: ConversationState,
  { about, attempts = [], form: { body }, user }: Extract<ConversationMessage, { kind: 'post' }>,
): { readonly call: string; readonly posted: number | undefined } | undefined {
  if (typeof body !== 'object' || !('outcome' in body)) return undefined;
  // Before 2026-11-23 an attempt was stored under its id, and an outcome that names it may be one of then.
  const before =
    body.call === undefined ? undefined : state.view.get('outcomes', outcomeKey(state.id, body.call, user));
  const known = (about === undefined ? attempts : [about]).map((call) => {
    const stored = state.view.get('outcomes', outcomeKey(state.id, call, user)) ?? before;
    const seq = stored === undefined ? 0 : numberAt(stored);
    // What went with a deletion was never posted to the conversation that took its place.
    return { call, posted: seq > (state.record?.emptiedSeq ?? 0) ? seq : undefined };
  });
  return known.find(({ posted }) => posted === undefined) ?? known.at(-1);
}

/** Whether the message says the same of the call as the form. */
export function saysSame(state: ConversationState, seq: number, { body }: PostMessage): boolean {
  const found = state.message(seq);
  const said = found === undefined ? undefined : (JSON.parse(found.json) as Message).body;
  const outcomeOf = (one: typeof said) => (typeof one === 'object' && 'outcome' in one ? one.outcome : undefined);
  return said !== undefined && isDeepStrictEqual(outcomeOf(said), outcomeOf(body));
}
