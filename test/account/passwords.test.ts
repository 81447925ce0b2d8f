/** Passwords: changed by their person, reset by a link of an administrator or of the host (CRD-12). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { ParleyClient } from '#src/client/parley-client.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { anotherDevice, assertRefused } from '#test/messaging/conversing.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const host = await startConsoleServer(
  { PARLEY_RATE_LIMITS: '1', PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '5' },
  { shards: 2 },
);
const { server } = host;
after(async () => await host.stop());

const FRESH = 'heron over the quiet lake';

async function change(who: Person, form: object): Promise<Reply> {
  return await request('POST', `${server.coordinator}/v1/me/password`, { token: who.session.token, body: form });
}

async function signIn(username: string, password: string, device?: string): Promise<number> {
  const body = { username, password, ...(device === undefined ? {} : { device_id: device }) };
  return (await request('POST', `${server.coordinator}/v1/auth/login`, { body })).status;
}

async function renew(refresh_token: string | undefined): Promise<Reply> {
  return await request('POST', `${server.coordinator}/v1/auth/renew`, { body: { refresh_token } });
}

interface Link {
  readonly url: string;
  readonly expires_at: string;
}

async function makeLink(username: string, who: 'administrator' | 'owner' = 'administrator'): Promise<string> {
  const made = await host.call<Link>(who, 'POST', `/users/${username}/password-reset`);
  assert.equal(made.status, 201, made.text);
  return made.body.url;
}

/** Newest first. */
async function trail(): Promise<{ event: string; details: Record<string, unknown> }[]> {
  const { body } = await host.call<{ items: { event: string; details: Record<string, unknown> }[] }>(
    'owner',
    'GET',
    '/audit',
  );
  return body.items;
}

