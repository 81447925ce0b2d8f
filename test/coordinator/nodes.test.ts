import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { nodesRoutes } from '#src/console/routes/operations/nodes.ts';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { JOIN_TOKEN_MILLIS, nodeRecords, NODES_MAX, REVOKED_NODES_KEPT_MAX } from '#src/hosts/nodes.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { REPORT_BODY_BYTES_MAX } from '#src/protocol/hosts/nodes.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';
import { HEALTH, startNodePlane, VENDOR } from './node-fixture.ts';

const refusal = (code: ErrorCode) => (error: unknown) => {
  assert.ok(error instanceof Refusal, String(error));
  assert.equal(error.code, code);
  return true;
};
const JOIN = { hostname: 'mail.example.org', agent_version: '1.0.0', os: 'Linux 6.1' };

test('CRD-06 a join command joins one host, once', async (context) => {
  const { ask, accounts, clock, door, url } = await startNodePlane(context);
  const { status, body } = await ask('nodes', 'createNode', { body: { name: 'mail-1', roles: ['mail'] } });
  assert.equal(status, 201);
  assert.match(body.join_token, /^join_n_[0-9a-z]{22}_[A-Za-z0-9_-]{43}$/);
  assert.equal(body.command, `npx parley node join --coordinator ${url} --token ${body.join_token} --data node`);
  assert.equal(body.expires_at, '2026-11-22T08:00:00.000Z');
  const form = { ...JOIN, join_token: body.join_token };
  const answers = await Promise.all(Array.from({ length: 4 }, () => door('POST', 'join', { body: form })));
  assert.deepEqual(
    answers.map((answer) => answer.status).toSorted((a, b) => a - b),
    [201, 410, 410, 410],
  );
  assert.equal(answers.find((answer) => answer.status === 410)?.json.code, 'join_token_used');
  const joined = answers.find((answer) => answer.status === 201)?.json;
  assert.equal(joined.id, body.id);
  assert.match(joined.token, /^node_n_[0-9a-z]{22}_[A-Za-z0-9_-]{43}$/);
  const stored = JSON.stringify(accounts.document(nodeRecords, body.id));
  for (const secret of [joined.token, body.join_token]) assert.ok(!stored.includes(secret.slice(-43)));
  assert.deepEqual((await ask('nodes', 'readNode', { id: body.id })).body, {
    id: body.id,
    name: 'mail-1',
    roles: ['mail'],
    state: 'joined',
    created_at: '2026-11-21T08:00:00.000Z',
    created_by: 'user:root',
    joined_at: '2026-11-21T08:00:00.000Z',
    host: { hostname: 'mail.example.org', agent_version: '1.0.0', os: 'Linux 6.1', address: '127.0.0.1' },
    last_seen_at: null,
    silent: false,
    revoked_at: null,
    revoked_by: null,
  });
  assert.deepEqual(
    accounts.auditEntries({ limit: 9 }).map(({ event, actor, subject }) => [event, actor, subject]),
    [
      ['node.joined', `node:${body.id}`, `node:${body.id}`],
      ['node.created', 'user:root', `node:${body.id}`],
    ],
  );
  assert.equal(clock.now(), Date.parse('2026-11-21T08:00:00.000Z'));
});

test('CRD-06 a join token lives for a day and ends with its node', async (context) => {
  const { ask, clock, create, door } = await startNodePlane(context);
  const [late, inTime, revoked] = [await create('late'), await create('in-time'), await create('revoked')];
  await ask('nodes', 'revokeNode', { id: revoked.id });
  clock.advance(JOIN_TOKEN_MILLIS / 1000 - 1);
  const join = async (token: string) =>
    (await door('POST', 'join', { body: { ...JOIN, join_token: token } })).json.code;
  assert.equal(await join(inTime.join_token), undefined);
  assert.equal(await join(revoked.join_token), 'join_token_used');
  clock.advance(1);
  assert.equal(await join(late.join_token), 'join_token_used');
  for (const token of ['x', `${late.join_token}x`, late.join_token.replace('join_', 'node_'), 'join_n_0_0']) {
    assert.equal(await join(token), 'join_token_used');
  }
});

