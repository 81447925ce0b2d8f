/**
 * Somebody has a backup of the running server, whole and unsealed. Nothing in it may let them act as anybody: not with a
 * token they sign, not with a link, not for a session that never was.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { signLink } from '#src/messaging/attachments/attachment-links.ts';
import { makeId } from '#src/base/ids.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { AccountsReader } from '#storage/accounts/accounts.ts';
import { SECRET_BYTES, SECRET_NAMES } from '#storage/accounts/accounts-draft.ts';
import { KEY_RINGS, signingKeysRecord, type SigningKeys } from '#storage/accounts/signing-keys.ts';
import { Environment, mapBytesOf } from '#storage/engine/environment.ts';
import { callControl } from '#test/support/control.ts';
import { until } from '#test/support/waiting.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

const { server, alice, bob } = await shareServer(['alice', 'bob'], { shards: 2 });
const NOW = Math.floor(Date.now() / 1_000);
const TEN_YEARS = 315_360_000;

/** Every secret that can be read from an accounts file, by its name. */
async function secretsIn(path: string): Promise<Map<string, Buffer>> {
  const environment = new Environment(path, ['secrets'], { mapBytes: mapBytesOf(path), readOnly: true });
  try {
    const found = [...environment.tables.secrets.getRange()];
    return new Map(found.map((entry) => [Buffer.from(entry.key).toString(), Buffer.from(entry.value)]));
  } finally {
    await environment.close();
  }
}

/** The live server's secrets, as whoever runs it has them. */
const live = await until(async () => {
  const secrets = await secretsIn(join(server.folder, 'accounts.mdb'));
  return secrets.has('session_keys') && secrets;
}, 'the secrets are brought from the log to the file');
const liveKeys = signingKeysRecord.decode(live.get('session_keys') as Buffer);

/** A key that was stolen, as a thief takes it for that of the server: with the id that tokens show. */
function asRing(key: Uint8Array): SigningKeys {
  return [{ id: liveKeys[0].id, key, retired: null }];
}

async function secretChat(): Promise<string> {
  const made = await server.api<{ id: string }>(alice, 'POST', '/v1/conversations', {
    kind: 'secret',
    participants: ['bob'],
  });
  assert.equal(made.status, 201, made.text);
  const form = { kind: 'text', body: 'between the two of us', client_msg_id: 'one' };
  const posted = await server.api(alice, 'POST', `/v1/conversations/${made.body.id}/messages`, form);
  assert.equal(posted.status, 201);
  return made.body.id;
}

/** What an attacker with this key reads of a conversation, as somebody, with a token of ten years. */
async function readWith(keys: SigningKeys, claims: { sub: string; dev: string; sid: string }, conversation: string) {
  const token = new SessionTokens(keys).sign({ ...claims, iat: NOW, exp: NOW + TEN_YEARS, rnw: NOW + TEN_YEARS });
  const headers = { authorization: `Bearer ${token}` };
  return await server.api(undefined, 'GET', `/v1/conversations/${conversation}/messages`, undefined, headers);
}

test('CRD-08 a backup of a running server has none of the keys that sign, in no byte of it', async (t) => {
  const out = join(temporaryFolder(t), 'backup');
  await callControl(server.folder, 'backup', { out });
  const inside = await secretsIn(join(out, 'accounts.mdb'));
  assert.deepEqual([...inside.keys()], ['installation_key']);
  const files = readdirSync(out, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const signing = SECRET_NAMES.filter((name) => name !== 'installation_key').map((name) => live.get(name) as Buffer);
  const rings = KEY_RINGS.flatMap((ring) => signingKeysRecord.decode(live.get(ring) as Buffer).map(({ key }) => key));
  assert.equal(signing.length + rings.length, 4);
  for (const secret of [...signing, ...rings]) {
    assert.equal(secret.length, SECRET_BYTES);
    for (const file of files) {
      const isIn: boolean = readFileSync(join(file.parentPath, file.name)).includes(Buffer.from(secret));
      assert.equal(isIn, false, `a key is in ${file.name}`);
    }
  }
});

test('CRD-08 whatever key a backup has signs no token, and no token for a session that never was', async (t) => {
  const conversation = await secretChat();
  const session = { sub: 'alice', dev: alice.session.device_id, sid: sidOf(alice.session.token) };
  const stranger = { sub: 'alice', dev: makeId('d', Date.now()), sid: makeId('s', Date.now()) };
  const out = join(temporaryFolder(t), 'backup');
  await callControl(server.folder, 'backup', { out });
  const inside = await secretsIn(join(out, 'accounts.mdb'));
  for (const stolen of [...inside.values(), randomBytes(SECRET_BYTES)]) {
    for (const claims of [session, stranger]) {
      const reply = await readWith(asRing(stolen), claims, conversation);
      assert.deepEqual([reply.status, reply.body['code']], [401, 'token_invalid']);
    }
  }
  // Even the live key, which nobody but the server has, opens nothing for a session that nobody was given.
  for (const claims of [
    stranger,
    { ...session, sid: stranger.sid },
    { ...session, dev: stranger.dev },
    { ...session, sub: 'bob' },
  ]) {
    const reply = await readWith(liveKeys, claims, conversation);
    assert.deepEqual([reply.status, reply.body['code']], [401, 'session_revoked'], JSON.stringify(claims));
  }
  assert.equal((await readWith(liveKeys, session, conversation)).status, 200, 'a session that is there');
});

test('CRD-08 a blocked person is out on every thread, with any token', async () => {
  const conversation = await secretChat();
  const session = { sub: 'bob', dev: bob.session.device_id, sid: sidOf(bob.session.token) };
  assert.equal((await readWith(liveKeys, session, conversation)).status, 200);
  await callControl(server.folder, 'user.block', { username: 'bob' });
  const reply = await readWith(liveKeys, session, conversation);
  assert.deepEqual([reply.status, reply.body['code']], [401, 'session_revoked']);
});

test('ATT-01 a link that was signed with what a backup holds opens nothing', async (t) => {
  const out = join(temporaryFolder(t), 'backup');
  await callControl(server.folder, 'backup', { out });
  const stolen = (await secretsIn(join(out, 'accounts.mdb'))).get('installation_key') as Buffer;
  const attachment = makeId('att', Date.now());
  const claims = { attachment, conversation: await secretChatOfAlice(), user: 'alice', expires: NOW + 300 };
  const path = `/v1/attachments/${attachment}/content?link=`;
  const forged = await server.api(undefined, 'GET', `${path}${signLink(stolen, claims)}`);
  assert.deepEqual([forged.status, forged.body['code']], [401, 'attachment_link_invalid']);
});

async function secretChatOfAlice(): Promise<string> {
  const made = await server.api<{ id: string }>(alice, 'POST', '/v1/conversations', {
    kind: 'room',
    title: 'x',
    participants: [],
  });
  return made.body.id;
}

function sidOf(token: string): string {
  return (JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as { sid: string }).sid;
}

test('the accounts of a live server are read while it runs', async () => {
  const reader = new AccountsReader(server.folder);
  const sessionOf = ({ session }: typeof alice) =>
    reader.liveSession(session.user, session.device_id, sidOf(session.token))?.sid;
  assert.deepEqual([sessionOf(alice), sessionOf(bob)], [sidOf(alice.session.token), undefined]);
  await reader.close();
});
