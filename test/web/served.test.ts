/** What the coordinator serves of the app: the page under its policy, and the files of the build. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import sharp from 'sharp';
import { startServer, type TestServer } from '#test/support/server.ts';
import { buildApp } from './built-app.ts';

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

const getPage = async () => {
  const response = await fetch(server.coordinator, { headers: { accept: 'text/html,*/*;q=0.8' } });
  return { response, html: await response.text(), policy: response.headers.get('content-security-policy') ?? '' };
};

test('the page comes under a policy of its own nonce, which lets in its build and the three services alone', async () => {
  const [first, second] = [await getPage(), await getPage()];
  assert.equal(first.response.status, 200);
  assert.equal(first.response.headers.get('cache-control'), 'no-store');
  const [, nonce = ''] = /script-src 'nonce-([\w+/=]{24})' 'strict-dynamic'/.exec(first.policy) ?? [];
  assert.notEqual(nonce, '');
  assert.ok(!second.policy.includes(nonce), 'another answer has another nonce');
  assert.deepEqual(
    [...first.html.matchAll(/nonce="([^"]*)"/g)].map(([, value]) => value).filter((value) => value !== nonce),
    [],
  );
  assert.ok(first.html.includes('<script type="module"') && !first.html.includes('{'), 'every place is filled');
  const { host } = new URL(server.messaging);
  const calendar = new URL(server.calendar).host;
  for (const part of [
    "default-src 'none'",
    `style-src 'self' 'nonce-${nonce}'`,
    `connect-src 'self' http://${host} ws://${host} http://${calendar}`,
    `media-src blob: http://${host}`,
    "require-trusted-types-for 'script'",
    'trusted-types default',
    "frame-ancestors 'none'",
    "manifest-src 'self'",
    "worker-src 'self'",
  ]) {
    assert.ok(first.policy.split('; ').includes(part), part);
  }
  assert.doesNotMatch(first.policy, /unsafe|\*/);
  const permissions = first.response.headers.get('permissions-policy')?.split(', ') ?? [];
  for (const name of ['camera', 'microphone', 'display-capture'])
    assert.ok(permissions.includes(`${name}=(self)`), name);
});

test('the messaging service is looked for on the host that was asked, and on no other that a header makes up', async () => {
  const { port } = new URL(server.coordinator);
  const messagingOf = (html: string) => /data-messaging="([^"]*)"/.exec(html)?.[1];
  const other = await fetch(`http://localhost:${port}/`, { headers: { accept: 'text/html' } });
  assert.equal(messagingOf(await other.text()), `http://localhost:${new URL(server.messaging).port}`);
  const lines = ['GET / HTTP/1.1', 'Host: a"><script>', 'Accept: text/html', 'Connection: close', '', ''];
  const socket = connect(Number(port), '127.0.0.1');
  socket.end(lines.join('\r\n'));
  const made = Buffer.concat(await socket.toArray()).toString('utf8');
  assert.ok(!made.includes('<script>'), 'a header is in the page');
});

test('files of the build are kept for ever and come compressed; nothing else of the disk is served', async () => {
  const { html } = await getPage();
  const paths = [...html.matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  assert.ok(paths.some((path) => path.endsWith('.js')) && paths.some((path) => path.endsWith('.css')), paths.join());
  for (const path of paths) {
    const plain = await fetch(`${server.coordinator}${path}`, { headers: { 'accept-encoding': 'identity' } });
    assert.equal(plain.headers.get('cache-control'), 'public, max-age=31536000, immutable', path);
    assert.equal(plain.headers.get('x-content-type-options'), 'nosniff');
    const text = await plain.text();
    for (const encoding of ['br', 'gzip']) {
      const encoded = await fetch(`${server.coordinator}${path}`, { headers: { 'accept-encoding': encoding } });
      assert.equal(encoded.headers.get('content-encoding'), encoding, path);
      assert.match(encoded.headers.get('vary') ?? '', /Accept-Encoding/);
      assert.ok((await encoded.text()) === text, `${path} in ${encoding} is another file`);
    }
  }
  for (const path of [
    '/assets/',
    '/assets/../page.html',
    '/assets/%2e%2e/page.html',
    '/assets/nothing.js',
    '/page.html',
  ]) {
    const { status } = await fetch(`${server.coordinator}${path}`, { headers: { 'x-service-client-protocol': '1' } });
    assert.equal(status, 404, path);
  }
  const api = await fetch(server.coordinator, {
    headers: { accept: 'application/json', 'x-service-client-protocol': '1' },
  });
  assert.deepEqual([api.status, ((await api.json()) as { code: string }).code], [404, 'path_not_found']);
});

test('the app is installable: a manifest with icons of their sizes, and a worker that is asked for each time and may call us alone', async () => {
  const { html } = await getPage();
  assert.ok(html.includes('<link rel="manifest" href="./app.webmanifest"'));
  const manifest = await fetch(`${server.coordinator}/app.webmanifest`);
  assert.match(manifest.headers.get('content-type') ?? '', /^application\/manifest\+json/);
  const {
    icons,
    scope,
    start_url: start,
  } = (await manifest.json()) as {
    icons: { src: string; sizes: string }[];
    scope: string;
    start_url: string;
  };
  assert.deepEqual([scope, start], ['./', './']);
  for (const { sizes, src } of icons) {
    const icon = await fetch(`${server.coordinator}/${src}`);
    const { format, height, width } = await sharp(await icon.arrayBuffer()).metadata();
    assert.deepEqual([format, `${width}x${height}`], ['png', sizes], src);
  }
  const worker = await fetch(`${server.coordinator}/worker.js`);
  assert.equal(worker.headers.get('cache-control'), 'no-cache');
  assert.match(worker.headers.get('content-type') ?? '', /^text\/javascript/);
  const { host } = new URL(server.messaging);
  const policy = worker.headers.get('content-security-policy')?.split('; ');
  assert.deepEqual(policy, [
    "default-src 'none'",
    "img-src 'self'",
    `connect-src 'self' http://${host}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
  const kept = [...(await worker.text()).matchAll(/[\w-]+-[\w-]{8}\.(?:js|css)/g)].map(([name]) => name);
  for (const part of ['page-', 'sign-in-', 'chat-', 'chat-application-', 'russian-']) {
    assert.ok(
      kept.some((name) => name.startsWith(part)),
      `${part} is kept for a start without a network`,
    );
  }
  for (const name of kept) {
    const { status } = await fetch(`${server.coordinator}/assets/${name}`, { method: 'HEAD' });
    assert.equal(status, 200, name);
  }
});
