/** The console's own pages over the running server: who am I, overview, population, log, audit trail (CON-01 … CON-05). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { consoleRoutes } from '#src/console/route-table.ts';
import { until } from '#test/support/waiting.ts';
import { connect } from '#test/support/socket.ts';
import { CALLER_PASSWORD } from './callers.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

let host: ConsoleServer;
before(async () => {
  host = await startConsoleServer({ PARLEY_LOG_LEVEL: 'debug', PARLEY_DEBUG_HOOKS: '1' }, { shards: 2 });
});
after(async () => await host.stop());

interface Me {
  readonly kind: string;
  readonly name: string;
  readonly role: string;
  readonly permissions: string[];
  readonly sign_in: string | null;
  readonly full: boolean;
  readonly vendor_token: Record<string, unknown> | null;
}

const READS = ['gateways:read', 'routing:read', 'users:read', 'settings:read', 'audit:read'];

test('CON-01 a person reads who they are and what they may do', async () => {
  const { body } = await host.call<Me>('viewer', 'GET', '/me');
  assert.deepEqual(body, {
    kind: 'person',
    name: 'viewer',
    role: 'viewer',
    permissions: READS,
    sign_in: 'password',
    full: true,
    vendor_token: null,
  });
  const owner = (await host.call<Me>('owner', 'GET', '/me')).body;
  assert.ok(owner.permissions.includes('access:write'));
  const glass = (await host.call<Me>('break_glass', 'GET', '/me')).body;
  assert.deepEqual([glass.kind, glass.name, glass.sign_in], ['break_glass', 'break-glass', 'break_glass']);
});

test('VND-07 a vendor reads its role, its rights and its token, without the secret', async () => {
  const { body, text } = await host.call<Me>('vendor_active', 'GET', '/me');
  assert.deepEqual([body.kind, body.role, body.permissions, body.name], ['vendor', 'vendor_support', READS, 'active']);
  assert.equal(body.vendor_token?.['state'], 'active');
  assert.equal(body.vendor_token?.['purpose'], 'to test who gets in');
  const secret = (host.callers.vendor_active['authorization'] as string).split('_').slice(3).join('_');
  assert.ok(!text.includes(secret));
});

test('CON-01 CON-05 the overview and the population show who is connected now', async () => {
  const session = await host.server.signIn('someone', CALLER_PASSWORD);
  const person = { username: 'someone', password: CALLER_PASSWORD, session };
  const socket = await connect(host.server, person, { headers: { 'x-service-client-protocol': '1' } });
  interface Population {
    readonly clients: { total: number; by_version: object; by_platform: object };
    readonly protocol: object;
    readonly missing: string[];
  }
  const { body: population } = await host.call<Population>('viewer', 'GET', '/population');
  assert.deepEqual(population.clients.by_version, { 1: 1 });
  assert.deepEqual(population.clients.by_platform, { other: 1 });
  assert.deepEqual([population.protocol, population.missing], [{ current: 1, min: 0 }, []]);
  interface Overview {
    readonly status: string;
    readonly counts: Record<string, number>;
    readonly clients: { total: number };
    readonly cluster: null;
  }
  const { body: overview } = await host.call<Overview>('viewer', 'GET', '/overview');
  assert.deepEqual([overview.status, overview.clients.total, overview.cluster], ['ok', 1, null]);
  assert.deepEqual([overview.counts['people'], overview.counts['nodes']], [5, 1]);
  await socket.close();
});

test('the log has the lines of all threads, filtered and in pages', async () => {
  interface Lines {
    readonly items: { number: number; level: string; thread: string; msg: string }[];
    readonly next: string | null;
    readonly forgotten: number;
  }
  const read = async (query: string) => (await host.call<Lines>('viewer', 'GET', `/logs?${query}`)).body;
  // The planted bug: the shard logs it on its own thread, and main that it is started again.
  process.kill(host.server.pid, 'SIGUSR2');
  const died = await until(async () => {
    const { items } = await read('level=error&limit=200');
    const threads = new Set(items.map(({ thread }) => thread));
    return threads.has('main') && items;
  }, 'the line of main');
  assert.ok(died.every(({ level }) => level === 'error'));
  const [newest] = (await read('text=started+again&limit=1')).items;
  assert.equal(newest?.msg, 'a shard died and is started again');
  const first = await read('limit=1');
  assert.equal(first.items.length, 1);
  const later = await read('since=2999-01-01T00:00:00Z');
  assert.deepEqual([later.items, later.next], [[], null]);
  for (const [query, field] of [
    ['level=loud', 'level'],
    ['since=yesterday', 'since'],
    ['limit=201', 'limit'],
    ['limit=0', 'limit'],
    ['text=', 'text'],
  ] as const) {
    const { status, body } = await host.call<{ code: string; field: string }>('viewer', 'GET', `/logs?${query}`);
    assert.deepEqual([status, body.code, body.field], [400, 'query_invalid', field]);
  }
  const cursor = await host.call<{ code: string }>('viewer', 'GET', '/logs?after=zero');
  assert.deepEqual([cursor.status, cursor.body.code], [400, 'cursor_invalid']);
});

test('CON-04 the audit trail is read filtered and in pages', async () => {
  interface Trail {
    readonly items: { number: number; event: string; actor: string }[];
    readonly next: string | null;
  }
  const read = async (query: string) => (await host.call<Trail>('viewer', 'GET', `/audit?${query}`)).body;
  const issued = await read('event=vendor_token.issued');
  assert.deepEqual(
    issued.items.map(({ actor }) => actor),
    ['user:owner', 'user:owner', 'user:owner'],
  );
  const first = await read('limit=2');
  const second = await read(`limit=2&after=${first.next}`);
  const numbers = [...first.items, ...second.items].map(({ number }) => number);
  const newest = numbers[0] as number;
  assert.deepEqual(numbers, [newest, newest - 1, newest - 2, newest - 3]);
  const bad = await host.call<{ code: string }>('viewer', 'GET', '/audit?after=zero');
  assert.deepEqual([bad.status, bad.body.code], [400, 'cursor_invalid']);
  for (const path of ['/calendar/audit', '/agents/audit']) {
    const { status, body } = await host.call<Trail>('viewer', 'GET', path);
    assert.equal(status, 200);
    const strange = body.items.filter(({ event }) => !/^(?:calendar|dav|bot|agent)\./.test(event));
    assert.deepEqual(strange, []);
  }
});

test('CON-02 every read of the console answers its owner with what is there', async () => {
  const reads = consoleRoutes().filter(({ route }) => route.method === 'get' && route.access !== 'public');
  const answers = reads.map(async ({ route }) => {
    const path = route.path.replaceAll(/:\w+/g, 'nothing');
    const { status, body } = await host.call<{ code?: string }>('owner', 'GET', path);
    return [`${path} ${status}`, status, body?.code] as const;
  });
  // Stepping up at the provider is for sessions that came from there.
  const notForPasswords = '/step-up/sso 403';
  // A conversation that is not there has one code on every door (MSG-11).
  const strange = (await Promise.all(answers)).filter(
    ([name, status, code]) =>
      name !== notForPasswords &&
      code !== 'conversation_forbidden' &&
      (status >= 500 || status === 401 || status === 403),
  );
  assert.deepEqual(strange, []);
});

test('RED-10 RED-11 a vendor reads log-like pages de-personalised, the others as they are', async () => {
  interface Trail {
    readonly items: { event: string; actor: string; address: string | null }[];
  }
  const path = '/audit?event=vendor_token.issued';
  const raw = (await host.call<Trail>('administrator', 'GET', path)).body.items;
  const seen = await host.call<Trail>('vendor_active', 'GET', path);
  assert.equal(seen.status, 200);
  assert.equal(seen.body.items.length, raw.length);
  assert.deepEqual(new Set(raw.map(({ actor, address }) => `${actor} ${address}`)), new Set(['user:owner 127.0.0.1']));
  for (const { actor, event } of seen.body.items) {
    assert.equal(event, 'vendor_token.issued');
    assert.match(actor, /^user:u-[0-9a-f]{8}$/);
  }
});

test('RED-07 one person has one pseudonym in every answer', async () => {
  const actors = async (path: string) => {
    const { body } = await host.call<{ items: { actor: string }[] }>('vendor_active', 'GET', path);
    return body.items.map(({ actor }) => actor);
  };
  const issued = await actors('/audit?event=vendor_token.issued');
  const revoked = await actors('/audit?event=vendor_token.revoked');
  assert.deepEqual(new Set([...issued, ...revoked]).size, 1);
});

test('VND-15 every read answers a vendor as its route states', async () => {
  const reads = consoleRoutes().filter(({ route }) => route.method === 'get' && route.access !== 'public');
  for (const { route } of reads) {
    const path = route.path.replaceAll(/:\w+/g, 'nothing');
    const { status, body } = await host.call<{ code?: string }>('vendor_active', 'GET', path);
    const isClosed = route.vendor === 'closed';
    assert.equal(status === 403, isClosed, `${path} answered ${status} ${body.code}`);
    if (isClosed) assert.equal(body.code, 'vendor_token_forbidden');
    else assert.ok(status < 500, `${path} answered ${status} ${body.code}`);
  }
});

test('a call that rings is live in the console, and gone when it ends', async () => {
  const session = await host.server.signIn('someone', CALLER_PASSWORD);
  const someone = { username: 'someone', password: CALLER_PASSWORD, session };
  const made = await host.server.api<{ id: string }>(someone, 'POST', '/v1/conversations', {
    kind: 'room',
    title: 'calls',
    participants: ['viewer'],
  });
  const signal = async (step: string, seq: number) => {
    const body = step === 'invite' ? { body: { video: false, room: 'r' } } : {};
    const stanza = { to: made.body.id, kind: 'call', step, call: 'ring', seq, ...body };
    const { status, text } = await host.server.api(someone, 'POST', '/v1/signal', stanza);
    assert.equal(status, 202, text);
  };
  const live = async () =>
    (await host.call<{ items: Record<string, unknown>[] }>('viewer', 'GET', '/mcu/live')).body.items;
  await signal('invite', 1);
  const [call, ...others] = await live();
  assert.deepEqual([call?.['call'], call?.['room'], call?.['state']], ['ring', made.body.id, 'ringing']);
  assert.deepEqual([call?.['participants'], others], [[{ user: 'someone' }], []]);
  await signal('end', 2);
  assert.deepEqual(await live(), []);
});
