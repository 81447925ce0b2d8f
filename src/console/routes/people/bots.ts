/** Bots: making, listing, changing what they may, revoking, another token (CRD-04, BOT-01). */
import { z } from 'zod';
import type { Bots } from '#src/integrations/bots.ts';
import { BOT_CONVERSATIONS_MAX, botName } from '#src/protocol/bots/bots.ts';
import { BOT_SCOPE_NAMES, botScope } from '#src/protocol/bots/bot-scopes.ts';
import { conversationId } from '#src/protocol/names.ts';
import { pageQuery } from '../../page-query.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const BOTS_PAGE_MAX = 200;
const DISPLAY_NAME_LENGTH_MAX = 100;

const settings = {
  display_name: z
    .string()
    .max(DISPLAY_NAME_LENGTH_MAX)
    // Blanks alone name nobody, and control characters would garble a list.
    .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u),
  scopes: z.array(botScope).max(BOT_SCOPE_NAMES.length),
  conversations: z.array(conversationId).max(BOT_CONVERSATIONS_MAX),
};

const makeBot = z.strictObject({ name: botName, ...settings }).meta({ id: 'MakeBot' });
const changeBot = z
  .strictObject({
    display_name: settings.display_name.optional(),
    scopes: settings.scopes.optional(),
    conversations: settings.conversations.optional(),
  })
  .refine((change) => Object.keys(change).length > 0)
  .meta({ id: 'ChangeBot' });

const fields = {
  id: z.string(),
  user: z.string().meta({ description: 'The username that it acts as; begins with "bot.".' }),
  display_name: z.string(),
  scopes: z.array(botScope),
  conversations: z.array(z.string()).meta({ description: 'Where it may act, if it is a participant as well.' }),
  device_id: z.string().meta({ description: 'The device of its socket.' }),
  state: z.enum(['active', 'revoked']),
  created_by: z.string(),
  created_at: z.string(),
  token_issued_at: z.string(),
  token_ended_at: z.string().nullable(),
  revoked_by: z.string().nullable(),
  revoked_at: z.string().nullable(),
  last_used_at: z.string().nullable(),
  last_used_address: z.string().nullable(),
};
const bot = z.strictObject(fields).meta({ id: 'Bot' });
const botWithToken = z
  .strictObject({ ...fields, token: z.string().meta({ description: 'Shown once.' }) })
  .meta({ id: 'BotWithToken' });

export const botsRoutes = {
  listBots: consoleRoute.get('/bots', 'Bots, without their secrets.', {
    access: 'settings:read',
    vendor: 'open',
    query: pageQuery(BOTS_PAGE_MAX),
    replies: { 200: z.strictObject({ items: z.array(bot), next: z.string().nullable() }) },
  }),
  makeBot: consoleRoute.post('/bots', 'Makes a bot; its token is in the answer and never shown again.', {
    access: 'settings:write',
    vendor: 'closed',
    audit: 'bot.made',
    body: makeBot,
    replies: { 201: botWithToken },
    errors: ['bot_name_taken', 'bots_full'],
  }),
  readBot: consoleRoute.get('/bots/:id', 'One bot, without its secret.', {
    access: 'settings:read',
    vendor: 'open',
    replies: { 200: bot },
    errors: ['bot_not_found'],
  }),
  changeBot: consoleRoute.patch(
    '/bots/:id',
    "Changes a bot's display name, scopes or conversations; in force when this is answered.",
    {
      access: 'settings:write',
      vendor: 'closed',
      audit: 'bot.changed',
      body: changeBot,
      replies: { 200: bot },
      errors: ['bot_not_found', 'bot_not_active'],
    },
  ),
  revokeBot: consoleRoute.post('/bots/:id/revoke', "Ends a bot's access at once and closes its socket.", {
    access: 'settings:write',
    vendor: 'closed',
    audit: 'bot.revoked',
    replies: { 200: bot },
    errors: ['bot_not_found', 'bot_not_active'],
  }),
  issueBotToken: consoleRoute.post(
    '/bots/:id/token',
    'Issues another token in the place of the one before, which is void at once.',
    {
      access: 'settings:write',
      vendor: 'closed',
      audit: 'bot.token_issued',
      replies: { 200: botWithToken },
      errors: ['bot_not_found', 'bot_not_active'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeBotsPage({ bots }: { readonly bots: Bots }): ConsolePage {
  return page(botsRoutes, {
    listBots: ({ query }) => ({ status: 200, body: bots.list(query.after, query.limit) }),
    makeBot: async (request) => {
      const made = await bots.make(request.body, request.by);
      return { status: 201, body: { ...made.bot, token: made.token } };
    },
    readBot: (request) => ({ status: 200, body: bots.read(request.parameters.id) }),
    changeBot: async (request) => ({
      status: 200,
      body: await bots.change(request.parameters.id, request.body, request.by),
    }),
    revokeBot: async (request) => ({ status: 200, body: await bots.revoke(request.parameters.id, request.by) }),
    issueBotToken: async (request) => {
      const issued = await bots.issueToken(request.parameters.id, request.by);
      return { status: 200, body: { ...issued.bot, token: issued.token } };
    },
  });
}
