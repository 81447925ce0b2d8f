/** Walks of browsers to a provider and back. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { CODES_MAX, SignOnWalks } from '#src/identity/single-sign-on/sign-on-walks.ts';

const APP = 'https://chat.example.org/signed-in';

test('states that anybody brings back keep nobody from signing in', () => {
  const walks = new SignOnWalks({ now: () => 0 });
  const about = { provider: 'office', redirectUri: APP, challenge: 'c', appState: undefined };
  const comeBack = () => {
    const walk = walks.begin(about);
    const { name, value } = walks.cookieOf(walk);
    return { again: () => walks.return('office', walk.state, `${name}=${value}`) };
  };
  const returned = comeBack();
  for (let count = 0; count < CODES_MAX; count += 1) comeBack().again();
  assert.equal(returned.again().provider, 'office');
  assert.throws(() => returned.again(), { code: 'sso_failed' });
});

test('CRD-10 a walk may take ten minutes and a code a minute, and neither a millisecond longer', () => {
  let now = 0;
  const walks = new SignOnWalks({ now: () => now });
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const comeBack = (after: number) => {
    const walk = walks.begin({ provider: 'office', redirectUri: APP, challenge, appState: undefined });
    const { name, value } = walks.cookieOf(walk);
    now += after;
    return walks.return('office', walk.state, `${name}=${value}`);
  };
  assert.equal(comeBack(599_999).provider, 'office');
  assert.throws(() => comeBack(600_000), { code: 'sso_failed' });
  const redeem = (after: number) => {
    const account = { issuer: 'https://id.example.org', subject: 's', username: 'ann', providerSid: undefined };
    const code = walks.grant({ ...account, redirectUri: APP, challenge });
    now += after;
    return walks.redeem(code, verifier, APP);
  };
  assert.equal(redeem(59_999).username, 'ann');
  assert.throws(() => redeem(60_000), { code: 'sso_code_invalid' });
});
