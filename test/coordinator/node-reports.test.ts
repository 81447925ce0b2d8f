import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { TELEMETRY_KEPT_MAX } from '#src/monitoring/client-telemetry.ts';
import { REPORTS_KEPT_MAX } from '#src/hosts/node-reports.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { TELEMETRY_ENTRIES_MAX } from '#src/protocol/hosts/client-telemetry.ts';
import { NODE_ROLES } from '#src/protocol/hosts/nodes.ts';
import { startNodePlane } from './node-fixture.ts';

const AT = '2026-11-21T07:59:00Z';
const LINE = { at: AT, host: 'mail-1', unit: 'postfix', level: 'warning', line: 'from=<alice@example.org>' } as const;
const refusal = (code: ErrorCode) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error));
  assert.equal(error.code, code);
  return true;
};

test('NOD-02 what has no data is an empty list', async (context) => {
  const { ask } = await startNodePlane(context);
  const empty = { items: [], next: null };
  assert.deepEqual((await ask('gateways', 'listGateways')).body, empty);
  assert.deepEqual((await ask('servers', 'listServers')).body, empty);
  assert.deepEqual((await ask('servers', 'listDeployments')).body, empty);
  assert.deepEqual((await ask('mail', 'readQuarantine')).body, empty);
  assert.deepEqual((await ask('mail', 'readGroupBounces')).body, empty);
  assert.deepEqual((await ask('mail', 'readMailDns')).body, { ...empty, publish: [] });
  assert.deepEqual((await ask('mcu', 'readLiveCalls')).body, empty);
  assert.deepEqual((await ask('telemetry', 'readTelemetry')).body, { items: [], nodes: [], next: null });
  assert.deepEqual((await ask('telemetry', 'listClientSessions')).body, empty);
  assert.deepEqual((await ask('routing', 'readRouting')).body, {
    listeners: [{ service: 'messaging', url: 'http://127.0.0.1:8081' }],
    ...empty,
  });
  await assert.rejects(ask('servers', 'readDeployment', { id: 'n_x.y' }), refusal('deployment_not_found'));
});

test('NOD-02 console read paths show what nodes reported', async (context) => {
  const { ask, door, join, liveCalls } = await startNodePlane(context);
  const { id, token } = await join('edge-1', NODE_ROLES);
  const report = async (body: object) =>
    assert.equal((await door('POST', 'self/reports', { token, body })).status, 200);
  const from = { node: id, name: 'edge-1', reported_at: '2026-11-21T08:00:00.000Z' };

  const listeners = [{ host: '192.0.2.1', port: 5060, protocol: 'sip' }];
  const routes = [{ from: 'sip', to: 'mcu', via: 'edge-1' }];
  await report({ role: 'gateway', state: 'up', listeners, routes, lines: [LINE] });
  await report({ role: 'routing', routes: [{ from: 'a', to: 'b', state: 'up' }] });
  assert.deepEqual((await ask('gateways', 'listGateways')).body.items, [
    { id, name: 'edge-1', state: 'up', silent: false, listeners, reported_at: from.reported_at },
  ]);
  assert.deepEqual((await ask('routing', 'readRouting')).body.items, [
    { ...from, from: 'sip', to: 'mcu', via: 'edge-1', state: null },
    { ...from, from: 'a', to: 'b', via: null, state: 'up' },
  ]);

  const held = {
    message: 'q1',
    at: AT,
    from: 'eve@example.org',
    to: 'alice@example.org',
    subject: 'Hi',
    reason: 'spam',
  };
  const bounce = { at: AT, group: 'all@example.org', recipient: 'bob@example.org', reason: 'full' };
  const dns = { domain: 'example.org', record: 'example.org', type: 'MX', expected: '10 mail', found: ['10 mail'] };
  await report({ role: 'mail', queue_length: 1, quarantine: [held], group_bounces: [bounce], dns: [dns] });
  assert.deepEqual((await ask('mail', 'readQuarantine')).body.items, [{ ...held, ...from }]);
  assert.deepEqual((await ask('mail', 'readGroupBounces')).body.items, [{ ...bounce, ...from }]);
  assert.deepEqual((await ask('mail', 'readMailDns')).body.items, [{ ...dns, ...from, matches: true }]);

  await report({ role: 'mcu', calls: [{ call: 'm1', room: 'r', started_at: AT, participants: ['alice'] }] });
  liveCalls.push({ call: 'call_1', conversation: 'c_1', state: 'ringing', users: ['bob'], startedAt: AT });
  const calls = (await ask('mcu', 'readLiveCalls')).body.items;
  assert.deepEqual(
    calls.map((call: Record<string, unknown>) => [call['call'], call['node'], call['participants'], call['state']]),
    [
      ['call_1', null, [{ user: 'bob' }], 'ringing'],
      ['m1', id, [{ user: 'alice' }], 'joined'],
    ],
  );

  await report({ role: 'telemetry', figures: { cpu: 0.5 }, errors: [LINE] });
  assert.deepEqual((await ask('telemetry', 'readTelemetry')).body.nodes, [
    { ...from, figures: { cpu: 0.5 }, lines: [], errors: [LINE] },
  ]);

  const deployment = {
    name: 'db',
    service: 'postgres',
    version: '17',
    state: 'running',
    config: 'dsn=postgres://u:p@h/d',
  };
  await report({ role: 'deployments', deployments: [{ ...deployment, errors: [LINE] }] });
  const listed = (await ask('servers', 'listDeployments')).body.items;
  const summary = { id: `${id}.db`, node: id, service: 'postgres', version: '17', state: 'running', started_at: null };
  assert.deepEqual(listed, [{ ...summary, reported_at: from.reported_at }]);
  const detail = { ...summary, reported_at: from.reported_at, lines: [], errors: [LINE] };
  assert.deepEqual((await ask('servers', 'listServers')).body.items, [
    { id, name: 'edge-1', hostname: 'edge-1.example.org', silent: false, deployments: [detail] },
  ]);
  assert.deepEqual((await ask('servers', 'readDeployment', { id: `${id}.db` })).body, detail);
  assert.deepEqual((await ask('servers', 'readDeploymentConfig', { id: `${id}.db` })).body, {
    id: `${id}.db`,
    config: 'dsn=postgres://u:p@h/d',
    reported_at: from.reported_at,
  });
});

