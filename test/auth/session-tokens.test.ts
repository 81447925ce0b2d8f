import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { SessionTokens, type SessionClaims } from '#src/identity/credentials/session-tokens.ts';

const KEY = new Uint8Array(32).fill(7);
const NOW = 1_795_248_000;
const CLAIMS: SessionClaims = {
  sub: 'alice',
  sid: 's_1m7y263cp7q1ag19x6wdy5',
  dev: 'd_1m7y263cp1rksymdrv5vap',
  exp: NOW + 900,
  iat: NOW,
  rnw: NOW + 2_592_000,
};

const tokens = new SessionTokens([{ id: 'k1', key: KEY, retired: null }]);
const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token by hand, with the right key unless told otherwise. */
function forge(header: object, payload: unknown, key: Uint8Array = KEY): string {
  const signed = `${base64(header)}.${base64(payload)}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

test('CRD-02 a token gives back the claims it was signed with', () => {
  assert.deepEqual(tokens.verify(tokens.sign(CLAIMS), NOW), { claims: CLAIMS });
});

test('TIM-02 the claims on the wire are whole Unix seconds', () => {
  const payload = tokens.sign(CLAIMS).split('.')[1] as string;
  assert.deepEqual(JSON.parse(Buffer.from(payload, 'base64url').toString()), {
    sub: 'alice',
    sid: 's_1m7y263cp7q1ag19x6wdy5',
    dev: 'd_1m7y263cp1rksymdrv5vap',
    exp: 1_795_248_900,
    iat: 1_795_248_000,
    rnw: 1_797_840_000,
  });
});

test('a token is valid until the second before exp, and expired from exp on', () => {
  const token = tokens.sign(CLAIMS);
  assert.deepEqual(tokens.verify(token, CLAIMS.exp - 1), { claims: CLAIMS });
  assert.deepEqual(tokens.verify(token, CLAIMS.exp), { refuse: 'token_expired', claims: CLAIMS });
});

test('a forged token of the right form and key is accepted, so the cases below fail for their own reason', () => {
  assert.deepEqual(tokens.verify(forge({ alg: 'HS256', typ: 'JWT', kid: 'k1' }, CLAIMS), NOW), { claims: CLAIMS });
});

const [head, body, signature] = tokens.sign(CLAIMS).split('.') as [string, string, string];
const HS256 = { alg: 'HS256', typ: 'JWT', kid: 'k1' };
const without = (name: keyof SessionClaims) =>
  Object.fromEntries(Object.entries(CLAIMS).filter(([key]) => key !== name));

const INVALID: Record<string, string> = {
  nothing: '',
  'no token at all': 'hello',
  'two parts': `${head}.${body}`,
  'an empty signature': `${head}.${body}.`,
  'a changed payload': `${head}.${base64({ ...CLAIMS, sub: 'mallory' })}.${signature}`,
  'a changed signature': `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
  'another key': forge(HS256, CLAIMS, new Uint8Array(32).fill(8)),
  'alg none without a signature': `${base64({ alg: 'none', typ: 'JWT' })}.${body}.`,
  'alg none with the right signature': forge({ alg: 'none', typ: 'JWT' }, CLAIMS),
  'alg HS512': forge({ alg: 'HS512', typ: 'JWT' }, CLAIMS),
  'alg RS256': forge({ alg: 'RS256', typ: 'JWT' }, CLAIMS),
  'no alg': forge({ typ: 'JWT' }, CLAIMS),
  'a payload that is a string': forge(HS256, 'alice'),
  'a payload that is null': forge(HS256, null),
  'a payload that is a list': forge(HS256, [CLAIMS]),
  'no sub': forge(HS256, without('sub')),
  'no sid': forge(HS256, without('sid')),
  'no dev': forge(HS256, without('dev')),
  'no exp': forge(HS256, without('exp')),
  'no iat': forge(HS256, without('iat')),
  'no rnw': forge(HS256, without('rnw')),
  'a sub that is no username': forge(HS256, { ...CLAIMS, sub: 'Alice Smith' }),
  'a sid that is another kind of id': forge(HS256, { ...CLAIMS, sid: CLAIMS.dev }),
  'an exp in text': forge(HS256, { ...CLAIMS, exp: String(CLAIMS.exp) }),
  'an exp with a fraction': forge(HS256, { ...CLAIMS, exp: CLAIMS.exp + 0.5 }),
  'an exp beyond rnw': forge(HS256, { ...CLAIMS, exp: CLAIMS.rnw + 1 }),
  'a vendor token': 'svc_vst_abc_def',
  'a bot token': 'bot_abc',
  'a token that is too long': forge(HS256, { ...CLAIMS, more: 'x'.repeat(1024) }),
};

for (const [what, token] of Object.entries(INVALID)) {
  test(`CRD-02 ${what} is token_invalid`, () => {
    assert.deepEqual(tokens.verify(token, NOW), { refuse: 'token_invalid' });
  });
}

test('claims beyond the six do not come back', () => {
  const token = forge(HS256, { ...CLAIMS, role: 'owner' });
  assert.deepEqual(tokens.verify(token, NOW), { claims: CLAIMS });
});

test('CRD-08 a key that was retired proves what it signed until then, no longer than stated, and nothing that was signed later', () => {
  const old = new Uint8Array(32).fill(9);
  const retired = { signedUntil: NOW + 10, validUntil: NOW + 100, keptUntil: NOW + 200 };
  const ring = new SessionTokens([
    { id: 'k1', key: KEY, retired: null },
    { id: 'k0', key: old, retired },
  ]);
  const signed = (more: Partial<SessionClaims> = {}) =>
    forge({ alg: 'HS256', typ: 'JWT', kid: 'k0' }, { ...CLAIMS, ...more }, old);
  const cut = { ...CLAIMS, exp: retired.validUntil };
  assert.deepEqual(ring.verify(signed(), NOW + 99), { claims: cut });
  assert.deepEqual(ring.verify(signed(), NOW + 100), { refuse: 'token_expired', claims: cut });
  // Until it is deleted it proves that something was ours; from then on it proves nothing.
  assert.deepEqual(ring.verify(signed(), NOW + 199), { refuse: 'token_expired', claims: cut });
  assert.deepEqual(ring.verify(signed(), NOW + 200), { refuse: 'token_invalid' });
  assert.deepEqual(ring.verify(signed({ iat: NOW + 10 }), NOW + 20), { claims: { ...cut, iat: NOW + 10 } });
  assert.deepEqual(ring.verify(signed({ iat: NOW + 11 }), NOW + 20), { refuse: 'token_invalid' });
});
