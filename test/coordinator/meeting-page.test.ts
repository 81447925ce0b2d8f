/** Where a meeting's link leads in a browser, and what it tells without a session. What the app does with it: test/web/meetings.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERRORS } from '#src/protocol/errors.ts';
import type { MeetingView } from '#src/protocol/meetings/meetings.ts';
import { request, type Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';

const { host, server } = await shareServer(['host']);

async function ask<T = MeetingView>(who: Person, method: string, path: string, body?: object): Promise<T> {
  const reply = await request<T>(method, `${server.coordinator}/v1/meetings${path}`, {
    token: who.session.token,
    ...(body === undefined ? {} : { body }),
  });
  assert.ok(reply.status < 300, reply.text);
  return reply.body;
}

const meet = async (more: object = {}) => await ask(host, 'POST', '', { title: 'Bream & pike', ...more });
async function page(link: string, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') {
  const response = await fetch(urlOf(link), { headers: { accept }, redirect: 'manual' });
  return { headers: response.headers, status: response.status, text: await response.text() };
}
const urlOf = (link: string) => `${server.coordinator}/v1/meetings/join/${link}`;

test('MTG-01 the link leads into the app, tells nothing of the meeting, and one page stands for links that lead nowhere', async () => {
  const one = await meet();
  const other = await meet({ title: 'Another', starts_at: '2099-01-01T10:00:00Z', lobby: 'everyone_waits' });
  const opened = await page(one.link);
  assert.deepEqual([opened.status, opened.text], [303, '']);
  assert.equal(
    new URL(opened.headers.get('location') ?? '', urlOf(one.link)).href,
    `${server.coordinator}/#/meeting/${one.link}`,
  );
  // Behind a proxy that gives the service a path, too.
  const behind = new URL(opened.headers.get('location') ?? '', `https://x.example/talk/v1/meetings/join/${one.link}`);
  assert.equal(behind.href, `https://x.example/talk/#/meeting/${one.link}`);
  for (const [name, value] of [
    ['referrer-policy', 'no-referrer'],
    ['x-robots-tag', 'noindex, nofollow, noarchive'],
    ['cache-control', 'no-store'],
    ['x-frame-options', 'DENY'],
  ] as const) {
    assert.equal(opened.headers.get(name), value);
  }
  assert.match(opened.headers.get('vary') ?? '', /Accept\b/);
  assert.equal((await page(other.link)).status, 303);
  assert.equal((await ask(host, 'GET', `/${one.id}`)).participants.length, 1, 'opening it lets nobody in');

  const renewed = await ask(host, 'POST', `/${other.id}/link`);
  await ask(host, 'POST', `/${one.id}/cancel`);
  const altered = renewed.link.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A'));
  const dead = [other.link, one.link, altered, 'mtg_0000000000000000000000.1.x', 'nonsense', '%2f%2fevil.example'];
  const pages = await Promise.all(dead.map(async (link) => await page(link)));
  assert.deepEqual(
    pages.map(({ headers, status, text }) => [status, headers.get('content-type'), text]),
    dead.map(() => [404, 'text/html; charset=utf-8', pages[0]?.text]),
  );
  assert.match(pages[0]?.text ?? '', /leads to no meeting/);
  assert.doesNotMatch(pages[0]?.text ?? '', /<script|<form|\son[a-z]+=|style=|src=|href=/);
  assert.ok(pages[0]?.headers.get('content-security-policy')?.startsWith("default-src 'none'"));
  assert.equal((await page(renewed.link)).status, 303);

  for (const accept of ['application/json', '*/*', 'text/html;q=0, application/json']) {
    const reply = await page(renewed.link, accept);
    assert.deepEqual(
      [reply.status, JSON.parse(reply.text)],
      [404, { code: 'method_not_found', error: ERRORS.method_not_found.error }],
      accept,
    );
  }
});
