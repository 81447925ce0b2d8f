/**
 * The audit trail and the file that it lies in, as somebody attacks them: filling it by one route, and having its
 * entries go without a trace. What goes by its time leaves a chain that is still proven (CON-04).
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { AUDIT_DAYS_MAX, AUDIT_DAYS_MIN, AuditArchive, TRIM_STEP } from '#src/audit/audit-archive.ts';
import { EXPORTED_LINE_BYTES_MAX } from '#src/audit/exported-trail.ts';
import { verifyFile, verifyFolder } from '#src/cli/audit-commands.ts';
import { UsageError } from '#src/cli/command-error.ts';
import { readCommandLine } from '#src/cli/command-line.ts';
import { STATED_POLICIES } from '#src/limits/policies.ts';
import { accountsCondition, ACCOUNTS_FILLED_SHARE } from '#src/server/alert-sources.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import {
  ACCOUNTS_MAP_BYTES,
  AUDIT_ANCHOR,
  auditAnchorRecord,
  openEnvironment,
} from '#storage/accounts/accounts-reader.ts';
import { AUDIT_GENESIS, auditHash, type AuditEntry, type AuditForm } from '#storage/accounts/audit-chain.ts';
import { checkFolder } from '#storage/check/check.ts';
import { FolderError } from '#storage/engine/folder.ts';
import { ActorHost } from '#test/actors/actor-host.ts';
import { startConsoleServer } from '#test/console/console-server.ts';
import { programOf } from '#test/support/program.ts';
import { request } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));
const DAY = 86_400_000;
const NOW = Date.parse('2026-11-22T12:00:00Z');
const BY = { actor: 'user:owner', address: null } as const;
const FORM: AuditForm = { event: 'user.created', actor: 'server', address: null, subject: null, details: {} };

/** A trail whose entries are so many days old, the oldest first; and the archive over it, at the time of NOW. */
async function openTrail(t: TestContext, ages: readonly number[]) {
  const folder = temporaryFolder(t);
  await new ActorHost(folder, []).close();
  const accounts = await Accounts.open(folder);
  await accounts.change((draft) => ages.forEach((age) => draft.audit(NOW - age * DAY, FORM)));
  const held = { isHeld: false };
  const archive = new AuditArchive({
    accounts,
    clock: { now: () => NOW },
    log: { warn: (message) => assert.fail(message) },
    isHeld: () => held.isHeld,
  });
  return { folder, accounts, archive, held };
}

const numbers = (accounts: Accounts) => accounts.auditEntriesAfter(0, 10_000).map(({ number }) => number);

/** Reads an export and proves its chain; answers where it begins and ends. */
function prove(path: string): { start: number; last: number; hash: string } {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const [first, ...rest] = lines.map((line) => JSON.parse(line) as Record<string, never>);
  const { anchor: begin } = first as unknown as { anchor: { number: number; hash: string } };
  const { number: start, hash: anchor } = begin;
  const { end } = rest.pop() as unknown as { end: { number: number; hash: string; entries: number } };
  let [number, hash] = [start, anchor];
  for (const entry of rest as unknown as AuditEntry[]) {
    assert.equal(entry.number, number + 1);
    assert.equal(auditHash(hash, entry), entry.hash);
    [number, hash] = [entry.number, entry.hash];
  }
  assert.deepEqual(end, { number, hash, entries: rest.length });
  return { start, last: number, hash };
}

test('nothing goes while nobody said so, and nothing under a legal hold', async (t) => {
  const { accounts, archive, held } = await openTrail(t, [5_000, 4_000, 0]);
  t.after(async () => await accounts.close());
  assert.deepEqual([archive.days, await archive.trim()], [null, 0]);
  await archive.keep(AUDIT_DAYS_MIN, BY);
  held.isHeld = true;
  assert.equal(await archive.trim(), 0);
  held.isHeld = false;
  assert.equal(await archive.trim(), 2);
});

