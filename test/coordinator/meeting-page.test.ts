/** The page behind a meeting's link: what it tells without a session, and that it leads into the meeting in a browser. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { ERRORS } from '#src/protocol/errors.ts';
import type { MeetingView } from '#src/protocol/meetings/meetings.ts';
import { Chromium, findChromium } from '#test/console/web/chromium.ts';
import { request, type Person } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { until } from '#test/support/waiting.ts';

const { alice, bob, host, server } = await shareServer(['host', 'alice', 'bob']);

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
  const response = await fetch(urlOf(link), { headers: { accept } });
  return { headers: response.headers, status: response.status, text: await response.text() };
}
const urlOf = (link: string) => `${server.coordinator}/v1/meetings/join/${link}`;

test('MTG-01 the link opens a page that tells nothing of the meeting, and one page stands for links that lead nowhere', async () => {
  const one = await meet();
  const other = await meet({ title: 'Another', starts_at: '2099-01-01T10:00:00Z', lobby: 'everyone_waits' });
  const opened = await page(one.link);
  assert.equal(opened.status, 200);
  assert.equal(opened.headers.get('content-type'), 'text/html; charset=utf-8');
  for (const [name, value] of [
    ['referrer-policy', 'no-referrer'],
    ['x-robots-tag', 'noindex, nofollow, noarchive'],
    ['cache-control', 'no-store'],
    ['x-frame-options', 'DENY'],
  ] as const) {
    assert.equal(opened.headers.get(name), value);
  }
  assert.match(opened.headers.get('vary') ?? '', /Accept\b/);
  const policy = opened.headers.get('content-security-policy') ?? '';
  const script = /<script>([^]*?)<\/script>/.exec(opened.text)?.[1] as string;
  assert.ok(policy.includes(`script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`));
  assert.ok(policy.startsWith("default-src 'none'") && !policy.includes('unsafe'));
  assert.doesNotMatch(opened.text, /\son[a-z]+=|style=|src=|href=/);
  assert.equal((await page(other.link)).text, opened.text);
  assert.equal((await ask(host, 'GET', `/${one.id}`)).participants.length, 1, 'opening it lets nobody in');

  const renewed = await ask(host, 'POST', `/${other.id}/link`);
  await ask(host, 'POST', `/${one.id}/cancel`);
  const altered = renewed.link.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A'));
  const dead = [other.link, one.link, altered, 'mtg_0000000000000000000000.1.x', 'nonsense'];
  const pages = await Promise.all(dead.map(async (link) => await page(link)));
  assert.deepEqual(
    pages.map(({ headers, status, text }) => [status, headers.get('content-type'), text]),
    dead.map(() => [404, 'text/html; charset=utf-8', pages[0]?.text]),
  );
  assert.match(pages[0]?.text ?? '', /leads to no meeting/);
  assert.doesNotMatch(pages[0]?.text ?? '', /<script|<form/);
  assert.equal((await page(renewed.link)).status, 200);

  for (const accept of ['application/json', '*/*', 'text/html;q=0, application/json']) {
    const reply = await page(renewed.link, accept);
    assert.deepEqual(
      [reply.status, JSON.parse(reply.text)],
      [404, { code: 'method_not_found', error: ERRORS.method_not_found.error }],
      accept,
    );
  }
});

const chromium = findChromium();

describe('the page in Chromium', { skip: chromium === undefined && 'no Chromium on this machine' }, () => {
  let browser: Chromium;
  before(async () => {
    browser = await Chromium.start(chromium as string);
  });
  after(async () => {
    await browser?.stop();
  });

  const signIn = async (who: Person, password = who.password) => {
    await browser.fill('Username', who.username);
    await browser.fill('Password', password);
    await browser.press('Join the meeting');
  };
  const conversationOf = async (who: Person, { conversation_id: id }: MeetingView) =>
    (await server.api(who, 'GET', `/v1/conversations/${id}`)).status;

  test('MTG-01 who signs in on the page is in the conversation of the meeting', async () => {
    const meeting = await meet({ starts_at: '2099-01-01T10:00:00Z' });
    assert.equal(await conversationOf(alice, meeting), 403);
    await browser.goTo(urlOf(meeting.link));
    await signIn(alice, 'a wrong password');
    await browser.sees(ERRORS.login_failed.error);
    await signIn(alice);
    await browser.sees('You are in “Bream & pike”');
    await browser.sees('2099');
    assert.equal(await conversationOf(alice, meeting), 200);
    assert.equal(await browser.read("document.querySelector('form') === null"), true);
  });

  test('MTG-01 who has to wait is told so, and comes in when the host admits them', async () => {
    const meeting = await meet({ lobby: 'everyone_waits' });
    await browser.goTo(urlOf(meeting.link));
    await signIn(bob);
    await browser.sees('The host of “Bream & pike” has to let you in.');
    assert.equal(await conversationOf(bob, meeting), 403);
    await until(async () => (await ask(host, 'GET', `/${meeting.id}`)).waiting?.includes('bob'), 'bob to wait');
    await ask(host, 'POST', `/${meeting.id}/waiting/bob/admit`);
    await browser.sees('You are in “Bream & pike”');
    assert.equal(await conversationOf(bob, meeting), 200);
  });

  test('a meeting that ends before somebody signs in refuses them in words', async () => {
    const meeting = await meet();
    await browser.goTo(urlOf(meeting.link));
    await browser.sees('Join the meeting');
    await ask(host, 'POST', `/${meeting.id}/cancel`);
    await signIn(alice);
    await browser.sees(ERRORS.meeting_over.error);
    assert.equal(await conversationOf(alice, meeting), 403);
  });
});