test('CRD-06 a node token opens node doors as X-Node-Token and nothing else does', async (context) => {
  const { door, join } = await startNodePlane(context);
  const { token } = await join('one');
  const { token: other } = await join('two');
  const code = async (given: Parameters<typeof door>[2]) => {
    const { status, json } = await door('POST', 'self/health', { body: HEALTH, ...given });
    return [status, json.code ?? json.status];
  };
  assert.deepEqual(await code({ token }), [200, 'ok']);
  assert.deepEqual(await code({}), [401, 'token_missing']);
  assert.deepEqual(await code({ headers: { authorization: `Bearer ${token}` } }), [401, 'token_missing']);
  assert.deepEqual(await code({ headers: { 'x-admin-token': token } }), [401, 'token_missing']);
  const swapped = token.slice(0, 30) + other.slice(30);
  for (const bad of ['x', swapped, `${token}A`, token.slice(0, -1), `svc_vst_${token}`, `bot_${token}`]) {
    assert.deepEqual(await code({ token: bad }), [401, 'token_invalid'], bad);
  }
  const { status, json } = await door('GET', `self/asks?token=${token}`, { token });
  assert.deepEqual([status, json.code], [400, 'query_invalid']);
});

test('CRD-08 revoking a host ends it at once, also a poll that waits', async (context) => {
  const { accounts, ask, chunks, door, join, reports, waitForAsks } = await startNodePlane(context);
  const { id, token } = await join('mail-1', ['routing']);
  await door('POST', 'self/health', { token, body: HEALTH });
  await door('POST', 'self/reports', { token, body: { role: 'routing', routes: [{ from: 'a', to: 'b' }] } });
  const { answer } = await waitForAsks(token);
  assert.equal((await ask('nodes', 'revokeNode', { id })).status, 204);
  const ended = await answer;
  assert.deepEqual([ended.status, ended.json.code], [401, 'node_revoked']);
  for (const [method, path, body] of [
    ['GET', 'self/asks', undefined],
    ['POST', 'self/health', HEALTH],
    ['POST', 'self/reports', { role: 'routing', routes: [] }],
    ['POST', 'self/journal', { ask: `ask_${'0'.repeat(22)}`, text: '' }],
  ] as const) {
    const { status, json } = await door(method, path, { token, body });
    assert.deepEqual([status, json.code], [401, 'node_revoked'], path);
  }
  const { body } = await ask('nodes', 'readNode', { id });
  assert.deepEqual([body.state, body.revoked_by, body.last_seen_at], ['revoked', 'user:root', null]);
  assert.deepEqual([reports.last(id, 'routing'), chunks.last(id)], [undefined, undefined]);
  await assert.rejects(ask('nodes', 'revokeNode', { id }), refusal('node_not_found'));
  await assert.rejects(ask('nodes', 'askForJournal', { id, body: { unit: 'a', lines: 1 } }), refusal('node_not_found'));
  assert.deepEqual(accounts.auditEntries({ limit: 1 })[0]?.details, {
    name: 'mail-1',
    roles: ['routing'],
    prior_state: 'joined',
    state: 'revoked',
  });
});

test('a name belongs to one node, until it is revoked', async (context) => {
  const { ask, create } = await startNodePlane(context);
  const { id } = await create('Mail-1');
  await assert.rejects(create('mail-1'), refusal('node_name_taken'));
  await ask('nodes', 'revokeNode', { id });
  await create('mail-1');
});

test('one node more than there may be is refused', async (context) => {
  const { create, nodes } = await startNodePlane(context);
  await Promise.all(Array.from({ length: NODES_MAX }, (_, at) => create(`node-${at}`)));
  assert.equal(nodes.count, NODES_MAX);
  await assert.rejects(create('one-more'), refusal('nodes_full'));
});

test('revoked nodes stay listed up to a number, and the oldest goes', async (context) => {
  const { clock, create, nodes } = await startNodePlane(context);
  const made: string[] = [];
  for (let at = 0; at <= REVOKED_NODES_KEPT_MAX; at += 1) {
    clock.advance(1);
    const { id } = await create('same-name');
    await nodes.revoke(id, { actor: 'user:root', address: null });
    made.push(id);
  }
  assert.deepEqual(
    nodes.all().map(({ id }) => id),
    made.slice(1),
  );
  assert.equal(nodes.count, 0);
});