test('CON-04 what is as old as the days say goes, what is younger stays, and the chain is proven across the trim', async (t) => {
  const { folder, accounts, archive } = await openTrail(t, [200, 91, 90.001, 90, 89, 1]);
  await archive.keep(90, BY);
  const copies = temporaryFolder(t);
  const copy = join(copies, 'trail.jsonl');
  const exported = await archive.export(copy, BY);
  assert.equal(statSync(copy).mode & 0o777, 0o600);
  assert.deepEqual(prove(copy), { start: 0, last: exported.last, hash: exported.hash });
  const before = accounts.auditEntriesAfter(0, 100);
  assert.equal(await archive.trim(), 3);
  assert.deepEqual(numbers(accounts), [4, 5, 6, 7, 8, 9]);
  const { hash } = before[2] ?? assert.fail();
  assert.deepEqual(accounts.auditAnchor, { number: 3, hash });
  const [told] = accounts.auditEntries({ limit: 1 });
  assert.deepEqual([told?.event, told?.details], ['audit.trimmed', { from: 1, through: 3, hash, days: 90 }]);
  const later = join(copies, 'later.jsonl');
  await archive.export(later, BY);
  // The later copy begins behind an entry of the earlier one, with its hash: nothing is missing between them.
  assert.equal(prove(later).start, 3);
  assert.equal(await archive.trim(), 0);
  await assert.rejects(archive.export(copy, BY), { code: 'field_invalid', field: 'out' });
  await accounts.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
});

test('a trim of more entries than one commit has goes on, and the newest entry always stays', async (t) => {
  const { folder, accounts, archive } = await openTrail(
    t,
    Array.from({ length: TRIM_STEP + 1 }, () => 1_000),
  );
  await archive.keep(90, { actor: 'server', address: null });
  assert.equal(await archive.trim(), TRIM_STEP + 1);
  assert.equal(accounts.auditAnchor.number, TRIM_STEP + 1);
  await accounts.close();
  assert.deepEqual((await checkFolder(folder)).problems, []);
  const old = await openTrail(t, [1_000]);
  t.after(async () => await old.accounts.close());
  await old.accounts.change((draft) => assert.throws(() => draft.trimAudit(1), /cannot go/));
});

/** What verifying the folder says of an anchor that was moved by hand, back or on. */
const SAID_OF_ANCHOR = {
  2: /^entries: 0\nlast: 2\nhash: 0{64}\naudit \[3\] is missing\.\n$/,
  4: /^audit \[4\] lies before the anchor, and should be gone\.\n$/m,
};

test('CON-04 whoever takes entries away by hand and moves the anchor is found out', async (t) => {
  for (const through of [2, 4]) {
    const { folder, accounts, archive } = await openTrail(t, [200, 190, 180, 1, 0]);
    await archive.keep(90, BY);
    await archive.trim();
    const { hash } = accounts.auditEntry(through) ?? { hash: AUDIT_GENESIS };
    await accounts.close();
    const environment = openEnvironment(folder, 'write');
    const anchor = auditAnchorRecord.encode({ number: through, hash });
    await environment.commit([{ table: 'meta', key: AUDIT_ANCHOR, value: anchor }]);
    await environment.close();
    assert.notDeepEqual((await checkFolder(folder)).problems, [], `an anchor at ${through}`);
    const { isWhole, lines } = await verifyFolder(folder);
    assert.equal(isWhole, false);
    assert.match(`${lines.join('\n')}\n`, SAID_OF_ANCHOR[through as 2 | 4]);
  }
});

test('the accounts file is told of from 80 % of its cap on', () => {
  const bound = ACCOUNTS_FILLED_SHARE * ACCOUNTS_MAP_BYTES;
  assert.equal(ACCOUNTS_MAP_BYTES, 16 * 1024 ** 3);
  assert.deepEqual(accountsCondition(Math.ceil(bound) - 1), []);
  const [condition] = accountsCondition(Math.ceil(bound));
  assert.deepEqual([condition?.kind, condition?.subject], ['accounts_filling', 'server']);
  assert.match(condition?.details ?? '', /^\d+ of 17179869184 bytes used \(80\.0 %\)$/);
});

