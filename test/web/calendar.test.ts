/**
 * What two people do with their calendars in the app: plan, invite, answer, move, repeat, share, import and search. Without Chromium
 * on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import type { Locator, Page, Route } from 'playwright-core';
import type { CalendarView, EntryView, OccurrenceView } from '#src/protocol/calendars/calendars.ts';
import { call, defaultCalendar, makeCalendar, makeEntry } from '#test/calendar/service/calling.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';

/** A Monday far from today, so that no test meets the end of a day, a week or a year. */
const MONDAY = '2027-03-08';
const VIEW_KEYS = { d: 'timeGridDay', m: 'dayGridMonth', a: 'agenda', w: 'timeGridWeek' };
const HOSTILE = '<img src=x onerror="document.title=1"> \u202egnirts\u202c \u200bz' + '\u0301'.repeat(300);

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

describe('the calendar in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let alice: Page;
  let bob: Page;
  let accounts: Record<'alice' | 'bob' | 'carol', Person>;
  let ofAlice: CalendarView;
  let ofBob: CalendarView;

  const day = (at: number) => {
    const date = new Date(`${MONDAY}T00:00:00Z`);
    date.setUTCDate(date.getUTCDate() + at);
    return date.toISOString().slice(0, 10);
  };
  const openCalendar = async (page: Page) => {
    await page.getByRole('link', { name: 'Calendar', exact: true }).click();
    await page.getByRole('button', { name: 'New event' }).waitFor();
    await page.getByLabel('Go to a day').fill(MONDAY);
    await page.getByRole('heading', { level: 1, name: /March 2027/ }).waitFor();
  };
  const eventOf = (page: Page, title: string): Locator => page.locator('.parley-event', { hasText: title });
  const openEvent = async (page: Page, title: string) => {
    await eventOf(page, title).first().click();
    await dialogOf(page).getByText(title).first().waitFor();
  };
  const dialogOf = (page: Page) => page.getByRole('dialog').first();
  const inRange = async (who: Person, calendar: CalendarView, from: string, to: string) => {
    const path = `/v1/calendars/${calendar.id}/entries?from=${from}T00:00:00Z&to=${to}T00:00:00Z`;
    return (await call<{ items: OccurrenceView[] }>(server, who, 'GET', path)).body.items;
  };
  const startsOf = async (who: Person, calendar: CalendarView, title: string, days = 28) =>
    (await inRange(who, calendar, day(0), day(days)))
      .filter((one) => one.title === title)
      .map(({ start_at: at = '' }) => at.slice(0, 16));
  const entryOf = async (who: Person, calendar: CalendarView, id: string) =>
    (await call<EntryView>(server, who, 'GET', `/v1/calendars/${calendar.id}/entries/${id}`)).body;
  /** Drags an event by whole days to the side, as a hand would: in steps, from its middle. */
  const drag = async (page: Page, event: Locator, days: number) => {
    const column = await page.getByRole('columnheader').nth(2).boundingBox();
    const box = await event.boundingBox();
    assert.ok(box !== null && column !== null);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 8, y, { steps: 3 });
    await page.mouse.move(x + days * column.width, y, { steps: 12 });
    await page.mouse.up();
  };
  const answerScope = async (page: Page, scope: string) => {
    const question = page.getByRole('dialog', { name: /which events/ });
    await question.getByLabel(scope, { exact: true }).check();
    await question.getByRole('button', { name: /Continue|Delete/ }).click();
    await question.waitFor({ state: 'hidden' });
  };
  const remove = async (entry: EntryView, who = accounts.alice) =>
    void (await call(server, who, 'DELETE', `/v1/calendars/${entry.calendar_id}/entries/${entry.id}`));

  before(async () => {
    accounts = await server.people('alice', 'bob', 'carol');
    ofAlice = await defaultCalendar(server, accounts.alice);
    ofBob = await defaultCalendar(server, accounts.bob);
    people = await People.start();
    const zone = { timezoneId: 'Europe/Berlin' };
    [alice, bob] = await Promise.all([people.person(zone), people.person(zone)]);
    await Promise.all([signIn(server, alice, 'alice'), signIn(server, bob, 'bob')]);
    await Promise.all([openCalendar(alice), openCalendar(bob)]);
  });
  after(async () => await people?.stop());
  beforeEach(async () => {
    // What failed in one case is not to be in the way of the next.
    for (const page of [alice, bob]) {
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      if (await dialogOf(page).isVisible()) await page.reload();
      await page.getByLabel('Go to a day').fill(MONDAY);
    }
  });
  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  test('an event with a guest is seen and accepted by them, and the organiser sees that', async () => {
    await alice.getByRole('button', { name: 'New event' }).click();
    const form = dialogOf(alice);
    await form.getByLabel('Title', { exact: true }).fill('Harbour walk');
    await form.getByLabel('Starts on').fill(day(1));
    await form.getByLabel('Starts at').fill('10:00');
    await form.getByLabel('Ends at').fill('11:30');
    await form.getByLabel('Place').fill('Pier 4');
    await form.getByLabel('Find people by name').fill('bob');
    await form.getByRole('option', { name: 'bob' }).click();
    await form.getByLabel('Video meeting').check();
    await form.getByRole('button', { name: 'Save' }).click();
    await eventOf(alice, 'Harbour walk').waitFor();
    assert.deepEqual(await startsOf(accounts.alice, ofAlice, 'Harbour walk'), [`${day(1)}T09:00`]);
    // Nobody has to look again: the socket tells.
    const invitation = bob.getByRole('article', { name: 'Harbour walk' });
    await invitation.getByRole('button', { name: 'Accept' }).click();
    await bob.getByText('You accepted.').waitFor();
    await invitation.waitFor({ state: 'hidden' });
    await openEvent(alice, 'Harbour walk');
    await dialogOf(alice).locator('[data-answer="accepted"]').waitFor();
    assert.match(
      (await dialogOf(alice).getByRole('link', { name: 'Join the meeting' }).getAttribute('href')) ?? '',
      /\/#\/meeting\/mtg_/,
    );
    await alice.keyboard.press('Escape');
    await openEvent(bob, 'Harbour walk');
    assert.equal(await dialogOf(bob).getByRole('button', { name: 'Accept' }).getAttribute('aria-pressed'), 'true');
    assert.equal(await dialogOf(bob).getByRole('button', { name: 'Edit' }).count(), 0, 'a guest does not edit');
    await dialogOf(bob).getByRole('button', { name: 'Maybe' }).click();
    await bob.getByText('You said maybe.').waitFor();
    await bob.keyboard.press('Escape');
    // Deleting says who hears of it, and they do.
    await openEvent(alice, 'Harbour walk');
    await dialogOf(alice).locator('[data-answer="tentative"]').waitFor();
    await dialogOf(alice).getByRole('button', { name: 'Delete' }).click();
    const question = alice.getByRole('dialog', { name: 'Delete the event?' });
    await question.getByText('These people are told that it is cancelled: bob.').waitFor();
    await question.getByRole('button', { name: 'Delete' }).click();
    await eventOf(alice, 'Harbour walk').waitFor({ state: 'hidden' });
    await bob.locator('.parley-event-cancelled', { hasText: 'Harbour walk' }).waitFor();
  });

  test('an event is moved by dragging, and moved back', async () => {
    const made = await makeEntry(server, accounts.alice, ofAlice.id, {
      title: 'Rope check',
      start_at: `${day(0)}T09:00:00Z`,
      end_at: `${day(0)}T10:00:00Z`,
    });
    await eventOf(alice, 'Rope check').waitFor();
    await drag(alice, eventOf(alice, 'Rope check'), 2);
    await alice.getByText('Moved.', { exact: true }).waitFor();
    assert.deepEqual(await startsOf(accounts.alice, ofAlice, 'Rope check'), [`${day(2)}T09:00`]);
    await alice.getByRole('button', { name: 'Undo' }).click();
    await alice.getByText('Moved back.').waitFor();
    const { start_at: start, end_at: end } = await entryOf(accounts.alice, ofAlice, made.id);
    assert.deepEqual([start?.slice(0, 16), end?.slice(0, 16)], [`${day(0)}T09:00`, `${day(0)}T10:00`]);
    await remove(made);
    await eventOf(alice, 'Rope check').waitFor({ state: 'hidden' });
  });

  test('a series is moved and deleted as one event, with those that follow, and as a whole', async (t) => {
    // The next ones look at this week, however this one ends.
    t.after(async () => await alice.getByLabel('Go to a day').fill(day(1)));
    const made = await makeEntry(server, accounts.alice, ofAlice.id, {
      title: 'Watch',
      local_start: `${day(0)}T13:00:00`,
      local_end: `${day(0)}T14:00:00`,
      tz: 'Europe/Berlin',
      rule: { frequency: 'weekly', count: 4 },
    });
    const starts = () => startsOf(accounts.alice, ofAlice, 'Watch');
    await eventOf(alice, 'Watch').waitFor();
    await drag(alice, eventOf(alice, 'Watch'), 1);
    await answerScope(alice, 'All events');
    await alice.getByText('Moved.', { exact: true }).waitFor();
    // The clocks of Berlin change on the 28th: the wall time stays.
    assert.deepEqual(await starts(), [`${day(1)}T12:00`, `${day(8)}T12:00`, `${day(15)}T12:00`, `${day(22)}T11:00`]);
    await alice.getByRole('button', { name: 'Later' }).click();
    await eventOf(alice, 'Watch').waitFor();
    await drag(alice, eventOf(alice, 'Watch'), 1);
    await answerScope(alice, 'This event');
    await until(async () => (await starts())[1] === `${day(9)}T12:00`, 'one event to be moved');
    await alice.getByText('Moved.', { exact: true }).waitFor();
    assert.deepEqual(await starts(), [`${day(1)}T12:00`, `${day(9)}T12:00`, `${day(15)}T12:00`, `${day(22)}T11:00`]);
    await alice.getByRole('button', { name: 'Later' }).click();
    await eventOf(alice, 'Watch').waitFor();
    await drag(alice, eventOf(alice, 'Watch'), 2);
    // Those that follow are another entry from now on: it is what is there to be opened once the move is said to be done.
    const changed = alice.waitForResponse((one) => one.request().method() === 'PATCH');
    const said: number[] = [];
    const readLate = async (route: Route) => {
      await (await changed).finished();
      await alice.evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`);
      said.push(await alice.getByText('Moved.', { exact: true }).count());
      await route.continue();
    };
    await alice.route(/\/entries\?from=/, readLate);
    await answerScope(alice, 'This and the following events');
    await alice.getByText('Moved.', { exact: true }).waitFor();
    // Readings come that others announced: one that is held while nobody is asked any more would be let go twice.
    await alice.unrouteAll({ behavior: 'wait' });
    // Behind the first, readings come that the change itself announced.
    assert.equal(said[0], 0, 'done is said before it is shown');
    assert.deepEqual(await starts(), [`${day(1)}T12:00`, `${day(9)}T12:00`, `${day(17)}T12:00`, `${day(24)}T11:00`]);
    await openEvent(alice, 'Watch');
    await dialogOf(alice)
      .getByText('Every week, Wednesday', { exact: false })
      .or(dialogOf(alice).getByText('Every week'))
      .first()
      .waitFor();
    await dialogOf(alice).getByRole('button', { name: 'Delete' }).click();
    await answerScope(alice, 'This event');
    await alice.getByText('Deleted.').waitFor();
    await eventOf(alice, 'Watch').waitFor({ state: 'hidden' });
    // Until it is gone it can be had back.
    await alice.getByRole('button', { name: 'Undo' }).click();
    await eventOf(alice, 'Watch').waitFor();
    await openEvent(alice, 'Watch');
    await dialogOf(alice).getByRole('button', { name: 'Delete' }).click();
    await answerScope(alice, 'This and the following events');
    await until(async () => (await starts()).length === 2, 'those that follow to be deleted');
    await remove(made);
  });

  test('an event is drawn into the grid, and what was written is not lost by a slip', async () => {
    const grid = await alice.locator('.parley-days').boundingBox();
    const column = await alice.getByRole('columnheader').nth(4).boundingBox();
    assert.ok(grid !== null && column !== null);
    const x = column.x + column.width / 2;
    await alice.mouse.move(x, grid.y + 300);
    await alice.mouse.down();
    await alice.mouse.move(x, grid.y + 330, { steps: 5 });
    await alice.mouse.move(x, grid.y + 400, { steps: 8 });
    await alice.mouse.up();
    const form = dialogOf(alice);
    await form.getByLabel('Title', { exact: true }).fill('Drawn');
    await alice.keyboard.press('Escape');
    await form.getByRole('button', { name: 'Keep writing' }).click();
    const times = [await form.getByLabel('Starts at').inputValue(), await form.getByLabel('Ends at').inputValue()];
    assert.ok((times[0] ?? '') < (times[1] ?? ''), times.join());
    await form.getByLabel('Ends at').fill('00:00');
    await form.getByText('The end is before the start.').waitFor();
    assert.equal(await form.getByRole('button', { name: 'Save' }).isDisabled(), true);
    await form.getByLabel('Ends at').fill(times[1] ?? '');
    await form.getByLabel('Repeat', { exact: true }).click();
    await alice.getByRole('option', { name: 'Every week', exact: true }).click();
    await form.getByLabel('Ends', { exact: true }).click();
    await alice.getByRole('option', { name: 'After a number of times' }).click();
    await form.getByLabel('How many times').fill('2');
    await form.getByRole('button', { name: 'Save' }).click();
    await eventOf(alice, 'Drawn').waitFor();
    assert.equal((await startsOf(accounts.alice, ofAlice, 'Drawn')).length, 2);
  });

  test('who was faster is not written over unknowingly', async () => {
    const made = await makeEntry(server, accounts.alice, ofAlice.id, {
      title: 'Tide table',
      start_at: `${day(3)}T08:00:00Z`,
      end_at: `${day(3)}T09:00:00Z`,
    });
    await openEvent(alice, 'Tide table');
    await dialogOf(alice).getByRole('button', { name: 'Edit' }).click();
    await dialogOf(alice).getByLabel('Place').fill('Lighthouse');
    const path = `/v1/calendars/${ofAlice.id}/entries/${made.id}`;
    await call(server, accounts.alice, 'PATCH', path, { title: 'Tide table, new' });
    await dialogOf(alice).getByRole('button', { name: 'Save' }).click();
    await dialogOf(alice).getByText('Somebody changed this event meanwhile.').waitFor();
    assert.equal((await entryOf(accounts.alice, ofAlice, made.id)).location, undefined);
    await dialogOf(alice).getByRole('button', { name: 'Save mine over it' }).click();
    await dialogOf(alice).waitFor({ state: 'hidden' });
    const kept = await entryOf(accounts.alice, ofAlice, made.id);
    assert.deepEqual([kept.title, kept.location], ['Tide table, new', 'Lighthouse']);
    await remove(made);
  });

  test('hostile words are shown harmlessly and keep their place', async () => {
    const made = await makeEntry(server, accounts.alice, ofAlice.id, {
      title: `Odd ${HOSTILE}`,
      description: `${HOSTILE} ${'w'.repeat(5_000)}`,
      location: 'w'.repeat(900),
      start_at: `${day(4)}T08:00:00Z`,
      end_at: `${day(4)}T10:00:00Z`,
    });
    const event = eventOf(alice, 'Odd');
    await event.waitFor();
    assert.ok(await event.evaluate((one) => one.scrollWidth <= one.clientWidth + 1), 'an event is wider than its day');
    await openEvent(alice, 'Odd');
    const dialog = dialogOf(alice);
    await dialog.getByRole('button', { name: 'Edit' }).waitFor();
    assert.ok(
      await dialog.evaluate((one) => one.scrollWidth <= one.clientWidth + 1),
      'the details are wider than their place',
    );
    assert.equal(await alice.locator('img[src="x"]').count(), 0);
    assert.equal(await alice.title(), 'Parley');
    assert.doesNotMatch((await dialog.textContent()) ?? '', /[\u202a-\u202e]|\p{M}{5}/u);
    await alice.keyboard.press('Escape');
    await remove(made);
    await event.waitFor({ state: 'hidden' });
  });

  test('a calendar that is shared for reading refuses changes in words, and one is hidden for good', async () => {
    const deck = await makeCalendar(server, accounts.bob, { displayname: 'Deck', color: '#2b8a3e' });
    await makeEntry(server, accounts.bob, deck.id, {
      title: 'Deck cleaning',
      start_at: `${day(2)}T15:00:00Z`,
      end_at: `${day(2)}T16:00:00Z`,
    });
    await call(server, accounts.bob, 'PUT', `/v1/calendars/${deck.id}/shares/alice`, { access: 'read' });
    await openEvent(alice, 'Deck cleaning');
    await dialogOf(alice).getByText('You can read this calendar and not change it.').waitFor();
    assert.equal(
      await dialogOf(alice)
        .getByRole('button', { name: /Edit|Delete/ })
        .count(),
      0,
    );
    await alice.keyboard.press('Escape');
    await drag(alice, eventOf(alice, 'Deck cleaning'), 1);
    assert.deepEqual(await startsOf(accounts.bob, deck, 'Deck cleaning'), [`${day(2)}T15:00`]);
    await alice.keyboard.press('Escape');
    const side = alice.getByRole('complementary', { name: 'Calendars' });
    await side.getByRole('checkbox', { name: /Deck/ }).uncheck();
    await eventOf(alice, 'Deck cleaning').waitFor({ state: 'hidden' });
    await alice.reload();
    await alice.getByLabel('Go to a day').fill(MONDAY);
    await side.getByRole('checkbox', { name: /Deck/ }).waitFor();
    assert.equal(await side.getByRole('checkbox', { name: /Deck/ }).isChecked(), false);
    await side.getByRole('checkbox', { name: /Deck/ }).check();
    await eventOf(alice, 'Deck cleaning').waitFor();
  });

  test('a delegate answers in the name of the owner, and both see a proposed time without asking again', async () => {
    const { carol } = accounts;
    const [times, noon] = [
      { start_at: `${day(3)}T09:00:00Z`, end_at: `${day(3)}T10:00:00Z` },
      { start_at: `${day(4)}T11:00:00Z`, end_at: `${day(4)}T12:00:00Z` },
    ];
    const shares = `/v1/calendars/${ofAlice.id}/shares/bob`;
    assert.equal((await call(server, accounts.alice, 'PUT', shares, { access: 'delegate' })).status, 200);
    const ofCarol = await defaultCalendar(server, carol);
    const asked = await makeEntry(server, carol, ofCarol.id, { title: 'Lock gate', ...times, attendees: ['alice'] });
    // Bob reads whom it is to, and answers for her.
    const card = bob.getByRole('article', { name: 'Lock gate', exact: true });
    await card.getByText('To alice: you answer in their name').waitFor();
    await card.getByRole('button', { name: 'Accept' }).click();
    await card.waitFor({ state: 'hidden' });
    await openEvent(alice, 'Lock gate');
    await dialogOf(alice).locator('[data-answer="accepted"]').waitFor();
    await dialogOf(alice).getByText('bob on their behalf').waitFor();
    await alice.keyboard.press('Escape');
    await until(async () => {
      const { attendees } = await entryOf(carol, ofCarol, asked.id);
      return attendees.some(({ answer, sent_by: by }) => answer === 'accepted' && by?.user === 'bob');
    }, 'the answer to come to carol');
    await remove(asked, carol);

    // Carol proposes; whoever has the app open sees it.
    const entry = await makeEntry(server, accounts.bob, ofAlice.id, {
      title: 'Sluice',
      ...times,
      attendees: ['carol'],
    });
    const copy = await until(async () => {
      type Invited = { items: { calendar_id: string; entry: EntryView }[] };
      const { items } = (await call<Invited>(server, carol, 'GET', '/v1/invitations')).body;
      return items.find((one) => one.entry.uid === entry.uid) ?? false;
    }, 'the invitation of carol');
    await openEvent(alice, 'Sluice');
    await dialogOf(alice).getByText('bob on their behalf').waitFor();
    await alice.keyboard.press('Escape');
    const proposals = `/v1/invitations/${copy.calendar_id}/${copy.entry.id}/proposals`;
    const propose = async () =>
      assert.equal(
        (await call(server, carol, 'POST', proposals, { ...noon, comment: `Noon? ${HOSTILE}` })).status,
        204,
      );
    const cardOf = (page: Page) => page.getByRole('article', { name: 'Another time for Sluice' });
    await propose();
    for (const page of [alice, bob]) await cardOf(page).getByText('Noon?').waitFor();
    assert.equal(await alice.locator('img[src="x"]').count(), 0);
    await cardOf(bob).getByText('To alice: you answer in their name').waitFor();
    await assertAccessible(alice, 'a proposal');
    await cardOf(bob).getByRole('button', { name: 'Keep the old time' }).click();
    for (const page of [alice, bob]) await cardOf(page).waitFor({ state: 'hidden' });
    assert.deepEqual(await startsOf(accounts.alice, ofAlice, 'Sluice'), [`${day(3)}T09:00`]);
    await propose();
    await cardOf(alice).getByRole('button', { name: 'Take this time' }).click();
    for (const page of [alice, bob]) await cardOf(page).waitFor({ state: 'hidden' });
    assert.deepEqual(await startsOf(accounts.alice, ofAlice, 'Sluice'), [`${day(4)}T11:00`]);
    await remove(entry);

    // What became of a time of one's own is read and put away.
    const carols = await makeEntry(server, carol, ofCarol.id, { title: 'Weir', ...times, attendees: ['alice'] });
    const invitation = alice.getByRole('article', { name: 'Weir', exact: true });
    await invitation.waitFor();
    const hers = (await inRange(accounts.alice, ofAlice, day(3), day(4))).find(({ title }) => title === 'Weir');
    const path = `/v1/invitations/${ofAlice.id}/${hers?.entry_id}/proposals`;
    assert.equal((await call(server, accounts.alice, 'POST', path, noon)).status, 204);
    const waiting = await until(async () => {
      const { items } = (await call<{ items: { id: string }[] }>(server, carol, 'GET', '/v1/proposals')).body;
      return items[0] ?? false;
    }, 'the proposal to carol');
    await call(server, carol, 'PUT', `/v1/proposals/${waiting.id}/answer`, { answer: 'declined' });
    const refused = alice.getByRole('article', { name: 'Another time for Weir' });
    await refused.getByText('Not taken by carol').waitFor();
    await refused.getByRole('button', { name: 'Close the answer about Weir' }).click();
    await refused.waitFor({ state: 'hidden' });
    await remove(carols, carol);
    assert.equal((await call(server, accounts.alice, 'DELETE', shares)).status, 204);
    await bob.getByRole('article', { name: 'Weir', exact: true }).waitFor({ state: 'hidden' });
  });

  test('a time that suits both is found, and the day of each is beside the other', async () => {
    const busy = await makeEntry(server, accounts.bob, ofBob.id, {
      title: 'Away',
      local_start: `${day(1)}T09:00:00`,
      local_end: `${day(1)}T17:00:00`,
      tz: 'Europe/Berlin',
    });
    await alice.getByRole('button', { name: 'New event' }).click();
    const form = dialogOf(alice);
    await form.getByLabel('Title', { exact: true }).fill('Both of us');
    await form.getByLabel('Starts on').fill(day(1));
    await form.getByLabel('Starts at').fill('10:00');
    await form.getByLabel('Find people by name').fill('bob');
    await form.getByRole('option', { name: 'bob' }).click();
    await form.locator('[data-busy="taken"]', { hasText: 'bob' }).getByText('busy (09:00–17:00)').waitFor();
    await form.locator('[data-busy="free"]', { hasText: 'alice' }).waitFor();
    await form.getByRole('button', { name: 'Find a time' }).click();
    const slots = form.getByRole('group', { name: 'Times that suit' }).getByRole('button');
    await slots.first().waitFor();
    // The last hour of work that day, then the next morning: nobody is asked to come at midnight.
    assert.equal(await slots.count(), 6);
    await slots.first().click();
    await form.locator('[data-busy="taken"]').waitFor({ state: 'hidden' });
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'hidden' });
    const [start = ''] = await startsOf(accounts.alice, ofAlice, 'Both of us');
    assert.equal(start, `${day(1)}T16:00`);
    await remove(busy, accounts.bob);
  });

  test('a file is imported with a report of each entry, and a calendar is shared with a right', async () => {
    const row = alice.getByRole('complementary', { name: 'Calendars' });
    const choose = async (item: string) => {
      await row.getByRole('button', { name: `Options for ${ofAlice.displayname}` }).click();
      await alice.getByRole('menuitem', { name: item }).click();
    };
    const event = (uid: string, start: string, ...more: string[]) => [
      'BEGIN:VEVENT',
      `UID:${uid}`,
      'DTSTAMP:20260101T000000Z',
      `DTSTART:${start}`,
      'SUMMARY:From a file',
      ...more,
      'END:VEVENT',
    ];
    const from = `${day(5).replaceAll('-', '')}T100000Z`;
    const lines = [
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'PRODID:-//x//y//EN',
      ...event('one', from, 'ORGANIZER;CN=bob:mailto:eve@x.example', 'ATTENDEE;CN=alice:mailto:mallory@x.example'),
      ...event('two', 'soon'),
      'END:VCALENDAR',
      '',
    ];
    const file = { name: 'harbour.ics', mimeType: 'text/calendar', buffer: Buffer.from(lines.join('\r\n')) };
    await choose('Import a file');
    const [chooser] = await Promise.all([
      alice.waitForEvent('filechooser'),
      dialogOf(alice).getByLabel('Calendar file').click(),
    ]);
    await chooser.setFiles([file]);
    await dialogOf(alice).getByRole('button', { name: 'Import', exact: true }).click();
    await dialogOf(alice).getByText('1 entry is new.').waitFor();
    await dialogOf(alice).getByRole('progressbar', { name: '2 of 2 entries looked at' }).waitFor();
    await dialogOf(alice).getByText('1 entry could not be read:').waitFor();
    await alice.keyboard.press('Escape');
    await eventOf(alice, 'From a file').click();
    // What somebody elsewhere calls themselves is no colleague's name.
    await dialogOf(alice).getByText('bob (eve@x.example)').waitFor();
    await dialogOf(alice).getByText('alice (mallory@x.example)').waitFor();
    await alice.keyboard.press('Escape');
    await dialogOf(alice).waitFor({ state: 'hidden' });
    await choose('Share the calendar');
    await dialogOf(alice).getByLabel('Find people by name').fill('bob');
    await dialogOf(alice).getByRole('option', { name: 'bob' }).click();
    await dialogOf(alice).getByRole('button', { name: 'Share it with bob no longer' }).waitFor();
    await eventOf(bob, 'From a file').waitFor();
    await dialogOf(alice).getByRole('button', { name: 'Share it with bob no longer' }).click();
    await eventOf(bob, 'From a file').waitFor({ state: 'hidden' });
    await alice.keyboard.press('Escape');
    await dialogOf(alice).waitFor({ state: 'hidden' });
  });

  test('without a connection a new event is refused in words, and kept', async () => {
    await bob.context().setOffline(true);
    await bob.getByRole('button', { name: 'New event' }).click();
    await dialogOf(bob).getByLabel('Title', { exact: true }).fill('Written offline');
    await dialogOf(bob).getByRole('button', { name: 'Save' }).click();
    await dialogOf(bob).getByRole('alert').waitFor();
    assert.equal(await dialogOf(bob).getByLabel('Title', { exact: true }).inputValue(), 'Written offline');
    await bob.context().setOffline(false);
    await dialogOf(bob).getByRole('button', { name: 'Save' }).click();
    await dialogOf(bob).waitFor({ state: 'hidden' });
    await eventOf(bob, 'Written offline').waitFor();
    assert.deepEqual(await startsOf(accounts.bob, ofBob, 'Written offline'), [`${day(0)}T08:00`]);
  });

  test('where no lane says when something is, its time stands in front of it and is not cut off', async () => {
    const title = 'Reading of everything that the harbour wrote down in a year';
    const made = await makeEntry(server, accounts.alice, ofAlice.id, {
      title,
      location: 'Pier 4',
      start_at: `${day(3)}T08:00:00Z`,
      end_at: `${day(3)}T09:30:00Z`,
    });
    await alice.getByRole('heading', { level: 1 }).click();
    for (const viewport of [WIDE, NARROW]) {
      await alice.setViewportSize(viewport);
      for (const [key, wanted] of [
        ['m', '09:00'],
        ['a', '09:00–10:30'],
      ] as const) {
        await alice.keyboard.press(key);
        await alice.locator(`[data-view="${VIEW_KEYS[key]}"]`).waitFor();
        // A narrow month has room for a dot alone.
        if (key === 'm' && viewport === NARROW) continue;
        const time = eventOf(alice, title).locator('.parley-event-time');
        // A month hides its events until it has measured them, and what is hidden has no text.
        await time.waitFor();
        assert.equal((await time.innerText()).replaceAll(/\s/g, ''), wanted);
        const words = eventOf(alice, title).locator('.parley-event-title');
        const [times, titles] = [await time.boundingBox(), await words.boundingBox()];
        assert.ok(times !== null && titles !== null && times.x + times.width <= titles.x, `${key} ${viewport.width}`);
        assert.ok(await time.evaluate((element) => element.scrollWidth <= element.clientWidth), 'the time is cut off');
      }
      const heading = alice.getByRole('heading', { level: 1 });
      assert.ok(await heading.evaluate((element) => element.scrollWidth <= element.clientWidth), 'the week is cut off');
    }
    // A letter is no day: the head of a narrow week says the date as well.
    await alice.keyboard.press('w');
    await alice.locator('[data-view="timeGridWeek"]').waitFor();
    const heads = await until(async () => {
      const texts = await alice.locator('.parley-day-head').allInnerTexts();
      return texts.length === 7 && texts.map((text) => text.replaceAll(/\s+/g, ' '));
    }, 'the days of a narrow week');
    assert.match(heads.join(), /^(?:[MTWFS] \d{1,2},?){7}$/);
    await alice.setViewportSize(WIDE);
    await remove(made);
  });

  test('every view passes for those who see, hear or press keys, in both themes and widths', async () => {
    // Keys that are typed into a field are the field's.
    await alice.getByRole('heading', { level: 1 }).click();
    for (const [name, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
      await alice.setViewportSize(viewport);
      for (const [key, view] of Object.entries(VIEW_KEYS)) {
        await alice.keyboard.press(key);
        await alice.locator(`[data-view="${view}"]`).waitFor();
        await assertAccessible(alice, `${name}, ${key}`);
      }
      await alice.keyboard.press('n');
      await dialogOf(alice).getByLabel('Title', { exact: true }).waitFor();
      await assertAccessible(alice, `${name}, the form`);
      await alice.keyboard.press('Escape');
      await dialogOf(alice).waitFor({ state: 'hidden' });
    }
    await alice.setViewportSize(WIDE);
  });
});