test('nodes are paged in the order in which they were made', async (context) => {
  const { ask, clock, create } = await startNodePlane(context);
  const made: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    clock.advance(1);
    made.push((await create(name)).id);
  }
  const first = (await ask('nodes', 'listNodes', { query: { limit: 2 } })).body;
  assert.deepEqual([first.items.map(({ id }: { id: string }) => id), first.next], [made.slice(0, 2), made[1]]);
  const second = (await ask('nodes', 'listNodes', { query: { limit: 2, after: first.next } })).body;
  assert.deepEqual([second.items.map(({ id }: { id: string }) => id), second.next], [made.slice(2), null]);
  await assert.rejects(ask('nodes', 'listNodes', { query: { after: 'x' } }), refusal('cursor_invalid'));
});

test('NOD-01 forms of nodes are strict, with the field named', async (context) => {
  const { door, create, join } = await startNodePlane(context);
  const { token } = await join('one', ['mail']);
  const { join_token } = await create('two');
  const cases: [path: string, body: unknown, code: string, field: string | undefined][] = [
    ['join', { ...JOIN, join_token, id: 'n_1' }, 'field_unknown', 'id'],
    ['join', { ...JOIN, join_token, hostname: 'a b' }, 'field_invalid', 'hostname'],
    ['join', { ...JOIN, join_token, hostname: '-a' }, 'field_invalid', 'hostname'],
    ['join', { ...JOIN, join_token, agent_version: '' }, 'field_invalid', 'agent_version'],
    ['join', { ...JOIN, join_token, os: 'x'.repeat(129) }, 'field_invalid', 'os'],
    ['self/health', { ...HEALTH, node: 'n_1' }, 'field_unknown', 'node'],
    ['self/health', { ...HEALTH, load: [1, 2] }, 'field_invalid', 'load'],
    ['self/health', { ...HEALTH, uptime_seconds: -1 }, 'field_invalid', 'uptime_seconds'],
    ['self/health', { ...HEALTH, extra: { 'A B': 1 } }, 'field_invalid', 'extra.A B'],
    ['self/health', { ...HEALTH, extra: { deep: { a: 1 } } }, 'field_invalid', 'extra.deep'],
    [
      'self/health',
      { ...HEALTH, extra: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`a${at}`, at])) },
      'field_invalid',
      'extra',
    ],
    ['self/health', { ...HEALTH, errors: [{ at: 'now', level: 'error', line: 'x' }] }, 'field_invalid', 'errors.0.at'],
    ['self/reports', { role: 'nothing' }, 'field_invalid', 'role'],
    ['self/reports', { role: 'mail', queue_length: 0, sender: 'alice' }, 'field_unknown', 'sender'],
    ['self/journal', { ask: 'x', text: '' }, 'field_invalid', 'ask'],
    ['self/journal', { ask: `ask_${'0'.repeat(22)}`, text: '\ud800' }, 'body_invalid_json', undefined],
    ['self/health', '{', 'body_invalid_json', undefined],
    [
      'self/reports',
      { role: 'mail', queue_length: 0, lines: 'x'.repeat(REPORT_BODY_BYTES_MAX) },
      'body_too_large',
      undefined,
    ],
  ];
  for (const [path, body, code, field] of cases) {
    const answer = await door('POST', path, { token, body });
    assert.deepEqual(
      [answer.status, answer.json.code, answer.json.field],
      [400, code, field],
      `${path} ${code} ${field}`,
    );
  }
  const wrong = await door('POST', 'self/reports', { token, body: { role: 'routing', routes: [] } });
  assert.deepEqual([wrong.status, wrong.json.code, wrong.json.field], [403, 'node_role_forbidden', 'role']);
});

