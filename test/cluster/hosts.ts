/** Hosts of a cluster in tests: real servers over real NATS servers. */
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request, startServer, type ServerOptions, type TestServer } from '#test/support/server.ts';
import type { TestNats } from '#test/support/nats.ts';
import { until } from '#test/support/waiting.ts';

/** How long another host may take until it serves: the machine may be five times slower than what is promised. */
export const TAKEOVER_MILLIS = 120_000;

/** What a host says of itself and of its cluster. */
export interface HostHealth {
  readonly cluster: {
    readonly host: string;
    readonly role: string;
    readonly leader: string | null;
    readonly term: number | null;
    readonly lag_ms: number;
    readonly hosts: readonly { readonly host: string }[];
  };
}

/** Starts a host of that name, on a folder that stays. */
export async function startHost(
  nats: TestNats,
  name: string,
  {
    environment,
    folder,
    output,
    shards = 2,
  }: {
    readonly folder?: string;
    readonly environment?: Readonly<Record<string, string>>;
    /** Gets what it says, from before it is there. */
    readonly output?: string[];
    readonly shards?: ServerOptions['shards'];
  } = {},
): Promise<TestServer> {
  return await startServer({
    ...(output === undefined ? {} : { output }),
    shards,
    folder: folder ?? mkdtempSync(join(tmpdir(), 'parley-host-')),
    environment: { PARLEY_CLUSTER: nats.urls, PARLEY_HOST_ID: name, PARLEY_LOG_LEVEL: 'info', ...environment },
  });
}

/** How a host sees its cluster; undefined where it does not answer. */
export async function healthOf(host: TestServer): Promise<HostHealth['cluster'] | undefined> {
  try {
    // Of its listeners the one that is opened last.
    return (await request<HostHealth>('GET', `${host.messaging}/healthz`)).body.cluster;
  } catch {
    return undefined;
  }
}

/** Waits until a host leads, or follows and has all that is written. */
export async function untilRole(host: TestServer, role: 'follows' | 'leads'): Promise<void> {
  const isIt = async () => {
    const health = await healthOf(host);
    return health?.role === role && health.leader !== null && health.lag_ms === 0;
  };
  await until(isIt, `${host.folder} to be one that ${role}`, TAKEOVER_MILLIS);
}

/** What a start says that is refused. */
export async function refusal(environment: Record<string, string>, folder?: string): Promise<string> {
  const started = startServer({ environment, folder: folder ?? mkdtempSync(join(tmpdir(), 'parley-refused-')) });
  return await started.then(
    async (server) => {
      await server.end('SIGKILL');
      assert.fail('it started');
    },
    (error: unknown) => (error as Error).message,
  );
}
