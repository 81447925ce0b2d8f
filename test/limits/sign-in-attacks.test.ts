/** Attacks on sign-in from outside: floods of made-up names, guesses at one name, codes from many addresses. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { request, startServer, type TestServer } from '#test/support/server.ts';

/** Hashes as they are in earnest, so that a queue of them is as long as it is there. */
const environment = { PARLEY_PASSWORD_MEMORY_KIB: '19456', PARLEY_TRUSTED_PROXIES: '127.0.0.1' };
const ATTACKERS = 200;
const PEOPLE = 26;
const FLOOD = '198.51.100.7';

let server: TestServer;

before(async () => {
  server = await startServer({ environment });
});
after(async () => await server.stop());

async function login(form: object, address: string) {
  const options = { body: form, headers: { 'x-forwarded-for': address } };
  return await request<Session & { code: string }>('POST', `${server.coordinator}/v1/auth/login`, options);
}

test('CRD-08 a flood of made-up names from one address leaves every real sign-in its place', async () => {
  const names = Array.from({ length: PEOPLE }, (_, at) => `person${at}`);
  const people = Object.values(await server.people(...names));
  const flood = Array.from({ length: ATTACKERS }, (_, number) =>
    login({ username: `made-up-${number}`, password: 'a guess' }, FLOOD),
  );
  const signIns = people.map(({ password, session, username }, at) => {
    // Half of them on the flood's own address, on a device of theirs; half elsewhere, on a new one.
    if (at % 2 === 0) return login({ username, password, device_id: session.device_id }, FLOOD);
    return login({ username, password }, `203.0.${at}.9`);
  });
  const statuses = (await Promise.all(signIns)).map(({ status }) => status);
  assert.deepEqual(
    statuses,
    people.map(() => 200),
  );
  const guessed = (await Promise.all(flood)).map(({ status }) => status);
  assert.ok(
    guessed.some((status) => status !== 401),
    'the flood was no flood',
  );
});

test('CRD-08 a name that many addresses guess at stays its owner’s on their device', async () => {
  // More than pass without a wait.
  const { owner } = await server.people('owner');
  const guess = { username: 'owner', password: 'a guess' };
  let answered = 0;
  const guesses = Array.from({ length: 14 }, async (_, at) => {
    const { status } = await login(guess, `192.0.${at}.1`);
    answered += 1;
    return status;
  });
  const { password, session } = owner;
  const signedIn = await login({ username: 'owner', password, device_id: session.device_id }, '203.0.113.1');
  assert.equal(signedIn.status, 200);
  // By order, not by the clock: the guesses wait for one another, and the owner for none of them.
  assert.ok(answered < guesses.length, 'all guesses were answered before the owner');
  for (const status of await Promise.all(guesses)) assert.ok([401, 429, 503].includes(status), `${status}`);
});
