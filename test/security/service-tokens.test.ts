/** A service token opens what that service is for, and nothing beside it (CRD-05). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';

const MAIL = 'm'.repeat(43);
const MESSAGING = 'n'.repeat(43);
const { server, ivan } = await shareServer(['ivan'], {
  shards: 2,
  environment: { PARLEY_SERVICE_TOKENS: JSON.stringify({ mail: MAIL, messaging: MESSAGING }) },
});

test('CRD-05 the token of the mail server neither introspects sessions nor reads the directory', async () => {
  const { token: session } = ivan.session;
  const ask = async (token: string) => {
    const introspected = await request<{ code: string }>('POST', `${server.coordinator}/v1/internal/introspect`, {
      token,
      body: { token: session },
    });
    const read = await request<{ code: string }>('GET', `${server.coordinator}/v1/internal/directory/ivan`, { token });
    return [introspected.status, introspected.body.code, read.status, read.body.code];
  };
  assert.deepEqual(await ask(MAIL), [403, 'right_missing', 403, 'right_missing']);
  assert.deepEqual(await ask(MESSAGING), [200, undefined, 200, undefined]);
});
