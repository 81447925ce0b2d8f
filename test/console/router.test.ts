/** The order in which the console's router judges a request, and what it lets out. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { z } from 'zod';
import { Depersonalisation } from '#src/console/depersonalisation.ts';
import type { ConsoleRoute } from '#src/console/route.ts';
import { routeFaults } from '#src/console/route-table.ts';
import { WAITING_MAX } from '#src/console/vendor-pace.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';
import { startRouter, VENDOR_TOKEN } from './router-fixture.ts';

const redactor = {
  redactValue: async (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('alice', 'u-00000000')) as unknown,
};
const start = async (t: TestContext) => await startRouter(t, redactor);

test('CON-03 nobody gets in, and learns of no path', async (t) => {
  const { call, handled } = await start(t);
  for (const path of ['/raw', '/shut', '/nothing-here', '/nodes/n_1/logs']) {
    const { status, body } = await call('GET', path);
    assert.deepEqual([status, body.code], [401, 'token_missing'], path);
  }
  const { body } = await call('GET', '/raw', 'not-a-token');
  assert.equal(body.code, 'token_invalid');
  assert.deepEqual(handled, []);
});

test('a path that is none, and a method that a path does not have, are told to who is known', async (t) => {
  const { call } = await start(t);
  assert.equal((await call('GET', '/nothing-here', 'viewer')).body.code, 'path_not_found');
  assert.equal((await call('DELETE', '/nodes/n_1/logs', 'viewer')).body.code, 'method_not_found');
  assert.equal((await call('PUT', '/raw', 'viewer')).body.code, 'method_not_found');
});

test('VND-06 a vendor token is taken as X-Admin-Token too, and two tokens that differ are not', async (t) => {
  const { call } = await start(t);
  assert.equal((await call('GET', '/raw', undefined, { headers: { 'x-admin-token': VENDOR_TOKEN } })).status, 200);
  const two = await call('GET', '/raw', 'owner', { headers: { 'x-admin-token': VENDOR_TOKEN } });
  assert.deepEqual([two.status, two.body.code], [401, 'token_invalid']);
});

test('VND-08 a vendor changes nothing: refused before the handler, its body unread, into the trail', async (t) => {
  const { call, handled, kept } = await start(t);
  for (const [method, path] of [
    ['POST', '/written'],
    ['POST', '/set-up'],
    ['POST', '/door'],
    ['PUT', '/raw'],
    ['DELETE', '/nothing-here'],
    ['PATCH', '/nodes/n_1/logs'],
  ] as const) {
    // Not JSON: whoever read the body would answer 400.
    const reply = await call(method, path, VENDOR_TOKEN, { body: '{"half' });
    assert.deepEqual([reply.status, reply.body.code], [403, 'vendor_token_forbidden'], `${method} ${path}`);
    const address = '127.0.0.1';
    assert.deepEqual(kept.at(-1), ['refused', '1', `/admin/api${path}`, 'vendor_token_forbidden', address]);
  }
  assert.deepEqual(handled, []);
});

test('VND-09 a closed path is refused before its query is read', async (t) => {
  const { call, handled, kept } = await start(t);
  const { status, body } = await call('GET', '/shut?secret=canary', VENDOR_TOKEN);
  assert.deepEqual([status, body.code], [403, 'vendor_token_forbidden']);
  assert.deepEqual(kept, [['refused', '1', '/admin/api/shut', 'vendor_token_forbidden', '127.0.0.1']]);
  assert.deepEqual(handled, []);
});

test('VND-05 a revoked token is refused with its code wherever it is shown', async (t) => {
  const { call, kept } = await start(t);
  for (const [method, path] of [
    ['GET', '/raw'],
    ['POST', '/door'],
    ['GET', '/nothing-here'],
  ] as const) {
    const { status, body } = await call(method, path, 'svc_vst_2_revoked');
    assert.deepEqual([status, body.code], [401, 'vendor_token_revoked'], `${method} ${path}`);
  }
  assert.deepEqual(
    kept.map(([what, id, , code]) => [what, id, code]),
    Array.from({ length: 3 }, () => ['refused', '2', 'vendor_token_revoked']),
  );
});

test('de-personalised answers are made one at a time, and one that nobody waits for any more is refused', async (t) => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const { call } = await startRouter(t, { redactValue: async (value) => (await opened, value) });
  const ask = async (path: string) => await call('GET', path, VENDOR_TOKEN);
  // One is being made, so many wait, and one is too many.
  const paced = Array.from({ length: WAITING_MAX + 2 }, () => ask('/logged'));
  const first = await deadline(Promise.race(paced), PATIENCE_MILLIS, 'a refusal').finally(open);
  assert.deepEqual([first.status, first.body.code], [503, 'busy']);
  assert.equal((await ask('/raw')).status, 200);
  const answered = await Promise.all(paced);
  assert.equal(answered.filter(({ status }) => status === 200).length, WAITING_MAX + 1);
});

test('RED-10 a vendor reads a log-like answer de-personalised, RED-11 an administrator as it is', async (t) => {
  const { call, kept } = await start(t);
  assert.equal((await call('GET', '/logged', VENDOR_TOKEN)).text, '{"note":"logged of u-00000000"}');
  assert.equal((await call('GET', '/logged', 'administrator')).text, '{"note":"logged of alice"}');
  assert.equal((await call('GET', '/raw', VENDOR_TOKEN)).text, '{"note":"raw of alice"}');
  const asked = await call('POST', '/nodes/n_1/logs', VENDOR_TOKEN, { body: { unit: 'nginx' } });
  assert.equal(asked.text, '{"note":"asked of u-00000000"}');
  assert.deepEqual(
    kept.map(([what, , path]) => `${what} ${path}`),
    ['used /admin/api/logged', 'used /admin/api/raw', 'used /admin/api/nodes/n_1/logs'],
  );
});

test('RED-13 an answer that cannot be de-personalised is not sent', async (t) => {
  const failing = await startRouter(t, { redactValue: async () => await Promise.reject(new Error('saturated')) });
  const { status, headers, text, body } = await failing.call('GET', '/logged', VENDOR_TOKEN);
  assert.deepEqual([status, body.code, headers.get('retry-after')], [503, 'redaction_unavailable', '1']);
  assert.ok(!text.includes('alice'));
  assert.equal((await failing.call('GET', '/logged', 'viewer')).status, 200);
  assert.equal((await failing.call('GET', '/raw', VENDOR_TOKEN)).status, 200);
});

test('RED-13 a redactor that does not answer in time is one that failed', async () => {
  const stuck = new Depersonalisation({ redactValue: () => new Promise<never>(() => undefined) }, 1);
  await assert.rejects(stuck.apply({}), { code: 'redaction_unavailable' });
  const broken = new Depersonalisation({ redactValue: () => assert.fail('broken') });
  await assert.rejects(broken.apply({}), { code: 'redaction_unavailable' });
  assert.deepEqual([stuck.failures, broken.failures], [1, 1]);
  const sound = new Depersonalisation(redactor);
  assert.equal(await sound.apply('alice'), 'u-00000000');
  assert.equal(sound.failures, 0);
});

test('TFA-01 before its second factor a session reaches its set-up and nothing else', async (t) => {
  const { call, handled } = await start(t);
  assert.equal((await call('POST', '/set-up', 'unenrolled')).status, 200);
  for (const [method, path] of [
    ['GET', '/raw'],
    ['POST', '/written'],
    ['GET', '/nothing-here'],
  ] as const) {
    const { status, body } = await call(method, path, 'unenrolled', method === 'GET' ? {} : { body: '{"half' });
    assert.deepEqual([status, body.code], [403, 'two_factor_enrollment_required'], path);
  }
  assert.deepEqual(handled, ['setUp']);
});

test('CON-03 a right is missing before the form is read', async (t) => {
  const { call } = await start(t);
  const refused = await call('POST', '/written', 'viewer', { body: { note: 7 } });
  assert.deepEqual([refused.status, refused.body.code], [403, 'right_missing']);
  const read = await call('POST', '/written', 'administrator', { body: { note: 7 } });
  assert.deepEqual([read.status, read.body.code, read.body.field], [400, 'field_invalid', 'note']);
  const more = await call('POST', '/written', 'owner', { body: { note: 'x', actor: 'bob' } });
  assert.deepEqual([more.status, more.body.code, more.body.field], [400, 'field_unknown', 'actor']);
  assert.equal((await call('GET', '/raw?verbose=1', 'viewer')).body.code, 'query_invalid');
});

test('a public route knows nobody and serves everybody, whatever token of another kind is shown', async (t) => {
  const { call } = await start(t);
  assert.equal((await call('POST', '/door')).body.note, '127.0.0.1');
  assert.equal((await call('POST', '/door', 'not-a-token')).status, 200);
});

test('an answer that its route does not state is a fault and is not sent', async (t) => {
  const { call, logged } = await start(t);
  const { status, text, body } = await call('GET', '/strayed', 'owner');
  assert.deepEqual([status, body.code], [500, 'internal']);
  assert.ok(!text.includes('canary-of-a-field'));
  assert.equal(logged.length, 1);
  assert.ok(!JSON.stringify(logged).includes('canary-of-a-field'));
});

test('the app has the routes of the table, no HEAD beside them, and no other', async (t) => {
  const { registered } = await start(t);
  assert.deepEqual(registered, [
    'GET /admin/api/raw',
    'GET /admin/api/logged',
    'GET /admin/api/shut',
    'POST /admin/api/nodes/:id/logs',
    'POST /admin/api/written',
    'POST /admin/api/set-up',
    'POST /admin/api/door',
    'GET /admin/api/strayed',
  ]);
});

const good = {
  method: 'get',
  path: '/things/:id',
  summary: 'A thing.',
  access: 'settings:read',
  vendor: 'open',
  audit: null,
  replies: { 200: z.string() },
  errors: [],
} as const satisfies ConsoleRoute;

// @ts-expect-error VND-15: a route without its exposure does not compile.
const silent: ConsoleRoute = { ...good, vendor: undefined };

test('VND-15 a route that does not state what it must, or states what may not be, does not start', () => {
  const ask = { ...good, method: 'post', path: '/nodes/:id/logs', audit: 'node.logs' } as const;
  assert.deepEqual(routeFaults([good, ask]), []);
  assert.match(routeFaults([silent]).join(), /does not state how a vendor token meets it/);
  assert.match(routeFaults([good, good]).join(), /get \/things\/:id is stated twice/);
  assert.match(routeFaults([{ ...good, method: 'post', vendor: 'closed' }]).join(), /writes and is not audited/);
  assert.match(routeFaults([{ ...ask, path: '/nodes' }]).join(), /writes and is not closed to vendor tokens/);
  const shown = { ...good, access: 'public', vendor: 'depersonalised' } as const;
  assert.match(routeFaults([shown]).join(), /is public, and what must be de-personalised cannot be/);
  assert.match(routeFaults([{ ...good, access: 'access:write' }]).join(), /manages access and is not closed/);
  assert.match(routeFaults([{ ...good, path: '/things/{id}' }]).join(), /a path that is none/);
  assert.match(routeFaults([{ ...good, replies: {} }]).join(), /states no answer/);
  assert.match(routeFaults([{ ...good, access: 'anybody' as 'public' }]).join(), /who may call it/);
});
