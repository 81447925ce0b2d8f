import assert from 'node:assert/strict';
import { test } from 'node:test';
import { presentedToken } from '#src/identity/console/console-authentication.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { ADDRESS, openConsole, OWNER, refusal } from '../coordinator/console-fixture.ts';

const FORM = { name: 'Support', vendor: 'parley', purpose: 'A case', term_days: 365 } as const;

test('VND-06 a credential travels as X-Admin-Token or as Bearer, or as both when they are one', async (context) => {
  const { authentication, vendorTokens, add, login } = await openConsole(context);
  await add('olga', 'owner');
  const tokens = [(await vendorTokens.issue(OWNER, FORM, ADDRESS)).token, (await login('olga')).token];
  for (const token of tokens) {
    const kinds = [
      await authentication.authenticate({ xAdminToken: token }, ADDRESS),
      await authentication.authenticate({ authorization: `Bearer ${token}` }, ADDRESS),
      await authentication.authenticate({ authorization: `bearer  ${token} ` }, ADDRESS),
      await authentication.authenticate({ authorization: `Bearer ${token}`, xAdminToken: token }, ADDRESS),
      await authentication.authenticate({ authorization: 'Basic b2xnYTp4', xAdminToken: token }, ADDRESS),
    ].map(({ kind }) => kind);
    assert.equal(new Set(kinds).size, 1);
  }
});

test('two different tokens are refused, whichever of them would be right', async (context) => {
  const { authentication, vendorTokens } = await openConsole(context);
  const { token } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  for (const headers of [
    { authorization: `Bearer ${token}`, xAdminToken: 'adm_x' },
    { authorization: 'Bearer adm_x', xAdminToken: token },
  ]) {
    await assert.rejects(authentication.authenticate(headers, ADDRESS), refusal('token_invalid'));
  }
});

test('a request without a token is token_missing', async (context) => {
  const { authentication } = await openConsole(context);
  for (const headers of [{}, { xAdminToken: ' ' }, { authorization: 'Bearer ' }, { authorization: 'Basic b2xnYTp4' }]) {
    await assert.rejects(authentication.authenticate(headers, ADDRESS), refusal('token_missing'));
  }
});

test('headers that hold more than a token are malformed', () => {
  for (const headers of [
    { xAdminToken: 'adm_a, adm_b' },
    { xAdminToken: 'adm_a adm_b' },
    { authorization: 'Bearer adm_a adm_b' },
    { xAdminToken: `adm_${'a'.repeat(300)}` },
    { xAdminToken: 'adm_ä' },
  ]) {
    assert.throws(() => presentedToken(headers), refusal('token_invalid'));
  }
});

test('CRD-01 credentials of other kinds are nobody here', async (context) => {
  const { accounts, clock, who } = await openConsole(context);
  const seconds = clock.now() / 1000;
  const claims = { sub: 'olga', exp: seconds + 900, iat: seconds, rnw: seconds + 900 };
  const sid = 's_0123456789abcdefghjkmn';
  const session = new SessionTokens(accounts.signingKeys('session_keys')).sign({
    ...claims,
    sid,
    dev: sid.replace('s', 'd'),
  });
  const others = [session, 'bot_0123456789', 'n_0123456789', 'inv_0123456789', 'srv_0123456789', 'adm_', 'x'];
  for (const token of others) await assert.rejects(who(token), refusal('token_invalid'));
});

test('VND-13 a refused attempt of a token is audited before the answer; a token that never was is not', async (context) => {
  const { authentication, clock, trail, vendorTokens } = await openConsole(context);
  const { token, record } = await vendorTokens.issue(OWNER, FORM, ADDRESS);
  const wrong = `svc_vst_${record.id}_${'A'.repeat(43)}`;
  const attempt = async (text: string, code: string) => {
    const asked = authentication.authenticate({ xAdminToken: text }, ADDRESS, clock.now(), '/admin/api/me');
    await assert.rejects(asked, refusal(code));
  };
  await attempt(wrong, 'vendor_token_invalid');
  clock.advance(365 * 86_400);
  await attempt(token, 'vendor_token_expired');
  await attempt(token, 'vendor_token_expired');
  await attempt(`svc_vst_${'0'.repeat(22)}_${'A'.repeat(43)}`, 'vendor_token_invalid');
  await attempt('svc_vst_x', 'vendor_token_invalid');
  assert.deepEqual(
    trail('vendor_token.refused').map(({ actor, details }) => [actor, details]),
    ['vendor_token_invalid', 'vendor_token_expired', 'vendor_token_expired'].map((code) => [
      `vendor:${record.id}`,
      { code, path: '/admin/api/me' },
    ]),
  );
});
