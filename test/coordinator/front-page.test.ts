/** The page at `/` where the app was not built: what it states, how it is protected, and that its links lead somewhere. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { readConfig } from '#src/config.ts';
import { makeHttpSurface } from '#src/http/http-surface.ts';
import { addFrontPage } from '#src/server/front-page.ts';
import { request, startServer } from '#test/support/server.ts';

// A checkout has the app built, so the page is served by a listener of its own.
const app = await makeHttpSurface({
  config: readConfig({}),
  log: { error: () => undefined, warn: () => undefined },
  health: async () => await Promise.resolve({ headers: {}, body: '{}' }),
  allowsOrigin: () => false,
});
addFrontPage(app);
const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/`;
after(async () => await app.close());
const server = await startServer();
after(async () => await server.stop());

test('the address of the coordinator opens a page that keeps nothing, runs nothing and lets nobody frame it', async () => {
  const reply = await fetch(url, { headers: { accept: 'text/html', cookie: 'a=1' } });
  const html = await reply.text();
  assert.equal(reply.status, 200);
  const style = /<style>([^]*?)<\/style>/.exec(html)?.[1] as string;
  const hash = createHash('sha256').update(style).digest('base64');
  for (const [name, value] of [
    ['cache-control', 'no-store'],
    ['content-type', 'text/html; charset=utf-8'],
    ['referrer-policy', 'no-referrer'],
    ['set-cookie', null],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    ['vary', 'Accept, Origin'],
    ['x-robots-tag', 'noindex, nofollow, noarchive'],
    [
      'content-security-policy',
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
    ],
  ] as const) {
    assert.equal(reply.headers.get(name), value, name);
  }
  assert.doesNotMatch(html, /<script|<form|\son[a-z]+=|style=|src=/);
});

test('its links lead to the console and to the health of the server, under the address that it has', async () => {
  const html = await (await fetch(url, { headers: { accept: 'text/html' } })).text();
  const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);
  assert.deepEqual(links, ['console/', 'healthz']);
  const [console, health] = await Promise.all(
    links.map(async (link) => await fetch(new URL(link, `${server.coordinator}/`))),
  );
  assert.match(await (console as Response).text(), /<title>Parley/);
  assert.equal(((await (health as Response).json()) as { status: string }).status, 'ok');
  assert.equal(new URL(links[0] as string, 'https://example.org/chat/').pathname, '/chat/console/');
});

test('who asks for no page, by another method or at another path is refused with a code', async () => {
  for (const accept of ['application/json', '*/*', 'text/html;q=0']) {
    const reply = await request<{ code: string }>('GET', url, { headers: { accept } });
    assert.deepEqual([reply.status, reply.body.code], [404, 'path_not_found'], accept);
  }
  assert.equal((await request<{ code: string }>('POST', url, { body: {} })).body.code, 'method_not_found');
  assert.equal((await request<{ code: string }>('GET', `${url}nothing`)).body.code, 'path_not_found');
});
