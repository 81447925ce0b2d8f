/** What nodes report, as a vendor reads it outside of the logs: routes lead from and to people (RED-04 to RED-06, VND-15). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { request } from '#test/support/server.ts';
import { startConsoleServer, type ConsoleServer } from './console-server.ts';

let host: ConsoleServer;
before(async () => {
  host = await startConsoleServer();
});
after(async () => await host.stop());

const ROUTE = { from: 'sip:+79161234567@example.org', to: 'alice@example.org', via: '192.0.2.77', state: 'up' };
const LISTENERS = [{ host: '192.0.2.77', port: 5060, protocol: 'sip' }];

async function reportGateway(): Promise<void> {
  const { coordinator } = host.server;
  const body = { name: 'edge-1', roles: ['gateway'] };
  const made = await host.call<{ join_token: string }>('owner', 'POST', '/nodes', { body });
  const join = { join_token: made.body.join_token, hostname: 'edge-1.example.org', agent_version: '1', os: 'Debian' };
  const joined = await request('POST', `${coordinator}/v1/nodes/join`, { body: join });
  const headers = { 'x-node-token': String(joined.body['token']) };
  const report = { role: 'gateway', state: 'up', listeners: LISTENERS, routes: [ROUTE] };
  const reported = await request('POST', `${coordinator}/v1/nodes/self/reports`, { headers, body: report });
  assert.equal(reported.status, 200, reported.text);
}

test('RED-04 RED-05 RED-06 routes and gateways name nobody to a vendor, and all to an administrator', async () => {
  await reportGateway();
  for (const [path, personal] of [
    ['/routing', ['79161234567', 'alice', '192.0.2.77']],
    ['/gateways', ['192.0.2.77']],
  ] as const) {
    const raw = await host.call('administrator', 'GET', path);
    const clean = await host.call('vendor_active', 'GET', path);
    assert.deepEqual([raw.status, clean.status], [200, 200]);
    for (const text of personal) {
      assert.ok(raw.text.includes(text), `${path}: ${text}`);
      assert.ok(!clean.text.includes(text), `${path}: ${clean.text}`);
    }
    assert.match(clean.text, /192\.0\.2\.x/);
    assert.match(clean.text, /edge-1/);
  }
  const { text } = await host.call('vendor_active', 'GET', '/routing');
  assert.match(text, /sip:tel-[0-9a-f]{8}@example\.org/);
  assert.match(text, /u-[0-9a-f]{8}@example\.org/);
});

test('RED-03 VND-15 whoever has an account is not called by name in what hosts say, from the moment on that they have one', async () => {
  const { coordinator } = host.server;
  const made = await host.call<{ join_token: string }>('owner', 'POST', '/nodes', {
    body: { name: 'edge-2', roles: [] },
  });
  const join = { join_token: made.body.join_token, hostname: 'edge-2.example.org', agent_version: '1', os: 'Debian' };
  const joined = await request('POST', `${coordinator}/v1/nodes/join`, { body: join });
  const headers = { 'x-node-token': String(joined.body['token']) };
  const line = 'kicked out kalomi.renvu because Kalomi Renvu-Tas said so, /srv/mail/kalomi.renvu/cur';
  const health = {
    agent_version: '1',
    uptime_seconds: 1,
    load: [1, 1, 1],
    memory: { total_bytes: 2, available_bytes: 1 },
    disks: [],
    units_failed: [],
    certificates: [],
    errors: [{ at: new Date().toISOString(), unit: 'odd.service', level: 'error', line }],
  };
  const said = await request('POST', `${coordinator}/v1/nodes/self/health`, { headers, body: health });
  assert.equal(said.status, 200, said.text);
  const path = `/nodes/${String(joined.body['id'])}/health`;
  const read = async () => (await host.call('vendor_active', 'GET', path)).text;
  assert.ok((await read()).includes('kicked out kalomi.renvu because Kalomi Renvu-Tas said so'), await read());
  const kalomi = await host.server.person('kalomi.renvu');
  const renamed = await request('PATCH', `${coordinator}/v1/me`, {
    body: { display_name: 'Kalomi Renvu-Tas' },
    token: kalomi.session.token,
  });
  assert.equal(renamed.status, 200, renamed.text);
  assert.match(await read(), /kicked out (u-[0-9a-f]{8}) because u-[0-9a-f]{8} said so, \/srv\/mail\/\1\/cur/);
  const raw = await host.call('administrator', 'GET', path);
  assert.ok(raw.text.includes(line), raw.text);
});
