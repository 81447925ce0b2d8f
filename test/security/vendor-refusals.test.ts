/** A vendor token that is tried where none is taken: refused there, and in the audit trail (VND-06, VND-09, VND-13). */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { REFUSALS_AUDITED_PER_MINUTE } from '#src/identity/vendor-token-use.ts';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import { request } from '#test/support/server.ts';
import { refusedUpgrade } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

let host: ConsoleServer;
let token: string;
let id: string;
before(async () => {
  host = await startConsoleServer({}, { shards: 2 });
  token = (host.callers.vendor_active['authorization'] as string).slice('Bearer '.length);
  id = token.split('_')[2] as string;
});
after(async () => await host.stop());

interface Refused {
  readonly actor: string;
  readonly address: string;
  readonly details: { readonly path: string; readonly code: string; readonly count?: number };
}

async function refused(actor = `vendor:${id}`): Promise<Refused[]> {
  const path = `/audit?event=vendor_token.refused&actor=${actor}&limit=200`;
  return (await host.call<{ items: Refused[] }>('owner', 'GET', path)).body.items;
}

async function isWritten(path: string, code: string): Promise<void> {
  const entry = await until(
    async () => (await refused()).find((one) => one.details.path === path),
    `the refusal at ${path}`,
  );
  assert.deepEqual([entry.details.code, entry.address], [code, '127.0.0.1'], path);
}

test('VND-13 a token that is tried on messaging, on the calendar and on the doors of clients and nodes is in the trail', async () => {
  const { calendar, coordinator, messaging } = host.server;
  const bearer = { authorization: `Bearer ${token}` };
  const tries: [method: string, base: string, path: string, headers: Record<string, string>][] = [
    ['GET', messaging, '/v1/inbox', bearer],
    ['GET', messaging, '/v1/calls', { 'x-admin-token': token }],
    ['GET', messaging, '/v1/nothing', bearer],
    ['GET', calendar, '/v1/calendars', bearer],
    ['PROPFIND', calendar, '/dav/', bearer],
    ['GET', calendar, '/v1/calendars/cal_x/export', bearer],
    ['GET', coordinator, '/v1/directory', bearer],
    ['POST', coordinator, '/v1/nodes/self/health', { 'x-node-token': token }],
    ['POST', coordinator, '/v1/auth/renew', bearer],
  ];
  for (const [method, base, path, headers] of tries) {
    const response = await fetch(`${base}${path}?secret=heron`, { method, headers });
    assert.ok(response.status >= 400, `${method} ${path}: ${response.status}`);
    await response.arrayBuffer();
    await isWritten(path, 'vendor_token_forbidden');
  }
  assert.equal((await refusedUpgrade(host.server, `?token=${token}&device=d_none`)).status, 401);
  await isWritten('/v1/ws', 'vendor_token_forbidden');
  assert.doesNotMatch(JSON.stringify(await refused()), /heron/);
});

test('VND-13 a token that is none leaves nothing, also when its shape is right', async () => {
  const stranger = `svc_vst_${'0'.repeat(22)}_${'A'.repeat(43)}`;
  const count = (await refused()).length;
  for (const base of [host.server.messaging, host.server.calendar, host.server.coordinator]) {
    const headers = { authorization: `Bearer ${stranger}` };
    assert.equal((await request('GET', `${base}/v1/inbox`, { headers })).status >= 400, true);
  }
  // What comes after it is there: the stranger's would have been.
  await request('GET', `${host.server.messaging}/v1/drafts-of-nobody`, {
    headers: { authorization: `Bearer ${token}` },
  });
  await isWritten('/v1/drafts-of-nobody', 'vendor_token_forbidden');
  assert.equal((await refused()).length, count + 1);
  assert.deepEqual(await refused(`vendor:${'0'.repeat(22)}`), []);
});

test('VND-09 the area of identity is closed to a vendor, whatever there is in it', async () => {
  for (const path of ['/identity/control', '/identity/control/accounts', '/identity/control/nothing/at/all']) {
    const { status, body } = await host.call<{ code: string }>('vendor_active', 'GET', path);
    assert.deepEqual([status, body.code], [403, 'vendor_token_forbidden'], path);
    await isWritten(`/admin/api${path}`, 'vendor_token_forbidden');
  }
});

test('VND-01 the break-glass account revokes a token', async () => {
  const form = { name: 'to be revoked', purpose: 'a test', term_days: 365 };
  const issued = await host.call<{ id: string; token: string }>('owner', 'POST', '/vendor-tokens', { body: form });
  const none = await host.call<{ code: string }>('break_glass', 'POST', '/vendor-tokens', { body: form });
  assert.deepEqual([none.status, none.body.code], [403, 'right_missing']);
  const path = `/vendor-tokens/${issued.body.id}/revoke`;
  const revoked = await host.call<{ state: string; revoked_by: string }>('break_glass', 'POST', path);
  assert.deepEqual([revoked.status, revoked.body.state, revoked.body.revoked_by], [200, 'revoked', 'break-glass']);
  const headers = { authorization: `Bearer ${issued.body.token}` };
  const ended = await request<{ code: string }>('GET', `${host.server.coordinator}/admin/api/me`, { headers });
  assert.deepEqual([ended.status, ended.body.code], [401, 'vendor_token_revoked']);
});

test('VND-13 a flood with a known id has so many entries a minute', async () => {
  const flooding = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`;
  const headers = { authorization: `Bearer ${flooding}` };
  for (let at = 0; at < 3 * REFUSALS_AUDITED_PER_MINUTE; at += 1) {
    await request('GET', `${host.server.calendar}/v1/calendars`, { headers });
  }
  await host.call('vendor_active', 'GET', '/vendor-tokens');
  const entries = await refused();
  // The minute may have turned once.
  assert.ok(entries.length >= REFUSALS_AUDITED_PER_MINUTE, String(entries.length));
  assert.ok(entries.length <= 2 * REFUSALS_AUDITED_PER_MINUTE + 2, String(entries.length));
});
