import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { JournalError, readJournalFiles, readSystemdJournal } from '#src/node-agent/journal-source.ts';
import { JOURNAL_CHUNK_BYTES_MAX } from '#src/protocol/hosts/nodes.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

/** Puts a journalctl with this text before the real one, for one test. */
function plantJournalctl(context: TestContext, script: string): string {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, 'journalctl'), script);
  chmodSync(join(folder, 'journalctl'), 0o755);
  const path = process.env['PATH'];
  process.env['PATH'] = `${folder}${delimiter}${path ?? ''}`;
  context.after(() => (process.env['PATH'] = path));
  return folder;
}

const BAD_UNITS = [
  '',
  '-f',
  '--root=/',
  '../etc',
  'a/b',
  '..',
  'a b',
  'a;touch x',
  '$(touch x)',
  'a\nb',
  'a\0b',
  'я',
  'x'.repeat(129),
];

test('NOD-01 what could be an option, a path or a command never leaves the agent', async (context) => {
  const folder = temporaryFolder(context);
  const touched = join(folder, 'touched');
  plantJournalctl(context, `#!/bin/sh\ntouch ${touched}\n`);
  const files = readJournalFiles(folder);
  for (const read of [readSystemdJournal, files]) {
    for (const unit of BAD_UNITS) {
      await assert.rejects(read(unit, 1), (error) => {
        assert.ok(error instanceof JournalError);
        assert.equal(error.message, 'The unit is not one that can be asked for.');
        return true;
      });
    }
    for (const lines of [0, 1001, 1.5, Number.NaN, -1]) {
      await assert.rejects(read('a', lines), /^JournalError|The number of lines is out of bounds/);
    }
  }
  assert.equal(existsSync(touched), false);
  await readSystemdJournal('a', 1);
  assert.equal(existsSync(touched), true, 'the planted journalctl is the one that runs');
});

test('journalctl that fails or is missing is a sentence, and its output is not', async (context) => {
  plantJournalctl(context, '#!/bin/sh\necho secret\necho secret >&2\nexit 3\n');
  await assert.rejects(readSystemdJournal('a', 1), { message: 'journalctl failed: status 3.' });
  process.env['PATH'] = temporaryFolder(context);
  await assert.rejects(readSystemdJournal('a', 1), { message: 'journalctl failed: this host has no journalctl.' });
});

test('a journal of files gives its last lines', async (context) => {
  const folder = temporaryFolder(context);
  const read = readJournalFiles(folder);
  const write = (text: string | Buffer) => writeFileSync(join(folder, 'a.service.log'), text);
  const cases: [text: string, lines: number, expected: string][] = [
    ['', 5, ''],
    ['one', 1, 'one\n'],
    ['one\ntwo', 1, 'two\n'],
    ['one\ntwo\n', 1, 'two\n'],
    ['one\ntwo\n', 2, 'one\ntwo\n'],
    ['one\ntwo\n', 3, 'one\ntwo\n'],
    ['one\n\ntwo\n', 2, '\ntwo\n'],
  ];
  for (const [text, lines, expected] of cases) {
    write(text);
    assert.equal(await read('a.service', lines), expected, JSON.stringify([text, lines]));
  }
  write(Buffer.from([0x61, 0x00, 0xff, 0x0a]));
  assert.equal(await read('a.service', 1), 'a\ufffd\ufffd\n');
});

test('a journal of files is cut at a line when it is too long', async (context) => {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, 'a.log'), `${'x'.repeat(9_999)}\n`.repeat(1_000));
  const text = await readJournalFiles(folder)('a', 1000);
  assert.ok(Buffer.byteLength(text) <= JOURNAL_CHUNK_BYTES_MAX);
  assert.match(text, /^\[\d+ bytes cut here\]\n(?:x{9999}\n){104}$/);
});

test('a journal that is a link, a folder or a pipe is not read', async (context) => {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, 'secret'), 'secret\n');
  symlinkSync(join(folder, 'secret'), join(folder, 'link.log'));
  execFileSync('mkfifo', [join(folder, 'pipe.log')]);
  const read = readJournalFiles(folder);
  await assert.rejects(read('link', 1), { message: 'The journal of this unit could not be read: ELOOP.' });
  await assert.rejects(read('pipe', 1), { message: 'The journal of this unit is not a file.' });
  await assert.rejects(read('none', 1), { message: 'This host has no journal of this unit.' });
});
