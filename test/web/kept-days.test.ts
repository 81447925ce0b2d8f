/** Days that somebody looked at are there at the next visit: at once, without a network, and none once they sign out. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { EntryView } from '#src/protocol/calendars/calendars.ts';
import { call, defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** As src/web/calendar/state/kept-days.ts has them, which runs in a browser alone. */
const [DAYS, SPANS_KEPT_MAX, OCCURRENCES_KEPT_MAX] = ['parley.kept days ulla', 60, 2_000] as const;
const [ENTRIES, ENTRIES_KEPT_MAX] = ['parley.kept entries ulla', 200] as const;
/** A Monday far from today, so that no test meets the end of a week. */
const [MONDAY, TUESDAY, NEXT_TUESDAY] = ['2027-03-08', '2027-03-09', '2027-03-16'] as const;

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

describe('days that are kept', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let page: Page;
  let ulla: Person;
  let calendar: string;

  const eventOf = (title: string) => page.locator('.parley-event', { hasText: title });
  const enter = async (title: string, day: string) =>
    await makeEntry(server, ulla, calendar, { title, start_at: `${day}T10:00:00Z`, end_at: `${day}T11:00:00Z` });
  const change = async (method: 'DELETE' | 'PATCH', { id }: EntryView, form?: object) => {
    const path = `/v1/calendars/${calendar}/entries/${id}`;
    assert.ok((await call(server, ulla, method, path, form)).status < 300);
  };
  const kept = async (answers: string = DAYS) =>
    await page.evaluate(async (name) => {
      if (!(await caches.has(name))) return undefined;
      const store = await caches.open(name);
      const all = await Promise.all(
        (await store.keys()).map(async (one) => [one.url, await store.match(one)] as const),
      );
      return await Promise.all(all.map(async ([url, one]) => `${decodeURIComponent(url)} ${await one?.text()}`));
    }, answers);
  const untilKept = async (title: string) =>
    await until(async () => (await kept())?.at(-1)?.includes(title) === true, `“${title}” to be kept`);
  const goTo = async (day: string) => {
    await page.getByLabel('Go to a day').fill(day);
    await page.getByRole('heading', { level: 1, name: /Mar.*2027/ }).waitFor();
  };
  const look = async (key: 'a' | 'w', view: string) => {
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press(key);
    await page.locator(`[data-view="${view}"]`).waitFor();
  };
  const reload = async () => {
    await page.reload();
    await page.getByRole('button', { name: 'New event' }).waitFor();
    await goTo(MONDAY);
  };

  before(async () => {
    ({ ulla } = await server.people('ulla'));
    calendar = (await defaultCalendar(server, ulla)).id;
    people = await People.start({ whole: true });
    page = await people.person({ timezoneId: 'Etc/GMT-1' });
    await signIn(server, page, 'ulla');
    await page.evaluate(async () => await navigator.serviceWorker.ready.then(() => undefined));
    // From now on the worker keeps the files of what is opened.
    await page.reload();
    await page.getByRole('link', { name: 'Calendar', exact: true }).click();
    await page.getByRole('button', { name: 'New event' }).waitFor();
    await goTo(MONDAY);
  });
  after(async () => {
    assert.deepEqual(people.complaints, []);
    await people.stop();
  });

  test('without a network the days are as they were, and with one as they are', async () => {
    const [tide, boat] = [await enter('Tide tables', TUESDAY), await enter('Boat to paint', TUESDAY)];
    await eventOf('Boat to paint').waitFor();
    await untilKept('Boat to paint');
    await page.context().setOffline(true);
    await reload();
    await eventOf('Boat to paint').waitFor();
    await eventOf('Tide tables').waitFor();
    await page.getByRole('complementary', { name: 'Calendars' }).getByText(/./).first().waitFor();
    await change('DELETE', boat);
    await page.context().setOffline(false);
    await eventOf('Boat to paint').waitFor({ state: 'detached' });
    await eventOf('Tide tables').waitFor();
    await change('DELETE', tide);
    await eventOf('Tide tables').waitFor({ state: 'detached' });
  });

  test('what was moved is where it was seen last, and what was deleted nowhere', async () => {
    const [regatta, fair] = [await enter('Regatta', TUESDAY), await enter('Fair', TUESDAY)];
    await Promise.all([eventOf('Regatta').waitFor(), eventOf('Fair').waitFor()]);
    await untilKept('Fair');
    await look('a', 'agenda');
    await change('DELETE', fair);
    await change('PATCH', regatta, { start_at: `${NEXT_TUESDAY}T10:00:00Z`, end_at: `${NEXT_TUESDAY}T11:00:00Z` });
    await until(async () => {
      const last = (await kept())?.at(-1) ?? '';
      return last.includes(`"${NEXT_TUESDAY}`) && !last.includes('Fair');
    }, 'the other day to be kept');
    await page.context().setOffline(true);
    await reload();
    await eventOf('Regatta').waitFor();
    assert.equal(await eventOf('Regatta').count(), 1);
    await look('w', 'timeGridWeek');
    await eventOf('Regatta').waitFor({ state: 'detached' });
    assert.equal(await eventOf('Fair').count(), 0);
    await page.keyboard.press('j');
    await eventOf('Regatta').waitFor();
    await page.context().setOffline(false);
    await change('DELETE', regatta);
    await eventOf('Regatta').waitFor({ state: 'detached' });
    await page.keyboard.press('k');
  });

  test('without a network, an event that was opened says all that it did, and any other when and where it is', async () => {
    const hours = (from: number) => ({
      start_at: `${TUESDAY}T${from}:00:00Z`,
      end_at: `${TUESDAY}T${from + 1}:00:00Z`,
    });
    const place = { location: 'Pier 4', description: 'Bring the tide tables' };
    const opened = await makeEntry(server, ulla, calendar, { title: 'Survey', ...hours(10), ...place });
    const other = await makeEntry(server, ulla, calendar, { title: 'Never opened', ...hours(14), ...place });
    const dialog = page.getByRole('dialog');
    const openEvent = async (title: string) => {
      await eventOf(title).click();
      await dialog.getByText('Pier 4').waitFor();
    };
    const close = async () => {
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    };
    await eventOf('Never opened').waitFor();
    // One more than are kept, of which the oldest goes.
    await page.evaluate(
      async ([name, most]) => {
        const store = await caches.open(name);
        for (let at = 0; at < most; at += 1) await store.put(`kept/other-${at}`, new Response('{}'));
      },
      [ENTRIES, ENTRIES_KEPT_MAX] as const,
    );
    await openEvent('Survey');
    const [oldest] = await until(async () => {
      const all = (await kept(ENTRIES)) ?? [];
      return all.length === ENTRIES_KEPT_MAX && all.at(-1)?.includes('Survey') === true && all;
    }, 'the event to be kept');
    assert.ok(oldest?.includes('/other-1 '), oldest);
    await close();
    await untilKept('Never opened');
    await page.context().setOffline(true);
    await reload();
    await openEvent('Survey');
    await dialog.getByText('Bring the tide tables').waitFor();
    await dialog.getByText('this is what it said when you last opened it').waitFor();
    await close();
    await openEvent('Never opened');
    await dialog.getByText('what else it says is not here').waitFor();
    await dialog.getByText(/15:00–16:00|3:00/u).waitFor();
    assert.equal(await dialog.getByText('Bring the tide tables').count(), 0);
    // With a connection it is read, by itself, and what was kept is as it is now.
    await page.context().setOffline(false);
    await dialog.getByText('Bring the tide tables').waitFor();
    await dialog.getByText('No connection').waitFor({ state: 'detached' });
    await close();
    await openEvent('Survey');
    await change('DELETE', opened);
    await dialog.getByText('This event is not there any more.').waitFor();
    await until(
      async () => (await kept(ENTRIES))?.every((one) => !one.includes('Survey')) === true,
      'a deleted event to be forgotten',
    );
    await close();
    await change('DELETE', other);
    await eventOf('Never opened').waitFor({ state: 'detached' });
  });

  test('the days are there before the server has answered', async () => {
    const made = await enter('Early tide', TUESDAY);
    await eventOf('Early tide').waitFor();
    await untilKept('Early tide');
    const weeks = (await kept())?.length ?? 0;
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('j');
    await eventOf('Early tide').waitFor({ state: 'detached' });
    await page.keyboard.press('j');
    await until(async () => ((await kept())?.length ?? 0) > weeks, 'another week to be kept');
    const answer = Promise.withResolvers<void>();
    await page.route(/\/v1\/calendars/u, async (route) => {
      await answer.promise;
      await route.continue();
    });
    // A week that one comes back to is there, and so is the one that a visit begins with.
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await eventOf('Early tide').waitFor();
    await reload();
    await eventOf('Early tide').waitFor();
    answer.resolve();
    await page.unrouteAll({ behavior: 'wait' });
    await change('DELETE', made);
    await eventOf('Early tide').waitFor({ state: 'detached' });
  });

  test('the days of a calendar that is shared no longer are forgotten', async () => {
    const { vera } = await server.people('vera');
    const { id } = await defaultCalendar(server, vera);
    const share = `/v1/calendars/${id}/shares/ulla`;
    const times = { start_at: `${TUESDAY}T12:00:00Z`, end_at: `${TUESDAY}T13:00:00Z` };
    await makeEntry(server, vera, id, { title: 'Vera’s own', ...times });
    assert.ok((await call(server, vera, 'PUT', share, { access: 'read' })).status < 300);
    await eventOf('Vera’s own').click();
    await page.getByRole('dialog').getByText('Vera’s own').waitFor();
    const isIn = async (store: string) => (await kept(store))?.some((one) => one.includes('Vera’s own')) === true;
    await until(async () => await isIn(ENTRIES), 'the event to be kept');
    await page.keyboard.press('Escape');
    await until(async () => await isIn(DAYS), 'the days to be kept');
    assert.ok((await call(server, vera, 'DELETE', share)).status < 300);
    await eventOf('Vera’s own').waitFor({ state: 'detached' });
    await until(async () => !(await isIn(DAYS)), 'the days to be forgotten');
    await until(async () => !(await isIn(ENTRIES)), 'the event to be forgotten');
  });

  test('so many spans are kept, and none with more than so many entries', async () => {
    await page.evaluate(
      async ([name, most]) => {
        const store = await caches.open(name);
        for (let at = 0; at < most; at += 1) await store.put(`kept/other-${at}`, new Response('[]'));
      },
      [DAYS, SPANS_KEPT_MAX] as const,
    );
    const last = await enter('The last one', TUESDAY);
    await eventOf('The last one').waitFor();
    await untilKept('The last one');
    const [oldest] = await until(async () => {
      const all = (await kept()) ?? [];
      return all.length === SPANS_KEPT_MAX && all;
    }, 'the oldest span to be forgotten');
    assert.ok(oldest?.includes('/other-1 '), oldest);
    for (const count of [OCCURRENCES_KEPT_MAX, OCCURRENCES_KEPT_MAX + 1]) {
      const answered = Promise.withResolvers<void>();
      await page.route(/\/entries\?/u, async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { items: object[] };
        const far = { ...body.items[0], start_at: '2020-01-01T10:00:00Z', end_at: '2020-01-01T11:00:00Z' };
        const items = Array.from({ length: count }, (_, at) => ({
          ...far,
          entry_id: `far-${at}`,
          title: `Far ${count}`,
        }));
        await route.fulfill({ response, json: { ...body, items } });
        answered.resolve();
      });
      const counted = ((await kept()) ?? []).length;
      let looks = 0;
      const isForgotten = async () => {
        looks = ((await kept()) ?? []).length === counted - 1 ? looks + 1 : 0;
        return looks === 10;
      };
      await change('PATCH', last, { title: `The last one, ${count}` });
      await answered.promise;
      await page.unrouteAll({ behavior: 'wait' });
      if (count > OCCURRENCES_KEPT_MAX)
        // Put anew it is gone for a moment, too.
        await until(isForgotten, 'the span to be forgotten');
      else await untilKept(`Far ${count}`);
    }
  });

  test('nothing of it stays once somebody signs out', async () => {
    await page.evaluate(() => {
      location.hash = '#/settings';
    });
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Username').waitFor();
    const names = async () => await page.evaluate(async () => (await caches.keys()).join());
    await until(async () => !(await names()).includes('parley.kept'), 'what was kept to be forgotten');
  });
});
