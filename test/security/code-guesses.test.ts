/** Six hundred codes of the second factor that are guessed from sixty addresses, and over a restart, at the running server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { CODES_WITHOUT_WAIT_MAX } from '#src/identity/credentials/code-attempts.ts';
import { CALLER_PASSWORD } from '#test/console/callers.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { request } from '#test/support/server.ts';

const ADDRESSES = 60;
const GUESSES = 600;

const site = await shareRestartedServer({ PARLEY_TRUSTED_PROXIES: '127.0.0.1,::1' });

test('TFA-01 of 600 codes from 60 addresses ten are judged, and after a restart they are remembered', async () => {
  const signIn = async (from: string, code?: string) =>
    await request<{ code?: string; token: string }>('POST', `${site.server.coordinator}/admin/api/login`, {
      body: { username: 'viewer', password: CALLER_PASSWORD, ...(code === undefined ? {} : { code }) },
      headers: { 'x-forwarded-for': from },
    });
  // The planted people have no factor yet: one is set up as the console does it.
  const first = await signIn('198.51.100.1');
  assert.equal(first.status, 200, first.text);
  const own = { headers: { 'x-admin-token': first.body.token } };
  const path = `${site.server.coordinator}/admin/api/second-factor`;
  const setUp = await request<{ secret: string }>('POST', `${path}/setup`, { ...own, body: {} });
  assert.equal(setUp.status, 200, setUp.text);
  const totp = new TOTP({ secret: Secret.fromBase32(setUp.body.secret) });
  const confirmed = await request('POST', `${path}/confirm`, { ...own, body: { code: totp.generate() } });
  assert.equal(confirmed.status, 200, confirmed.text);
  const near = new Set(
    [-3, -2, -1, 0, 1, 2, 3, 4, 5].map((step) => totp.generate({ timestamp: Date.now() + step * 30_000 })),
  );
  const wrong = ['000000', '111111', '222222'].find((code) => !near.has(code)) as string;
  const codes: string[] = [];
  let judged = 0;
  for (let at = 0; at < GUESSES; at += ADDRESSES) {
    const answers = await Promise.all(
      Array.from({ length: ADDRESSES }, async (_, one) => await signIn(`203.0.${one}.7`, wrong)),
    );
    codes.push(...answers.map(({ body, status, text }) => (status === 200 ? `let in: ${text}` : String(body.code))));
    judged = codes.filter((code) => code === 'second_factor_wrong').length;
    // Behind the tenth one more is judged after 30 s, then after 60, 120 and so on: a slow machine is let have three.
    assert.ok(judged >= CODES_WITHOUT_WAIT_MAX && judged <= CODES_WITHOUT_WAIT_MAX + 3, `${judged} were judged`);
  }
  assert.equal(codes.filter((code) => code === 'rate_limited').length, GUESSES - judged);
  await site.restart();
  // Whoever forgot the count would judge all of these.
  const later = await Promise.all(
    Array.from({ length: 5 }, async (_, one) => await signIn(`198.51.100.${one}`, wrong)),
  );
  assert.ok(later.filter(({ body }) => body.code === 'second_factor_wrong').length <= 1);
  assert.ok(later.filter(({ body, status }) => status === 429 && body.code === 'rate_limited').length >= 4);
});
