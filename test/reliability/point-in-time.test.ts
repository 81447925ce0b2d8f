/**
 * A restore to an instant: a server archives its logs, is killed, and is brought back as it was in the middle of what happened. Then
 * everything that an archive can lack, and one that cannot be written.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { tmpdir } from 'node:os';
import type { Conversation } from '#src/protocol/conversations/conversations.ts';
import { trimArchive } from '#storage/backup/archive-trim.ts';
import { backupFolder, restoreFolder } from '#storage/backup/backup.ts';
import { FolderError } from '#storage/engine/folder.ts';
import { laneOf } from '#storage/engine/lanes.ts';
import { ARCHIVE_HEAD_BYTES, ArchiveFileReader, readArchiveHead } from '#storage/log/archive-file.ts';
import { decodeBatch } from '#storage/log/commit-log.ts';
import { callControl } from '#test/support/control.ts';
import { readMetric } from '#test/support/metrics.ts';
import { BARE_ENVIRONMENT, programOf } from '#test/support/program.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { attach, download, upload } from '../messaging/attaching.ts';
import { say, start } from '../messaging/conversing.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'parley-instant-'));
after(() => rmSync(place, { recursive: true, force: true }));
const [data, archive, backup] = ['data', 'archive', 'backup'].map((name) => join(place, name)) as [
  string,
  string,
  string,
];
const TEXTS_BEFORE = Array.from({ length: 20 }, (_, n) => `before ${n}`);

interface Scene {
  readonly ada: Person;
  readonly rooms: readonly Conversation[];
  readonly content: Buffer;
  readonly attachment: string;
  /** What the test is about: behind everything above, and before everything that came later. */
  readonly instant: string;
  /** Of the backup. */
  readonly ended: string;
}
let scene: Scene;

function parley(...words: string[]): { readonly status: number | null; readonly out: string; readonly said: string } {
  const { status, stderr, stdout } = spawnSync(process.execPath, [...PARLEY, ...words], {
    env: { ...BARE_ENVIRONMENT, PARLEY_PASSWORD_MEMORY_KIB: '64' },
    encoding: 'utf8',
  });
  return { status, out: stdout, said: stderr };
}

let folders = 0;
/** A folder that is not there yet. */
function newFolder(name: string): string {
  folders += 1;
  return join(place, `${name}-${folders}`);
}

/** Resolves when the clock shows another millisecond than at any answer before; answers the last one that it showed. */
async function instantOf(): Promise<string> {
  const at = Date.now();
  await until(() => Date.now() > at, 'the clock to go on');
  return new Date(at).toISOString();
}

async function textsIn(server: TestServer, who: Person, room: string): Promise<string[]> {
  const path = `/v1/conversations/${room}/messages?after_seq=0&limit=200`;
  const { body, status, text } = await server.api<{ items: { body: unknown }[] }>(who, 'GET', path);
  assert.equal(status, 200, text);
  return body.items.flatMap(({ body: said }) => (typeof said === 'string' ? [said] : []));
}

const LANES = 4;
const environment = { PARLEY_LOG_ARCHIVE: archive, PARLEY_LANES: String(LANES) };

/** The files of the archive of a log that have something, in their order. */
function filesOf(log: string, from = archive): string[] {
  return allFilesOf(log, from).filter((path) => statSync(path).size > ARCHIVE_HEAD_BYTES);
}

/** Those too that only say where the archive of the log begins. */
function allFilesOf(log: string, from = archive): string[] {
  const [installation = ''] = readdirSync(from);
  const folder = join(from, installation, log);
  return readdirSync(folder)
    .toSorted()
    .map((name) => join(folder, name));
}

before(async () => {
  mkdirSync(archive, { mode: 0o700 });
  let server = await startServer({ shards: 2, folder: data, environment });
  try {
    const { ada } = await server.people('ada', 'bob');
    const rooms = [];
    for (const title of ['One', 'Two', 'Three']) rooms.push(await start(server, ada, 'room', ['bob'], title));
    const [one, two, three] = rooms as [Conversation, Conversation, Conversation];
    for (const room of rooms) await say(server, ada, room.id, 'in the backup');
    const made = (await callControl(server.folder, 'backup', { out: backup })) as { ended_at: string };
    for (const text of TEXTS_BEFORE)
      await Promise.all([one, two].map(async ({ id }) => await say(server, ada, id, text)));
    const content = randomBytes(100_000);
    const attachment = await upload(server, ada, content);
    assert.equal((await attach(server, ada, three.id, attachment)).status, 201);
    await callControl(server.folder, 'user.add', {
      username: 'cyd',
      password: 'a long enough password',
      role: 'person',
    });
    await callControl(server.folder, 'keys.rotate', { at_once: false });
    const instant = await instantOf();
    const dora = { username: 'dora', password: 'a long enough password', role: 'person' } as const;
    await callControl(server.folder, 'user.add', dora);
    for (const text of ['late 1', 'late 2']) await say(server, ada, one.id, text);
    const gone = await server.api(ada, 'DELETE', `/v1/conversations/${two.id}`);
    assert.ok(gone.status < 300, gone.text);
    await say(server, ada, one.id, 'last');
    // What came within the last second is in the log alone.
    await server.end('SIGKILL');
    server = await startServer({ shards: 2, folder: data, environment });
    await say(server, ada, one.id, 'after the kill');
    scene = { ada, rooms, content, attachment, instant, ended: made.ended_at };
  } finally {
    await server.stop();
  }
});

