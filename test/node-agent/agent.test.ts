import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AgentError, readMembership } from '#src/node-agent/agent-folder.ts';
import { runAgent } from '#src/node-agent/agent.ts';
import { joinHost } from '#src/node-agent/join-host.ts';
import { readJournalFiles } from '#src/node-agent/journal-source.ts';
import { ReportFiles } from '#src/node-agent/report-files.ts';
import { startNodePlane } from '#test/coordinator/node-fixture.ts';
import { programOf } from '#test/support/program.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));

/** A `parley` command as its own process; its exit code and everything it wrote. */
function parley(context: TestContext, words: readonly string[], path = '') {
  const environment = { ...process.env, PATH: `${path}${delimiter}${process.env['PATH'] ?? ''}` };
  const child = spawn(process.execPath, [...PARLEY, ...words], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const written: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => written.push(bytes.toString()));
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  context.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    written: () => written.join(''),
    ended: async () => await deadline(ended, PATIENCE_MILLIS, `parley to end; it wrote ${written.join('')}`),
  };
}

/** A folder with a journalctl that prints the words it was called with, one a line. */
function fakeJournalctl(context: TestContext): string {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, 'journalctl'), '#!/bin/sh\nprintf "%s\\n" "$@"\n');
  chmodSync(join(folder, 'journalctl'), 0o755);
  return folder;
}

/** An agent in this process, of any version, whose journals are files. */
function startAgent(context: TestContext, folder: string, agentVersion: string, reportsFolder?: string) {
  const stopped = new AbortController();
  const said: string[] = [];
  const ended = runAgent({
    membership: readMembership(folder),
    health: { agentVersion, folders: [folder, join(folder, 'missing')], certificates: [], hasSystemd: false },
    journal: readJournalFiles(join(folder, 'journal')),
    reports: reportsFolder === undefined ? undefined : new ReportFiles(reportsFolder),
    say: (text) => void said.push(text),
    signal: stopped.signal,
  });
  context.after(async () => {
    stopped.abort();
    await ended.catch(() => undefined);
  });
  return { ended, said, stop: () => stopped.abort() };
}

test('NOD-01 agents of different versions, with systemd and without, answer the same ask', async (context) => {
  const { ask, create, nodes, url } = await startNodePlane(context);
  const chunkOf = async (id: string) =>
    await until(async () => (await ask('nodes', 'readJournal', { id })).body.chunk ?? undefined, 'the journal chunk');
  const body = { unit: 'postfix@-.service', lines: 3 };

  const current = await create('current');
  const data = temporaryFolder(context);
  const path = fakeJournalctl(context);
  const words = ['--coordinator', url, '--token', current.join_token, '--data', data];
  const joining = parley(context, ['node', 'join', ...words]);
  assert.equal(await joining.ended(), 0, joining.written());
  assert.equal(statSync(join(data, 'node-agent.json')).mode & 0o777, 0o600);
  const agent = parley(context, ['node', 'run', '--data', data], path);

  const next = await create('next');
  const folder = temporaryFolder(context);
  mkdirSync(join(folder, 'journal'));
  writeFileSync(join(folder, 'journal', 'postfix@-.service.log'), 'one\r\ntwo \u001b[31mred\nthree\nfour\n');
  const joined = { coordinator: `${url}/`, token: next.join_token, folder, agentVersion: '99.0.0-next+1' };
  assert.equal(await joinHost(joined), next.id);
  const other = startAgent(context, folder, '99.0.0-next+1');

  for (const { id } of [current, next]) await until(() => nodes.health(id), 'the first health');
  for (const { id } of [current, next]) await ask('nodes', 'askForJournal', { id, body });
  const fromSystemd = await chunkOf(current.id);
  const words2 = '-u\npostfix@-.service\n-n\n3\n--no-pager\n-o\nshort-iso\n--quiet\n';
  assert.deepEqual([fromSystemd.journal, fromSystemd.problem], [words2, null]);
  const fromFile = await chunkOf(next.id);
  assert.deepEqual([fromFile.journal, fromFile.problem], ['two \ufffd[31mred\nthree\nfour\n', null]);
  assert.equal(nodes.node(next.id).host?.agentVersion, '99.0.0-next+1');
  assert.deepEqual(nodes.health(next.id)?.health.disks.length, 1);

  agent.child.kill('SIGTERM');
  assert.equal(await agent.ended(), 0, agent.written());
  const { token } = JSON.parse(readFileSync(join(data, 'node-agent.json'), 'utf8')) as { token: string };
  for (const text of [joining.written(), agent.written()]) assert.ok(!text.includes(token.slice(-43)));
  other.stop();
  await other.ended;
});

