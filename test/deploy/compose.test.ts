/** The compose file: read by docker-compose where it is installed, and as confined and as patient as the server asks for. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SETTINGS, variableOf } from '#src/config.ts';
import { readDeployed } from './proxy.ts';
import { unlessInstalled } from '#test/support/real-program.ts';

const FILE = fileURLToPath(new URL('../../docs/deploy/compose/compose.yaml', import.meta.url));
const text = readDeployed('compose/compose.yaml');
const [, parley = '', caddy = ''] = text.split(/^ {2}(?:parley|caddy):$/m);

test('the server is told settings that there are, and where the proxy stands', () => {
  const known = Object.keys(SETTINGS).map(variableOf);
  const told = [...parley.matchAll(/^ {6}(PARLEY_\w+):/gm)].map(([, name = '']) => name);
  assert.deepEqual(told, [
    'PARLEY_COORDINATOR_URL',
    'PARLEY_MESSAGING_URL',
    'PARLEY_CALENDAR_URL',
    'PARLEY_TRUSTED_PROXIES',
  ]);
  assert.ok(told.every((name) => known.includes(name)));
  const [, trusted] = /PARLEY_TRUSTED_PROXIES: (\S+)/.exec(parley) ?? [];
  const [, address] = /ipv4_address: (\S+)/.exec(caddy) ?? [];
  assert.equal(trusted, address);
  assert.ok(
    Number.parseInt(/stop_grace_period: (\d+)s/.exec(parley)?.[1] ?? '', 10) > 2 * SETTINGS.drainSeconds.default,
  );
});

test('its volumes lie where the image has folders of its own user', () => {
  const image = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
  const [, folders = ''] = /for folder in ([^;]+); do mkdir "\$folder" && chown node:node "\$folder"/.exec(image) ?? [];
  const mounted = [...parley.matchAll(/^ {6}- \w+:(\/\w+)$/gm)].map(([, path]) => path);
  assert.deepEqual(mounted, folders.split(' '));
});

test('the proxy has the configuration that is tried with the real Caddy, with the settings it reads', () => {
  assert.match(caddy, /\.\.\/caddy\/one-name\.caddyfile:\/etc\/caddy\/Caddyfile:ro/);
  const read = [...readDeployed('caddy/one-name.caddyfile').matchAll(/\{\$(\w+):/g)].map(([, name]) => name);
  const given = [...caddy.matchAll(/^ {6}(PARLEY_\w+):/gm)].map(([, name]) => name);
  assert.deepEqual(new Set(read), new Set(given));
});

test(
  'docker-compose takes the file, and asks for the domain',
  { skip: unlessInstalled('docker-compose', ['--version']) },
  () => {
    const config = (environment: Record<string, string>) =>
      spawnSync('docker-compose', ['-f', FILE, 'config'], {
        env: { ...process.env, ...environment },
        encoding: 'utf8',
      });
    const { status, stderr, stdout } = config({ PARLEY_DOMAIN: 'chat.test' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /PARLEY_MESSAGING_URL: https:\/\/chat\.test$/m);
    assert.match(config({ PARLEY_DOMAIN: '' }).stderr, /PARLEY_DOMAIN/);
  },
);