test('LOG-01: a restore to an instant has what was acknowledged by then, and nothing that came later', async (t) => {
  const { ada, attachment, content, instant, rooms } = scene;
  const [one, two, three] = rooms as [Conversation, Conversation, Conversation];
  const folder = newFolder('restored');
  const words = ['--from', backup, '--at', instant, '--contents', data, '--data', folder];
  assert.match(
    parley('restore', ...words).said,
    /^parley: There is no PARLEY_LOG_ARCHIVE: name the folder with --archive\./,
  );
  assert.match(parley('restore', ...words, '--at', 'noon').said, /^parley: --at takes an instant in UTC/);
  const { out, said, status } = parley('restore', ...words, '--archive', archive);
  assert.equal(status, 0, said);
  assert.match(out, new RegExp(`^restored_to: ${instant}$`, 'm'));
  assert.match(out, /^changes: [1-9]\d*$/m);
  assert.match(out, /^attachments_taken: 1\nattachments_missing: 0$/m);
  const checked = parley('check', '--data', folder);
  assert.equal(checked.status, 0, checked.out);
  // A server that is told of an archive that is not there serves all the same.
  const missing = join(place, 'not-mounted');
  const server = await startServer({ shards: 2, folder, environment: { PARLEY_LOG_ARCHIVE: missing } });
  t.after(async () => await server.stop());
  assert.equal((await server.api(ada, 'GET', `/v1/conversations/${one.id}`)).status, 401, 'sessions have ended');
  ada.session = await server.signIn(ada.username, ada.password);
  for (const { id } of [one, two]) {
    assert.deepEqual((await textsIn(server, ada, id)).toSorted(), ['in the backup', ...TEXTS_BEFORE].toSorted());
  }
  assert.ok((await download(server, ada, attachment, three.id)).bytes.equals(content));
  assert.ok(await server.signIn('cyd', 'a long enough password'));
  await assert.rejects(server.signIn('dora', 'a long enough password'), /login_failed/);

  await until(() => server.output.some((line) => line.includes('the archive of the logs cannot be written')), 'a line');
  assert.match(server.output.join('\n'), /"reason":"ENOENT"/);
  await say(server, ada, one.id, 'while there is no archive');
  assert.ok(!existsSync(missing), 'a folder that is not mounted is not made');
  mkdirSync(missing);
  await until(
    () => server.output.some((line) => line.includes('the archive of the logs is written again')),
    'the other line',
  );
  const { '': gaps } = await readMetric(server, 'parley_storage_archive_gaps_total');
  assert.equal(gaps, 0, 'what waited is archived');
  assert.equal(await server.stop(), 0);
  const whole = parley('check', '--data', folder, '--archive', missing);
  assert.equal(whole.status, 0, whole.out);
});