test('an agent answers an ask that it cannot fulfil with the reason', async (context) => {
  const { ask, create, url } = await startNodePlane(context);
  const { id, join_token: token } = await create('one');
  const folder = temporaryFolder(context);
  await joinHost({ coordinator: url, token, folder, agentVersion: '1' });
  startAgent(context, folder, '1');
  await ask('nodes', 'askForJournal', { id, body: { unit: 'missing.service', lines: 1 } });
  const chunk = await until(
    async () => (await ask('nodes', 'readJournal', { id })).body.chunk ?? undefined,
    'the answer',
  );
  assert.deepEqual([chunk.journal, chunk.problem], ['', 'This host has no journal of this unit.']);
});

test('CRD-08 the agent of a revoked host ends and says why', async (context) => {
  const { ask, asks, create, url } = await startNodePlane(context);
  const { id, join_token } = await create('one');
  const data = temporaryFolder(context);
  const words = ['--coordinator', url, '--token', join_token, '--data', data];
  assert.equal(await parley(context, ['node', 'join', ...words]).ended(), 0);
  const again = parley(context, ['node', 'join', ...words]);
  assert.equal(await again.ended(), 1);
  assert.match(again.written(), /This host has joined already/);
  const agent = parley(context, ['node', 'run', '--data', data, '--journal-dir', data]);
  await until(() => asks.waitingPolls === 1, 'the agent to wait for asks');
  await ask('nodes', 'revokeNode', { id });
  assert.equal(await agent.ended(), 1);
  assert.match(agent.written(), /refuses this host \(node_revoked\): it was revoked/);
});

test('joining says what is wrong, and leaves the folder ready for the next try', async (context) => {
  const { create, url } = await startNodePlane(context);
  const folder = temporaryFolder(context);
  assert.throws(() => readMembership(folder), AgentError);
  const joinAs = async (coordinator: string, token: string) =>
    await joinHost({ coordinator, token, folder, agentVersion: '1' });
  await assert.rejects(joinAs('ftp://example.org', 'x'), /not the http or https URL/);
  await assert.rejects(joinAs('not a url', 'x'), /not the http or https URL/);
  await assert.rejects(joinAs(url, 'x'), /was used or has expired/);
  await assert.rejects(joinAs('http://127.0.0.1:1', 'x'), (error) => error instanceof AgentError);
  assert.throws(() => readMembership(folder), /has not joined/);
  const { id, join_token: token } = await create('one');
  assert.equal(await joinAs(url, token), id);
  assert.equal(readMembership(folder).id, id);
  writeFileSync(`${folder}/node-agent.json`, '{"coordinator":"file:///etc"}');
  assert.throws(() => readMembership(folder), /is not the file of an agent/);
});

test('a host’s programs leave reports and the agent carries them', async (context) => {
  const { create, reports, url } = await startNodePlane(context);
  const { id, join_token: token } = await create('one', ['routing', 'telemetry', 'mail']);
  const folder = temporaryFolder(context);
  await joinHost({ coordinator: url, token, folder, agentVersion: '1' });
  const left = temporaryFolder(context);
  writeFileSync(join(left, 'mail.json'), 'half a fi');
  writeFileSync(join(left, 'mcu.json'), '{"calls":[]}');
  writeFileSync(join(left, 'routing.json'), '{"routes":[{"from":"a","to":"b"}]}');
  writeFileSync(join(left, 'telemetry.json'), '{"figures":{"cpu":1}}');
  const { said } = startAgent(context, folder, '1', left);
  await until(
    () => reports.last(id, 'telemetry') !== undefined && reports.last(id, 'routing') !== undefined,
    'the reports',
  );
  assert.deepEqual(reports.last(id, 'routing')?.report, { role: 'routing', routes: [{ from: 'a', to: 'b' }] });
  assert.ok(said.includes('The report mcu.json was refused: node_role_forbidden.'), said.join());
  assert.ok(
    said.some((text) => text.endsWith('mail.json could not be read as JSON.')),
    said.join(),
  );
});

test('a report is sent again when it changes, and now and then when it does not', async (context) => {
  const folder = temporaryFolder(context);
  const files = new ReportFiles(folder);
  const roles = async (now: number) => {
    const { due, faults } = await files.due(now);
    for (const { arrived } of due) arrived();
    return [due.map(({ role }) => role), faults.length];
  };
  assert.deepEqual(await roles(0), [[], 0]);
  writeFileSync(join(folder, 'mail.json'), '{"role":"gateway","queue_length":0}');
  const { due } = await files.due(0);
  assert.deepEqual(due[0]?.report, { role: 'mail', queue_length: 0 });
  assert.deepEqual(await roles(0), [['mail'], 0], 'what did not arrive is due');
  assert.deepEqual(await roles(1), [[], 0]);
  assert.deepEqual(await roles(15 * 60_000), [['mail'], 0]);
  writeFileSync(join(folder, 'mail.json'), '{"queue_length":12345}');
  assert.deepEqual(await roles(15 * 60_000 + 1), [['mail'], 0]);
  writeFileSync(join(folder, 'mail.json'), 'x'.repeat(64 * 1024 + 1));
  assert.deepEqual(await roles(15 * 60_000 + 2), [[], 1]);
  assert.deepEqual(await roles(15 * 60_000 + 3), [[], 0], 'a fault is named once');
});
