/** The settings plane over a real accounts file and vault, and a receiver of webhooks on loopback. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import type { Clock } from '#src/base/clock.ts';
import { type AutomationForm, Automations } from '#src/integrations/automations.ts';
import { AutomationOutbox, type AutomationOutboxOptions } from '#src/integrations/automation-outbox.ts';
import { portOf } from '#src/http/listening-address.ts';
import { Settings } from '#src/settings/settings.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { Vault } from '#storage/vault/vault.ts';
import { HandClock, temporaryFolder } from './coordinator-fixture.ts';

export const BY = { actor: 'user:olga', address: '192.0.2.7' };
/** The same as somebody who changes settings. */
export const AS_OWNER = { ...BY, role: 'owner' } as const;
export const MASTER = new Uint8Array(32).fill(3);
export const HOOK_SECRET = 'heron signs the hooks';

export function prepareFolder(context: TestContext): string {
  const folder = temporaryFolder(context);
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  return folder;
}

export async function openSettings(context: TestContext) {
  const accounts = await Accounts.open(prepareFolder(context));
  context.after(async () => await accounts.close());
  const clock = new HandClock();
  const vault = new Vault({ accounts, clock, warn: () => undefined });
  const settings = new Settings({ accounts, clock, vault });
  return { accounts, clock, settings, vault };
}

/** Automations and their outbox on a folder. Waits between attempts are short; stopping is the test's or its end's. */
export async function openAutomations(
  context: TestContext,
  folder: string,
  clock: Clock,
  more: Partial<AutomationOutboxOptions> = {},
) {
  const accounts = await Accounts.open(folder);
  const vault = new Vault({ accounts, clock, warn: () => undefined });
  const logged: unknown[] = [];
  const common = { accounts, clock, vault, allowPrivateTargets: true, ...more };
  const log = { warn: (...said: unknown[]) => void logged.push(said) };
  const outbox = new AutomationOutbox({ backoffMillis: 1, attemptMillis: 5_000, log, ...common });
  const automations = new Automations({ ...common, removed: async (id) => await outbox.forget(id) });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await outbox.stop();
    await accounts.close();
  };
  context.after(close);
  const make = async (form: Partial<AutomationForm> = {}) => {
    const whole = {
      name: 'hook',
      events: ['user.created'],
      url: 'http://127.0.0.1:9/',
      secret: HOOK_SECRET,
      enabled: true,
    };
    return await automations.create({ ...whole, ...form }, BY);
  };
  /** Something happens. */
  const happen = async (event: string, subject: string) => {
    const entry = { event, ...BY, subject, details: {} };
    await accounts.change((draft) => draft.audit(clock.now(), entry));
  };
  return { accounts, automations, close, happen, logged, make, outbox, vault };
}

export interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that keeps what it gets; `answer` says what it answers, by how many came before. */
export async function startReceiver(
  context: TestContext,
  answer: (response: ServerResponse, before: number) => void = (response) => void response.writeHead(204).end(),
) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const { headers, method } = request;
      received.push({ method, headers, body: Buffer.concat(chunks).toString('utf8') });
      answer(response, received.length - 1);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${portOf(server.address())}/hook` };
}