test('CRD-12 a changed password signs in, the old one does not, and other sessions end as wished', async () => {
  const ann = await server.person('ann');
  const other = await anotherDevice(server, ann);
  const [kept, gone] = [await connect(server, ann), await connect(server, other)];
  const first = await change(ann, { current: ann.password, new: FRESH, end_others: false });
  assert.deepEqual([first.status, first.body], [200, { sessions_ended: 0 }]);
  assert.equal((await server.api(other, 'GET', '/v1/inbox')).status, 200);
  assert.equal(await signIn('ann', ann.password, ann.session.device_id), 401);
  const second = await change(ann, { current: FRESH, new: `${FRESH} again`, end_others: true });
  assert.deepEqual([second.status, second.body], [200, { sessions_ended: 1 }]);
  assert.equal((await gone.closing()).code, 4401);
  assertRefused(await server.api(other, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assertRefused(await renew(other.session.refresh_token), 401, 'session_revoked');
  assert.equal((await server.api(ann, 'GET', '/v1/inbox')).status, 200);
  assert.equal((await renew(ann.session.refresh_token)).status, 200);
  assert.equal(kept.closed, undefined);
  await kept.close();
  assert.equal(await signIn('ann', `${FRESH} again`), 200);
  const [entry] = (await trail()).filter(({ event }) => event === 'user.password_changed');
  assert.equal(entry?.details['sessions_ended'], 1);
});

test('CRD-12 what is wrong with a password has a code and its field, and leaves everything as it is', async () => {
  const bea = await server.person('bea');
  const cases: [form: object, status: number, code: string, field: string][] = [
    [{ current: bea.password, new: 'sev3n c', end_others: true }, 400, 'password_too_short', 'new'],
    [{ current: bea.password, new: 'Password1', end_others: true }, 400, 'password_too_common', 'new'],
    [{ current: bea.password, new: 'bea-bea-1234', end_others: true }, 400, 'password_names_you', 'new'],
    [{ current: bea.password, new: bea.password, end_others: true }, 400, 'password_unchanged', 'new'],
    [{ current: 'not the right one', new: FRESH, end_others: true }, 403, 'password_wrong', 'current'],
    [{ current: bea.password, new: 'x'.repeat(257), end_others: true }, 400, 'field_invalid', 'new'],
    [{ current: bea.password, new: FRESH }, 400, 'field_invalid', 'end_others'],
    [{ current: bea.password, new: FRESH, end_others: true, user: 'ann' }, 400, 'field_unknown', 'user'],
  ];
  for (const [form, status, code, field] of cases) {
    const { body, ...reply } = await change(bea, form);
    assert.deepEqual([reply.status, body['code'], body['field']], [status, code, field]);
  }
  assertRefused(await request('POST', `${server.coordinator}/v1/me/password`, { body: {} }), 401, 'token_missing');
  assert.equal(await signIn('bea', bea.password), 200);
});

test('CRD-12 of two who change a password at once, both knowing the old one, one does', async () => {
  const dot = await server.person('dot');
  const other = await anotherDevice(server, dot);
  const chosen = [`${FRESH} one`, `${FRESH} two`] as const;
  const [one, two] = await Promise.all([
    change(dot, { current: dot.password, new: chosen[0], end_others: false }),
    change(other, { current: dot.password, new: chosen[1], end_others: false }),
  ]);
  const isFirst = one.status === 200;
  const [done, refused] = isFirst ? [one, two] : [two, one];
  assert.deepEqual([done.status, refused.status, refused.body['code']], [200, 403, 'password_wrong']);
  assert.equal(await signIn('dot', chosen[isFirst ? 0 : 1], dot.session.device_id), 200);
  assert.equal(await signIn('dot', chosen[isFirst ? 1 : 0], dot.session.device_id), 401);
});

test('CRD-12 whoever guesses the old password is shut out here and at sign-in', async () => {
  const cas = await server.person('cas');
  const guess = { current: 'not the right one', new: FRESH, end_others: false };
  let [tries, last] = [0, await change(cas, guess)];
  for (; last.status === 403 && tries < 100; tries += 1) last = await change(cas, guess);
  assertRefused(last, 429, 'rate_limited');
  assert.ok(Number(last.headers.get('retry-after')) > 0);
  const isShutOut = async () => {
    // A guess takes what came back meanwhile.
    await change(cas, guess);
    return (await signIn('cas', cas.password)) === 429;
  };
  await until(isShutOut, 'the right password to be refused at sign-in');
});

test('CRD-12 CON-03 who has a role in the console is given another way in by owners alone', async () => {
  const { ola, vic } = await server.people('ola', 'vic');
  const owner = async (method: string, path: string, body?: object) =>
    await host.call('owner', method, path, body === undefined ? {} : { body });
  for (const [{ username }, role] of [[ola, 'administrator'] as const, [vic, 'viewer'] as const]) {
    const user = `/users/${username}`;
    assert.equal((await owner('PUT', `/console-roles/${username}`, { role })).status, 204);
    const attempts = async () => {
      assertRefused(await host.call('administrator', 'POST', `${user}/password-reset`), 403, 'right_missing');
      const mail = { body: { email: 'mallory@example.org' } };
      assertRefused(await host.call('administrator', 'PATCH', user, mail), 403, 'right_missing');
    };
    await attempts();
    // Nor by the way round: blocked, given a link, let in again.
    assert.equal((await host.call('administrator', 'POST', `${user}/block`)).status, 200);
    await attempts();
    assert.equal((await host.call('administrator', 'POST', `${user}/unblock`)).status, 200);
    assert.equal((await host.call('administrator', 'PATCH', user, { body: { title: 'Pilot' } })).status, 200);
    await makeLink(username, 'owner');
  }
});

test('CRD-12 an administrator’s link sets a password once and ends every session', async () => {
  const eve = await server.person('eve');
  const token = eve.session.token;
  const made = await request<{ id: string }>('POST', `${server.coordinator}/v1/app-passwords`, {
    token,
    body: { name: 'phone' },
  });
  assert.equal(made.status, 201);
  const socket = await connect(server, eve);
  const earlier = await makeLink('eve');
  const url = await makeLink('eve');
  assertRefused(await request('POST', earlier, { body: { password: FRESH } }), 410, 'reset_link_used');
  const common = await request('POST', url, { body: { password: 'iloveyou1' } });
  assertRefused(common, 400, 'password_too_common', 'password');
  const named = await request('POST', url, { body: { password: 'evelina-eve' } });
  assertRefused(named, 400, 'password_names_you', 'password');
  const used = await request('POST', url, { body: { password: FRESH, end_app_passwords: false } });
  assert.deepEqual([used.status, used.body], [200, { status: 'ok' }]);
  assert.equal((await socket.closing()).code, 4401);
  assertRefused(await server.api(eve, 'GET', '/v1/inbox'), 401, 'session_revoked');
  assertRefused(await request('POST', url, { body: { password: `${FRESH} 2` } }), 410, 'reset_link_used');
  assert.equal(await signIn('eve', eve.password), 401);
  const session = await server.signIn('eve', FRESH);
  const listed = async () =>
    (await request<{ items: unknown[] }>('GET', `${server.coordinator}/v1/app-passwords`, { token: session.token }))
      .body.items.length;
  assert.equal(await listed(), 1);
  const events = (await trail()).map(({ event }) => event);
  assert.ok(events.includes('user.password_reset_made'));
  assert.ok(events.includes('user.password_reset'));
});

test('CRD-12 app passwords end with a reset unless they are to stay, and a changed password ends the link', async () => {
  const fay = await server.person('fay');
  const url = await makeLink('fay');
  assert.equal((await change(fay, { current: fay.password, new: FRESH, end_others: false })).status, 200);
  assertRefused(await request('POST', url, { body: { password: `${FRESH} 2` } }), 410, 'reset_link_used');
  const at = `${server.coordinator}/v1/app-passwords`;
  await request('POST', at, { token: fay.session.token, body: { name: 'phone' } });
  const used = await request('POST', await makeLink('fay'), { body: { password: `${FRESH} 3` } });
  assert.equal(used.status, 200);
  const { token } = await server.signIn('fay', `${FRESH} 3`);
  assert.deepEqual((await request<{ items: unknown[] }>('GET', at, { token })).body.items, []);
});

test('CRD-12 a link made before its person was given a role in the console is over, and one made by an owner since is not', async () => {
  await server.person('ivy');
  const before = await makeLink('ivy');
  const raised = await host.call('owner', 'PUT', '/console-roles/ivy', { body: { role: 'viewer' } });
  assert.equal(raised.status, 204, raised.text);
  assertRefused(await request('POST', before, { body: { password: FRESH } }), 410, 'reset_link_used');
  const made = await host.call<Link>('owner', 'POST', '/users/ivy/password-reset');
  assert.equal(made.status, 201, made.text);
  assert.equal((await request('POST', made.body.url, { body: { password: FRESH } })).status, 200);
});

test('CRD-12 nobody in the console resets an owner, and a link made before somebody owned the place is over', async () => {
  for (const who of ['administrator', 'owner', 'break_glass'] as const) {
    assertRefused(await host.call(who, 'POST', '/users/owner/password-reset'), 403, 'owner_reset_on_host');
  }
  assertRefused(await host.call('viewer', 'POST', '/users/ann/password-reset'), 403, 'right_missing');
  assertRefused(await host.call('administrator', 'POST', '/users/nobody/password-reset'), 404, 'person_not_found');
  await server.person('gus');
  const url = await makeLink('gus');
  const raised = await host.call('owner', 'PUT', '/console-roles/gus', { body: { role: 'owner' } });
  assert.equal(raised.status, 204, raised.text);
  assertRefused(await request('POST', url, { body: { password: FRESH } }), 410, 'reset_link_used');
});

test('CRD-12 the host resets people and owners, each by a link', async () => {
  const hal = await server.person('hal');
  const person = await callControl(server.folder, 'user.reset', { username: 'hal' });
  assert.equal((await request('POST', person.url, { body: { password: FRESH } })).status, 200);
  assertRefused(await server.api(hal, 'GET', '/v1/inbox'), 401, 'session_revoked');
  await assert.rejects(callControl(server.folder, 'user.reset', { username: 'owner' }), /parley owner reset/);
  await assert.rejects(callControl(server.folder, 'owner.reset', { username: 'hal' }), /Name one of the owners/);
  const owner = await callControl(server.folder, 'owner.reset', { username: 'owner' });
  assert.equal((await request('POST', owner.url, { body: { password: `${FRESH} of mine` } })).status, 200);
  assert.equal((await host.call('owner', 'GET', '/me')).status, 401);
  assert.equal(await signIn('owner', `${FRESH} of mine`), 200);
});

test('CRD-12 a link opens one page whatever it is, and a made-up one is over', async () => {
  const pages = await Promise.all(
    ['rst_unknown', 'rst_00000000000000000000000000000000'].map(async (link) => {
      const page = await fetch(`${server.coordinator}/v1/password-reset/${link}`, { headers: { accept: 'text/html' } });
      assert.equal(page.status, 200);
      assert.match(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src 'sha256-/);
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
      return await page.text();
    }),
  );
  assert.equal(pages[0], pages[1]);
  assert.match(pages[0] ?? '', /end_app_passwords: programs\.checked/);
  const made = await request('POST', `${server.coordinator}/v1/password-reset/rst_unknown`, {
    body: { password: FRESH },
  });
  assertRefused(made, 410, 'reset_link_used');
});

test('CRD-12 the tour of the README signs in, writes, and changes a password', async () => {
  const tour = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').split('## Five minutes')[1] ?? '';
  const blocks = [...(tour.split('\n## ')[0] ?? '').matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  const [signedIn, changed] = ['TOKEN=$(', '/v1/me/password'].map((text) => blocks.find((one) => one.includes(text)));
  for (const username of ['alice', 'bob']) {
    const password = `a long password of ${username}`;
    assert.ok(tour.includes(password));
    await callControl(server.folder, 'user.add', { username, password, role: 'person' });
  }
  const script = `${signedIn}\necho\n${changed}`
    .replaceAll('http://127.0.0.1:8080', server.coordinator)
    .replaceAll('http://127.0.0.1:8081', server.messaging);
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile('sh', ['-c', script], (error, out) => resolve(error === null ? out : error.message));
  const [message = '', answer = ''] = (await promise).split('\n');
  assert.match(message, /"body":"Hello, Bob"/);
  assert.equal(answer, '{"sessions_ended":0}');
  const next = /"new": "([^"]+)"/.exec(changed ?? '')?.[1] ?? '';
  assert.equal(await signIn('alice', next), 200);
});

test('CRD-12 the SDK changes a password and stays signed in', async (t) => {
  const ida = await server.person('ida');
  const client = await ParleyClient.signIn({
    coordinatorUrl: server.coordinator,
    messagingUrl: server.messaging,
    username: 'ida',
    password: ida.password,
  });
  t.after(() => client.close());
  assert.equal(await client.account.changePassword(ida.password, FRESH, true), 1);
  assert.deepEqual((await client.account.call('listAppPasswords')).items, []);
  await assert.rejects(client.account.changePassword(ida.password, `${FRESH} 2`, true), { code: 'password_wrong' });
});
