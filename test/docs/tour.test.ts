/** The README's sign-in through a provider, as it is printed there: its two programs, and what it says to set in the console. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { signInAt } from '#test/coordinator/identity-provider.ts';
import { startConsoleServer } from '#test/support/console.ts';
import { freePort } from '#test/support/real-program.ts';
import { deadline } from '#test/support/waiting.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const README = readFileSync(`${ROOT}README.md`, 'utf8');
const MILLIS = 30_000;

/** The program that the README shows behind a sentence with its name. */
function programNamed(name: string): string {
  const [, program] = new RegExp(`save it as \`${name}\`[^]*?\n\`\`\`js\n([^]*?)\n\`\`\``).exec(README) ?? [];
  assert.ok(program, `the README has no ${name}`);
  return program;
}

/** Runs a program as if it lay in the project folder; what it prints first, and what it prints then. */
function run(t: TestContext, program: string): { child: ChildProcess; line: () => Promise<string> } {
  const child = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  child.stdin.end(program);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => String((await deadline(lines.next(), MILLIS, 'a line of the program')).value);
  return { child, line };
}

test('the README’s tour signs in through a provider', async (t) => {
  const { console, server, stop } = await startConsoleServer({
    shards: 2,
    environment: { PARLEY_ALLOW_PRIVATE_TARGETS: '127.0.0.1' },
  });
  t.after(stop);
  assert.match(README, /PARLEY_ALLOW_PRIVATE_TARGETS=127\.0\.0\.1 npm start/);
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const here = (program: string) =>
    program.replaceAll('http://127.0.0.1:8080', server.coordinator).replaceAll('9000', String(port));
  const provider = run(t, here(programNamed('provider.mjs')));
  assert.equal(await provider.line(), 'the provider listens');
  // What the README says to set, word by word.
  const [, secret, redirects] = /client secret `([^`]+)`[^]*?set `app_redirects` to `([^`]+)`/.exec(README) ?? [];
  const form = { name: 'Demo', issuer, client_id: 'parley', client_secret: secret, creates_people: true };
  const set = await console('PUT', '/sso/providers/demo', form);
  assert.equal(set.status, 200, set.text);
  const listed = await console('PUT', '/settings/sign-in', { app_redirects: redirects });
  assert.equal(listed.status, 200, listed.text);

  const app = run(t, here(programNamed('sign-in.mjs')));
  const [, address = ''] = /^open (http\S+)$/.exec(await app.line()) ?? [];
  const started = await fetch(address, { redirect: 'manual' });
  const cookie = started.headers
    .getSetCookie()
    .map((each) => each.split(';', 1)[0])
    .join('; ');
  const callback = await signInAt(issuer, started.headers.get('location') ?? '', 'carol');
  const led = await fetch(callback, { redirect: 'manual', headers: { cookie } });
  const said = await fetch(led.headers.get('location') ?? '');
  assert.equal(await said.text(), 'Go back to your terminal.');
  assert.equal(await app.line(), 'signed in as carol');
  const [code] =
    app.child.exitCode === null
      ? ((await deadline(once(app.child, 'exit'), MILLIS, 'its end')) as [number])
      : [app.child.exitCode];
  assert.equal(code, 0);
  const person = await console<{ display_name: string }>('GET', '/users/carol');
  assert.equal(person.body.display_name, 'carol');
});
