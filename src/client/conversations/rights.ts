/** What the server says the caller may do: advice for what to offer, never a permission (CAP-02). */
import type { ConversationRight } from '#src/protocol/conversations/rights.ts';
import type { AccountRight } from '#src/protocol/directory/account-rights.ts';
import { clientError, ParleyError } from '../parley-error.ts';

/**
 * `known: false` is an installation older than the call, which is not an empty set: offer what was offered before
 * the call existed, and let the server decide.
 */
export type Rights<Name extends string> = { known: false } | { known: true; granted: ReadonlySet<Name> };
export type AccountRights = Rights<AccountRight>;
export type ConversationRights = Rights<ConversationRight>;

/** Written out so that a page does not load the schemas; held to the protocol's list by the type check. */
const ACCOUNT_RIGHTS: Readonly<Record<AccountRight, true>> = {
  'conversation.create.direct': true,
  'conversation.create.secret': true,
  'conversation.create.room': true,
  'call.start': true,
  'directory.read': true,
  'message.search': true,
  'attachment.upload': true,
  'meeting.create': true,
  'emoji.create': true,
  'guest.invite': true,
};

const CONVERSATION_RIGHTS: Readonly<Record<ConversationRight, true>> = {
  'message.post': true,
  'message.edit.own': true,
  'message.delete.own': true,
  'message.delete.any': true,
  'mention.all': true,
  'reaction.add': true,
  'pin.change': true,
  'title.change': true,
  'visibility.change': true,
  'conversation.archive': true,
  'retention.change': true,
  'participant.add': true,
  'participant.remove': true,
  'role.change': true,
  'webhook.manage': true,
  'conversation.leave': true,
  'conversation.delete': true,
  'call.start': true,
};

/** The account-wide rights, from GET /v1/me/capabilities. */
export function readAccountRights(ask: () => Promise<{ rights: string[] }>): Promise<AccountRights> {
  return readRights(ask, ACCOUNT_RIGHTS);
}

/** The rights inside one conversation, from GET …/rights. */
export function readConversationRights(ask: () => Promise<{ rights: string[] }>): Promise<ConversationRights> {
  return readRights(ask, CONVERSATION_RIGHTS);
}

async function readRights<Name extends string>(
  ask: () => Promise<{ rights: string[] }>,
  known: Readonly<Record<Name, true>>,
): Promise<Rights<Name>> {
  try {
    const rights: unknown = (await ask()).rights;
    if (!Array.isArray(rights)) throw clientError('answer_unreadable', { field: 'rights' });
    // A name that this client does not know grants nothing: it could not say what it offers for it.
    return { known: true, granted: new Set(rights.filter((name): name is Name => Object.hasOwn(known, name))) };
  } catch (thrown) {
    if (thrown instanceof ParleyError && thrown.status === 404) return { known: false };
    throw thrown;
  }
}