test('the last hundred reports per node and role are kept, newest first', async (context) => {
  const { ask, clock, join, nodes, reports } = await startNodePlane(context);
  const { id } = await join('edge-1', ['gateway']);
  const document = nodes.node(id);
  const { id: other } = await join('edge-2', ['gateway', 'mail']);
  const put = async (node: string, routes: number) =>
    await reports.put(
      { id: node, document: node === id ? document : nodes.node(node) },
      {
        role: 'gateway',
        state: 'up',
        listeners: [],
        routes: Array.from({ length: routes }, () => ({ from: 'a', to: 'b' })),
        lines: [],
        errors: [],
      },
    );
  await put(other, 7);
  for (let at = 0; at <= REPORTS_KEPT_MAX; at += 1) await put(id, at % 2);
  clock.advance(1);
  const numbers: number[] = [];
  let after: string | undefined;
  do {
    const { items, next } = (await ask('gateways', 'readGatewayReports', { id, query: { limit: 20, after } })).body;
    numbers.push(...items.map((item: { number: number }) => item.number));
    after = next ?? undefined;
  } while (after !== undefined);
  assert.deepEqual([numbers.length, numbers[0], numbers.at(-1)], [REPORTS_KEPT_MAX, REPORTS_KEPT_MAX + 1, 2]);
  assert.equal(reports.last(other, 'gateway')?.report.routes.length, 7);
  await assert.rejects(ask('gateways', 'readGatewayReports', { id, query: { after: '0' } }), refusal('cursor_invalid'));
  await nodes.revoke(id, { actor: 'user:root', address: null });
  await assert.rejects(ask('gateways', 'readGatewayReports', { id }), refusal('node_not_found'));
  assert.deepEqual([reports.last(id, 'gateway'), reports.page(id, 'gateway', undefined, 100)], [undefined, []]);
  await assert.rejects(put(id, 1), refusal('node_revoked'));
});

const ENTRY = { at: AT, kind: 'crash', name: 'call.setup', line: 'token=abc' };

