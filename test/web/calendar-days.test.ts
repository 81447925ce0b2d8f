/** Which days the calendar shows, and when what is new begins, at an hour of the test's own. Without Chromium it is skipped. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { call, defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** A Monday far from today. */
const MONDAY = '2027-03-08';
const DAY_MILLIS = 86_400_000;

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

describe(
  'the days of the calendar in Chromium',
  { skip: CHROMIUM === undefined && 'no Chromium on this machine' },
  () => {
    /** Half past eleven in the evening, in a zone without a summer time. */
    const night = new Date();
    night.setUTCHours(22, 30, 0, 0);
    const dayIn = (days: number) => new Date(night.getTime() + days * DAY_MILLIS).toISOString().slice(0, 10);
    let people: People;
    let page: Page;
    let alice: Person;

    before(async () => {
      ({ alice } = await server.people('alice'));
      people = await People.start();
      page = await people.person({ timezoneId: 'Etc/GMT-1' });
      await page.clock.setFixedTime(night);
      await signIn(server, page, 'alice');
      await page.getByRole('link', { name: 'Calendar', exact: true }).click();
      await page.getByRole('button', { name: 'New event' }).waitFor();
    });
    after(async () => {
      assert.deepEqual(people.complaints, []);
      await people.stop();
    });

    test('late in the evening a new event begins in the first hour of the next day, and on another day in the morning', async () => {
      const startOf = async () => {
        await page.getByRole('button', { name: 'New event' }).click();
        const form = page.getByRole('dialog').first();
        const [date, hour] = [form.getByLabel('Starts on'), form.getByLabel('Starts at')];
        const found = `${await date.inputValue()} ${await hour.inputValue()}`;
        await page.keyboard.press('Escape');
        await form.waitFor({ state: 'hidden' });
        return found;
      };
      assert.equal(await startOf(), `${dayIn(1)} 00:00`);
      await page.getByLabel('Go to a day').fill(MONDAY);
      await page.getByRole('heading', { level: 1, name: /March 2027/ }).waitFor();
      assert.equal(await startOf(), `${MONDAY} 09:00`);
    });

    test('the agenda has what is ahead, and not the end of a week', async () => {
      const event = page.locator('.parley-event', { hasText: 'In three weeks' });
      const { id } = await defaultCalendar(server, alice);
      const times = { start_at: `${dayIn(21)}T08:00:00Z`, end_at: `${dayIn(21)}T09:30:00Z` };
      const made = await makeEntry(server, alice, id, { title: 'In three weeks', ...times });
      await page.getByRole('heading', { level: 1 }).click();
      await page.keyboard.press('t');
      await page.keyboard.press('a');
      await event.waitFor();
      await page.keyboard.press('w');
      await event.waitFor({ state: 'detached' });
      await call(server, alice, 'DELETE', `/v1/calendars/${id}/entries/${made.id}`);
    });
  },
);
