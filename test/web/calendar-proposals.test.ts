/** Another time for a meeting, from the one who proposes it to the one who takes it or not, in two apps. Without Chromium it is skipped. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { OccurrenceView } from '#src/protocol/calendars/calendars.ts';
import { call, defaultCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** A Monday far from today. Berlin is an hour before UTC in that week. */
const MONDAY = '2027-03-08';
const [WEDNESDAY, THURSDAY] = ['2027-03-10', '2027-03-11'];
const BEFORE = `${WEDNESDAY}T16:00`;

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

describe('proposed times in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let alice: Page;
  let bob: Page;
  let accounts: Record<'alice' | 'bob', Person>;

  const open = async (page: Page, title: string) => {
    await page.locator('.parley-event', { hasText: title }).first().click();
    const dialog = page.getByRole('dialog').first();
    await dialog.getByText(title).first().waitFor();
    return dialog;
  };
  const startsOf = async (who: Person, title: string) => {
    const { id } = await defaultCalendar(server, who);
    const path = `/v1/calendars/${id}/entries?from=${MONDAY}T00:00:00Z&to=2027-03-22T00:00:00Z`;
    const { items } = (await call<{ items: OccurrenceView[] }>(server, who, 'GET', path)).body;
    return items.filter((one) => one.title === title).map(({ start_at: at = '' }) => at.slice(0, 16));
  };
  const meeting = async (title: string, more: object = {}) => {
    const { id } = await defaultCalendar(server, accounts.alice);
    const times = { local_start: `${WEDNESDAY}T17:00:00`, local_end: `${WEDNESDAY}T18:00:00`, tz: 'Europe/Berlin' };
    await makeEntry(server, accounts.alice, id, { title, ...times, attendees: ['bob'], ...more });
    for (const page of [alice, bob]) await page.locator('.parley-event', { hasText: title }).first().waitFor();
  };
  const formOf = (title: string) => bob.getByRole('dialog', { name: `Another time for ${title}` });
  const cardOf = (page: Page, title: string) => page.getByRole('article', { name: `Another time for ${title}` });
  const fillIn = async (title: string, day: string, [start, end]: readonly [string, string], comment: string) => {
    const form = formOf(title);
    await form.getByLabel('Starts on').fill(day);
    await form.getByLabel('Starts at').fill(start);
    await form.getByLabel('Ends at').fill(end);
    await form.getByLabel('Word to the organiser').fill(comment);
  };
  const send = async (title: string) =>
    await formOf(title).getByRole('button', { name: 'Propose', exact: true }).click();

  before(async () => {
    accounts = await server.people('alice', 'bob');
    people = await People.start();
    const zone = { timezoneId: 'Europe/Berlin' };
    [alice, bob] = await Promise.all([people.person(zone), people.person(zone)]);
    await Promise.all([signIn(server, alice, 'alice'), signIn(server, bob, 'bob')]);
    for (const page of [alice, bob]) {
      await page.getByRole('link', { name: 'Calendar', exact: true }).click();
      await page.getByLabel('Go to a day').fill(MONDAY);
      await page.getByRole('heading', { level: 1, name: /March 2027/ }).waitFor();
    }
  });
  after(async () => await people?.stop());

  test('CAL-04 a guest proposes another time, and the organiser keeps the old one or takes it', async () => {
    const title = 'Buoy count';
    await meeting(title);
    // Who organises it moves it, and proposes nothing to themselves.
    const own = await open(alice, title);
    await own.getByRole('button', { name: 'Edit' }).waitFor();
    assert.equal(await own.getByRole('button', { name: 'Propose another time' }).count(), 0);
    await alice.keyboard.press('Escape');

    const form = formOf(title);
    await (await open(bob, title)).getByRole('button', { name: 'Propose another time' }).click();
    await fillIn(title, THURSDAY, ['12:00', '11:00'], '');
    await form.getByText('The end is before the start.').waitFor();
    assert.equal(await form.getByRole('button', { name: 'Propose', exact: true }).isDisabled(), true);
    // The time that it has is none to propose; what was written stays.
    await fillIn(title, WEDNESDAY, ['17:00', '18:00'], 'Not yet');
    await send(title);
    await form.getByRole('alert').waitFor();
    assert.equal(await form.getByLabel('Word to the organiser').inputValue(), 'Not yet');
    await assertAccessible(bob, 'the form of a proposal');
    await fillIn(title, THURSDAY, ['12:00', '13:00'], 'At the slack?');
    await send(title);
    await bob.getByText('The organiser has your proposal.').waitFor();
    await form.waitFor({ state: 'hidden' });
    await cardOf(alice, title).getByText('At the slack?').waitFor();
    assert.deepEqual(await startsOf(accounts.alice, title), [BEFORE], 'a proposal moves nothing');
    await cardOf(alice, title).getByRole('button', { name: 'Keep the old time' }).click();
    await cardOf(alice, title).waitFor({ state: 'hidden' });
    await cardOf(bob, title).getByText('Not taken by alice').waitFor();
    assert.deepEqual(await startsOf(accounts.bob, title), [BEFORE]);

    // Whoever thinks better of it is back where they were.
    await (await open(bob, title)).getByRole('button', { name: 'Propose another time' }).click();
    await form.getByRole('button', { name: 'Cancel' }).click();
    await bob.getByRole('button', { name: 'Propose another time' }).click();
    await fillIn(title, THURSDAY, ['14:30', '15:30'], 'Then at low water?');
    await send(title);
    await form.waitFor({ state: 'hidden' });
    await cardOf(alice, title).getByText('Then at low water?').waitFor();
    await cardOf(alice, title).getByRole('button', { name: 'Take this time' }).click();
    await cardOf(alice, title).waitFor({ state: 'hidden' });
    for (const who of [accounts.alice, accounts.bob]) {
      await until(
        async () => (await startsOf(who, title)).join() === `${THURSDAY}T13:30`,
        `the new time of ${who.username}`,
      );
    }
    assert.deepEqual(people.complaints.splice(0), []);
  });

  test('CAL-04 of a series the one date that was opened is proposed, and no other moves', async () => {
    const title = 'Night watch';
    await meeting(title, { rule: { frequency: 'weekly', count: 2 } });
    await (await open(bob, title)).getByRole('button', { name: 'Propose another time' }).click();
    await formOf(title).getByText('It stays as it is until the organiser takes your time').waitFor();
    await fillIn(title, THURSDAY, ['20:00', '21:00'], '');
    await send(title);
    await formOf(title).waitFor({ state: 'hidden' });
    await cardOf(alice, title).getByRole('button', { name: 'Take this time' }).click();
    await cardOf(alice, title).waitFor({ state: 'hidden' });
    const moved = `${THURSDAY}T19:00,2027-03-17T16:00`;
    for (const who of [accounts.alice, accounts.bob]) {
      await until(async () => (await startsOf(who, title)).join() === moved, `the one new time of ${who.username}`);
    }
    assert.deepEqual(people.complaints.splice(0), []);
  });
});
