/**
 * What people are told of outside of the conversation in front of them. Reminders: in every tab until one is closed, on the desktop
 * once, and there only for who asked for it. Pushes: shown by the service worker with no page open, and leading into the app.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Notifications } from '#src/protocol/account/notifications.ts';
import { defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { start, say } from '#test/messaging/conversing.ts';
import { CERTIFICATE, LoopbackProvider, Subscription } from '#test/push/loopback-provider.ts';
import { request, startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { messageOf, openRow, signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, PAGE_PATIENCE_MILLIS, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';

/** Far enough ahead that the entry is written, and the server has worked out its alarm. */
const AHEAD_MILLIS = 10_000;
/** In the place of the browser's notifications: what the page asked for and showed. */
const NOTIFICATIONS = `
  globalThis.asked = 0;
  globalThis.told = [];
  globalThis.Notification = class extends EventTarget {
    static get permission() { return localStorage.getItem('test.permission') ?? 'default'; }
    static async requestPermission() {
      globalThis.asked += 1;
      localStorage.setItem('test.permission', 'granted');
      return 'granted';
    }
    constructor(title) { super(); globalThis.told.push(title); }
    close() {}
  };`;

/**
 * In the place of the browser's own push service, which a browser without a head has none of: a subscription of the test's own. What
 * the page made it with, and that it was given up, is kept.
 */
const pushService = (address: Subscription['address']) => `
  const subscription = ({ applicationServerKey }) => ({
    options: { applicationServerKey },
    toJSON: () => (${JSON.stringify({ endpoint: address.endpoint, keys: address.keys })}),
    unsubscribe: async () => {
      localStorage.setItem('test.push', 'given up');
      return true;
    },
  });
  const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  PushManager.prototype.getSubscription = async () => {
    const key = localStorage.getItem('test.push');
    return key === null || key === 'given up' ? null : subscription({ applicationServerKey: bytesOf(key).buffer });
  };
  PushManager.prototype.subscribe = async (options) => {
    localStorage.setItem('test.push', options.applicationServerKey);
    return subscription({ applicationServerKey: bytesOf(options.applicationServerKey).buffer });
  };`;

const trusted = mkdtempSync(join(tmpdir(), 'parley-test-'));
const certificate = join(trusted, 'certificate.pem');
writeFileSync(certificate, CERTIFICATE);

let server: TestServer;
let provider: LoopbackProvider;
before(async () => {
  buildApp();
  provider = await LoopbackProvider.open();
  const environment = {
    NODE_EXTRA_CA_CERTS: certificate,
    PARLEY_ALLOW_PRIVATE_TARGETS: 'true',
    PARLEY_PUSH_REDECIDE_SECONDS: '1',
  };
  server = await startServer({ environment });
});
after(async () => {
  await server?.stop();
  await provider?.close();
  rmSync(trusted, { recursive: true, force: true });
});

