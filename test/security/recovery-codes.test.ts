/** Codes of recovery that are brought many times at once: whoever is let in by one is let in alone (TFA-01, GST-05). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { formatInstant } from '#src/base/time.ts';
import { codeAt } from '#test/coordinator/console-fixture.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { callControl } from '#test/support/control.ts';
import { request, type Reply } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';

const TIMES = 60;

const host = await startConsoleServer({ PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '10000' });
const { server } = host;
after(async () => await host.stop());

type Answered = Pick<Reply<{ readonly code?: string }>, 'body' | 'status'>;

async function ask<T = { readonly code?: string }>(path: string, body: object, token?: string): Promise<Reply<T>> {
  return await request<T>('POST', `${server.coordinator}${path}`, { body, token });
}

/** The same from an address of its own, for attempts that are counted by address, and take turns by it. */
async function askFrom(at: number, path: string, body: object): Promise<{ status: number; body: { code?: string } }> {
  const sent = httpRequest(`${server.coordinator}${path}`, {
    method: 'POST',
    localAddress: `127.0.1.${at + 1}`,
    headers: { 'content-type': 'application/json' },
    agent: false,
  });
  sent.end(JSON.stringify(body));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, body: (await json(answer)) as { code?: string } };
}

/** A person with a second factor, and the codes that are shown once. */
async function enrolled(username: string) {
  const password = `password of ${username}`;
  await callControl(server.folder, 'user.add', { username, password, role: 'person' });
  const { token } = await server.signIn(username, password);
  const { body: setup } = await ask<{ secret: string }>('/v1/me/second-factors/totp', {}, token);
  const code = codeAt(setup.secret, Date.now());
  const added = await ask<{ recovery_codes: string[] }>('/v1/me/second-factors/totp/confirm', { code }, token);
  assert.equal(added.status, 200, added.text);
  return { username, password, codes: added.body.recovery_codes };
}

/** That one of all was let in, and what the others were told. */
function assertOneIsIn(replies: readonly Answered[], refusals: readonly string[]): void {
  const told = replies.map(({ body, status }) => (status === 200 ? 'in' : `${status} ${body.code}`));
  assert.equal(told.filter((one) => one === 'in').length, 1, told.join(', '));
  const others = new Set(told.filter((one) => one !== 'in'));
  assert.deepEqual(
    [...others].filter((one) => !refusals.includes(one)),
    [],
  );
}

const WRONG = ['401 second_factor_wrong', '410 sign_in_over', '429 rate_limited', '503 busy'];

test('TFA-01 a recovery code that is brought sixty times at once lets one sign-in through, whichever it is brought to', async () => {
  const { codes, password, username } = await enrolled('ann');
  const begin = async () => {
    const asked = await ask<{ second_factor: { challenge: string } }>('/v1/auth/login', { username, password });
    assert.equal(asked.status, 401, asked.text);
    return asked.body.second_factor.challenge;
  };
  const one = await begin();
  const bring = async (challenge: string, recovery_code: string | undefined) =>
    await ask('/v1/auth/second-factor', { challenge, recovery_code });
  assertOneIsIn(await Promise.all(Array.from({ length: TIMES }, async () => await bring(one, codes[0]))), WRONG);
  const several: string[] = [];
  for (let count = 0; count < 5; count += 1) several.push(await begin());
  const replies = Array.from(
    { length: TIMES },
    async (_, at) =>
      await askFrom(at, '/v1/auth/second-factor', { challenge: several[at % 5], recovery_code: codes[1] }),
  );
  assertOneIsIn(await Promise.all(replies), WRONG);
  // Both are spent, and no other is.
  for (const code of [codes[0], codes[1]]) {
    const again = await bring(await begin(), code);
    assert.deepEqual([again.status, again.body.code], [401, 'second_factor_wrong']);
  }
  assert.equal((await bring(await begin(), codes[2])).status, 200);
});

test('TFA-01 the same code at the console’s door and the app’s at once opens one of them', async () => {
  const { codes, password, username } = await enrolled('vic');
  const given = await host.call('owner', 'PUT', '/console-roles/vic', { body: { role: 'viewer' } });
  assert.equal(given.status, 204, given.text);
  const { body } = await ask<{ second_factor: { challenge: string } }>('/v1/auth/login', { username, password });
  const [recovery_code] = codes;
  const { challenge } = body.second_factor;
  const replies = Array.from({ length: TIMES }, async (_, at) =>
    at % 10 === 0
      ? await ask('/admin/api/login', { username, password, recovery_code })
      : await ask('/v1/auth/second-factor', { challenge, recovery_code }),
  );
  assertOneIsIn(await Promise.all(replies), WRONG);
});

test('GST-05 a guest’s recovery code that is brought sixty times at once sets one password', async () => {
  const phone = '+79161234599';
  const invited = await host.call<{ url: string }>('owner', 'POST', '/enroll', {
    body: { kind: 'guest', phone, guest_until: formatInstant(Math.floor(Date.now() / 1000 + 3_600) * 1000) },
  });
  assert.equal(invited.status, 201, invited.text);
  const made = await request('POST', invited.body.url, { body: { username: 'gus', password: 'password of gus' } });
  assert.equal(made.status, 201, made.text);
  const { device_id: device } = await server.signIn('gus', 'password of gus');
  assert.equal((await ask('/v1/auth/recover', { phone })).status, 200);
  const code = await until(async () => {
    const { body } = await host.call<{ items: { user: string; code: string }[] }>('owner', 'GET', '/recovery');
    return body.items.find(({ user }) => user === 'gus')?.code;
  }, 'the code');
  const set = (at: number) => `quite another password ${at}`;
  const replies = await Promise.all(
    Array.from({ length: TIMES }, async (_, at) => {
      const form = { phone, code, new_password: set(at) };
      // Attempts of strangers take turns by the name; those of a device that is known do not, and may meet.
      const own = at % 12 === 0 ? { device_id: device } : {};
      return await ask('/v1/auth/recover/confirm', { ...form, ...own });
    }),
  );
  assertOneIsIn(replies, ['403 recovery_failed', '429 rate_limited', '503 busy']);
  const winner = replies.findIndex(({ status }) => status === 200);
  const opens = async (password: string) => (await ask('/v1/auth/login', { username: 'gus', password })).status === 200;
  assert.equal(await opens(set(winner)), true);
  assert.equal(await opens(set((winner + 1) % TIMES)), false);
  assert.equal(await opens('password of gus'), false);
});
