/** `parley redact` as a process: a log goes in, its de-personalised view comes out, and a wrong key lets nothing through. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { BARE_ENVIRONMENT, programOf } from '#test/support/program.ts';

const PARLEY = programOf(new URL('../../src/cli/parley.ts', import.meta.url));
const KEY = '07'.repeat(32);
const LINE = 'Failed password for alice from 192.0.2.7 port 22 ssh2\n';
const CLEAN = 'Failed password for u-6a8851c5 from 192.0.2.x port 22 ssh2\n';

function keyFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'redact-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'key');
  writeFileSync(path, text);
  return path;
}

interface Outcome {
  readonly status: number | null;
  readonly out: string;
  readonly said: string;
}

/** Runs the command over an input; with `isDeaf` its reader goes away after the first bytes. */
async function redact(words: readonly string[], input: string, isDeaf = false, more = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [...PARLEY, 'redact', ...words], {
    env: { ...BARE_ENVIRONMENT, ...more },
    stdio: 'pipe',
  });
  let [out, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    if (isDeaf) child.stdout.destroy();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // A command that refuses its key reads nothing.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, out, said };
}

test('a log is redacted with the key of a file', async (t) => {
  const key = keyFile(t, `${KEY}\n`);
  assert.deepEqual(await redact(['--key-file', key], LINE.repeat(3)), { status: 0, out: CLEAN.repeat(3), said: '' });
});

test('RED-03 whoever a file names is hidden wherever the name is a word; a file that is not there lets nothing through', async (t) => {
  const key = keyFile(t, KEY);
  const people = join(dirname(key), 'people');
  writeFileSync(people, 'olga.belova\r\n\nOlga Belova\n');
  const line = 'kicked out olga.belova (Olga Belova) and pavel.krotov\n';
  const outcome = await redact(['--key-file', key, '--people-file', people], line);
  assert.match(outcome.out, /^kicked out u-[0-9a-f]{8} \(u-[0-9a-f]{8}\) and pavel\.krotov\n$/);
  assert.equal((await redact(['--key-file', key], line)).out, line);
  const missing = await redact(['--key-file', key, '--people-file', `${people}-not`], line);
  assert.deepEqual([missing.status, missing.out], [1, '']);
  assert.match(missing.said, /The people file .* cannot be read: ENOENT\./);
});

test('a log is redacted whatever the installation is set to', async (t) => {
  const outcome = await redact(['--key-file', keyFile(t, KEY)], LINE, false, {
    PARLEY_PORT: 'no port',
    PARLEY_NONSENSE: '1',
  });
  assert.deepEqual(outcome, { status: 0, out: CLEAN, said: '' });
});

test('--explain says class, bytes and replacement, and shows nothing of the log', async (t) => {
  const { status, out } = await redact(['--key-file', keyFile(t, KEY), '--explain'], LINE);
  assert.equal(status, 0);
  assert.equal(out, 'user\t20-25\tu-6a8851c5\nip\t39-40\tx\n');
});

test('a key that is none lets nothing through and is not repeated', async (t) => {
  const short = KEY.slice(2);
  const { status, out, said } = await redact(['--key-file', keyFile(t, short)], LINE);
  assert.equal(status, 1);
  assert.equal(out, '');
  assert.match(said, /must hold 64 hex digits; it holds 62 characters/);
  assert.ok(!said.includes(short));
  const missing = await redact(['--key-file', join(tmpdir(), 'no-such-folder', 'key')], LINE);
  assert.equal(missing.status, 1);
  assert.equal(missing.out, '');
  assert.match(missing.said, /cannot be read: ENOENT/);
});

test('a reader that goes away ends the command quietly', async (t) => {
  const { out, said } = await redact(['--key-file', keyFile(t, KEY)], LINE.repeat(200_000), true);
  assert.ok(out.startsWith(CLEAN));
  assert.ok(!said.includes('alice'));
  assert.equal(said, '');
});
