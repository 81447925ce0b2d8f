/** Servers for media of calls from the console: the screen before the configuration, and what a locked vault leaves of it. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startConsoleServer } from '#test/support/console.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { assertRefused } from './conversing.ts';

const CONFIGURED = {
  PARLEY_TURN_URIS: 'turn:old.example.org',
  PARLEY_TURN_SECRET: 'secret of the file',
  PARLEY_DEBUG_HOOKS: '1',
};
const SECRET = 'heron of the relay';
const SCREEN = {
  uris: 'stun:new.example.org,turn:new.example.org?transport=udp',
  secret: SECRET,
  credential_seconds: 600,
};

interface Ice {
  readonly ice_servers: readonly {
    readonly urls: string[];
    readonly username?: string;
    readonly credential?: string;
  }[];
  readonly expires_at: string | null;
}

async function ice(server: TestServer, who: Person): Promise<Ice> {
  const { body, status, text } = await server.api<Ice>(who, 'GET', '/v1/calls/ice');
  assert.equal(status, 200, text);
  return body;
}

/** Asks until the first of the servers has this URI. A shard that is starting again answers nothing meanwhile. */
async function named(server: TestServer, who: Person, uri: string, servers: number): Promise<Ice> {
  return await until(async () => {
    const found = await ice(server, who).catch(() => undefined);
    return found?.ice_servers[0]?.urls[0] === uri && found.ice_servers.length === servers ? found : undefined;
  }, `${servers} servers with ${uri} first`);
}

function assertSigned({ ice_servers: servers, expires_at: at }: Ice, secret: string, seconds: number): void {
  const { credential, username = '' } = servers.at(-1) ?? {};
  assert.equal(credential, createHmac('sha1', secret).update(username).digest('base64'));
  const left = Number(username.split(':')[0]) - Date.now() / 1000;
  assert.ok(left > seconds - 60 && left <= seconds + 1, `${left} s left`);
  assert.equal(Date.parse(at ?? ''), Number(username.split(':')[0]) * 1000);
}

test('the secret for TURN is set in the console, counts before the configuration, and is locked with the vault', async (t) => {
  const { console, server, stop } = await startConsoleServer({ shards: 2, environment: CONFIGURED });
  t.after(stop);
  const { ada } = await server.people('ada');
  assertSigned(await named(server, ada, 'turn:old.example.org', 1), 'secret of the file', 21_600);
  const { body: proposed } = await console<{ master_key: string }>('POST', '/encryption/propose');
  assert.equal((await console('POST', '/encryption/enable', proposed)).status, 200);

  assertRefused(await console('PUT', '/settings/turn', { uris: SCREEN.uris }), 400, 'field_invalid', 'secret');
  assertSigned(await named(server, ada, 'turn:old.example.org', 1), 'secret of the file', 21_600);
  const set = await console<{ values: object; is_complete: boolean }>('PUT', '/settings/turn', SCREEN);
  assert.deepEqual([set.status, set.body.is_complete], [200, true]);
  assert.deepEqual(set.body.values, { ...SCREEN, secret: { set: true } });
  assertSigned(await named(server, ada, 'stun:new.example.org', 2), SECRET, 600);
  assertRefused(await console('PUT', '/settings/turn', { secret: null }), 400, 'field_invalid', 'secret');

  // A thread that dies starts with what there is by then.
  server.process.kill('SIGUSR2');
  await until(async () => {
    const { body } = await console<{ items: { kind: string }[] }>('GET', '/alerts');
    return body.items.some(({ kind }) => kind === 'shard_restarted');
  }, 'the shard to be back');
  assertSigned(await named(server, ada, 'stun:new.example.org', 2), SECRET, 600);

  await console('POST', '/encryption/lock');
  const locked = await named(server, ada, 'stun:new.example.org', 1);
  assert.deepEqual(locked, { ice_servers: [{ urls: ['stun:new.example.org'] }], expires_at: null });
  assertRefused(await console('PUT', '/settings/turn', { secret: `${SECRET} too` }), 503, 'encryption_locked');
  await console('POST', '/encryption/unlock', proposed);
  assertSigned(await named(server, ada, 'stun:new.example.org', 2), SECRET, 600);

  const said = [(await console('GET', '/settings/turn')).text, (await console('GET', '/audit?limit=200')).text];
  for (const text of [...said, ...server.output]) assert.ok(!text.includes(SECRET), text);
  assert.ok(!readFileSync(join(server.folder, 'accounts.mdb')).includes(SECRET));

  const emptied = await console('PUT', '/settings/turn', { uris: null, secret: null, credential_seconds: null });
  assert.equal(emptied.status, 200, emptied.text);
  assertSigned(await named(server, ada, 'turn:old.example.org', 1), 'secret of the file', 21_600);
});

test('STUN alone needs no secret, and lasts over a restart', async (t) => {
  const { console, server, stop } = await startConsoleServer({ shards: 2 });
  t.after(stop);
  const { ada } = await server.people('ada');
  assert.deepEqual(await ice(server, ada), { ice_servers: [], expires_at: null });
  assert.equal((await console('PUT', '/settings/turn', { uris: 'stun:stun.example.org' })).status, 200);
  await named(server, ada, 'stun:stun.example.org', 1);
  server.process.kill('SIGKILL');
  const again = await startServer({ shards: 2, folder: server.folder });
  t.after(() => again.stop());
  const her = { ...ada, session: await again.signIn(ada.username, ada.password) };
  assert.deepEqual(await ice(again, her), { ice_servers: [{ urls: ['stun:stun.example.org'] }], expires_at: null });
});
