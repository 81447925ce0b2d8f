/** What a browser gets of the console: which files, with what policy, and nothing that the policy would refuse. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ScreenModules } from '#src/cli/screen-modules.ts';
import { readConfig } from '#src/config.ts';
import { addConsoleWeb } from '#src/console/web-pages.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { skeletonOf } from '#test/tidy/source.ts';
import { buildApp, BUILT_CONSOLE } from '#test/web/built-app.ts';

const WEB = fileURLToPath(new URL('../../../src/web/console/', import.meta.url));
const sources = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
const read = (path: string) => readFileSync(join(WEB, path), 'utf8');

/** The largest that the first scripts of the console may be, gzipped: those of the chat have 320 KB. */
const FIRST_SCRIPTS_BYTES_MAX = 240_000;

let server: TestServer;
before(async () => {
  buildApp();
  // A server that no longer serves the oldest clients: a browser that opens a page says nothing of a version.
  server = await startServer({ environment: { PARLEY_PROTOCOL_MIN: '1' } });
});
after(async () => await server?.stop());

const get = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${server.coordinator}${path}`, { headers });
  return { response, text: await response.text() };
};

test('the page is served wherever somebody comes in, under a policy that lets in nothing but its own build', async () => {
  const nonces = new Set<string>();
  for (const path of ['/console/', '/console', '/console/signed-in']) {
    const { response, text } = await get(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    const policy = response.headers.get('content-security-policy') ?? '';
    const [, nonce = ''] = /script-src 'nonce-([\w+/=]{24})' 'strict-dynamic'/.exec(policy) ?? [];
    nonces.add(nonce);
    assert.deepEqual(policy.split('; '), [
      "default-src 'none'",
      `script-src 'nonce-${nonce}' 'strict-dynamic'`,
      `style-src 'self' 'nonce-${nonce}'`,
      "connect-src 'self'",
      "img-src 'self' data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types default',
    ]);
    assert.match(text, /<html lang="en" data-api="\/admin\/api" data-protocol="1">/);
    const given = [...text.matchAll(/nonce="([^"]*)"/g)].map(([, value]) => value);
    assert.deepEqual(new Set(given), new Set([nonce]));
    assert.doesNotMatch(text, /\{\w+\}/, 'every place is filled');
    assert.equal((await fetch(`${server.coordinator}${path}`, { method: 'HEAD' })).status, 200);
  }
  assert.equal(nonces.size, 3, 'each answer has a nonce of its own');
});

test('what the page loads at first is small, kept for ever, and comes compressed', async () => {
  const { text: html } = await get('/console/');
  const named = [...html.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  assert.ok(named.some((path) => path.endsWith('.js')) && named.some((path) => path.endsWith('.css')), named.join());
  let scripts = 0;
  for (const path of named) {
    const plain = await get(path, { 'accept-encoding': 'identity' });
    assert.equal(plain.response.headers.get('cache-control'), 'public, max-age=31536000, immutable', path);
    assert.equal(plain.response.headers.get('x-content-type-options'), 'nosniff');
    for (const encoding of ['br', 'gzip']) {
      const { response, text } = await get(path, { 'accept-encoding': encoding });
      assert.equal(response.headers.get('content-encoding'), encoding, path);
      assert.match(response.headers.get('vary') ?? '', /Accept-Encoding/);
      assert.ok(text === plain.text, `${path} in ${encoding} is another file`);
    }
    if (path.endsWith('.js'))
      scripts += readFileSync(join(BUILT_CONSOLE, 'assets', `${path.split('/').pop()}.gz`)).length;
  }
  assert.ok(scripts > 0 && scripts <= FIRST_SCRIPTS_BYTES_MAX, `${scripts} bytes of scripts`);
});

test('every file of the build is served, and nothing else of the disk, sources of the server least of all', async () => {
  const built = readdirSync(join(BUILT_CONSOLE, 'assets')).filter((name) => /\.(?:js|css)$/.test(name));
  assert.ok(built.length > 30);
  for (const name of built) {
    const { status } = await fetch(`${server.coordinator}/console/assets/${name}`, { method: 'HEAD' });
    assert.equal(status, 200, name);
  }
  for (const path of [
    'assets/',
    'assets/../page.html',
    'assets/%2e%2e/page.html',
    'assets/nothing.js',
    'page.html',
    'code/console/router.ts',
    '../router.ts',
    'nothing.js',
  ]) {
    const { response, text } = await get(`/console/${path}`, { 'x-service-client-protocol': '1' });
    assert.deepEqual([response.status, (JSON.parse(text) as { code: string }).code], [404, 'path_not_found'], path);
  }
  const { response } = await get('/console/?token=secret');
  assert.equal(response.status, 200);
  assert.deepEqual(
    server.output.filter((line) => line.includes('secret')),
    [],
  );
});

test('where it was not built, a page without a script says how it comes', async (t) => {
  const app = await makeHttpSurface({
    config: readConfig({}),
    log: { error: () => undefined, warn: () => undefined },
    health: async () => await Promise.resolve({ headers: {}, body: '{}' }),
    allowsOrigin: () => false,
  });
  t.after(async () => await app.close());
  addConsoleWeb(app, undefined);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const response = await fetch(`${url}/console/`);
  assert.equal(response.status, 200);
  const policy = response.headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; style-src 'sha256-/);
  const html = await response.text();
  assert.match(html, /The console was not built/);
  assert.doesNotMatch(html, /<script|<form|\son[a-z]+=|style=|src=/);
});

test('a module of the server, or of Node, keeps the console from being built', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const modules = new ScreenModules(join(root, 'src', 'web'));
  const parse = (path: string) => modules.moduleParsed({ id: join(root, path), importedIds: [], code: '' });
  for (const path of [
    'src/web/console/main.tsx',
    'src/web/kit/logo.tsx',
    'src/client/parley-error.ts',
    'src/protocol/limits.ts',
    'src/base/ids.ts',
    'node_modules/react/index.js',
  ]) {
    assert.doesNotThrow(() => parse(path), path);
  }
  for (const path of [
    'src/console/route-table.ts',
    'src/settings/setting-screens.ts',
    'src/identity/console/permissions.ts',
    'src/main.ts',
    'storage/engine/keys.ts',
  ]) {
    assert.throws(() => parse(path), /which a browser cannot have/, path);
  }
});

/** Ways of making markup or code out of text. */
const UNSAFE =
  /\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|DOMParser|createContextualFragment|eval)\b|\bdocument\.write|\bnew Function\b|\bsetHTML/;

test('nothing is made of markup in text, and no handler or style stands in an attribute', () => {
  assert.deepEqual(
    sources.filter((path) => UNSAFE.test(skeletonOf(read(path)).code)),
    [],
  );
  assert.match('node.innerHTML = text', UNSAFE);
  const html = read('page.html');
  assert.doesNotMatch(html, /<[^>]+\s(?:on\w+|style)\s*=/i);
  assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style/i);
  assert.doesNotMatch(html, /(?:src|href)="(?!\.\/|data:)/);
  assert.doesNotMatch(read('console.css'), /@import|url\(/);
});

test('the token is in no address and no cookie, and is kept in this tab alone', () => {
  const using = (names: RegExp) => sources.filter((path) => names.test(skeletonOf(read(path)).code)).toSorted();
  assert.deepEqual(using(/\bsessionStorage\b/), ['session/console-session.ts', 'session/single-sign-on.ts']);
  // That somebody put the list of first steps away.
  assert.deepEqual(using(/\blocalStorage\b/), ['screens/now/first-run.tsx']);
  assert.deepEqual(using(/\bdocument\.cookie\b|\bindexedDB\b/), []);
});
