/** Every connection of the server to somewhere goes through one guard: what an address of a settings screen reaches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareSsoServer } from './sso-server.ts';

const site = await shareSsoServer({ PARLEY_ALLOW_PRIVATE_TARGETS: 'false' });

test('TFA-02 a stranger does not make the server connect to itself by an issuer that is there', async () => {
  assert.equal((await site.ask('owner', 'PUT', '/settings/sso', site.form)).status, 200);
  const started = await site.ask('nobody', 'GET', '/sso/start');
  assert.equal(site.identity.requests('/.well-known/openid-configuration'), 0);
  assert.deepEqual([started.status, started.body['code']], [503, 'sso_provider_unavailable']);
});
