/** Tests that start what they try in namespaces of their own: the test file runs itself in them, and says out here how it went. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unlessInstalled } from '#test/support/real-program.ts';
import { OWN_NAMESPACES } from '../cluster/crash/network.ts';
import { CERTIFICATE, KEY, replaceIn } from './proxy.ts';

/** Says to a test file that it has namespaces of its own, and which folder it may use. */
const INSIDE = 'TEST_INSIDE';
const DEPLOY = fileURLToPath(new URL('../../docs/deploy/', import.meta.url));

/** The folder of a test file that runs in its namespaces; undefined out here. */
export const insideFolder = process.env[INSIDE];

/** What a test of several hosts in namespaces is skipped with, else false. */
export function unlessStartable(): string | false {
  const missing =
    unlessInstalled('openssl', ['version']) ||
    unlessInstalled('nats-server', ['--version']) ||
    unlessInstalled('haproxy', ['-v']) ||
    unlessInstalled('ip', ['-V']) ||
    unlessInstalled('wget', ['--version']);
  if (missing !== false) return missing;
  const [program, ...options] = OWN_NAMESPACES;
  return spawnSync(program, [...options, 'true']).status === 0 ? false : 'this user may not make namespaces';
}

/** Runs this very test file in namespaces that end with it. @throws Error with all that it said, where not so many cases pass. */
export async function passInside(folder: string, cases: number): Promise<void> {
  const [program, ...options] = OWN_NAMESPACES;
  const self = [process.execPath, ...process.execArgv, process.argv[1] as string];
  const { NODE_TEST_CONTEXT: _context, ...environment } = process.env;
  const child = spawn(program, [...options, ...self], {
    env: { ...environment, [INSIDE]: mkdtempSync(join(folder, 'inside-')) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  const [code] = (await once(child, 'close')) as [number | null];
  assert.equal(code, 0, said);
  assert.match(said, new RegExp(`^(?:#|ℹ) pass ${cases}$`, 'm'), said);
}

/** How docs/deploy becomes what an operator has. */
export interface Preparation {
  /** The document with the commands, and what ends those that are carried out. */
  readonly page: string;
  readonly until: string;
  /** Where its commands begin, from the folder of the project. */
  readonly where: string;
  /** Shell in front of them, for programs that are not there. */
  readonly prelude?: string;
}

/** A copy of docs/deploy in `folder`, fit for this machine inside, with what its owner adds by the first commands of a document. */
export function prepareDeploy(folder: string, { page, prelude = '', until, where }: Preparation): void {
  cpSync(DEPLOY, join(folder, 'docs/deploy'), { recursive: true });
  if (insideFolder !== undefined) fitToMachine(folder);
  writeFileSync(join(folder, 'fullchain.pem'), CERTIFICATE);
  writeFileSync(join(folder, 'privkey.pem'), KEY);
  const [, block = ''] = /```sh\n([^`]+)```/.exec(page) ?? [];
  const [made = '', ended] = replaceIn(block, {
    'fullchain.pem': join(folder, 'fullchain.pem'),
    'privkey.pem': join(folder, 'privkey.pem'),
  })
    .replaceAll('/etc/letsencrypt/live/chat.example.org/', '')
    // Whoever is not root is the one user that there is.
    .replaceAll(/chown (?=\d)/g, process.getuid?.() === 0 ? 'chown ' : 'true ')
    .split(until);
  assert.notEqual(ended, undefined, `the documents say ${until}`);
  const { status, stderr } = spawnSync('sh', ['-euc', prelude + made], { cwd: join(folder, where), encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
}

/** What cannot be as the files say on this machine: limits that a sandbox has, and what Debian 12's NATS does not know. */
function fitToMachine(folder: string): void {
  const change = (path: string, changes: Record<string, string>) => {
    const file = join(folder, 'docs/deploy', path);
    writeFileSync(file, replaceIn(readFileSync(file, 'utf8'), changes));
  };
  change('haproxy/haproxy.cfg', { 'maxconn 100000': 'maxconn 1000' });
  const version = spawnSync('nats-server', ['--version'], { encoding: 'utf8' }).stdout;
  if (/v2\.\d\./.test(version)) change('nats/nats.conf', { 'sync_interval: always': '' });
}

/** Hands what comes to a port of loopback to another address, as Docker does with a port that is published. */
export async function publish(port: number, host: string): Promise<void> {
  const server = createServer((socket) => {
    const onward = connect(port, host);
    socket.pipe(onward).pipe(socket);
    for (const end of [socket, onward]) {
      end.on('error', () => {
        socket.destroy();
        onward.destroy();
      });
    }
  }).listen(port, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
}