test('GOV-02 client telemetry is the session’s, whatever the form says', async (context) => {
  const { ask, url } = await startNodePlane(context);
  const post = async (
    body: unknown,
    headers: Record<string, string> = { authorization: 'Bearer session-of-alice' },
  ) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${url}/v1/telemetry`, init);
    const json = (await answer.json()) as { code?: string; field?: string };
    return [answer.status, json.code, json.field];
  };
  const form = { app_version: '2.0', entries: [ENTRY] };
  assert.deepEqual(await post(form), [200, undefined, undefined]);
  const { items } = (await ask('telemetry', 'readTelemetry')).body;
  assert.deepEqual(items, [
    {
      number: 1,
      received_at: '2026-11-21T08:00:00.000Z',
      user: 'alice',
      device: 'device-of-alice',
      app_version: '2.0',
      ...ENTRY,
      figures: null,
    },
  ]);
  assert.deepEqual(await post({ ...form, user: 'bob' }), [400, 'field_unknown', 'user']);
  assert.deepEqual(await post({ ...form, entries: [{ ...ENTRY, sender: 'bob' }] }), [
    400,
    'field_unknown',
    'entries.0.sender',
  ]);
  assert.deepEqual(await post({ ...form, entries: [] }), [400, 'field_invalid', 'entries']);
  const many = Array.from({ length: TELEMETRY_ENTRIES_MAX + 1 }, () => ENTRY);
  assert.deepEqual(await post({ ...form, entries: many }), [400, 'field_invalid', 'entries']);
  assert.deepEqual(await post(form, {}), [401, 'token_missing', undefined]);
  assert.deepEqual(await post(form, { authorization: 'Bearer svc_vst_x_y' }), [401, 'token_invalid', undefined]);
  // Refused forms count as well: a client that only sends nonsense is a flood too.
  for (let at = 5; at < STATED_POLICIES.telemetry.burst; at += 1) assert.equal((await post(form))[0], 200);
  assert.deepEqual(await post(form), [429, 'rate_limited', undefined]);
  assert.equal((await post(form, { authorization: 'Bearer session-of-bob' }))[0], 200);
});

test('telemetry keeps the newest entries and pages through them', async (context) => {
  const { ask, telemetry } = await startNodePlane(context);
  const report = {
    app_version: '1',
    entries: Array.from({ length: 50 }, () => ({ ...ENTRY, kind: 'crash' as const })),
  };
  for (let at = 0; at <= TELEMETRY_KEPT_MAX / 50; at += 1) telemetry.put({ user: 'alice', device: 'd' }, report);
  const first = (await ask('telemetry', 'readTelemetry', { query: { limit: 200 } })).body;
  assert.deepEqual([first.items.length, first.items[0].number, first.next], [200, 5050, '4851']);
  const last = telemetry.page(52, 200);
  assert.deepEqual(
    last.map(({ number }) => number),
    [51],
  );
  await assert.rejects(ask('telemetry', 'readTelemetry', { query: { after: 'x' } }), refusal('cursor_invalid'));
});

test('client sessions come from the accounts, page by page of people', async (context) => {
  const { accounts, ask, clock, telemetry } = await startNodePlane(context);
  const seconds = clock.now() / 1000;
  await accounts.change((draft) => {
    for (const username of ['alice', 'bob', 'carol']) {
      draft.putPerson({ username, state: 'active', role: 'person', passwordHash: 'x', createdAt: AT } as never);
      const session = username === 'bob' ? undefined : { sid: 's', iat: seconds, rnw: seconds + 60 };
      const device = { id: `d_${username}`, name: 'phone', platform: 'ios', createdAt: AT, usedAt: seconds };
      draft.putDevices(username, [{ ...device, session }]);
    }
  });
  telemetry.put(
    { user: 'alice', device: 'd_alice' },
    { app_version: '3', entries: [{ at: AT, kind: 'event', name: 'x' }] },
  );
  const first = (await ask('telemetry', 'listClientSessions', { query: { limit: 2 } })).body;
  const same = { name: 'phone', platform: 'ios', created_at: AT, used_at: '2026-11-21T08:00:00.000Z' };
  assert.deepEqual(first, {
    items: [
      {
        user: 'alice',
        device: 'd_alice',
        ...same,
        session_until: '2026-11-21T08:01:00.000Z',
        app_version: '3',
        reported_at: '2026-11-21T08:00:00.000Z',
      },
      { user: 'bob', device: 'd_bob', ...same, session_until: null, app_version: null, reported_at: null },
    ],
    // How many people came before, and no name: vendors see cursors as they are.
    next: '2',
  });
  clock.advance(60);
  const second = (await ask('telemetry', 'listClientSessions', { query: { after: '2' } })).body;
  assert.deepEqual([second.items[0].user, second.items[0].session_until, second.next], ['carol', null, null]);
  const named = ask('telemetry', 'listClientSessions', { query: { after: 'bob' } });
  await assert.rejects(named, refusal('cursor_invalid'));
});
