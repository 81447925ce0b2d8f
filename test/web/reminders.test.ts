/** Reminders in the app: in every tab until one is closed, on the desktop once, and there only for who asked for it. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, WIDE } from './browser.ts';
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

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

describe('reminders in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
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
      const start = Date.now() + AHEAD_MILLIS;
      const at = (millis: number) => new Date(millis).toISOString();
      await makeEntry(server, alice, id, {
        title,
        location: 'Pier 4',
        start_at: at(start),
        end_at: at(start + 3_600_000),
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
      for (const colorScheme of ['light', 'dark'] as const) {
        await first.emulateMedia({ colorScheme });
        await assertAccessible(first, `${viewport.width}, ${colorScheme}`);
      }
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
});

function cardsOf(tab: Page) {
  return tab.getByRole('region', { name: 'Reminders that are due' });
}

function cardOf(tab: Page, title: string) {
  return cardsOf(tab).getByRole('listitem').filter({ hasText: title });
}
