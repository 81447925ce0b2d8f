/** Passwords that everybody tries first are nobody's here, wherever one is set (CRD-09). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startConsoleServer } from '#test/console/console-server.ts';
import { callControl } from '#test/support/control.ts';
import { request } from '#test/support/server.ts';

const host = await startConsoleServer();
after(async () => await host.stop());

const COMMON = ['password', 'PASSWORD', '12345678', 'qwertyuiop', 'iloveyou1', 'Passw0rd'];

for (const password of COMMON) {
  test(`CRD-09 “${password}” is refused for people and for the break-glass account`, async () => {
    const person = { username: `person-${COMMON.indexOf(password)}`, password };
    const made = await host.call<{ code: string; field: string }>('administrator', 'POST', '/users', { body: person });
    assert.deepEqual([made.status, made.body.code, made.body.field], [400, 'password_too_common', 'password']);
    const set = await host.call<{ code: string }>('owner', 'PUT', '/break-glass', { body: { password } });
    assert.deepEqual([set.status, set.body.code], [400, 'password_too_common']);
  });
}

test('CRD-09 an operator who adds a person, and an invited person, do not choose one either', async () => {
  const form = { username: 'added', password: 'password', role: 'person' } as const;
  await assert.rejects(callControl(host.server.folder, 'user.add', form), /password_too_common|most common/);
  const { body } = await host.call<{ url: string }>('administrator', 'POST', '/enroll', { body: { kind: 'person' } });
  const exchange = { username: 'invited', password: 'password' };
  const refused = await request<{ code: string }>('POST', body.url, { body: exchange });
  assert.deepEqual([refused.status, refused.body.code], [400, 'password_too_common']);
  // The invitation is not spent by it.
  const taken = await request('POST', body.url, { body: { ...exchange, password: 'heron over the quiet lake' } });
  assert.equal(taken.status, 201, taken.text);
});

test('CRD-12 names and addresses count for nothing in a password, and what is left has to be one', async () => {
  const known = { display_name: 'Bartholomew Ånkarström', email: 'barth@example.org', phone: '+442071234567' };
  const refused = [
    'Bartholomew',
    'bartholomew2026',
    'ÅNKARSTRÖM-42',
    'barth@example.org',
    '442071234567!',
    'password-barth',
    'Barth password',
  ];
  for (const password of refused) {
    const body = { username: 'barth', password, ...known };
    const answer = await host.call<{ code: string; field: string }>('administrator', 'POST', '/users', { body });
    const { code, field } = answer.body;
    assert.deepEqual([answer.status, code, field], [400, 'password_names_you', 'password'], password);
  }
  // Seven characters, and then eight, beside the name.
  const short = { username: 'barth', password: 'barth-7w2q9k4', ...known };
  const seven = await host.call<{ code: string }>('administrator', 'POST', '/users', { body: short });
  assert.deepEqual([seven.status, seven.body.code], [400, 'password_names_you']);
  const eight = { ...short, password: 'barth-7w2q9k4z' };
  assert.equal((await host.call('administrator', 'POST', '/users', { body: eight })).status, 201);
});

test('CRD-12 a password has eight characters, wherever it is set', async () => {
  const body = { username: 'seven', password: 'sev3n c' };
  const person = await host.call<{ code: string }>('administrator', 'POST', '/users', { body });
  assert.deepEqual([person.status, person.body.code], [400, 'password_too_short']);
  const account = await host.call<{ code: string }>('owner', 'PUT', '/break-glass', { body: { password: 'x1y2z3 ' } });
  assert.deepEqual([account.status, account.body.code], [400, 'password_too_short']);
  const long = await host.call<{ code: string; field: string }>('administrator', 'POST', '/users', {
    body: { username: 'long', password: 'ab3 '.repeat(65).slice(0, 257) },
  });
  assert.deepEqual([long.status, long.body.code, long.body.field], [400, 'field_invalid', 'password']);
});
