/**
 * Disaster recovery, rehearsed as docs/operations/recovery.md has it: the nightly script makes backups of a running
 * server, the data folder is destroyed, the page's own commands bring it back, and clients see what the page says.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import { callControl } from '#test/support/control.ts';
import { request, startServer, type Person } from '#test/support/server.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';
import { attach, download, upload } from '../messaging/attaching.ts';
import { say, start } from '../messaging/conversing.ts';
import { programOf } from '#test/support/program.ts';
import { freePort } from '#test/support/real-program.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-recovery-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const data = join(folder, 'data');
const backups = join(folder, 'backups');
execFileSync('mkdir', [backups]);

/** The parley command as the script and the operator have it: a program by its name. */
const command = join(folder, 'parley');
const program = [process.execPath, ...programOf(new URL('../../src/cli/parley.ts', import.meta.url))];
writeFileSync(command, `#!/bin/sh\nexec ${program.map((word) => `'${word}'`).join(' ')} "$@"\n`);
chmodSync(command, 0o755);

/** One run of the script of parley-backup.timer; the backup that it made. */
function backUp(keep: number): string {
  const script = join(ROOT, 'docs/deploy/systemd/parley-backup');
  const environment = { ...process.env, BACKUP_COMMAND: command, PARLEY_DATA: data };
  const { status, stderr, stdout } = spawnSync(script, [backups, String(keep)], { env: environment, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout.trim().split('\n').at(-1) ?? '';
}

/** The commands of the page for the day of the disaster, with the folders of this test. */
function commandsOfThePage(backup: string): string[][] {
  const page = readFileSync(join(ROOT, 'docs/operations/recovery.md'), 'utf8');
  const [, block = ''] = /^## When the host is gone\n[^]*?```sh\n([^]*?)```/m.exec(page) ?? [];
  const lines = block.split('\n').filter((line) => line.startsWith('parley '));
  return lines.map((line) => {
    const [plain = ''] = line.split(' #');
    return plain
      .trim()
      .split(/ +/)
      .slice(1)
      .map((word) => word.replace(/^\/var\/backups\/parley\/\S+$/, backup).replace(/^\/var\/lib\/parley$/, data));
  });
}

test('a host is lost and comes back from its backup, and clients are told by the epoch and by the end of sessions', async (t) => {
  const ports = {
    PARLEY_COORDINATOR_PORT: String(await freePort()),
    PARLEY_MESSAGING_PORT: String(await freePort()),
    PARLEY_CALENDAR_PORT: String(await freePort()),
  };
  let server = await startServer({ shards: 2, folder: data, environment: ports });
  t.after(async () => await server.stop());
  const { ada, bob, cyd } = await server.people('ada', 'bob', 'cyd');
  const room = await start(server, ada, 'room', ['bob'], 'Room');
  const content = randomBytes(300_000);
  const attachment = await upload(server, ada, content);
  assert.equal((await attach(server, ada, room.id, attachment)).status, 201);
  await say(server, ada, room.id, 'before the backup');
  const calendar = `${server.calendar}/v1/calendars`;
  const made = await request<{ id: string }>('POST', calendar, {
    token: ada.session.token,
    body: { displayname: 'Trips' },
  });
  assert.equal(made.status, 201, made.text);

  const first = backUp(14);
  const yesterday = join(backups, '2026-01-01T030000Z');
  renameSync(first, yesterday);
  const backup = backUp(14);
  const [one, other] = [yesterday, backup].map((each) => statSync(onlyContentOf(each)));
  assert.equal(one?.ino, other?.ino, 'the second backup has linked what the first one had');

  const client = await signInOnWeb(server, bob);
  t.after(() => client.close());
  await client.caughtUp();
  const signedOut = new Promise<string>((resolve) => client.on('signed-out', ({ code }) => resolve(code)));
  await callControl(data, 'user.block', { username: cyd.username });
  const lateId = randomUUID();
  const late = await say(server, ada, room.id, 'after the backup', lateId);

  await server.end('SIGKILL');
  rmSync(data, { recursive: true });
  const commands = commandsOfThePage(backup);
  assert.deepEqual(
    commands.map(([name]) => name),
    ['restore', 'check'],
  );
  for (const words of commands) {
    const { status, stderr, stdout } = spawnSync(command, words, { encoding: 'utf8' });
    assert.equal(status, 0, `${words.join(' ')}: ${stdout}${stderr}`);
  }
  server = await startServer({ shards: 2, folder: data, environment: ports });

  // Whoever was signed in is told so, and signs in again. An app that is opened looks at once.
  client.wake();
  assert.match(await deadline(signedOut, PATIENCE_MILLIS, 'the client to be signed out'), /^(?:session_|token_)/);
  assert.equal((await server.api(ada, 'GET', `/v1/conversations/${room.id}`)).status, 401);
  ada.session = await server.signIn(ada.username, ada.password);
  const { body: now } = await server.api<Conversation>(ada, 'GET', `/v1/conversations/${room.id}`);
  assert.notEqual(now.epoch, room.epoch);
  const { body: page } = await server.api<{ items: { body: unknown; seq: number }[] }>(
    ada,
    'GET',
    `/v1/conversations/${room.id}/messages?limit=10`,
  );
  const texts = page.items.map(({ body }) => body).filter((body) => typeof body === 'string');
  assert.deepEqual(texts, ['before the backup']);
  assert.ok((await download(server, ada, attachment, room.id)).bytes.equals(content));
  const calendars = await request<{ items: { id: string }[] }>('GET', calendar, { token: ada.session.token });
  assert.ok(calendars.body.items.some(({ id }) => id === made.body.id));

  // Who was blocked after the backup is not blocked any more.
  assert.ok(await server.signIn(cyd.username, cyd.password));

  // A client that still has what it posted after the backup posts it again, and it is a new message with an old number.
  const again = await say(server, ada, room.id, 'after the backup', lateId);
  assert.equal(again.seq, late.seq);

  const third = backUp(2);
  assert.deepEqual(
    readdirSync(backups).toSorted(),
    [backup, third].map((path) => path.split('/').at(-1)),
  );
});

function onlyContentOf(backup: string): string {
  const blobs = join(backup, 'blobs');
  const files = readdirSync(blobs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.equal(files.length, 1);
  return join(files[0]?.parentPath ?? '', files[0]?.name ?? '');
}

async function signInOnWeb(
  server: Pick<Awaited<ReturnType<typeof startServer>>, 'coordinator' | 'messaging'>,
  { password, username }: Person,
): Promise<ParleyClient> {
  return await ParleyClient.signIn({
    ...{ coordinatorUrl: server.coordinator, messagingUrl: server.messaging },
    ...{ username, password, device: { name: 'Browser', platform: 'web' } },
  });
}

test('the script builds on no backup that was not finished, and never writes over one', () => {
  const kept = readdirSync(backups);
  const environment = { ...process.env, BACKUP_COMMAND: '/bin/false', PARLEY_DATA: data };
  const script = join(ROOT, 'docs/deploy/systemd/parley-backup');
  const failed = spawnSync(script, [backups], { env: environment, encoding: 'utf8' });
  assert.notEqual(failed.status, 0);
  assert.deepEqual(readdirSync(backups), kept);
});
