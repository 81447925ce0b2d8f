/** Handlers of slash commands: what bots offer, a person's use of it, and the bot's answer to that person alone. */
import type { z } from 'zod';
import { unixSeconds } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { RESPONSE_TOKEN_MILLIS } from '#src/protocol/bots/commands.ts';
import type * as forms from '#src/protocol/bots/commands.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { encodeEvent, type EventType } from '#src/protocol/sockets/events.ts';
import { readConversation, readMember } from '#storage/conversations/conversation-reader.ts';
import type { Bot } from './bot-access.ts';
import { readable, type ClientRequest, type Handler } from '../http/caller.ts';
import { type Readable } from '../access/readable-conversation.ts';
import { askIntegrations, byBot, callingBot } from './integration-calls.ts';
import { readResponseToken, signResponseToken } from './response-tokens.ts';

export const readCommands: Handler = (request) => {
  const offered = botsHere(request, readable(request)).flatMap((bot) =>
    bot.commands.map((command) => ({ ...command, bot: bot.user })),
  );
  const items = offered.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  return { status: 200, json: JSON.stringify({ items, next: null }) };
};

/** Hands the command to its bot: over its socket, and by its subscriptions once it is on disk for them. */
export const invokeCommand: Handler = async (request) => {
  const { args, bot: named, command } = request.body as z.infer<typeof forms.invokeCommand>;
  const here = readable(request);
  const offering = botsHere(request, here).filter(
    (bot) => bot.commands.some(({ name }) => name === command) && (named === undefined || bot.user === named),
  );
  const [bot, another] = offering;
  if (bot === undefined) throw new Refusal('command_not_found', { field: 'command' });
  if (another !== undefined) throw new Refusal('command_ambiguous', { field: 'bot' });
  const { service, user } = request;
  const now = service.now();
  const until = now + RESPONSE_TOKEN_MILLIS;
  const invocation = makeId('cmd', now);
  const conversation = here.record.id;
  const claims = { invocation, conversation, user, bot: bot.id, until };
  const event = encodeEvent(
    { type: 'command', conv: conversation, ts: unixSeconds(now) },
    JSON.stringify({
      invocation_id: invocation,
      conversation_id: conversation,
      command,
      args,
      user,
      response_token: signResponseToken(service.linkKeys.present, claims),
      expires_at: formatInstant(until),
    }),
  );
  if (bot.subscribed.includes('command')) {
    await askIntegrations(request, 'commands.deliver', { bot: bot.id, conversation, invocation, event });
  }
  publishTo(request, bot.user, 'command', event);
  return { status: 202, json: JSON.stringify({ invocation_id: invocation }) };
};

export const putBotCommands: Handler = async (request) => {
  const { commands } = request.body as z.infer<typeof forms.botCommands>;
  const bot = callingBot(request);
  await askIntegrations(request, 'commands.put', { bot: bot.id, commands, by: byBot(bot) });
  return { status: 200, json: JSON.stringify({ commands }) };
};

export const readBotCommands: Handler = (request) => ({
  status: 200,
  json: JSON.stringify({ commands: callingBot(request).commands }),
});

/** The bot's answer to the caller alone, while both still take part in the conversation. */
export const postResponse: Handler = (request) => {
  const { response_token: token, text } = request.body as z.infer<typeof forms.respond>;
  const bot = callingBot(request);
  const { service } = request;
  const now = service.now();
  const claims = readResponseToken(service.linkKeys.accepted(unixSeconds(now)), token, now);
  if (claims === undefined || claims.bot !== bot.id) throw new Refusal('response_token_invalid');
  const { conversation, invocation, user } = claims;
  const environment = service.lanes.read(conversation);
  environment.refresh();
  const { tables } = environment;
  const takesPart = (who: string) => readMember(tables, conversation, who) !== undefined;
  const isHere = readConversation(tables, conversation) !== undefined && bot.conversations.has(conversation);
  if (!isHere || !takesPart(bot.user) || !takesPart(user)) throw new Refusal('conversation_forbidden');
  const seconds = service.bots.takeResponse(invocation);
  if (seconds > 0) throw new Refusal('rate_limited', { retryAfter: seconds });
  const data = { invocation_id: invocation, conversation_id: conversation, bot: bot.user, text };
  const head = { type: 'command.response', conv: conversation, ts: unixSeconds(now) } as const;
  publishTo(request, user, 'command.response', encodeEvent(head, JSON.stringify(data)));
  return { status: 202, json: '' };
};

/** The bots that the caller may give commands to here: listed, taking part, and with the scope. */
function botsHere({ service }: ClientRequest, { record, tables }: Readable): Bot[] {
  return service.bots
    .listing(record.id)
    .filter((bot) => bot.scopes.has('commands:write') && readMember(tables, record.id, bot.user) !== undefined);
}

function publishTo({ service }: ClientRequest, user: string, type: EventType, event: string): void {
  service.runtime.publishTo({ kind: 'publishTo', users: [user], type, event });
}
