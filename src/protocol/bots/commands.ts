/**
 * Slash commands: what a bot offers in its conversations, a person's use of one, and the bot's answer to that person
 * alone. What people post is never searched for commands: a client that offers them calls the command's own form.
 */
import { z } from 'zod';
import { TEXT_LENGTH_MAX } from '../limits.ts';
import { conversationId, username } from '../names.ts';

/** Commands of one bot: more than a menu shows. [field_invalid] */
export const COMMANDS_PER_BOT_MAX = 32;

/** Arguments of a command, in UTF-16 units: as long as a text. [field_invalid] */
export const COMMAND_ARGS_LENGTH_MAX = TEXT_LENGTH_MAX;

/** How long a bot may answer the caller alone, and how long a command waits for a receiver that is away. */
export const RESPONSE_TOKEN_MILLIS = 15 * 60_000;

/** Answers to one use of a command within that time. [rate_limited] */
export const RESPONSES_PER_INVOCATION_MAX = 5;

const commandName = z.string().regex(/^[a-z0-9_-]{1,32}$/);
const line = z.string().regex(/^\P{Cc}+$/u);

const command = z.strictObject({ name: commandName, description: line.max(100), usage: line.max(100).optional() });
export type BotCommand = z.infer<typeof command>;

/** PUT /v1/bots/self/commands. */
export const botCommands = z
  .strictObject({
    commands: z
      .array(command)
      .max(COMMANDS_PER_BOT_MAX)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length),
  })
  .meta({ id: 'BotCommands' });

/** GET /v1/conversations/{id}/commands. */
export const commandsReply = z
  .strictObject({ items: z.array(command.extend({ bot: username })), next: z.null() })
  .meta({ id: 'Commands' });

/** GET /admin/api/bots/{id}/commands. */
export const botCommandsReply = z
  .strictObject({ items: z.array(command), next: z.null() })
  .meta({ id: 'OfferedCommands' });

/** POST /v1/conversations/{id}/commands. `bot` says whose, where two offer the same. */
export const invokeCommand = z
  .strictObject({
    command: commandName,
    args: z.string().max(COMMAND_ARGS_LENGTH_MAX).default(''),
    bot: username.optional(),
  })
  .meta({ id: 'InvokeCommand' });

export const invocation = z.strictObject({ invocation_id: z.string() }).meta({ id: 'Invocation' });

/** What a bot is told of a use of its command: the data of the event `command`. `user` is the session's. */
export const commandEvent = z.strictObject({
  invocation_id: z.string(),
  conversation_id: conversationId,
  command: commandName,
  args: z.string(),
  user: username,
  response_token: z.string(),
  expires_at: z.string(),
});

/** POST /v1/bots/self/responses: to the caller alone, on the devices that are connected now. Not stored. */
export const respond = z
  .strictObject({ response_token: z.string().max(500), text: z.string().min(1).max(TEXT_LENGTH_MAX) })
  .meta({ id: 'Respond' });

/** The data of the event `command.response`. */
export const responseEvent = z.strictObject({
  invocation_id: z.string(),
  conversation_id: conversationId,
  bot: username,
  text: z.string(),
});
