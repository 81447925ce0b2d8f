/** Servers for the media of calls: credentials that coturn can check, an empty list where none is set up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, readConfig } from '#src/config.ts';
import { iceServers } from '#src/messaging/calls/ice-servers.ts';

/** 2026-11-21T08:00:00Z, in milliseconds. */
const NOW = 1_795_248_000_000;

test('TURN credentials are the expiry with the person, and its HMAC-SHA1 under the shared secret', () => {
  const servers = { uris: 'turn:turn.example.org', secret: 'north of the wall', seconds: 21_600 };
  // `printf 1795269600:alice | openssl dgst -sha1 -hmac 'north of the wall' -binary | base64`
  assert.deepEqual(iceServers(servers, 'alice', NOW), {
    ice_servers: [
      { urls: ['turn:turn.example.org'], username: '1795269600:alice', credential: 'ze5C4IEZoQtvtQw+bkPKFEXiL+Y=' },
    ],
    expires_at: '2026-11-21T14:00:00.000Z',
  });
});

test('without servers the list is empty, with STUN alone nothing expires', () => {
  assert.deepEqual(iceServers({ uris: '', secret: null, seconds: 21_600 }, 'alice', NOW), {
    ice_servers: [],
    expires_at: null,
  });
  assert.deepEqual(iceServers({ uris: 'stun:turn.example.org', secret: null, seconds: 21_600 }, 'alice', NOW), {
    ice_servers: [{ urls: ['stun:turn.example.org'] }],
    expires_at: null,
  });
});

test('a TURN server without a secret, and what is no STUN or TURN URI, stop the start', () => {
  assert.throws(() => readConfig({ PARLEY_TURN_URIS: 'turn:turn.example.org' }), ConfigError);
  for (const uris of ['http://turn.example.org', 'turn:', 'turn:a b', 'stun:a,', 'turn:a?transport=sctp']) {
    const environment = { PARLEY_TURN_URIS: uris, PARLEY_TURN_SECRET: 'north of the wall' };
    assert.throws(() => readConfig(environment), /PARLEY_TURN_URIS is/, uris);
  }
});

test('the secret is in no complaint about it, and ringing longer than a minute is not allowed', () => {
  assert.throws(
    () => readConfig({ PARLEY_TURN_SECRET: 'sesame' }),
    (error) => error instanceof ConfigError && !error.message.includes('sesame'),
  );
  assert.equal(readConfig({ PARLEY_RING_SECONDS: '60' }).ringSeconds, 60);
  assert.throws(() => readConfig({ PARLEY_RING_SECONDS: '61' }), /PARLEY_RING_SECONDS is "61"/);
});
