/** What ties a message to others when it is posted: mentions, the thread, whose words it has, the call it is about. */
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import { writeOutcome } from '#storage/conversations/outcome-records.ts';
import type { MemberRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import { attemptOf, saysSame } from './call-outcomes.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { mentionWrites, refuseMentions } from './mentioning.ts';
import { replyWrites, rootOf } from './threading.ts';

type Post = Extract<ConversationMessage, { kind: 'post' }>;

/** Fields of its record, and what its commit has to write of them. */
interface Linked {
  readonly fields: Pick<Message, 'reply_to' | 'root_seq' | 'mentions' | 'forward'>;
  /** The call attempt that it is the outcome of. */
  readonly call?: string | undefined;
}

/** A message that stands alone, as most do. */
export const NOTHING_LINKED: Linked = { fields: {} };

/** Whether a post is a text and nothing else: then there is nothing to look up for it. */
export function isPlain({ form, origin }: Post): boolean {
  const isText = form.kind === 'text' && form.mentions === undefined;
  return isText && form.reply_to === undefined && origin === undefined;
}

/**
 * What a post that does not stand alone is tied to; or why it may not be, or the seq of the same outcome of the same
 * call, which the person has posted already.
 */
export function link(
  state: ConversationState,
  member: MemberRecord,
  message: Post,
): Linked | { readonly refused: readonly Effect[] } | { readonly posted: number } {
  const { form, origin } = message;
  const about = attemptOf(state, message);
  if (about?.posted !== undefined) {
    if (saysSame(state, about.posted, form)) return { posted: about.posted };
    return { refused: refuse('call_outcome_posted', 'body.outcome') };
  }
  const mentions = form.kind === 'text' ? form.mentions : undefined;
  const refused = mentions === undefined ? undefined : refuseMentions(state, member, mentions);
  if (refused !== undefined) return { refused };
  const { reply_to } = form;
  const root = reply_to === undefined ? undefined : rootOf(state, reply_to);
  if (typeof root === 'string') return { refused: refuse(root, 'reply_to') };
  const fields = {
    ...(reply_to === undefined || root === undefined ? {} : { reply_to, root_seq: root }),
    ...(mentions === undefined ? {} : { mentions }),
    ...(origin === undefined ? {} : { forward: origin }),
  };
  return { fields, call: about?.call };
}

/** The writes of the commit that posts the message. */
export function linkWrites(
  state: ConversationState,
  seq: number,
  user: string,
  { fields, call }: Linked,
  now: number,
): LaneWrite[] {
  return [
    ...mentionWrites(state, { seq, sender: user, after: fields.mentions, now }),
    ...(fields.root_seq === undefined ? [] : replyWrites(state, fields.root_seq, seq)),
    ...(call === undefined ? [] : [writeOutcome(state.id, call, user, seq)]),
  ];
}
