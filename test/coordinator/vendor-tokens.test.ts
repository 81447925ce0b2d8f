import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '#src/identity/console/principal.ts';
import { vendorTokenRoutes } from '#src/console/routes/access/vendor-tokens.ts';
import { ADDRESS, openConsole, OWNER, OWNER_PERSON, refusal } from './console-fixture.ts';

const FORM = { name: 'Support of spring', vendor: 'parley', purpose: 'Case 17: calls drop', term_days: 365 } as const;

test('VND-03 a token is answered once, in its shape, and only its hash is stored', async (context) => {
  const { accounts, logged, trail, vendorTokens } = await openConsole(context);
  const { token, record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  const [, id, secret] = /^svc_vst_([0-9a-hjkmnp-tv-z]{22})_([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
  assert.equal(record.id, id);
  const told = JSON.stringify([vendorTokens.list(undefined, 10), trail(), logged]);
  assert.equal(told.includes(secret as string), false);
  const { defineCollection } = await import('#storage/accounts/collections.ts');
  const stored = accounts.document(defineCollection<{ hash: string }>('vendor_tokens', { version: 1 }), id as string);
  assert.match(stored?.hash as string, /^[0-9a-f]{64}$/);
  assert.equal(JSON.stringify(stored).includes(secret as string), false);
});

test('VND-04 a record says what it is for, whose, until when, and how it stands', async (context) => {
  const { vendorTokens } = await openConsole(context);
  const { record } = await vendorTokens.issue(OWNER, { ...FORM, term_days: 1095 }, ADDRESS);
  assert.deepEqual(record, {
    id: record.id,
    name: 'Support of spring',
    vendor: 'parley',
    purpose: 'Case 17: calls drop',
    term_days: 1095,
    issued_by: 'user:olga',
    issued_at: '2026-11-21T08:00:00.000Z',
    expires_at: '2029-11-20T08:00:00.000Z',
    state: 'active',
    revoked_by: null,
    revoked_at: null,
    last_used_at: null,
    last_used_address: null,
  });
  assert.deepEqual(vendorTokens.list(undefined, 10), { items: [record], next: null });
});

test('VND-07 an active token is the vendor, with the role vendor_support', async (context) => {
  const { vendorTokens, who } = await openConsole(context);
  const { token, record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  assert.deepEqual(await who(token), { kind: 'vendor', id: record.id, role: 'vendor_support' });
});

test('VND-05 a token is active before the second in which its term ends, and expired from it on', async (context) => {
  const { clock, vendorTokens, who } = await openConsole(context);
  const { token } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  clock.advance(365 * 86_400 - 1);
  assert.equal((await who(token)).kind, 'vendor');
  clock.advance(1);
  await assert.rejects(who(token), refusal('vendor_token_expired'));
  assert.equal(vendorTokens.list(undefined, 10).items[0]?.state, 'expired');
});

test('VND-05 CRD-08 a revoked token ends at once, its row stays, and it is not revoked twice', async (context) => {
  const { clock, vendorTokens, who } = await openConsole(context);
  const { token, record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  clock.advance(60);
  const revoked = await vendorTokens.revoke(OWNER, record.id, ADDRESS);
  assert.deepEqual(
    [revoked.state, revoked.revoked_by, revoked.revoked_at],
    ['revoked', 'user:olga', '2026-11-21T08:01:00.000Z'],
  );
  await assert.rejects(who(token), refusal('vendor_token_revoked'));
  await assert.rejects(vendorTokens.revoke(OWNER, record.id, ADDRESS), refusal('vendor_token_not_active'));
  clock.advance(365 * 86_400);
  await assert.rejects(who(token), refusal('vendor_token_revoked'));
  assert.equal(vendorTokens.list(undefined, 10).items[0]?.state, 'revoked');
});

test('an expired token is not revoked, and one that never was is not found', async (context) => {
  const { clock, vendorTokens } = await openConsole(context);
  const { record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  clock.advance(365 * 86_400);
  await assert.rejects(vendorTokens.revoke(OWNER, record.id, ADDRESS), refusal('vendor_token_not_active'));
  for (const id of ['0123456789abcdefghjkmn', 'n_0123456789abcdefghjkmn', '', '../x']) {
    await assert.rejects(vendorTokens.revoke(OWNER, id, ADDRESS), refusal('vendor_token_not_found'));
  }
});

const OTHERS: Record<string, Principal> = {
  'an administrator': { ...OWNER_PERSON, role: 'administrator' },
  'a viewer': { ...OWNER_PERSON, role: 'viewer' },
  'an owner who has not proven the second factor': { ...OWNER_PERSON, isFull: false },
  'a vendor': { kind: 'vendor', id: 'x', role: 'vendor_support' },
};
for (const [who, principal] of Object.entries(OTHERS)) {
  test(`VND-01 ${who} neither issues nor revokes`, async (context) => {
    const { vendorTokens } = await openConsole(context);
    const { record } = await vendorTokens.issue({ ...OWNER_PERSON, signIn: 'sso' }, FORM, ADDRESS);
    await assert.rejects(vendorTokens.issue(principal, FORM, ADDRESS), refusal('right_missing'));
    await assert.rejects(vendorTokens.revoke(principal, record.id, ADDRESS), refusal('right_missing'));
    assert.deepEqual(vendorTokens.list(undefined, 10).items, [record]);
  });
}

test('VND-01 the break-glass account issues none, and revokes when no owner can come', async (context) => {
  const { trail, vendorTokens } = await openConsole(context);
  const { record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  const breakGlass: Principal = { kind: 'break_glass', role: 'owner', sid: OWNER_PERSON.sid, steppedUpUntil: 0 };
  await assert.rejects(vendorTokens.issue(breakGlass, FORM, ADDRESS), refusal('right_missing'));
  const revoked = await vendorTokens.revoke(breakGlass, record.id, ADDRESS);
  assert.deepEqual([revoked.state, revoked.revoked_by], ['revoked', 'break-glass']);
  assert.equal(trail().at(-1)?.actor, 'break-glass');
});

test('VND-13 issue and revocation are audited with the purpose', async (context) => {
  const { trail, vendorTokens } = await openConsole(context);
  const { record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  await vendorTokens.revoke(OWNER, record.id, '192.0.2.8');
  const [issued, revoked] = trail();
  const { name, vendor, purpose } = FORM;
  assert.deepEqual(
    [issued?.event, issued?.actor, issued?.address, issued?.subject, issued?.details],
    ['vendor_token.issued', 'user:olga', ADDRESS, `vendor:${record.id}`, { name, purpose, term_days: 365, vendor }],
  );
  assert.deepEqual(
    [revoked?.event, revoked?.actor, revoked?.address, revoked?.subject, revoked?.details],
    ['vendor_token.revoked', 'user:olga', '192.0.2.8', `vendor:${record.id}`, { name, purpose, vendor }],
  );
});

test('VND-05 tampered tokens are vendor_token_invalid, also those of a token that has ended', async (context) => {
  const { clock, vendorTokens, who } = await openConsole(context);
  const { token, record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  const { token: other, record: otherRecord } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  const secret = token.slice(-43);
  const flipped = `${secret.startsWith('A') ? 'B' : 'A'}${secret.slice(1)}`;
  const tampered = [
    `svc_vst_${record.id}_${flipped}`,
    `svc_vst_${otherRecord.id}_${secret}`,
    `svc_vst_${record.id}_${secret}x`,
    `svc_vst_${record.id}_${secret.slice(0, -1)}`,
    `svc_vst_${record.id}_`,
    `svc_vst_${record.id}`,
    `svc_vst_0123456789abcdefghjkmn_${secret}`,
    `svc_vst_${record.id.toUpperCase()}_${secret}`,
    'svc_vst_',
    'svc_vst___proto___x',
  ];
  for (const text of tampered) await assert.rejects(who(text), refusal('vendor_token_invalid'));
  assert.equal((await who(other)).kind, 'vendor');
  clock.advance(365 * 86_400);
  await assert.rejects(who(`svc_vst_${record.id}_${flipped}`), refusal('vendor_token_invalid'));
});

const body = vendorTokenRoutes.issueVendorToken.body;
const WHOLE = { name: 'Support', purpose: 'A case', term_days: 365 };

test('VND-02 the vendor is the first supported one when nobody is named', () => {
  assert.equal(body.parse(WHOLE).vendor, 'parley');
  assert.equal(body.parse({ ...WHOLE, vendor: 'hosting' }).vendor, 'hosting');
  assert.equal(body.parse({ ...WHOLE, term_days: 1095 }).term_days, 1095);
});

const REFUSED: [what: string, form: object, field: string][] = [
  ['no name', { purpose: 'A case', term_days: 365 }, 'name'],
  ['a blank name', { ...WHOLE, name: ' ' }, 'name'],
  ['a name of 101 characters', { ...WHOLE, name: 'x'.repeat(101) }, 'name'],
  ['no purpose', { name: 'Support', term_days: 365 }, 'purpose'],
  ['an empty purpose', { ...WHOLE, purpose: '' }, 'purpose'],
  ['a purpose of blanks', { ...WHOLE, purpose: ' \u00a0 ' }, 'purpose'],
  ['a purpose over two lines', { ...WHOLE, purpose: 'A case\nuser=root' }, 'purpose'],
  ['a purpose of 501 characters', { ...WHOLE, purpose: 'x'.repeat(501) }, 'purpose'],
  ['an unknown vendor', { ...WHOLE, vendor: 'acme' }, 'vendor'],
  ['a vendor that is null', { ...WHOLE, vendor: null }, 'vendor'],
  ['364 days', { ...WHOLE, term_days: 364 }, 'term_days'],
  ['1096 days', { ...WHOLE, term_days: 1096 }, 'term_days'],
  ['half a day', { ...WHOLE, term_days: 365.5 }, 'term_days'],
  ['days as text', { ...WHOLE, term_days: '365' }, 'term_days'],
  ['no term', { name: 'Support', purpose: 'A case' }, 'term_days'],
];
for (const [what, form, field] of REFUSED) {
  test(`VND-02 ${what} is refused with ${field} named`, () => {
    const { error } = body.safeParse(form);
    assert.deepEqual(error?.issues[0]?.path, [field]);
  });
}

test('VND-02 a field that claims an issuer is refused', () => {
  assert.equal(body.safeParse({ ...WHOLE, issued_by: 'user:olga' }).error?.issues[0]?.code, 'unrecognized_keys');
});
