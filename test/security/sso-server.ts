/** A running server with every kind of caller beside a real identity provider, and the walk of a browser between them. */
import { after } from 'node:test';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  REDIRECT_URI,
  startIdentityProvider,
  type IdentityProvider,
} from '#test/coordinator/identity-provider.ts';
import type { CallerName } from '#test/console/callers.ts';
import type { Reply } from '#test/support/server.ts';

export interface SsoServer extends ConsoleServer {
  readonly identity: IdentityProvider;
  /** What a settings form of single sign-on holds for that provider. */
  readonly form: Readonly<Record<string, unknown>>;
  /** Signs in at the provider as a subject; the answer of the server's callback. */
  enter(subject: string): Promise<Reply<{ token: string; user: string; role: string; code: string }>>;
  /** What a started sign-in comes back with. */
  walk(start: { redirect_url: string; ticket: string }, subject: string): Promise<Record<string, string>>;
  /** A request as a console session. */
  as<T = Record<string, never>>(token: string, method: string, path: string, body?: unknown): Promise<Reply<T>>;
  /** A request as a caller; a body is sent as JSON. */
  ask<T = Record<string, never>>(who: CallerName, method: string, path: string, body?: unknown): Promise<Reply<T>>;
}

/** Starts both; they end with the file's last test. Awaited before the first one. */
export async function shareSsoServer(
  environment: Readonly<Record<string, string>> = {},
  /** Paths of the coordinator that a client for apps is sent back to. */
  appPaths: readonly string[] = [],
): Promise<SsoServer> {
  const host = await startConsoleServer({ PARLEY_ALLOW_PRIVATE_TARGETS: '127.0.0.1', ...environment });
  after(async () => await host.stop());
  const appRedirects = appPaths.map((path) => host.server.coordinator + path);
  const identity = await startIdentityProvider({ after: (end) => after(end) }, { appRedirects });
  const as = async <T>(token: string, method: string, path: string, body?: unknown) =>
    await host.call<T>('nobody', method, path, { headers: { 'x-admin-token': token }, body });
  const walk = async (start: { redirect_url: string; ticket: string }, subject: string) => {
    const back = await identity.signIn(start.redirect_url, subject);
    return { ...Object.fromEntries(back.searchParams), ticket: start.ticket } as Record<string, string>;
  };
  return {
    ...host,
    identity,
    form: {
      issuer: identity.issuer,
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uri: REDIRECT_URI,
      groups: { admins: 'owner', staff: 'viewer' },
    },
    as,
    ask: async (who, method, path, body) => await host.call(who, method, path, body === undefined ? {} : { body }),
    walk,
    enter: async (subject) => {
      const { body } = await host.call<{ redirect_url: string; ticket: string }>('nobody', 'GET', '/sso/start');
      const query = new URLSearchParams(await walk(body, subject));
      return await host.call('nobody', 'GET', `/sso/callback?${query.toString()}`);
    },
  };
}
