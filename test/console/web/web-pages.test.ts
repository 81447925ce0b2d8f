/** What a browser gets of the console: which files, with what policy, and nothing that the policy would refuse. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readModules, readWebFiles } from '#src/console/web-files.ts';
import { WEB_POLICY } from '#src/console/web-pages.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { skeletonOf } from '#test/tidy/source.ts';

const WEB = fileURLToPath(new URL('../../../src/console/web/', import.meta.url));
const sources = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
const read = (path: string) => readFileSync(join(WEB, path), 'utf8');

let server: TestServer;
before(async () => {
  // A server that no longer serves the oldest clients: a browser that opens a page says nothing of a version.
  server = await startServer({ environment: { PARLEY_PROTOCOL_MIN: '1' } });
});
after(async () => await server.stop());

const get = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${server.coordinator}${path}`, { headers });
  return { response, text: await response.text() };
};

test('the page is served wherever somebody comes in, under a policy that lets in nothing but its own files', async () => {
  for (const path of ['/console/', '/console', '/console/signed-in']) {
    const { response, text } = await get(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(response.headers.get('cache-control'), 'no-cache');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.equal(policy, WEB_POLICY);
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"]) {
      assert.ok(policy.split('; ').includes(part), part);
    }
    assert.ok(policy.includes("img-src 'self' data:"));
    assert.ok(!policy.includes('unsafe'));
    assert.match(text, /<html lang="en" data-api="\/admin\/api" data-protocol="1">/);
  }
});

test('every file has a tag of its bytes, and is not sent to whoever has it', async () => {
  const files = readWebFiles();
  assert.ok(files.length > 30);
  for (const { path, type, content } of files) {
    const { body, etag } = content();
    const { response, text } = await get(path);
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get('content-type'), type);
    assert.equal(response.headers.get('etag'), etag);
    assert.equal(text, body.toString('utf8'));
    const again = await get(path, { 'if-none-match': `"other", W/${etag}` });
    assert.deepEqual([again.response.status, again.text], [304, ''], path);
    const other = await get(path, { 'if-none-match': '"other"' });
    assert.equal(other.response.status, 200);
  }
});

test('what is not a file of the console is not served, sources of the server least of all', async () => {
  for (const path of ['code/console/router.ts', 'code/config.ts', 'code/console/web/../router.ts', 'nothing.js']) {
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

test('every module of the folder is served, without types and with imports that a browser can follow', () => {
  const files = readWebFiles();
  const served = new Map(files.map(({ path, content }) => [path, content().body.toString('utf8')]));
  assert.deepEqual(
    sources.map((path) => `/console/code/console/web/${path}`).filter((path) => !served.has(path)),
    [],
  );
  const other = [...served.keys()].filter((path) => path.endsWith('.ts') && !path.includes('/console/web/'));
  assert.deepEqual(other.toSorted(), [
    '/console/code/client/parley-error.ts',
    '/console/code/client/passkey.ts',
    '/console/code/client/translations.ts',
    '/console/code/protocol/errors.ts',
    '/console/code/protocol/languages.ts',
    '/console/code/protocol/limits.ts',
  ]);
  for (const [path, code] of served) {
    if (!path.endsWith('.ts')) continue;
    for (const [, specifier = ''] of code.matchAll(/^(?:import|export)\b[^'";]*?from '([^']+)'/gm)) {
      assert.ok(served.has(specifier), `${path} imports ${specifier}`);
    }
    assert.doesNotMatch(code, /^(?:import|export) (?:type|interface)\b/m);
  }
});

test('a module that imports what a browser cannot have keeps the server from starting', (t) => {
  const folder = temporaryFolder(t);
  for (const specifier of ['zod', 'node:fs', '#src/console/router.ts', '../main.ts']) {
    const path = join(folder, 'main.ts');
    writeFileSync(path, `import { x } from '${specifier}';\nx();\n`);
    assert.throws(() => readModules(pathToFileURL(path)), /which a browser cannot have/, specifier);
  }
});

test('stripping types warns nobody, and leaves warnings as they were', async () => {
  const warn = Reflect.get(process, 'emitWarning') as unknown;
  const warned: string[] = [];
  const hear = ({ message }: Error) => void warned.push(message);
  process.on('warning', hear);
  for (const { content } of readWebFiles()) content();
  process.emitWarning('heard', 'ExperimentalWarning');
  // Warnings are told on the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', hear);
  assert.deepEqual(warned, ['heard']);
  assert.equal(Reflect.get(process, 'emitWarning'), warn);
});

/** Ways of making markup or code out of text. */
const UNSAFE =
  /\b(?:innerHTML|outerHTML|insertAdjacentHTML|DOMParser|createContextualFragment|eval)\b|\bdocument\.write|\bnew Function\b|\bsetHTML/;

test('nothing is made of markup in text, and no handler or style stands in an attribute', () => {
  assert.deepEqual(
    sources.filter((path) => UNSAFE.test(skeletonOf(read(path)).code)),
    [],
  );
  assert.match('node.innerHTML = text', UNSAFE);
  const html = read('console.html');
  assert.doesNotMatch(html, /<[^>]+\s(?:on\w+|style)\s*=/i);
  assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style/i);
  assert.doesNotMatch(html, /(?:src|href)="(?!\/console\/|data:)/);
  assert.doesNotMatch(read('console.css'), /@import|url\(/);
});

test('the token is in no address and no cookie, and is kept in this tab alone', () => {
  const kept = sources.filter((path) => /\blocalStorage\b/.test(skeletonOf(read(path)).code));
  assert.deepEqual(kept, ['application.ts']);
  assert.doesNotMatch(read('application.ts'), /localStorage\.setItem\((?!LANGUAGE_KEPT_AS)/);
  assert.deepEqual(
    sources.filter((path) => /\bdocument\.cookie\b|\bindexedDB\b/.test(skeletonOf(read(path)).code)),
    [],
  );
});

test('every module but the one that starts it all loads without a document', async () => {
  assert.equal('document' in globalThis, false);
  for (const path of sources.filter((each) => each !== 'main.ts')) {
    const module = (await import(pathToFileURL(join(WEB, path)).href)) as object;
    assert.ok(Object.keys(module).length > 0, relative(WEB, path));
  }
});