test('NOD-01 what a console asks with is checked before anything happens', () => {
  const body = nodesRoutes.askForJournal.body;
  const good = ['postfix@-.service', 'a', 'A_b.c:d@e-f', 'x'.repeat(128)];
  const bad = [
    '',
    '-u',
    '--file=x',
    'a/b',
    '/etc/passwd',
    '.',
    '..',
    '../x',
    'a b',
    'a;b',
    '$(id)',
    '`id`',
    'a|b',
    'a\nb',
    'a\0',
    'ä',
  ];
  for (const unit of good) assert.ok(body.safeParse({ unit, lines: 1 }).success, unit);
  for (const unit of [...bad, 'x'.repeat(129)]) assert.ok(!body.safeParse({ unit, lines: 1 }).success, unit);
  for (const lines of [1, 1000]) assert.ok(body.safeParse({ unit: 'a', lines }).success);
  for (const lines of [0, 1001, -1, 1.5, '5', null]) assert.ok(!body.safeParse({ unit: 'a', lines }).success);
  assert.ok(!body.safeParse({ unit: 'a', lines: 1, node: 'n_1' }).success);
  for (const form of [
    { name: '', roles: [] },
    { name: 'a b', roles: [] },
    { name: 'a', roles: ['mail', 'mail'] },
    { name: 'a', roles: ['root'] },
  ])
    assert.ok(!nodesRoutes.createNode.body.safeParse(form).success);
});

test('NOD-02 health is shown as it was reported, and a node that says nothing is silent', async (context) => {
  const { ask, clock, door, join } = await startNodePlane(context);
  const { id, token } = await join('one');
  assert.deepEqual((await ask('nodes', 'readHealth', { id })).body, {
    id,
    received_at: null,
    silent: false,
    health: null,
  });
  const sent = {
    ...HEALTH,
    units_failed: ['postfix.service'],
    errors: [{ at: '2026-11-21T07:59:00Z', unit: 'sshd', level: 'error', line: 'Failed password for alice' }],
    extra: { gpu: 'none', cores: 4, virtual: true },
  };
  assert.equal((await door('POST', 'self/health', { token, body: sent })).status, 200);
  const { body } = await ask('nodes', 'readHealth', { id, by: VENDOR });
  assert.deepEqual(body, {
    id,
    received_at: '2026-11-21T08:00:00.000Z',
    silent: false,
    health: { ...sent, disks: [], certificates: [] },
  });
  clock.advance(90);
  assert.equal((await ask('nodes', 'readHealth', { id })).body.silent, false);
  clock.advance(1);
  assert.equal((await ask('nodes', 'readNode', { id })).body.silent, true);
  await assert.rejects(ask('nodes', 'readHealth', { id: 'n_x' }), refusal('node_not_found'));
});

test('a node that floods is refused, by itself, and goes on at its rate', async (context) => {
  const { clock, door, join } = await startNodePlane(context);
  const [flood, quiet] = [await join('flood'), await join('quiet')];
  const health = async (token: string) => await door('POST', 'self/health', { token, body: HEALTH });
  for (let at = 0; at < STATED_POLICIES.report_health.burst; at += 1)
    assert.equal((await health(flood.token)).status, 200);
  const { status, json, headers } = await health(flood.token);
  assert.deepEqual([status, json.code, headers.get('retry-after')], [429, 'rate_limited', '5']);
  assert.equal((await health(quiet.token)).status, 200);
  clock.advance(5);
  assert.equal((await health(flood.token)).status, 200);
});

test('a body that never comes to its end is cut off, and a stranger sends none at all', async (context) => {
  const { join, port } = await startNodePlane(context, { PARLEY_REQUEST_SECONDS: '1' });
  const { token } = await join('slow');
  const send = async (headers: string) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => resolve(received));
    const length = 'content-type: application/json\r\ncontent-length: 4000000\r\n';
    socket.write(`POST /v1/nodes/self/journal HTTP/1.1\r\nhost: x\r\n${length}${headers}\r\n{"ask":"`);
    try {
      return await deadline(promise, PATIENCE_MILLIS, 'the connection to be closed');
    } finally {
      socket.destroy();
    }
  };
  // The deadline of the request answers first, then that of its body ends the connection.
  assert.match(
    await send(`x-node-token: ${token}\r\n`),
    /^HTTP\/1\.1 503 .*"code":"busy".*"code":"request_malformed"/s,
  );
  assert.match(
    await send('x-node-token: node_x\r\nconnection: close\r\n'),
    /^HTTP\/1\.1 401 .*"code":"token_invalid"/s,
  );
});

test('an agent below the oldest client version is served all the same', async (context) => {
  const { door, join } = await startNodePlane(context, { PARLEY_PROTOCOL_MIN: '1' });
  const { token } = await join('old', [], '0.0.1-alpha');
  assert.equal((await door('POST', 'self/health', { token, body: HEALTH })).status, 200);
});
