/** Requests of the browser console: how they are made, and what an answer says of the credential. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParleyError } from '#src/client/parley-error.ts';
import { addressOf, ConsoleApi } from '#src/web/console/session/console-api.ts';
import { readCsv, readPeople } from '#src/web/console/screens/people/people-file.ts';
import { SETTING_SCREENS } from '#src/settings/setting-screens.ts';
import { readMap, SETTING_KINDS } from '#src/web/console/screens/settings/setting-kinds.ts';
import { namesIn } from '#src/web/console/words/formats.ts';
import { readPlace } from '#src/web/console/screen-context.ts';

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
}

function makeApi(answers: readonly (Response | Error)[], token = 'adm_secret', steps: boolean[] = []) {
  const sent: Sent[] = [];
  const told: string[] = [];
  const left = [...answers];
  const held = { token: token as string | undefined };
  const api = new ConsoleApi({
    prefix: '/admin/api',
    protocol: '1',
    token: () => held.token,
    used: () => told.push('used'),
    ended: ({ code }) => told.push(`ended ${code}`),
    stepUp: async () => {
      told.push('step-up');
      return steps.shift() ?? false;
    },
    enrollmentRequired: () => told.push('enrollment'),
    fetch: async (url, init = {}) => {
      sent.push({ url: url as string, init });
      const answer = left.shift() ?? new Error('No more answers.');
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return { api, held, sent, told };
}

const refusal = (status: number, code: string, field?: string) =>
  Response.json({ code, error: 'A sentence.', ...(field === undefined ? {} : { field }) }, { status });
const isError = (code: string) => (error: unknown) => error instanceof ParleyError && error.code === code;

test('a request has its token in a header and in no address, and brings no cookies', async () => {
  const { api, sent, told } = makeApi([Response.json({ items: [], next: null })]);
  const reply = await api.call('get /users/:username/sessions', { parameters: { username: 'a/b?c' } });
  assert.deepEqual(reply, { items: [], next: null });
  assert.deepEqual(told, ['used']);
  const [{ url, init }] = sent as [Sent];
  assert.equal(url, '/admin/api/users/a%2Fb%3Fc/sessions');
  assert.equal(init.method, 'GET');
  assert.equal(init.credentials, 'omit');
  assert.deepEqual(init.headers, { 'x-service-client-protocol': '1', 'x-admin-token': 'adm_secret' });
});

test('a body is sent as JSON, and an empty answer is undefined', async () => {
  const { api, sent } = makeApi([new Response(null, { status: 204 })]);
  const body = { role: 'viewer' } as const;
  assert.equal(await api.call('put /console-roles/:user', { parameters: { user: 'alice' }, body }), undefined);
  const [{ init }] = sent as [Sent];
  assert.equal(init.method, 'PUT');
  assert.equal(init.body, '{"role":"viewer"}');
  assert.equal((init.headers as Record<string, string>)['content-type'], 'application/json');
});

for (const code of ['session_over', 'token_invalid', 'vendor_token_revoked', 'vendor_token_expired']) {
  test(`${code} ends the credential`, async () => {
    const { api, told } = makeApi([refusal(401, code)]);
    await assert.rejects(api.call('get /me', {}), isError(code));
    assert.deepEqual(told, [`ended ${code}`]);
  });
}

for (const code of ['second_factor_wrong', 'login_failed', 'right_missing', 'vendor_token_forbidden']) {
  test(`${code} says nothing of the credential`, async () => {
    const { api, told } = makeApi([refusal(401, code)]);
    await assert.rejects(api.call('get /me', {}), isError(code));
    assert.deepEqual(told, []);
  });
}

test('TFA-01 a session that is to set up its second factor is led there', async () => {
  const { api, told } = makeApi([refusal(403, 'two_factor_enrollment_required')]);
  await assert.rejects(api.call('get /me', {}), isError('two_factor_enrollment_required'));
  assert.deepEqual(told, ['enrollment']);
});

test('VND-17 a request that takes the second factor again is repeated once it was given, once', async () => {
  const asked = () => refusal(403, 'step_up_required');
  const given = makeApi([asked(), Response.json({ ok: true })], 'adm_secret', [true]);
  await given.api.call('post /encryption/lock', {});
  assert.deepEqual([given.sent.length, given.told], [2, ['step-up', 'used']]);
  const cancelled = makeApi([asked()]);
  await assert.rejects(cancelled.api.call('post /encryption/lock', {}), isError('step_up_required'));
  const again = makeApi([asked(), asked(), asked()], 'adm_secret', [true, true]);
  await assert.rejects(again.api.call('post /encryption/lock', {}), isError('step_up_required'));
  assert.equal(again.sent.length, 2);
  // Two that need it at once ask one question.
  const both = makeApi([asked(), asked(), Response.json({}), Response.json({})], 'adm_secret', [true]);
  await Promise.all([both.api.call('post /encryption/lock', {}), both.api.call('get /encryption', {})]);
  assert.deepEqual(both.told, ['step-up', 'used', 'used']);
});

test('a late answer to a credential that was replaced does not end the new one', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  const { held, told } = makeApi([]);
  const late = new ConsoleApi({
    prefix: '',
    protocol: '1',
    token: () => held.token,
    used: () => undefined,
    ended: ({ code }) => told.push(code),
    enrollmentRequired: () => undefined,
    stepUp: async () => false,
    fetch: async () => await promise,
  });
  const asked = late.call('get /me', {});
  held.token = 'adm_another';
  resolve(refusal(401, 'session_over'));
  await assert.rejects(asked, isError('session_over'));
  assert.deepEqual(told, []);
});

test('what is not an answer of Parley has a code of its own', async () => {
  const { api } = makeApi([
    new TypeError('refused'),
    new Response('<html>', { status: 502 }),
    Response.json({ message: 'no' }, { status: 500 }),
    refusal(400, 'field_invalid', 'name'),
  ]);
  await assert.rejects(api.call('get /me', {}), isError('network_failed'));
  await assert.rejects(api.call('get /me', {}), isError('answer_unreadable'));
  await assert.rejects(api.call('get /me', {}), isError('answer_unreadable'));
  const invalid = (error: unknown) => isError('field_invalid')(error) && (error as ParleyError).field === 'name';
  await assert.rejects(api.call('get /me', {}), invalid);
});

test('a request of a screen that was left never settles', async () => {
  const leaving = new AbortController();
  const { api } = makeApi([new DOMException('left', 'AbortError')]);
  leaving.abort();
  const asked = api.call('get /me', {}, leaving.signal).then(
    () => 'answered',
    () => 'failed',
  );
  const turn = new Promise((resolve) => setImmediate(() => resolve('nothing')));
  assert.equal(await Promise.race([asked, turn]), 'nothing');
});

test('an address has its parameters and its query escaped, and leaves out what was not given', () => {
  assert.equal(addressOf('/nodes/:id/logs', { id: '../x' }, undefined), '/nodes/..%2Fx/logs');
  assert.equal(
    addressOf('/audit', undefined, { event: 'a&b', actor: '', after: undefined, limit: 5 }),
    '/audit?event=a%26b&limit=5',
  );
});

test('a place is read from the address as it was written', () => {
  const { path, query, rest } = readPlace('#/people/a%2Fb?text=x%20y');
  assert.deepEqual([path, rest, query.get('text')], ['people', ['a/b'], 'x y']);
  assert.equal(readPlace('').path, '');
  assert.deepEqual(readPlace('#/people/%zz').rest, ['%zz']);
});

test('settings: every field of every screen has its control, and secrets are secret', () => {
  for (const [name, { fields }] of Object.entries(SETTING_SCREENS)) {
    const kinds: Readonly<Record<string, unknown>> = SETTING_KINDS[name as keyof typeof SETTING_KINDS];
    assert.deepEqual(Object.keys(kinds).toSorted(), Object.keys(fields).toSorted(), name);
    for (const [field, form] of Object.entries(fields)) {
      const isSecret = 'isSecret' in form;
      assert.equal(['secret', 'secret-text'].includes(String(kinds[field])), isSecret, `${name} ${field}`);
    }
  }
});

test('what is typed as lists and maps is read as such', () => {
  assert.deepEqual(namesIn(' alice, bob;\ncarol alice '), ['alice', 'bob', 'carol']);
  assert.deepEqual(readMap('cn=admins,dc=example = owner\n\n staff = viewer '), {
    'cn=admins,dc=example': 'owner',
    staff: 'viewer',
  });
  assert.deepEqual(readMap('nothing'), { nothing: '' });
});

test('a file of people is read as spreadsheets write it, and judged line by line', () => {
  assert.deepEqual(readCsv('\uFEFFa;b\r\n"x ""y"";\nz";2\r\n\r\n'), [
    ['a', 'b'],
    ['x "y";\nz', '2'],
  ]);
  const head = 'Display name,E-mail,phone';
  assert.deepEqual(readPeople('name,address\nA,B').fault, 'import.no-columns');
  assert.deepEqual(readPeople('').fault, 'import.no-columns');
  const many = (count: number) =>
    readPeople(['email', ...Array.from({ length: count }, (_, at) => `p${at}@x.org`)].join('\n'));
  assert.equal(many(1_000).people.length, 1_000);
  assert.equal(many(1_001).fault, 'import.too-many');
  const faultsOf = (line: string) => readPeople(`${head.replace('E-mail', 'email')}\n${line}`).people[0]?.faults;
  assert.deepEqual(faultsOf('Ann,ann@example.org,+442071234567'), []);
  assert.deepEqual(faultsOf('Ann,ann@example,'), ['import.bad-email']);
  assert.deepEqual(faultsOf('Ann,,0207'), ['import.bad-phone']);
  assert.deepEqual(faultsOf(`${'n'.repeat(100)},,`), []);
  assert.deepEqual(faultsOf(`${'n'.repeat(101)},,`), ['import.too-long']);
  const twice = readPeople('email,phone\na@x.org,\nA@X.org,+442071234567\nb@x.org,+442071234567').people;
  assert.deepEqual(
    twice.map(({ faults, line }) => [line, ...faults]),
    [[2], [3, 'import.twice'], [4, 'import.twice']],
  );
});
