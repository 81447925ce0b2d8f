/** Bots of a running server, made in its console, and their requests. */
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import type { BotScope } from '#src/protocol/bots/bot-scopes.ts';
import type { AuditEntry } from '#storage/accounts/audit-chain.ts';
import type { ConsoleServer } from './console.ts';
import type { Person, TestServer } from './server.ts';
import { until } from './waiting.ts';

/** A bot, as whatever takes a person in the tests takes it too. */
export interface TestBot extends Person {
  readonly id: string;
  readonly token: string;
}

export interface MadeBot {
  readonly id: string;
  readonly user: string;
  readonly token: string;
  readonly device_id: string;
}

/** Makes a bot with these scopes and conversations. */
export async function makeBot(
  { console }: ConsoleServer,
  name: string,
  scopes: readonly BotScope[],
  conversations: readonly string[],
): Promise<TestBot> {
  const form = { name, display_name: `The bot ${name}`, scopes, conversations };
  const made = await console<MadeBot>('POST', '/bots', form);
  assert.equal(made.status, 201, made.text);
  return holding(made.body);
}

/** A bot with the token that an answer of the console holds. */
export function holding({ id, user, token, device_id }: MadeBot): TestBot {
  const session = { token, user, device_id, exp: 0, iat: 0, rnw: 0 };
  return { id, token, username: user, password: '', session };
}

/** A GET on a connection of its own, so that the kernel gives it to any of the shards. */
export async function readAnywhere(server: TestServer, token: string, path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { authorization: `Bearer ${token}` };
  const agent = new Agent({ keepAlive: false });
  const sent = httpRequest(`${server.messaging}${path}`, { agent, headers }, (response) => {
    response.resume();
    response.on('end', () => resolve(response.statusCode ?? 0));
  });
  sent.on('error', reject);
  sent.end();
  return await promise;
}

/** An entry of the trail as the console shows it. */
export type ShownEntry = Omit<AuditEntry, 'subject'> & { readonly about: string | null };

/** What the audit trail says of a bot's doings, the oldest first, once there are that many entries. */
export async function trailOf(
  { console }: ConsoleServer,
  bot: Pick<TestBot, 'id'>,
  count: number,
): Promise<ShownEntry[]> {
  const path = `/agents/audit?actor=bot:${bot.id}&limit=200`;
  return await until(async () => {
    const { body } = await console<{ items: ShownEntry[] }>('GET', path);
    return body.items.length >= count ? body.items.toReversed() : undefined;
  }, `${count} entries of the bot in the audit trail`);
}
