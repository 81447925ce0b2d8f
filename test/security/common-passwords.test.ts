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

test('CRD-09 a username is no password of its own', async () => {
  const form = { username: 'bartholomew', password: 'Bartholomew' };
  const refused = await host.call<{ code: string }>('administrator', 'POST', '/users', { body: form });
  assert.deepEqual([refused.status, refused.body.code], [400, 'password_too_common']);
});
