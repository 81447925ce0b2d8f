/** Passkeys of people, attacked by an authenticator that does what no honest one does (WebAuthn, sections 7.1 and 7.2). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { PasskeyCreation, PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import type { SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { Authenticator, text, byteString, type Wrongs } from '#test/support/authenticator.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';

const host = await startConsoleServer({ PARLEY_LOGIN_ATTEMPTS_PER_MINUTE: '1000' });
const { server } = host;
after(async () => await host.stop());

const ORIGIN = `http://localhost:${new URL(server.coordinator).port}`;

async function post<T = Record<string, unknown>>(path: string, body?: object, token?: string): Promise<Reply<T>> {
  return await request<T>('POST', `${server.coordinator}${path}`, { token, ...(body === undefined ? {} : { body }) });
}

const OWN = '/v1/me/second-factors';
const creation = async (who: Person) =>
  (await post<PasskeyCreation>(`${OWN}/passkeys/options`, undefined, who.session.token)).body;
const add = async (who: Person, passkey: object, name = 'Key') =>
  await post<{ factor: { id: string }; recovery_codes: string[] | null }>(
    `${OWN}/passkeys`,
    { name, passkey },
    who.session.token,
  );
const options = async (body: object = {}) => (await post<PasskeyRequest>('/v1/auth/passkey/options', body)).body;
const enter = async (passkey: object, more: object = {}) =>
  await post<Session>('/v1/auth/passkey', { passkey, ...more });
const ask = async ({ password, username }: Person) =>
  (await post<{ second_factor: SecondFactorAsk }>('/v1/auth/login', { username, password })).body.second_factor;
const finish = async (challenge: string, passkey: object) =>
  await post<Session>('/v1/auth/second-factor', { challenge, passkey });

/** Somebody with a passkey, and what holds it. */
async function holder(name: string, kind: 'ES256' | 'EdDSA' | 'RS256' = 'ES256'): Promise<[Person, Authenticator]> {
  const person = await server.person(name);
  const authenticator = new Authenticator(ORIGIN, { kind });
  const added = await add(person, authenticator.create(await creation(person)));
  assert.equal(added.status, 201, added.text);
  assert.equal(added.body.recovery_codes?.length, 10);
  return [person, authenticator];
}

const [ann, annKey] = await holder('ann');

/** That a request was refused with a status and a code, whatever field is to blame. */
function assertRefused(reply: Reply<unknown>, status: number, code: string): void {
  assert.deepEqual([reply.status, (reply.body as { code?: string }).code], [status, code], reply.text);
}

test('a passkey signs in alone, and beside a password, with every algorithm that is offered', async () => {
  const made = await creation(ann);
  assert.deepEqual(made.rp, { id: 'localhost', name: 'Parley' });
  assert.deepEqual(
    made.excludeCredentials.map(({ id }) => id),
    [annKey.id],
  );
  for (const kind of ['ES256', 'EdDSA', 'RS256'] as const) {
    const [person, key] = await holder(`holder.${kind.toLowerCase()}`, kind);
    const alone = await enter(key.get(await options()));
    assert.equal(alone.status, 200, alone.text);
    assert.equal(alone.body.user, person.username);
    assert.equal((await server.api({ ...person, session: alone.body }, 'GET', '/v1/inbox')).status, 200);
    const { challenge, passkey, ways } = await ask(person);
    assert.deepEqual(ways, ['passkey', 'recovery_code']);
    assert.deepEqual(
      passkey?.allowCredentials.map(({ id }) => id),
      [key.id],
    );
    const beside = await finish(challenge, key.get(passkey));
    assert.equal(beside.status, 200, beside.text);
  }
});

