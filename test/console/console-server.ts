/** A running server that knows every kind of caller, and requests to its console. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { checkFolder } from '#storage/check/check.ts';
import {
  request,
  startServer,
  type Reply,
  type RequestOptions,
  type ServerOptions,
  type TestServer,
} from '#test/support/server.ts';
import { plantCallers, type CallerName, type Callers } from './callers.ts';

export interface ConsoleServer {
  readonly server: TestServer;
  readonly callers: Callers;
  /** A request to `/admin/api` as that caller. */
  readonly call: <T = Record<string, never>>(
    who: CallerName,
    method: string,
    path: string,
    options?: RequestOptions,
  ) => Promise<Reply<T>>;
  stop(): Promise<void>;
}

export async function startConsoleServer(
  environment: Readonly<Record<string, string>> = {},
  { shards = 1 }: Pick<ServerOptions, 'shards'> = {},
): Promise<ConsoleServer> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const callers = await plantCallers(folder);
  const server = await startServer({ folder, environment, shards });
  return {
    server,
    callers,
    call: async <T>(who: CallerName, method: string, path: string, options: RequestOptions = {}) => {
      const headers = { ...callers[who], ...options.headers };
      return await request<T>(method, `${server.coordinator}/admin/api${path}`, { ...options, headers });
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** One server for all tests of a file that ends and starts again over its folder, which is sound in between. */
export interface RestartedServer {
  readonly folder: string;
  readonly callers: Callers;
  /** The one that runs now. */
  readonly server: TestServer;
  /** A request to `/admin/api` as that caller. */
  readonly ask: <T = Record<string, unknown>>(
    who: CallerName,
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<Reply<T>>;
  /** Ends the server, has something looked at or changed meanwhile, and answers the next server. */
  restart(signal?: NodeJS.Signals, meanwhile?: () => Promise<void>): Promise<TestServer>;
}

/** Starts it; it ends with the file's last test. Awaited before the first one. */
export async function shareRestartedServer(
  environment: ServerOptions['environment'] = {},
  { shards = 1 }: Pick<ServerOptions, 'shards'> = {},
): Promise<RestartedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const callers = await plantCallers(folder);
  let server = await startServer({ folder, environment, shards });
  const end = async (signal: NodeJS.Signals) => {
    await server.end(signal);
    const { problems } = await checkFolder(folder);
    assert.deepEqual(problems, []);
  };
  after(async () => {
    await end('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });
  return {
    folder,
    callers,
    get server() {
      return server;
    },
    ask: async (who, method, path, body) =>
      await request(method, `${server.coordinator}/admin/api${path}`, { headers: callers[who], body }),
    async restart(signal = 'SIGTERM', meanwhile?) {
      await end(signal);
      await meanwhile?.();
      server = await startServer({ folder, environment, shards });
      return server;
    },
  };
}
