/**
 * Staying signed in, as a browser does it: what renews the session is in a cookie, and all tabs are one device with one socket.
 * Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { say, start } from '#test/messaging/conversing.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

/** What scripts of the page can read of what the browser keeps. */
const readable = async (page: Page) =>
  await page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');

describe('signing in in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let alice: Person;
  let bob: Person;
  let room: string;

  before(async () => {
    ({ alice, bob } = await server.people('alice', 'bob', 'carol'));
    room = (await start(server, alice, 'room', ['bob'])).id;
    people = await People.start();
  });
  after(async () => {
    await people?.stop();
  });

  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  const list = (page: Page) => page.getByRole('navigation', { name: 'Conversations' });
  const signIn = async (page: Page, username: string) => {
    await page.goto(server.coordinator);
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill(`password of ${username}`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await list(page).waitFor();
  };
  const open = async (page: Page) => await page.goto(`${server.coordinator}/#/c/${room}`);
  const bobSays = async (text: string) => await say(server, bob, room, text);
  const shown = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text });
  /** Another tab, and the sockets that it opened. */
  const tabOf = async (context: BrowserContext) => {
    const page = await context.newPage();
    const sockets: { isClosed: boolean; readonly sent: string[] }[] = [];
    page.on('websocket', (socket) => {
      const seen = { isClosed: false, sent: [] as string[] };
      sockets.push(seen);
      socket.on('framesent', ({ payload }) => seen.sent.push(String(payload)));
      socket.on('close', () => (seen.isClosed = true));
    });
    return { page, sockets };
  };

  test('CRD-08 no script reads what renews the session, and a reload goes on with it', async () => {
    const page = await people.person();
    await signIn(page, 'carol');
    const isClean = async () => assert.doesNotMatch(await readable(page), /rft~|eyJ|token/);
    await isClean();
    const cookies = await page.context().cookies(`${server.coordinator}/v1/auth/renew`);
    assert.equal(cookies.length, 1);
    const { httpOnly, name, path, sameSite, secure, value } = cookies[0] ?? assert.fail('there is no cookie');
    assert.deepEqual(
      { httpOnly, path, sameSite, secure },
      { httpOnly: true, path: '/v1/auth', sameSite: 'Strict', secure: false },
    );
    assert.match(value, /^rft~carol~/);
    for (const service of [`${server.coordinator}/v1/me`, `${server.messaging}/v1/inbox`]) {
      assert.deepEqual(await page.context().cookies(service), [], 'it is sent to nothing else');
      const reply = await fetch(service, { headers: { cookie: `${name}=${value}`, 'x-service-client-protocol': '1' } });
      assert.deepEqual([reply.status, ((await reply.json()) as { code: string }).code], [401, 'token_missing']);
    }
    await page.reload();
    await list(page).waitFor();
    await isClean();
    await page.getByRole('navigation').getByTitle('Settings').click();
    await page.getByRole('button', { name: 'Sign out' }).first().click();
    await page.getByLabel('Username').waitFor();
    await until(async () => (await page.context().cookies()).length === 0, 'the cookie to go');
    await page.context().close();
  });

  test('CRD-08 a session that an earlier app kept moves into the cookie when the page is opened', async () => {
    const body = { username: 'carol', password: 'password of carol', device: { name: 'Old', platform: 'web' } };
    const reply = await request<Session>('POST', `${server.coordinator}/v1/auth/login`, { body });
    const page = await people.person();
    await page.goto(server.coordinator);
    await page.evaluate(([key, kept]) => localStorage.setItem(key, kept), ['parley.session', reply.text] as const);
    await page.reload();
    await list(page).waitFor();
    await until(async () => !(await readable(page)).includes('rft~'), 'the page to forget the refresh token');
    assert.doesNotMatch(await readable(page), /eyJ|token/);
    assert.deepEqual(
      (await page.context().cookies()).map(({ name }) => name),
      [`parley-session-${reply.body.device_id}`],
    );
    await page.reload();
    await list(page).waitFor();
    await page.context().close();
  });

  test('SOC-02 all tabs are one device with one socket, and the next one has it when a tab closes', async () => {
    const context = (await people.person()).context();
    const [first, second, third] = [await tabOf(context), await tabOf(context), await tabOf(context)];
    await signIn(first.page, 'alice');
    for (const { page } of [first, second, third]) {
      await open(page);
      await page.getByRole('textbox', { name: /^Message/ }).waitFor();
    }
    await bobSays('For every tab');
    for (const { page } of [first, second, third]) await shown(page, 'For every tab').waitFor();
    assert.deepEqual(
      [first, second, third].map(({ sockets }) => sockets.length),
      [1, 0, 0],
    );

    // What one tab sends, another shows; what is typed in one goes out over the socket of the first.
    await second.page.getByRole('textbox', { name: /^Message/ }).pressSequentially('From the second');
    await until(() => first.sockets[0]?.sent.some((text) => text.includes('typing')), 'the typing to go out');
    await second.page.keyboard.press('Enter');
    await shown(third.page, 'From the second').waitFor();

    // The device is in front of the person while any of its tabs is.
    const show = async (page: Page, hidden: boolean) =>
      await page.evaluate((isHidden) => {
        Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    const presences = () => (first.sockets[0]?.sent ?? []).filter((text) => text.includes('"presence"'));
    const awake = (isAwake: boolean) => JSON.stringify({ kind: 'presence', awake: isAwake });
    const earlier = presences();
    assert.equal(earlier.at(-1), awake(true));
    await show(first.page, true);
    await show(second.page, true);
    await show(third.page, true);
    await until(() => presences().length > earlier.length, 'the device to fall asleep');
    assert.deepEqual(presences().slice(earlier.length), [awake(false)]);
    await show(third.page, false);
    await until(() => presences().at(-1) === awake(true), 'the device to wake');

    await first.page.close();
    await until(() => second.sockets.length + third.sockets.length === 1, 'another tab to have the socket');
    await bobSays('After the first');
    for (const { page } of [second, third]) await shown(page, 'After the first').waitFor();
    const sockets = [...second.sockets, ...third.sockets];
    assert.deepEqual(
      sockets.map(({ isClosed }) => isClosed),
      [false],
      'nobody took it from it',
    );
    const sessions = await request<{ items: unknown[] }>('GET', `${server.coordinator}/v1/me/sessions`, {
      token: alice.session.token,
    });
    assert.equal(sessions.body.items.length, 2, 'that of this test, and one of all tabs');

    // What a tab could not send before it closed, the next one that opens sends.
    await context.setOffline(true);
    await third.page.getByRole('textbox', { name: /^Message/ }).fill('Written on the train');
    await third.page.keyboard.press('Enter');
    await third.page.locator('[data-sending=waiting]', { hasText: 'Written on the train' }).waitFor();
    await third.page.close();
    await context.setOffline(false);
    const fourth = await tabOf(context);
    await open(fourth.page);
    const texts = async () => {
      const reply = await server.api<{ items: { body: unknown }[] }>(bob, 'GET', `/v1/conversations/${room}/messages`);
      return reply.body.items.map(({ body }) => body);
    };
    await until(async () => (await texts()).includes('Written on the train'), 'the message to be sent');
    assert.equal((await texts()).filter((text) => text === 'Written on the train').length, 1);

    await second.page.getByRole('navigation').getByTitle('Settings').click();
    await second.page.getByRole('button', { name: 'Sign out' }).first().click();
    await second.page.getByLabel('Username').waitFor();
    await fourth.page.getByLabel('Username').waitFor();
    assert.doesNotMatch(await readable(fourth.page), /parley\.session|outbox/);
    await context.close();
  });
});
