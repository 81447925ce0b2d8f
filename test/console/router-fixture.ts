/** A listener with console routes of the test's own, callers known by their tokens, and what the vendor's gate kept. */
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { z } from 'zod';
import { ConsoleAuthentication, type VendorLedger } from '#src/identity/console/console-authentication.ts';
import { Depersonalisation, type Redactor } from '#src/console/depersonalisation.ts';
import type { Principal } from '#src/identity/console/principal.ts';
import { page, type ConsolePage, type ConsoleRoute } from '#src/console/route.ts';
import { addConsoleRoutes } from '#src/console/router.ts';
import { VendorGate } from '#src/console/vendor-gate.ts';
import { systemClock } from '#src/base/clock.ts';
import { readConfig } from '#src/config.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { request, type RequestOptions } from '#test/support/server.ts';

const person = (role: 'owner' | 'administrator' | 'viewer', isFull = true): Principal => ({
  kind: 'person',
  username: role,
  role,
  signIn: 'password',
  sid: 's_1',
  isFull,
  steppedUpUntil: Infinity,
});

/** Token → whose it is. */
const PRINCIPALS: Readonly<Record<string, Principal>> = {
  owner: person('owner'),
  administrator: person('administrator'),
  viewer: person('viewer'),
  unenrolled: person('owner', false),
  break_glass: { kind: 'break_glass', role: 'owner', sid: 's_2', steppedUpUntil: Infinity },
};
export const VENDOR_TOKEN = 'svc_vst_1_active';

const anything = z.strictObject({ note: z.string() });
const read = { method: 'get', access: 'audit:read', audit: null, replies: { 200: anything }, errors: [] } as const;
const write = { ...read, method: 'post', access: 'settings:write', vendor: 'closed', audit: 'node.created' } as const;

/** One route of every sort. */
const SORTS = {
  raw: { ...read, path: '/raw', summary: 'Open to vendors.', vendor: 'open' },
  logged: { ...read, path: '/logged', summary: 'De-personalised for vendors.', vendor: 'depersonalised' },
  shut: { ...read, path: '/shut', summary: 'Closed to vendors.', vendor: 'closed' },
  asked: {
    ...write,
    path: '/nodes/:id/logs',
    summary: 'The journal ask.',
    access: 'gateways:read',
    vendor: 'depersonalised',
    body: z.strictObject({ unit: z.string() }),
  },
  written: { ...write, path: '/written', summary: 'A write.', body: anything },
  setUp: { ...write, path: '/set-up', summary: 'Before the second factor.', access: 'second_factor_setup' },
  door: { ...write, path: '/door', summary: 'Public.', access: 'public' },
  strayed: { ...read, path: '/strayed', summary: 'Answers what it does not state.', vendor: 'depersonalised' },
} as const satisfies Record<string, ConsoleRoute>;

export async function startRouter(context: TestContext, redactor: Redactor) {
  const kept: [what: string, ...details: string[]][] = [];
  const ledger: VendorLedger = {
    used: async (...details) => void kept.push(['used', ...details]),
    refused: async (...details) => void kept.push(['refused', ...(details.slice(0, 4) as string[])]),
  };
  const authentication = new ConsoleAuthentication({
    sessions: {
      read(token) {
        const principal = PRINCIPALS[token];
        if (principal === undefined || principal.kind === 'vendor') throw new Refusal('token_invalid');
        return principal;
      },
    },
    vendorTokens: {
      judge: (token) =>
        token === VENDOR_TOKEN
          ? { vendor: { kind: 'vendor', id: '1', role: 'vendor_support' } }
          : { refuse: 'vendor_token_revoked', id: '2' },
    },
    ledger,
    clock: systemClock,
  });
  const handled: string[] = [];
  const answer = (name: string) => () => {
    handled.push(name);
    return { status: 200, body: { note: `${name} of alice` } };
  };
  const sorts: ConsolePage = page(SORTS, {
    raw: answer('raw'),
    logged: answer('logged'),
    shut: answer('shut'),
    asked: answer('asked'),
    written: answer('written'),
    setUp: answer('setUp'),
    door: ({ address }) => {
      handled.push('door');
      return { status: 200, body: { note: address } };
    },
    strayed: () => ({ status: 200, body: { note: 'fine', secret: 'canary-of-a-field' } }),
  });
  const logged: { message: string; fields: unknown }[] = [];
  const app = await makeHttpSurface({
    config: readConfig({}),
    log: {
      error: (message, fields) => void logged.push({ message, fields }),
      warn: (message, fields) => void logged.push({ message, fields }),
    },
    health: async () => ({ headers: {}, body: '{}' }),
    allowsOrigin: () => false,
  });
  const registered: string[] = [];
  app.addHook('onRoute', ({ method, url }) => void registered.push(`${[method].flat().join()} ${url}`));
  const gate = new VendorGate(ledger);
  const depersonalisation = new Depersonalisation(redactor);
  await addConsoleRoutes(app, { sorts }, { authentication, gate, depersonalisation, clock: systemClock });
  await app.listen({ host: '127.0.0.1', port: 0 });
  context.after(() => app.close());
  const base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const call = async (method: string, path: string, token?: string, options: RequestOptions = {}) =>
    await request<{ code?: string; field?: string; note?: string }>(method, `${base}/admin/api${path}`, {
      token,
      ...options,
    });
  return { call, handled, kept, logged, registered };
}
