/** Walks of browsers to a provider and back. */
import assert from 'node:assert/strict';
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
