/** The Dockerfile, as far as it can be held without a container: it carries what runs, and its probe tells the truth. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SETTINGS, variableOf } from '#src/config.ts';
import { startServer } from '#test/support/server.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
/** Its instructions, each on one line. */
const lines = read('Dockerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .map((line) => line.replaceAll(/ +/g, ' '));
const all = (instruction: string) =>
  lines.flatMap((line) => (line.startsWith(`${instruction} `) ? [line.slice(instruction.length + 1)] : []));

test('the image has every folder of code but those of tests, and nothing that is ignored', () => {
  const { imports } = JSON.parse(read('package.json')) as { imports: Record<string, string> };
  const folders = Object.values(imports).map((path) => path.replace(/^\.\/|\/\*$/g, ''));
  const copied = all('COPY').map((line) => line.split(' ')[0] ?? '');
  assert.deepEqual(
    folders.filter((folder) => copied.includes(folder)),
    ['src', 'actors', 'storage'],
  );
  const ignored = read('.dockerignore').split('\n');
  assert.ok(ignored.includes('node_modules') && ignored.includes('data'));
  assert.deepEqual(
    copied.filter((path) => ignored.includes(path)),
    [],
  );
});

test('its variables and ports are those of the settings', () => {
  const known = Object.keys(SETTINGS).map(variableOf);
  const given = all('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('=')[0] ?? ''));
  assert.deepEqual(
    given.filter((name) => !known.includes(name)),
    ['NODE_ENV'],
  );
  const { calendarPort, coordinatorPort, messagingPort } = SETTINGS;
  const ports = [coordinatorPort, messagingPort, calendarPort].map((setting) => setting.default);
  assert.deepEqual(all('EXPOSE'), [ports.join(' ')]);
});

test('what it keeps of the socket library is what this platform loads', () => {
  const [, name = ''] = /! -name "([^"]+)"/.exec(read('Dockerfile')) ?? [];
  assert.match(name, /^uws_\$\(node -p '.+'\)\.node$/);
  const { arch, platform, versions } = process;
  const file = `node_modules/uWebSockets.js/dist/bin/uws_${platform}_${arch}_${versions.modules}.node`;
  assert.ok(existsSync(new URL(file, ROOT)), file);
});

test('its probe fails while nobody listens, and passes on a server that is ready', async (t) => {
  const [, command = ''] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(lines.join('\n')) ?? [];
  const [, ...args] = JSON.parse(command) as string[];
  const probe = async (port: string): Promise<unknown> => {
    const child = spawn(process.execPath, args, {
      cwd: fileURLToPath(ROOT),
      env: { PARLEY_MESSAGING_PORT: port },
      stdio: 'ignore',
    });
    return (await once(child, 'exit'))[0];
  };
  const server = await startServer();
  t.after(async () => await server.stop());
  const { port } = new URL(server.messaging);
  assert.equal(await probe(port), 0);
  assert.equal(await server.stop(), 0);
  assert.equal(await probe(port), 1);
});
