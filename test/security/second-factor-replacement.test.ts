/** A session that was stolen does not make itself at home: a second factor in force is not replaced without proof (TFA-01). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startConsoleServer } from '#test/console/console-server.ts';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';

const host = await startConsoleServer();
after(async () => await host.stop());

test('TFA-01 whoever holds a full session alone does not put a second factor of their own in force', async () => {
  const login = async (code?: string) => {
    const body = { username: 'viewer', password: CALLER_PASSWORD, ...(code === undefined ? {} : { code }) };
    return await host.call<{ token: string }>('nobody', 'POST', '/login', { body });
  };
  const as = async <T>(token: string, path: string, body?: object) =>
    await host.call<T>('nobody', 'POST', path, { headers: { 'x-admin-token': token }, ...(body && { body }) });
  const { token } = (await login()).body;
  const { secret } = (await as<{ secret: string }>(token, '/second-factor/setup')).body;
  const first = await as(token, '/second-factor/confirm', { code: codeAt(secret, Date.now()) });
  assert.equal(first.status, 200, first.text);
  // The token is full from here on, and a thief has it.
  const thief = await as<{ secret: string; code: string }>(token, '/second-factor/setup');
  const own = { code: codeAt(thief.body.secret ?? secret, Date.now()) };
  const replaced = thief.status === 200 ? await as(token, '/second-factor/confirm', own) : undefined;
  assert.deepEqual([thief.status, thief.body.code, replaced?.status], [403, 'step_up_required', undefined]);
});
