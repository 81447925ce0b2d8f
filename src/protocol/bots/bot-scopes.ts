/** The scopes of bots: what a bot’s token may be given to do. */
import { z } from 'zod';

/** What each scope opens, for the console and the documents. */
export const BOT_SCOPES = {
  'commands:write': 'Slash commands: offering them, being told of their use, answering the caller alone.',
  'conversations:read': 'Conversations as such: their title, participants and changes of these.',
  'conversations:write': "Renaming, participants, deleting: as far as the bot's role in a conversation lets it.",
  'events:subscribe': 'Having events sent to a URL, as far as the other scopes let the bot hear them.',
  'messages:read': 'Messages with reactions, pins and receipts, in pages, in changes and as events.',
  'messages:write': "Posting, editing one's own, deleting.",
  'pins:write': 'Pinning and unpinning messages.',
  'presence:read': 'Who types, and the presence of people in the listed conversations, as events.',
  'presence:write': 'The frames typing and presence.',
  'reactions:write': 'Reacting to messages; the answer is the message, so messages:read is needed as well.',
  'receipts:write': "Moving the bot's own delivered and read watermarks.",
  'signals:read': 'Signalling stanzas to the listed conversations, as events.',
  'signals:write': 'Signalling stanzas to the listed conversations.',
} as const satisfies Record<string, string>;
export type BotScope = keyof typeof BOT_SCOPES;
export const BOT_SCOPE_NAMES = Object.keys(BOT_SCOPES) as [BotScope, ...BotScope[]];

export const botScope = z.enum(BOT_SCOPE_NAMES);
