/**
 * An installation with people in every list that a vendor reads: what a vendor may not learn of them is known to the
 * test, which attacks with it.
 */
import assert from 'node:assert/strict';
import { consoleRoutes } from '#src/console/route-table.ts';
import { isOpenToVendors } from '#src/console/vendor-gate.ts';
import type { ConsoleRoute } from '#src/console/route.ts';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

/** Where ivanova's requests and the owner's come from, as the proxy says. */
export const ADDRESS = '203.0.113.77';
const PASSWORD = 'a long enough password';
/** No port of this machine answers, so that a code for a guest stays undelivered and the log says for whom. */
const DEAF_WEBHOOK = 'http://127.0.0.1:9/codes';
const GUEST_PHONE = '+79161234567';

export interface VendorScene {
  readonly host: ConsoleServer;
  readonly ivanova: Person;
  /** Ids that belong to ivanova, or to what she made. */
  readonly ids: Readonly<Record<'device' | 'session' | 'group' | 'meeting' | 'calendar' | 'conversation', string>>;
  /** A read as the vendor. */
  readonly read: <T = Page>(path: string) => Promise<Reply<T>>;
}

export interface Page {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly next: string | null;
}

/** The routes that a vendor token reads. */
export function vendorReads(): readonly ConsoleRoute[] {
  return consoleRoutes()
    .map(({ route }) => route)
    .filter((route) => route.method === 'get' && isOpenToVendors(route) && route.access !== 'public');
}

export async function startVendorScene(): Promise<VendorScene> {
  const host = await startConsoleServer(
    {
      PARLEY_TRUSTED_PROXIES: '127.0.0.1',
      PARLEY_RECOVERY_WEBHOOK: DEAF_WEBHOOK,
    },
    { shards: 2 },
  );
  try {
    return await plantScene(host);
  } catch (error) {
    // A server that nobody stops would keep the tests from ending.
    await host.stop();
    throw error;
  }
}

async function plantScene(host: ConsoleServer): Promise<VendorScene> {
  const { call, server } = host;
  const { ivanova } = await server.people('ivanova', 'albatross', 'heron', 'kestrel', 'wren');
  const as = async <T>(base: string, method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { 'x-forwarded-for': ADDRESS };
    const reply = await request<T>(method, `${base}${path}`, { token: ivanova.session.token, body, headers });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`);
    return reply.body;
  };
  const owner = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { 'x-forwarded-for': ADDRESS };
    const reply = await call<T>('owner', method, path, { headers, ...(body === undefined ? {} : { body }) });
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`);
    return reply.body;
  };
  const meeting = await as<{ id: string }>(server.coordinator, 'POST', '/v1/meetings', { title: 'Standup' });
  const calendar = await as<{ id: string }>(server.calendar, 'POST', '/v1/calendars', { displayname: 'Mine' });
  const room = await as<{ id: string }>(server.messaging, 'POST', '/v1/conversations', {
    kind: 'room',
    title: 'Accounting',
    participants: ['someone'],
  });
  const telemetry = { app_version: '1.0', entries: [{ at: new Date().toISOString(), kind: 'crash', name: 'x' }] };
  await as(server.coordinator, 'POST', '/v1/telemetry', telemetry);
  await as(server.messaging, 'POST', '/v1/signal', {
    to: room.id,
    kind: 'call',
    step: 'invite',
    call: 'k1',
    seq: 1,
    body: { video: false, room: room.id },
  });
  const group = await owner<{ id: string }>('POST', '/groups', { name: 'Chief accountants', members: ['ivanova'] });
  await owner('POST', '/policies', { action: 'see', from: group.id, to: 'guests', effect: 'deny' });
  await owner('POST', `/conversations/${room.id}/webhooks`, { name: 'Builds' });
  await owner('POST', '/bots', { name: 'diary', display_name: 'Diary', scopes: [], conversations: [room.id] });
  await endOneSession(host, owner);
  await tellOfIvanova(host, as, owner);
  await leaveGuestInLog(host, owner);
  const sessions = await owner<{ items: { id: string; device_id: string }[] }>('GET', '/users/ivanova/sessions');
  const { id: session, device_id: device } = sessions.items[0] ?? assert.fail('ivanova has no session');
  return {
    host,
    ivanova,
    ids: { device, session, group: group.id, meeting: meeting.id, calendar: calendar.id, conversation: room.id },
    read: async (path) => await call('vendor_active', 'GET', path),
  };
}

/** Words of hers, and of others on her, each of which stands in one list beside her name. */
async function tellOfIvanova({ server }: ConsoleServer, as: AsPerson, owner: Owner): Promise<void> {
  const profile = { display_name: 'Galina Quincewood', title: 'Zymurgist of the yard', phone: '+79161112233' };
  await owner('PATCH', '/users/ivanova', { ...profile, email: 'galina.q@corp.example' });
  await owner('PUT', '/console-roles/ivanova', { role: 'viewer' });
  await owner('POST', '/users/heron/block');
  await owner('POST', '/users', { username: 'petrel', password: PASSWORD, title: 'Petrichor smith' });
  await as(server.coordinator, 'PATCH', '/v1/me', { status: { text: 'Windjammer away' } });
  await as(server.coordinator, 'POST', '/v1/app-passwords', { name: 'Windlass of the quay' });
  const device = { name: 'Gondola tablet', platform: 'macos' };
  const body = { username: 'ivanova', password: 'password of ivanova', device };
  const { status, text } = await request('POST', `${server.coordinator}/v1/auth/login`, { body });
  assert.equal(status, 200, text);
}

type AsPerson = <T>(base: string, method: string, path: string, body?: unknown) => Promise<T>;
type Owner = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** A second session of hers is ended: the trail says which, and of which device. */
async function endOneSession({ server }: ConsoleServer, owner: Owner): Promise<void> {
  const second = await server.signIn('ivanova', 'password of ivanova');
  const { items } = await owner<{ items: { id: string; device_id: string }[] }>('GET', '/users/ivanova/sessions');
  const ended = items.find(({ device_id: device }) => device === second.device_id) ?? assert.fail('no second session');
  await owner('DELETE', `/users/ivanova/sessions/${ended.id}`);
  // The device signs in again, so that a list shows what the trail speaks of.
  await server.signIn('ivanova', 'password of ivanova', second.device_id);
}

/** A guest, gusev, whose recovery code cannot be delivered: a line of the log names him as `"user":"gusev"`. */
async function leaveGuestInLog({ server, call }: ConsoleServer, owner: Owner): Promise<void> {
  const guest_until = new Date(Date.now() + 86_400_000).toISOString();
  const { url } = await owner<{ url: string }>('POST', '/enroll', { kind: 'guest', phone: GUEST_PHONE, guest_until });
  const secret = url.slice(url.lastIndexOf('/') + 1);
  const body = { username: 'gusev', password: PASSWORD };
  const enrolled = await request('POST', `${server.coordinator}/v1/enroll/${secret}`, { body });
  assert.ok(enrolled.status < 300, enrolled.text);
  await request('POST', `${server.coordinator}/v1/auth/recover`, { body: { phone: GUEST_PHONE } });
  await until(async () => {
    const { text } = await call('owner', 'GET', '/logs?text=gusev');
    return text.includes('could not be delivered');
  }, 'the line that names the guest');
}
