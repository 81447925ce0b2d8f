/** A server with an owner who is signed in to its console, second factor and all. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Passwords } from '#src/identity/credentials/passwords.ts';
import { systemClock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { readConfig } from '#src/config.ts';
import { ConsoleSessions } from '#src/identity/console/console-sessions.ts';
import { addPerson } from '#src/directory/people.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { request, startServer, type Reply, type ServerOptions, type TestServer } from './server.ts';

export const OWNER_PASSWORD = 'password of root';

/** One request to the console as the owner `root`. */
export type AskConsole = <T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
) => Promise<Reply<T>>;

export interface ConsoleServer {
  readonly server: TestServer;
  readonly console: AskConsole;
  readonly stop: () => Promise<void>;
}

/** Starts a server over a folder in which the owner has a full console session already. */
export async function startConsoleServer(options: Omit<ServerOptions, 'folder'> = {}): Promise<ConsoleServer> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  const token = await plantOwner(folder);
  const server = await startServer({ ...options, folder });
  return {
    server,
    console: consoleOf(server, token),
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The console of a running server for whoever has that session. */
export function consoleOf({ coordinator }: Pick<TestServer, 'coordinator'>, token: string): AskConsole {
  return async (method, path, body) =>
    await request(method, `${coordinator}/admin/api${path}`, { body, headers: { 'x-admin-token': token } });
}

/** Makes a data folder with the owner `root` in it; the token of their console session. */
export async function plantOwner(folder: string): Promise<string> {
  const now = systemClock.now();
  openFolder(folder, 4, formatInstant(now));
  const accounts = await Accounts.open(folder);
  const passwordHash = await (await Passwords.make(64)).hash(OWNER_PASSWORD);
  const config = readConfig({ PARLEY_DATA: folder });
  const sessions = new ConsoleSessions({ accounts, config, log: { warn: () => undefined } });
  const { token } = await accounts.change((draft) => {
    addPerson(draft, { username: 'root', passwordHash, role: 'owner', now });
    // As long as any file of tests takes, its second factor counts as asked again.
    const steppedUpAt = now + 3_600_000;
    return sessions.open(draft, 'root', { signIn: 'password', isFull: true, address: '127.0.0.1', now, steppedUpAt });
  });
  await accounts.close();
  return token;
}
