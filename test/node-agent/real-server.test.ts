/** A host joined to a real server: the console, the doors and the agent as they are installed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import { request } from '#test/support/server.ts';
import { programOf } from '#test/support/program.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));

let admin: ConsoleServer;
before(async () => {
  admin = await startConsoleServer();
});
after(async () => await admin.stop());

interface Joined {
  readonly id: string;
  readonly join_token: string;
  readonly command: string;
}
interface Journal {
  readonly chunk: { readonly journal: string; readonly actor: string } | null;
}

function parley(words: readonly string[]) {
  const child = spawn(process.execPath, [...PARLEY, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => (written += bytes.toString()));
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  return { child, exit: async () => [await deadline(exit, PATIENCE_MILLIS, 'parley to end'), written] as const };
}

test('NOD-01 NOD-02 VND-11 VND-12 CRD-08 a host from its join command to its end', async (context) => {
  const { server } = admin;
  const call: ConsoleServer['call'] = async (...words) => await admin.call(...words);
  const folder = temporaryFolder(context);
  const line = '2026-11-21T07:59:59+0000 mail-1 sshd[7]: Failed password for alice from 192.0.2.77 port 22 ssh2\n';
  writeFileSync(join(folder, 'ssh.service.log'), line);
  const made = await call<Joined>('owner', 'POST', '/nodes', { body: { name: 'mail-1', roles: ['mail'] } });
  assert.equal(made.status, 201, made.text);
  const { id, command } = made.body;
  const words = command.split(' ').slice(2, -1);
  const [joined, said] = await parley([...words, folder]).exit();
  assert.equal(joined, 0, said);
  const agent = parley(['node', 'run', '--data', folder, '--journal-dir', folder]);
  context.after(() => void agent.child.kill('SIGKILL'));
  const health = async () =>
    (await call<{ health: object | null }>('viewer', 'GET', `/nodes/${id}/health`)).body.health;
  await until(health, 'the first health');

  const body = { unit: 'ssh.service', lines: 10 };
  for (const unit of ['-u', '../x', 'a b', '/etc/passwd']) {
    const refused = await call('owner', 'POST', `/nodes/${id}/logs`, { body: { ...body, unit } });
    assert.deepEqual([refused.status, refused.body['code'], refused.body['field']], [400, 'field_invalid', 'unit']);
  }
  const asked = await call('vendor_active', 'POST', `/nodes/${id}/logs`, { body });
  assert.equal(asked.status, 202, asked.text);
  const journal = async () => (await call<Journal>('owner', 'GET', `/nodes/${id}/logs`)).body.chunk ?? undefined;
  const chunk = await until(journal, 'the journal chunk');
  assert.equal(chunk.journal, line);
  assert.match(chunk.actor, /^vendor:/);
  const seen = (await call<Journal>('vendor_active', 'GET', `/nodes/${id}/logs`)).text;
  assert.doesNotMatch(seen, /alice|192\.0\.2\.77/);
  assert.match(seen, /Failed password for u-[0-9a-f]{8} from 192\.0\.2\.x port 22/);

  for (let at = 0; at < 3; at += 1)
    assert.equal((await call('vendor_active', 'POST', `/nodes/${id}/logs`, { body })).status, 202);
  const fifth = await call('vendor_active', 'POST', `/nodes/${id}/logs`, { body });
  assert.deepEqual([fifth.status, fifth.body['code']], [429, 'rate_limited']);

  const { token } = JSON.parse(readFileSync(join(folder, 'node-agent.json'), 'utf8')) as { token: string };
  for (const headers of [{ 'x-admin-token': token }, { authorization: `Bearer ${token}` }, { 'x-node-token': token }]) {
    const elsewhere = await request('GET', `${server.coordinator}/admin/api/nodes`, { headers });
    assert.equal(elsewhere.status, 401, JSON.stringify(Object.keys(headers)));
    assert.equal((await request('GET', `${server.messaging}/v1/inbox`, { headers })).status, 401);
  }

  assert.equal((await call('vendor_active', 'DELETE', `/nodes/${id}`)).status, 403);
  assert.equal((await call('viewer', 'DELETE', `/nodes/${id}`)).status, 403);
  assert.equal((await call('owner', 'DELETE', `/nodes/${id}`)).status, 204);
  const [code, written] = await agent.exit();
  assert.equal(code, 1);
  assert.match(written, /it was revoked/);
  assert.ok(!server.output.join('\n').includes(token.slice(-43)));
});