test('what the file holds is counted, and falls when entries go', async (t) => {
  const { accounts, archive } = await openTrail(
    t,
    Array.from({ length: 2_000 }, () => 1_000),
  );
  t.after(async () => await accounts.close());
  // What the log has is in the file some tens of milliseconds later.
  const before = await until(() => accounts.usedBytes > 100_000 && accounts.usedBytes, 'the log to be applied');
  assert.ok(before < ACCOUNTS_MAP_BYTES);
  await archive.keep(90, BY);
  await archive.trim();
  await until(() => accounts.usedBytes < before / 2, 'what is trimmed to leave the file');
});

test('VND-17 owners alone say how long the trail is kept; the export is made on the host', async (t) => {
  const host = await startConsoleServer({ PARLEY_RATE_LIMITS: '1' });
  t.after(async () => await host.stop());
  const { call, server } = host;
  const put = async (who: 'owner' | 'administrator' | 'viewer' | 'vendor_active', days: unknown) =>
    await call<{ code?: string; field?: string; days?: number | null }>(who, 'PUT', '/audit/retention', {
      body: { days },
    });
  for (const who of ['administrator', 'viewer'] as const) {
    const { status, body } = await put(who, AUDIT_DAYS_MIN);
    assert.deepEqual([status, body.code], [403, 'right_missing'], who);
  }
  assert.equal((await put('vendor_active', AUDIT_DAYS_MIN)).body.code, 'vendor_token_forbidden');
  for (const days of [AUDIT_DAYS_MIN - 1, AUDIT_DAYS_MAX + 1, 90.5, '90', 0]) {
    const { status, body } = await put('owner', days);
    assert.deepEqual([status, body.code, body.field], [400, 'field_invalid', 'days'], String(days));
  }
  for (const days of [AUDIT_DAYS_MIN, AUDIT_DAYS_MAX, null]) assert.equal((await put('owner', days)).body.days, days);
  const read = await call('viewer', 'GET', '/audit/retention');
  assert.deepEqual(read.body, { days: null, trimmed_through: 0 });
  const trail = await call<{ items: { details: object }[] }>('owner', 'GET', '/audit?event=audit.retention_changed');
  assert.deepEqual(trail.body.items[0]?.details, { before: AUDIT_DAYS_MAX, after: null });
  const copy = join(server.folder, 'trail.jsonl');
  const words = [...PARLEY, 'audit', 'export', '--out', copy, '--data', server.folder];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  const { last, hash } = prove(copy);
  assert.ok(stdout.includes(`last: ${last}`) && stdout.includes(`hash: ${hash}`), stdout);
  // Beside the running server, which goes on writing: the export's own entry is the newest.
  assert.deepEqual(await verify('--data', server.folder), {
    status: 0,
    out: `entries: ${last}\nfirst: 1\nlast: ${last}\nhash: ${hash}\nThe chain is whole.\n`,
    said: '',
  });
  assert.equal((await put('owner', AUDIT_DAYS_MIN)).status, 200);
  assert.match((await verify('--data', server.folder)).out, new RegExp(`^last: ${last + 1}$`, 'm'));
});

/** Runs `parley audit verify` with those words. */
async function verify(...words: string[]): Promise<{ status: number; out: string; said: string }> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; out: string; said: string }>();
  execFile(process.execPath, [...PARLEY, 'audit', 'verify', ...words], (error, out, said) =>
    resolve({ status: error === null ? 0 : (error.code as number), out, said }),
  );
  return await promise;
}

/** A trail of which three entries were trimmed, its export, and what verifying either says of its soundness. */
async function exportTrimmed(t: TestContext) {
  const { folder, accounts, archive } = await openTrail(t, [200, 190, 180, 1, 1, 0]);
  await archive.keep(90, BY);
  await archive.trim();
  const copy = join(temporaryFolder(t), 'trail.jsonl');
  const { hash } = await archive.export(copy, BY);
  await accounts.close();
  const figures = `entries: 6\nfirst: 4\nlast: 9\nhash: ${hash}\ntrimmed: through 3, told by entry 8\n`;
  return { folder, copy, lines: readFileSync(copy, 'utf8').split('\n'), figures, hash };
}

