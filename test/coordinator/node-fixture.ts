/** The doors of nodes on a listener of their own, the console's pages called by their handlers, and a hand to tell the time. */
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { makeGatewaysPage } from '#src/console/routes/operations/gateways.ts';
import { makeMailPage } from '#src/console/routes/operations/mail.ts';
import { makeMcuPage, type CallNow } from '#src/console/routes/operations/mcu.ts';
import { makeNodesPage } from '#src/console/routes/operations/nodes.ts';
import { makeRoutingPage } from '#src/console/routes/operations/routing.ts';
import { makeServersPage } from '#src/console/routes/operations/servers.ts';
import { makeTelemetryPage } from '#src/console/routes/operations/telemetry.ts';
import { limiterBy } from '#test/support/limiter.ts';
import { actorOf, type Principal } from '#src/identity/console/principal.ts';
import type { ConsolePage } from '#src/console/route.ts';
import { readConfig } from '#src/config.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import { addNodeServices, makeNodeServices } from '#src/hosts/node-services.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { NodeRole } from '#src/protocol/hosts/nodes.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { HandClock, START, temporaryFolder } from './coordinator-fixture.ts';

export const OWNER: Principal = {
  kind: 'person',
  username: 'root',
  role: 'owner',
  signIn: 'password',
  sid: 's1',
  isFull: true,
  steppedUpUntil: 0,
};
export const VENDOR: Principal = { kind: 'vendor', id: 'vst_1', role: 'vendor_support' };

export interface DoorAnswer {
  readonly status: number;
  readonly headers: Headers;
  // The shape is what a test is about to assert.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** What a page of the console is asked: who asks, and what of the request it reads. */
interface Asked {
  readonly by?: Principal;
  readonly id?: string;
  readonly body?: unknown;
  readonly query?: unknown;
}

export const HEALTH = {
  agent_version: '1.0.0',
  uptime_seconds: 60,
  load: [0.5, 0.25, 0.125],
  memory: { total_bytes: 8_000_000_000, available_bytes: 4_000_000_000 },
};

export async function startNodePlane(context: TestContext, settings: Record<string, string> = {}) {
  const folder = temporaryFolder(context);
  const config = readConfig({ PARLEY_DATA: folder, ...settings });
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  const accounts = await Accounts.open(folder);
  const clock = new HandClock();
  const plane = makeNodeServices(accounts, clock);
  const logged: unknown[] = [];
  const app = await makeHttpSurface({
    config,
    log: { error: (...words) => void logged.push(words), warn: (...words) => void logged.push(words) },
    health: async () => ({ headers: {}, body: '{}' }),
    allowsOrigin: () => false,
  });
  const limiter = limiterBy(clock);
  addNodeServices(app, plane, limiter, (bearer) => {
    if (bearer === undefined) throw new Refusal('token_missing');
    if (!bearer.startsWith('session-of-')) throw new Refusal('token_invalid');
    const user = bearer.slice('session-of-'.length);
    return { user, device: `device-of-${user}` };
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  context.after(async () => {
    await app.close();
    await accounts.close();
  });

  const liveCalls: CallNow[] = [];
  const pages = {
    nodes: makeNodesPage({
      ...plane,
      accounts,
      clock,
      takeVendorAsk: (id) => limiter.take('journal_ask', id),
      coordinatorUrl: () => url,
      startedAt: START,
    }),
    gateways: makeGatewaysPage({ ...plane, startedAt: START }),
    routing: makeRoutingPage({ ...plane, listeners: () => [{ service: 'messaging', url: 'http://127.0.0.1:8081' }] }),
    servers: makeServersPage({ ...plane, startedAt: START }),
    telemetry: makeTelemetryPage({ ...plane, accounts, clock, pseudonymOrder: { usernames: async () => [] } }),
    mail: makeMailPage({ ...plane, recordsToPublish: async () => [] }),
    mcu: makeMcuPage({ ...plane, liveCalls: async () => liveCalls }),
  };

  /** A page's answer, its body held to the shape that its route states; a refusal is thrown. */
  const ask = async (name: keyof typeof pages, route: string, asked: Asked = {}) =>
    await askPage(pages[name], route, asked);

  const door = async (
    method: string,
    path: string,
    { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<DoorAnswer> => {
    const answer = await fetch(`${url}/v1/nodes/${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { 'x-node-token': token }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, json: await answer.json() };
  };

  const create = async (name: string, roles: readonly NodeRole[] = []) =>
    (await ask('nodes', 'createNode', { body: { name, roles } })).body as { id: string; join_token: string };
  const join = async (name: string, roles: readonly NodeRole[] = [], version = '1.0.0') => {
    const { join_token } = await create(name, roles);
    const form = { join_token, hostname: `${name}.example.org`, agent_version: version, os: 'Linux 6.1' };
    const { status, json } = await door('POST', 'join', { body: form });
    assert.equal(status, 201);
    return json as { id: string; token: string };
  };
  /** A long poll that is known to wait. */
  const waitForAsks = async (token: string): Promise<{ answer: Promise<DoorAnswer> }> => {
    const before = plane.asks.waitingPolls;
    const answer = door('GET', 'self/asks', { token });
    const waits = async () => {
      while (plane.asks.waitingPolls === before) await new Promise(setImmediate);
    };
    await deadline(waits(), PATIENCE_MILLIS, 'the poll to wait');
    return { answer };
  };
  return {
    ...plane,
    accounts,
    app,
    ask,
    clock,
    config,
    create,
    door,
    folder,
    join,
    liveCalls,
    logged,
    port,
    url,
    waitForAsks,
  };
}

async function askPage(asked: ConsolePage, name: string, { by = OWNER, id, body, query }: Asked) {
  const route = asked.routes[name];
  const handler = asked.handlers[name];
  assert.ok(route !== undefined && handler !== undefined, `there is a route ${name}`);
  const reply = await handler({
    principal: by,
    hasSteppedUp: true,
    address: '192.0.2.7',
    by: { actor: actorOf(by), address: '192.0.2.7' },
    parameters: id === undefined ? {} : { id },
    body: route.body?.parse(body),
    query: route.query?.parse(query ?? {}),
  });
  const shape = route.replies[reply.status];
  assert.notEqual(shape, undefined, `${name} states an answer ${reply.status}`);
  // oxlint-disable-next-line typescript/no-explicit-any
  return { status: reply.status, body: (shape === null ? undefined : shape?.parse(reply.body)) as any };
}
