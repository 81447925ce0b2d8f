/** A running server that knows every kind of caller, and requests to its console. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request, startServer, type Reply, type RequestOptions, type TestServer } from '#test/support/server.ts';
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

export async function startConsoleServer(environment: Readonly<Record<string, string>> = {}): Promise<ConsoleServer> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const callers = await plantCallers(folder);
  const server = await startServer({ folder, environment });
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