test('CON-04 a trimmed trail and its export are verified with the proof of what went', async (t) => {
  const { folder, copy, figures } = await exportTrimmed(t);
  const whole = { status: 0, out: `${figures}The chain is whole.\n`, said: '' };
  const before = readFileSync(join(folder, 'accounts.mdb'));
  assert.deepEqual(await verify('--data', folder), whole);
  assert.deepEqual(readFileSync(join(folder, 'accounts.mdb')), before);
  assert.deepEqual(await verify('--file', copy), whole);
  // Every command says these on standard error, and exits with 1, or with 2 for the last one.
  await assert.rejects(verifyFolder(temporaryFolder(t)), FolderError);
  await assert.rejects(verifyFile(join(folder, 'nothing.jsonl')), { code: 'ENOENT', syscall: 'open' });
  const isUsage = (error: unknown) =>
    error instanceof UsageError && error.message.includes('Usage: parley audit verify [--file FILE] [--data FOLDER]');
  assert.throws(() => readCommandLine(['audit', 'verify', copy]), isUsage);
});

/** Name → the lines of a damaged copy, and what is said: entries that follow, and where it breaks. Entry 4 is in line 2. */
const DAMAGE: Readonly<Record<string, readonly [(lines: readonly string[]) => readonly string[], number, string]>> = {
  'a changed byte of an entry': [
    (lines) => lines.with(3, (lines[3] ?? '').replace('user.created', 'user.creaTed')),
    2,
    'Line 4: entry 6 does not follow from the one before it: it was changed, or that was.',
  ],
  'a field that stands twice': [
    (lines) => lines.with(3, (lines[3] ?? '').replace('"actor":', '"actor":"user:mallory","actor":')),
    2,
    'Line 4, behind entry 5, was changed: it is none that an export writes.',
  ],
  'a field that no entry has': [
    (lines) => lines.with(3, (lines[3] ?? '').replace('{', '{"by":"mallory",')),
    2,
    'Line 4, behind entry 5, was changed: it is none that an export writes.',
  ],
  'a line that was taken out': [(lines) => lines.toSpliced(3, 1), 2, 'Line 4: entry 6 is missing before entry 7.'],
  'two lines in each other’s place': [
    (lines) => lines.toSpliced(3, 2, lines[4] ?? '', lines[3] ?? ''),
    2,
    'Line 4: entry 7 is out of order: 6 belongs there and stands in line 5.',
  ],
  'a line that stands twice': [
    (lines) => lines.toSpliced(3, 0, lines[2] ?? ''),
    2,
    'Line 4: entry 5 stands there again, where 6 belongs.',
  ],
  'a copy without its beginning': [
    (lines) => lines.slice(2),
    0,
    'Line 1 is not the anchor of an export: the beginning was cut off or changed.',
  ],
  'an anchor that was moved': [
    ([, , fifth = '', ...rest]) => {
      const { number, hash } = JSON.parse(fifth) as AuditEntry;
      const end = JSON.parse(rest.at(-2) ?? '') as { end: object };
      const told = JSON.stringify({ end: { ...end.end, entries: 4 } });
      return [JSON.stringify({ anchor: { number, hash } }), ...rest.slice(0, -2), told, ''];
    },
    4,
    'The beginning was cut off: no entry tells that the trail was trimmed to 5.',
  ],
  'a copy without its end': [
    (lines) => [...lines.slice(0, 5), ''],
    4,
    'The end is missing: the file was cut off behind entry 7.',
  ],
  'a copy that ends within a line': [
    (lines) => [...lines.slice(0, 5), (lines[5] ?? '').slice(0, 40)],
    4,
    'The end is missing: the file was cut off behind entry 7.',
  ],
  'entries taken from the end': [
    (lines) => lines.toSpliced(5, 2),
    4,
    'Line 6: the end tells of 6 entries up to 9, which are not those before it.',
  ],
  'an end of another count': [
    (lines) => lines.with(7, (lines[7] ?? '').replace('"entries":6', '"entries":7')),
    6,
    'Line 8: the end tells of 7 entries up to 9, which are not those before it.',
  ],
  'an end of another number': [
    (lines) => lines.with(7, (lines[7] ?? '').replace('"number":9', '"number":8')),
    6,
    'Line 8: the end tells of 6 entries up to 8, which are not those before it.',
  ],
  'an end of another hash': [
    (lines) => lines.with(7, (lines[7] ?? '').replace('"hash":"', '"hash":"0')),
    6,
    'Line 8: the end tells of 6 entries up to 9, which are not those before it.',
  ],
  'a line behind the end': [(lines) => lines.toSpliced(-1, 0, lines[2] ?? ''), 6, 'Line 9 stands behind the end.'],
  'a second anchor': [
    (lines) => lines.toSpliced(3, 0, lines[0] ?? ''),
    2,
    'Line 4, behind entry 5, is a second anchor.',
  ],
  'an empty file': [() => [''], 0, 'The file is empty.'],
};