test('LOG-01: what an archive lacks is refused with a sentence, and nothing is written', async () => {
  const { ended, instant } = scene;
  const copy = (change: (folder: string) => void): string => {
    const folder = newFolder('archive');
    cpSync(archive, folder, { recursive: true });
    change(folder);
    return folder;
  };
  const refused = async (at: string, from: string, sentence: RegExp) => {
    const folder = newFolder('restored');
    const restoring = restoreFolder(backup, folder, { archive: from, at: Date.parse(at) });
    await assert.rejects(restoring, (error) => error instanceof FolderError && sentence.test(error.message));
    assert.ok(!existsSync(folder));
  };
  const early = new Date(Date.parse(ended) - 1).toISOString();
  await refused(early, archive, new RegExp(`^${early} is before .*backup was finished, at ${ended}`));
  await refused(
    '2100-01-01T00:00:00Z',
    archive,
    /The archive of accounts reaches to 20\d\d-\S+Z: restore to that instant or one before it\./,
  );
  await refused(instant, join(place, 'nothing'), /There is no archive /);
  const foreign = copy((folder) => {
    const [installation = ''] = readdirSync(folder);
    renameSync(join(folder, installation), join(folder, 'AAAAAAAAAAAAAAAA'));
  });
  await refused(instant, foreign, /is the archive of another installation/);
  const busy = `lane-0${laneOf(scene.rooms[0]?.id ?? '', LANES)}`;
  // Which of its files has the instant is a matter of when they were begun.
  const damaged = copy((folder) => {
    for (const path of filesOf(busy, folder)) {
      const bytes = readFileSync(path);
      bytes[ARCHIVE_HEAD_BYTES + 200] = (bytes[ARCHIVE_HEAD_BYTES + 200] ?? 0) ^ 1;
      writeFileSync(path, bytes);
    }
  });
  await refused(instant, damaged, new RegExp(`${busy}/\\S+\\.arc is damaged at byte \\d+\\.`));
  const misplaced = copy((folder) => {
    const other = readFileSync(filesOf(busy === 'lane-00' ? 'lane-01' : 'lane-00', folder)[0] ?? '');
    for (const path of filesOf(busy, folder)) writeFileSync(path, other);
  });
  await refused(instant, misplaced, /is of lane-0\d of the installation .*: it was put there from elsewhere\./);
  const holed = copy((folder) => {
    for (const path of filesOf(busy, folder).slice(0, -1)) rmSync(path);
  });
  await refused(instant, holed, new RegExp(`^The archive lacks what ${busy} took between 20\\S+Z and 20\\S+Z:`));
  const begun = copy((folder) => {
    for (const path of allFilesOf(busy, folder).slice(0, -1)) rmSync(path);
  });
  await refused(instant, begun, new RegExp(`The archive of ${busy} does not have what came behind the backup\\.`));
});

test('LOG-01: the archive is its owner’s alone, has no keys, and is checked with the data', () => {
  const [installation = ''] = readdirSync(archive);
  const names = readdirSync(archive, { recursive: true, encoding: 'utf8' });
  for (const name of names) {
    const found = statSync(join(archive, name));
    assert.equal(found.mode & 0o777, found.isDirectory() ? 0o700 : 0o600, name);
  }
  assert.deepEqual(readdirSync(join(archive, installation)).toSorted(), [
    ...['accounts', 'attachments', 'calendar'],
    ...['lane-00', 'lane-01', 'lane-02', 'lane-03'],
  ]);
  const tables = new Set<string>();
  for (const path of filesOf('accounts')) {
    const bytes = readFileSync(path);
    const reader = new ArchiveFileReader(bytes, readArchiveHead(bytes)?.id ?? Buffer.of());
    for (let record = reader.next(); record !== undefined; record = reader.next()) {
      for (const { table } of record.batch === undefined ? [] : decodeBatch(record.batch)) tables.add(table);
    }
  }
  // The people that were added are there; the keys that were rotated are not.
  assert.ok(tables.has('people') && !tables.has('secrets'), [...tables].join());
  const whole = parley('check', '--data', data, '--archive', archive);
  assert.equal(whole.status, 0, whole.out);
  assert.match(whole.out, /^The archive has \d+ files and reaches to 20\S+Z\.\nNo problems found\.$/m);
  const copy = join(place, 'hurt');
  cpSync(archive, copy, { recursive: true });
  const [path = ''] = filesOf('accounts', copy);
  const bytes = readFileSync(path);
  // Of the first record, its time.
  bytes[ARCHIVE_HEAD_BYTES + 20] = (bytes[ARCHIVE_HEAD_BYTES + 20] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  const hurt = parley('check', '--data', data, '--archive', copy);
  assert.equal(hurt.status, 1);
  assert.match(hurt.out, new RegExp(`^${path} is damaged at byte ${ARCHIVE_HEAD_BYTES}\\.$`, 'm'));
});

test('LOG-01: what ended before the oldest backup leaves the archive, that of other installations too', async () => {
  const later = newFolder('backup');
  await backupFolder(data, later);
  const copy = newFolder('archive');
  cpSync(archive, copy, { recursive: true, preserveTimestamps: true });
  const [installation = ''] = readdirSync(copy);
  cpSync(join(copy, installation), join(copy, 'before-a-restore'), { recursive: true, preserveTimestamps: true });
  const logs = readdirSync(join(copy, installation));
  const files =
    readdirSync(copy, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.arc')).length / 2;
  assert.ok(files > logs.length, 'the server was started twice');
  const stillThere = Number(trimArchive(copy, backup)['kept']);
  // A restore needs everything that has something; what only says where a log began may go.
  const nameOf = (path: string) => path.split('/').at(-1);
  for (const log of logs) assert.deepEqual(filesOf(log, copy).map(nameOf), filesOf(log).map(nameOf), log);
  const { kept, removed } = trimArchive(copy, later);
  assert.deepEqual({ kept, removed }, { kept: logs.length, removed: stillThere - logs.length });
  assert.deepEqual(readdirSync(copy), [installation]);
  for (const log of logs) assert.equal(nameOf(allFilesOf(log, copy)[0] ?? ''), nameOf(allFilesOf(log).at(-1) ?? ''));
});