test('what is wrong with a passkey that signs in reads as an unknown one', async () => {
  const stranger = new Authenticator(ORIGIN);
  stranger.userHandle = annKey.userHandle;
  const unknown = await enter(stranger.get(await options()));
  assertRefused(unknown, 401, 'login_failed');
  const attacks: [name: string, wrongs: Wrongs][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['the same host on another port', { origin: 'http://localhost:1' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['no user verification', { isVerified: false }],
    ['a registration for a sign-in', { type: 'webauthn.create' }],
    ['another person’s handle', { userHandle: Buffer.alloc(32).toString('base64url') }],
  ];
  for (const [name, wrongs] of attacks) {
    const refused = await enter(annKey.get(await options(), wrongs));
    assert.deepEqual([refused.status, refused.text], [unknown.status, unknown.text], name);
  }
  // Its id with a key of the attacker's own.
  const impostor = new Authenticator(ORIGIN, { id: annKey.id });
  impostor.userHandle = annKey.userHandle;
  impostor.counter = 1_000;
  assertRefused(await enter(impostor.get(await options())), 401, 'login_failed');
  const bent = annKey.get(await options());
  const signature = Buffer.from(bent.response.signature, 'base64url');
  signature[signature.length - 1] = (signature.at(-1) as number) ^ 1;
  const response = { ...bent.response, signature: signature.toString('base64url') };
  assertRefused(await enter({ ...bent, response }), 401, 'login_failed');
  assert.equal((await enter(annKey.get(await options()))).status, 200);
});

test('a challenge is good once, for its own device, sign-in and purpose', async () => {
  const signed = annKey.get(await options());
  const [one, other] = await Promise.all([enter(signed), enter(signed)]);
  assert.deepEqual(
    [one.status, other.status].toSorted((a, b) => a - b),
    [200, 401],
  );
  assertRefused(await enter(signed), 401, 'login_failed');
  const device = ann.session.device_id;
  const onDevice = annKey.get(await options({ device_id: device }));
  assertRefused(await enter(onDevice), 401, 'login_failed');
  assert.equal((await enter(onDevice, { device_id: device })).body.device_id, device);
  // A challenge of one's own making, and ones for something else.
  assertRefused(await enter(annKey.get({ challenge: Buffer.alloc(36, 7).toString('base64url') })), 401, 'login_failed');
  const mine = await creation(ann);
  assertRefused(await enter(annKey.get(mine)), 401, 'login_failed');
  const [first, second] = [await ask(ann), await ask(ann)];
  assertRefused(
    await finish(first.challenge, annKey.get(second.passkey as PasskeyRequest)),
    401,
    'second_factor_wrong',
  );
  assertRefused(await finish(first.challenge, annKey.get(await options())), 401, 'second_factor_wrong');
  assert.equal((await finish(first.challenge, annKey.get(first.passkey as PasskeyRequest))).status, 200);
});

test('a passkey of another account is no second factor of this one', async () => {
  const [bob, bobKey] = await holder('bob');
  const { challenge, passkey } = await ask(bob);
  assertRefused(await finish(challenge, annKey.get(passkey as PasskeyRequest)), 401, 'second_factor_wrong');
  assert.equal((await finish(challenge, bobKey.get(passkey as PasskeyRequest))).status, 200);
});

test('a counter that goes back signs nobody in, and raises an alert', async () => {
  const [cat, key] = await holder('cat');
  assert.equal((await enter(key.get(await options(), { counter: 10 }))).status, 200);
  const alerts = async () => (await host.call<{ items: { kind: string }[] }>('owner', 'GET', '/alerts')).body.items;
  const raised = async () => (await alerts()).some(({ kind }) => kind === 'passkey_copied');
  // Somebody without the key raises nothing.
  const impostor = new Authenticator(ORIGIN, { id: key.id });
  impostor.userHandle = key.userHandle;
  assertRefused(await enter(impostor.get(await options(), { counter: 1 })), 401, 'login_failed');
  assert.equal(await raised(), false);
  assertRefused(await enter(key.get(await options(), { counter: 10 })), 401, 'login_failed');
  assert.equal(await raised(), true);
  const { body } = await host.call<{ items: { event: string; about: string }[] }>('owner', 'GET', '/audit');
  assert.ok(body.items.some(({ about, event }) => event === 'passkey.copied' && about === 'user:cat'));
  assert.equal((await enter(key.get(await options(), { counter: 11 }))).status, 200);
  assert.equal((await server.api(cat, 'GET', '/v1/inbox')).status, 200);
});

test('what is wrong with a new passkey is refused with one code, and leaves none', async () => {
  const { dan, ivy } = await server.people('dan', 'ivy');
  const fresh = (kind?: 'ES384') => new Authenticator(ORIGIN, kind === undefined ? {} : { kind });
  const chain = Buffer.concat([Buffer.from([0xa1]), text('x5c'), Buffer.from([0x81]), byteString(Buffer.alloc(200))]);
  const attacks: [name: string, wrongs: Wrongs, kind?: 'ES384'][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['another relying party', { rpId: 'evil.example' }],
    ['no user verification', { isVerified: false }],
    ['a sign-in for a registration', { type: 'webauthn.get' }],
    ['an algorithm that was not offered', {}, 'ES384'],
    ['a key that says it is of another algorithm', { algorithm: -257 }],
    ['no algorithm of signatures', { algorithm: -65_535 }],
    ['an attestation with a chain', { format: 'packed', statement: chain }],
    ['an attestation that nobody asked for', { format: 'android-safetynet' }],
    ['a statement where there is none', { statement: Buffer.concat([Buffer.from([0xa1]), text('a'), text('b')]) }],
  ];
  for (const [name, wrongs, kind] of attacks) {
    const refused = await add(dan, fresh(kind).create(await creation(dan), wrongs));
    assert.deepEqual([refused.status, refused.body['code' as never]], [400, 'passkey_invalid'], name);
  }
  const signed = fresh().create(await creation(dan));
  const other = { ...signed, id: annKey.id, rawId: annKey.id };
  assertRefused(await add(dan, other), 400, 'passkey_invalid');
  // Registered by somebody else, whether its maker has it or has heard of it.
  assertRefused(
    await add(dan, new Authenticator(ORIGIN, { id: annKey.id }).create(await creation(dan))),
    400,
    'passkey_invalid',
  );
  // Challenges of another person, of another session of the same one, and one that was used.
  assertRefused(await add(dan, fresh().create(await creation(ivy))), 400, 'passkey_invalid');
  const elsewhere = { ...dan, session: await server.signIn('dan', dan.password) };
  assertRefused(await add(dan, fresh().create(await creation(elsewhere))), 400, 'passkey_invalid');
  const made = await creation(dan);
  assert.equal((await server.signIn('dan', dan.password)).user, 'dan', 'nothing was put in force');
  assert.equal((await add(dan, fresh().create(made))).status, 201);
  assertRefused(await add(dan, fresh().create(made)), 400, 'passkey_invalid');
});

test('what is too large is refused unread, and an eleventh passkey is one too many', async () => {
  const eve = await server.person('eve');
  const made = await creation(eve);
  const good = new Authenticator(ORIGIN).create(made);
  const large = (most: number) => ({ ...good, response: { ...good.response, attestationObject: 'A'.repeat(most) } });
  assertRefused(await add(eve, large(4_096)), 400, 'passkey_invalid');
  assertRefused(await add(eve, large(4_097)), 400, 'field_invalid');
  assertRefused(await add(eve, large(1024 * 1024)), 400, 'body_too_large');
  assertRefused(await enter({ ...good, padding: 'A'.repeat(1024 * 1024) }), 400, 'body_too_large');
  assertRefused(await enter({ id: 'a', rawId: 'a', type: 'public-key', response: {} }), 400, 'field_invalid');
  for (let at = 0; at < 10; at += 1) {
    assert.equal((await add(eve, new Authenticator(ORIGIN).create(await creation(eve)))).status, 201);
  }
  const eleventh = await post(`${OWN}/passkeys/options`, undefined, eve.session.token);
  assertRefused(eleventh, 409, 'passkeys_full');
});

test('a passkey that was taken away opens nothing, nor does one of somebody blocked', async () => {
  const [fay, key] = await holder('fay');
  const { body } = await request<{ items: { id: string }[] }>('GET', `${server.coordinator}${OWN}`, {
    token: fay.session.token,
  });
  const [first] = body.items;
  assert.equal((await add(fay, new Authenticator(ORIGIN).create(await creation(fay)), 'Spare')).status, 201);
  const path = `${server.coordinator}${OWN}/${first?.id}`;
  assert.equal((await request('DELETE', path, { token: fay.session.token })).status, 204);
  assertRefused(await enter(key.get(await options())), 401, 'login_failed');
  const [gil, gilKey] = await holder('gil');
  assert.equal((await host.call('owner', 'POST', `/users/${gil.username}/block`)).status, 200);
  assertRefused(await enter(gilKey.get(await options())), 401, 'login_failed');
});

test('a proof by a passkey counts in its own session', async () => {
  const [hal, key] = await holder('hal');
  const { challenge, passkey } = await ask(hal);
  const session = (await finish(challenge, key.get(passkey as PasskeyRequest))).body;
  const prove = async (token: string, given: object) => await post(`${OWN}/proof`, { passkey: given }, token);
  const begin = async (token: string) => (await post<PasskeyRequest>(`${OWN}/proof/options`, undefined, token)).body;
  assertRefused(await post(`${OWN}/totp`, undefined, session.token), 403, 'proof_required');
  assertRefused(await prove(session.token, key.get(await begin(hal.session.token))), 403, 'proof_wrong');
  assert.equal((await prove(session.token, key.get(await begin(session.token)))).status, 200);
  assert.equal((await post(`${OWN}/totp`, undefined, session.token)).status, 200);
});