describe('notifications in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  test('CAL-02 a reminder is shown in all tabs, on the desktop once and only when asked for, and leads to its event', async (t) => {
    const { alice } = await server.people('alice');
    const { id } = await defaultCalendar(server, alice);
    const people = await People.start();
    t.after(async () => await people.stop());
    const first = await people.person({ timezoneId: 'Europe/Berlin' });
    await first.context().addInitScript(NOTIFICATIONS);
    await signIn(server, first, 'alice');
    const second = await first.context().newPage();
    await second.goto(server.coordinator);
    await second.getByRole('navigation', { name: 'Conversations' }).waitFor();
    const tabs = [first, second];
    const due = async (title: string) => {
      const begin = Date.now() + AHEAD_MILLIS;
      const at = (millis: number) => new Date(millis).toISOString();
      await makeEntry(server, alice, id, {
        title,
        location: 'Pier 4',
        start_at: at(begin),
        end_at: at(begin + 3_600_000),
        reminders: [{ action: 'display', offset_seconds: 0 }],
      });
      await Promise.all(tabs.map((tab) => cardOf(tab, title).waitFor()));
    };
    const sum = async (words: string) =>
      (await Promise.all(tabs.map((tab) => tab.evaluate<unknown[] | number>(words)))).flat();

    await due('Low water');
    await cardOf(first, 'Low water').getByText('Pier 4').waitFor();
    assert.deepEqual([await sum('asked'), await sum('told')], [[0, 0], []], 'nobody asked for the desktop');
    await first.getByRole('link', { name: 'Calendar', exact: true }).click();
    await first.getByRole('button', { name: 'New event' }).waitFor();
    for (const viewport of [WIDE, NARROW]) {
      await first.setViewportSize(viewport);
      await assertAccessible(first, `a reminder, ${viewport.width}`);
    }
    await first.setViewportSize(WIDE);
    await cardsOf(first).getByRole('button', { name: 'Remind on the desktop' }).click();
    // It is offered beside the calendars, too, and settled there as well.
    await first.getByText('Reminders are shown outside of this page, too').waitFor();
    await cardsOf(first).getByRole('button', { name: 'Remind on the desktop' }).waitFor({ state: 'hidden' });
    assert.deepEqual(await sum('asked'), [1, 0]);
    await cardOf(first, 'Low water').getByRole('button', { name: 'Close the reminder of Low water' }).click();
    await Promise.all(tabs.map((tab) => cardOf(tab, 'Low water').waitFor({ state: 'hidden' })));

    await due('High water');
    await until(async () => (await sum('told')).length > 0, 'the desktop to be told');
    assert.deepEqual(await sum('told'), ['High water']);
    await cardOf(second, 'High water').getByRole('link', { name: 'Open High water' }).click();
    await second.getByRole('dialog').getByRole('button', { name: 'Edit' }).waitFor();
    await second.getByRole('dialog').getByText('High water').first().waitFor();
    assert.match(second.url(), /#\/calendar$/);
    await Promise.all(tabs.map((tab) => cardOf(tab, 'High water').waitFor({ state: 'hidden' })));
    assert.deepEqual(people.complaints, []);
  });

  test('FRM-05 with the app closed a push is shown with its words and leads to its message; a sign-out ends them', async (t) => {
    const { wendy, xavier } = await server.people('wendy', 'xavier');
    const { id: direct } = await start(server, xavier, 'direct', ['wendy']);
    const { id: room } = await start(server, xavier, 'room', ['wendy'], 'Harbour');
    const people = await People.start({ whole: true });
    t.after(async () => await people.stop());
    const page = await people.person();
    const context = page.context();
    await context.grantPermissions(['notifications'], { origin: server.coordinator });
    const subscription = new Subscription(`${provider.url}/push/wendy`);
    await context.addInitScript(pushService(subscription.address));
    const pushed = async (count: number) =>
      (await provider.askedOn('/push/wendy', count)).map(({ body }) => subscription.read(body));

    await signIn(server, page, 'wendy');
    const devtools = await context.newCDPSession(page);
    const registration = new Promise<string>((resolve) => {
      devtools.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
        const active = versions.find(({ status }) => status === 'activated');
        if (active !== undefined) resolve(active.registrationId);
      });
    });
    await devtools.send('ServiceWorker.enable');
    await page.goto(`${server.coordinator}/#/settings`);
    const here = page.getByRole('switch', { name: 'Notify me in this browser' });
    await here.click();
    await until(async () => await here.isChecked(), 'pushes to be on');
    for (const viewport of [WIDE, NARROW]) {
      await page.setViewportSize(viewport);
      await assertAccessible(page, `settings, ${viewport.width}`);
    }
    await page.setViewportSize(WIDE);
    await page.getByRole('switch', { name: 'Quiet hours' }).click();
    await page.getByLabel('From').fill('23:30');
    await page.getByLabel('Until').focus();
    const readQuiet = async () =>
      (await request<Notifications>('GET', `${server.coordinator}/v1/me/notifications`, { token: wendy.session.token }))
        .body.quiet;
    await until(async () => (await readQuiet())?.from === '23:30', 'the quiet hours to be kept');
    await page.getByRole('switch', { name: 'Quiet hours' }).click();
    await until(async () => (await readQuiet()) === null, 'no quiet hours');

    const [worker] = context.serviceWorkers();
    assert.ok(worker !== undefined);
    await worker.evaluate(STAYING);
    // No page of the app is open: this one has its origin, and nothing of it.
    await page.goto(`${server.coordinator}/v1/meetings/join/none`);
    const shown = async () =>
      await page.evaluate(async () => {
        const found = await navigator.serviceWorker.getRegistration();
        return ((await found?.getNotifications()) ?? []).map(({ body, tag, title }) => ({ body, tag, title }));
      });
    /** Since it was looked last. A browser without a desktop has one of several no more, though what showed it was fulfilled: it is delivered again, and said. */
    const delivered: unknown[] = [];
    const deliver = async (payload: unknown) => {
      const data = typeof payload === 'string' ? payload : JSON.stringify(payload);
      const registrationId = await registration;
      await devtools.send('ServiceWorker.deliverPushMessage', { origin: server.coordinator, registrationId, data });
    };
    const showing = async (count: number) => {
      let all = await shown();
      let looks = 0;
      const look = async () => {
        all = await shown();
        looks += 1;
        if (all.length === count) return true;
        if (looks % 40 !== 0) return false;
        t.diagnostic(`${all.length} of ${count} notifications: delivered once more`);
        for (const payload of delivered) await deliver(payload);
        return false;
      };
      await until(look, `${count} notifications`, PAGE_PATIENCE_MILLIS).catch(() => undefined);
      assert.equal(all.length, count, JSON.stringify(all));
      delivered.length = 0;
      return all;
    };
    const refusals: string[] = [];
    devtools.on('ServiceWorker.workerErrorReported', ({ errorMessage: { errorMessage: said } }) => {
      if (said.includes('Content Security Policy')) refusals.push(said);
    });
    const { seq } = await say(server, xavier, direct, 'Tide at **six**\u202e');
    const [first] = await pushed(1);
    assert.deepEqual(first, { conversation_id: direct, seq, badge: 1 }, 'the push itself carries no words');
    delivered.push(first);
    await deliver(first);
    const tag = `parley.conversation ${direct}`;
    assert.deepEqual(await showing(1), [{ title: 'xavier', body: 'Tide at six', tag }]);
    const boats = await say(server, xavier, room, 'All boats in');
    const [, second] = await pushed(2);
    assert.deepEqual(second, { conversation_id: room, seq: boats.seq, badge: 2 });
    delivered.push(second);
    await deliver(second);
    const both = await showing(2);
    assert.deepEqual(both.map(({ body, title }) => `${title} / ${body}`).toSorted(), [
      'Harbour / xavier: All boats in',
      'xavier / Tide at six',
    ]);
    // Whoever knows the address may have anything sent there, and the browser wants something shown for it.
    delivered.push('no JSON');
    await deliver('no JSON');
    delivered.push({ conversation_id: 'c_nowhere', seq: 7 });
    await deliver({ conversation_id: 'c_nowhere', seq: 7 });
    const strange = await showing(4);
    assert.deepEqual(strange.map(({ title }) => title).toSorted(), [
      'Harbour',
      'New message',
      'Something new in Parley',
      'xavier',
    ]);

    await page.goto(server.coordinator);
    await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
    await worker.evaluate(`(${PRESS})(${JSON.stringify(tag)})`);
    await page.waitForURL(`**/#/c/${direct}?at=${seq}`);
    await messageOf(page, 'Tide at six').waitFor();
    await openRow(page, 'Harbour');
    await until(async () => !(await shown()).some(({ title }) => title === 'Harbour'), 'what was read to go');

    await page.goto(`${server.coordinator}/#/settings`);
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Username').waitFor();
    await until(async () => (await shown()).length === 0, 'every notification to go');
    assert.equal(await page.evaluate(() => localStorage.getItem('test.push')), 'given up');
    assert.equal(await page.evaluate(async () => await caches.has('parley.account')), false);
    // The page that signed out may take away what is shown once more, when it hears that the session is over.
    await page.goto(`${server.coordinator}/v1/meetings/join/none`);
    delivered.push({ conversation_id: direct, seq });
    await deliver({ conversation_id: direct, seq });
    assert.deepEqual(
      await showing(1),
      [{ title: 'New message', body: '', tag }],
      'the worker asks for nobody any more',
    );
    assert.deepEqual(people.complaints, []);
    assert.deepEqual(refusals, [], 'the worker is refused nothing, its own picture neither');

    // The page itself is there without a server.
    await server.end('SIGTERM');
    await page.goto(server.coordinator);
    await page.getByLabel('Username').waitFor();
  });
});

/** A browser without a desktop closes by itself, after some seconds, what is not to stay: on a slow machine before it is looked at. */
const STAYING = `{
  const show = registration.showNotification.bind(registration);
  registration.showNotification = (title, options) => show(title, { ...options, requireInteraction: true });
}`;

/** Presses the notification of a tag, as the browser tells the worker of it. */
const PRESS = `async (tag) => {
  const notification = (await registration.getNotifications({ tag }))[0];
  const event = new NotificationEvent('notificationclick', { notification });
  const work = [];
  Object.defineProperty(event, 'waitUntil', { value: (promise) => work.push(promise) });
  dispatchEvent(event);
  await Promise.all(work);
}`;

function cardsOf(tab: Page) {
  return tab.getByRole('region', { name: 'Reminders that are due' });
}

function cardOf(tab: Page, title: string) {
  return cardsOf(tab).getByRole('listitem').filter({ hasText: title });
}