test('CON-04 an export that was damaged is found out, with the place and the kind of the damage', async (t) => {
  const { copy, lines } = await exportTrimmed(t);
  for (const [name, [damage, entries, sentence]] of Object.entries(DAMAGE)) {
    writeFileSync(copy, damage(lines).join('\n'));
    const { isWhole, lines: said } = await verifyFile(copy);
    assert.deepEqual([isWhole, said[0], said.at(-1)], [false, `entries: ${entries}`, sentence], name);
  }
  // The last of them once more as the command says it.
  assert.deepEqual(await verify('--file', copy), { status: 1, out: 'entries: 0\nThe file is empty.\n', said: '' });
  for (const more of [0, 1]) {
    writeFileSync(copy, `${'x'.repeat(EXPORTED_LINE_BYTES_MAX + more)}\n`);
    const verified = verifyFile(copy);
    if (more === 0) assert.equal((await verified).isWhole, false);
    else await assert.rejects(verified, /has a line of more than 16777216 bytes/);
  }
});

test('one person fills neither the accounts file nor the trail by a route of the coordinator', async (t) => {
  const host = await startConsoleServer({ PARLEY_RATE_LIMITS: '1' });
  t.after(async () => await host.stop());
  const { call, server } = host;
  const { ann, bob } = await server.people('ann', 'bob');
  const meet = async (token: string) =>
    await request<{ code?: string }>('POST', `${server.coordinator}/v1/meetings`, { token, body: { title: 'x' } });
  const refused = await firstRefusal(STATED_POLICIES.route_write.burst, async () => await meet(ann.session.token));
  assert.deepEqual([refused.status, refused.body.code], [429, 'rate_limited']);
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  assert.equal((await meet(bob.session.token)).status, 201);
  // Another route of hers is open.
  assert.equal((await request('GET', `${server.coordinator}/v1/meetings`, { token: ann.session.token })).status, 200);
  const write = async () => await call<{ code?: string }>('owner', 'PUT', '/audit/retention', { body: { days: null } });
  const full = await firstRefusal(STATED_POLICIES.console_write.burst, write);
  assert.deepEqual([full.status, full.body.code], [429, 'rate_limited']);
  assert.equal((await call('owner', 'GET', '/audit/retention')).status, 200);
});

/** Asks until refused. The minute may turn once on a slow machine, so that twice as many may be let in, and no more. */
async function firstRefusal<T extends { readonly status: number }>(
  perMinute: number,
  ask: () => Promise<T>,
): Promise<T> {
  for (let count = 0; count <= 2 * perMinute; count += 1) {
    const reply = await ask();
    if (reply.status === 429) {
      assert.ok(count >= perMinute, `${count} were let in`);
      return reply;
    }
    assert.ok(reply.status < 300, String(reply.status));
  }
  return assert.fail('nothing was refused');
}
