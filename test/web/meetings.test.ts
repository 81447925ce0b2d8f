/**
 * Meetings in the app: made, found by a link through signing in, waited for, let in and turned away, and two who come at the same
 * moment. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import type { MeetingView } from '#src/protocol/meetings/meetings.ts';
import { ERRORS } from '#src/protocol/errors.ts';
import { request, startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { fieldOf, signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';
import { makeCamera } from './camera.ts';

/** Pictures and sound of several people are made by the processor that does all else here: under load a connection stands late. */
const CALL_PATIENCE_MILLIS = 90_000;
const HOSTILE = '<img src=x onerror="document.title=1"> \u202egnirts\u202c';

const camera = makeCamera();
let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => {
  await server?.stop();
  camera.remove();
});

describe('meetings in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  /** Where a page copies what it shows. */
  let withClipboard: People;
  let accounts: Record<'alice' | 'bob' | 'carol', Person>;
  let alice: Page;
  let bob: Page;

  before(async () => {
    accounts = await server.people('alice', 'bob', 'carol');
    [people, withClipboard] = await Promise.all([
      People.start({ flags: camera.flags }),
      People.start({ flags: camera.flags, whole: true }),
    ]);
    const permissions = ['clipboard-read', 'clipboard-write'];
    [alice, bob] = await Promise.all([visitor(withClipboard, { permissions }), visitor()]);
    await Promise.all([signIn(server, alice, 'alice'), signIn(server, bob, 'bob')]);
  });
  after(async () => {
    await people?.stop();
    await withClipboard?.stop();
  });
  afterEach(() => assert.deepEqual([...people.complaints.splice(0), ...withClipboard.complaints.splice(0)], []));

  const visitor = async (of = people, options: Parameters<People['person']>[0] = {}) => {
    const page = await of.person(options);
    page.context().setDefaultTimeout(CALL_PATIENCE_MILLIS);
    return page;
  };
  const addressOf = ({ link }: MeetingView) => `${server.coordinator}/v1/meetings/join/${link}`;
  const ofMeetings = async (method: string, path: string, body?: object) => {
    const url = `${server.coordinator}/v1/meetings${path}`;
    const form = body === undefined ? {} : { body };
    return (await request<MeetingView>(method, url, { token: accounts.alice.session.token, ...form })).body;
  };
  const meet = async (form: object) => await ofMeetings('POST', '', form);
  const callOf = (page: Page) => page.locator('.parley-call');
  const inCall = async (page: Page, name: string) =>
    await page.locator(`.parley-tile[data-state="connected"][aria-label="${name}"]`).waitFor();
  const hangUp = async (page: Page) => {
    await callOf(page).getByRole('button', { name: 'Hang up' }).click();
    await callOf(page).waitFor({ state: 'detached' });
  };
  const liveCalls = async () =>
    (await server.api<{ items: object[] }>(accounts.alice, 'GET', '/v1/calls')).body.items.length;
  const noCalls = async () => await until(async () => (await liveCalls()) === 0, 'no live call', CALL_PATIENCE_MILLIS);
  /** In another place first: an address that differs behind the hash alone opens no page. */
  const follow = async (page: Page, meeting: MeetingView) => {
    await page.goto('about:blank');
    await page.goto(addressOf(meeting));
    await page.getByRole('heading', { name: 'You are invited to a meeting' }).waitFor();
  };
  const settings = async (page: Page) => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Room settings' }).click();
    return page.getByRole('group', { name: 'Meeting' });
  };

  test('MTG-01 a meeting is made for now; its link leads through signing in into its room and its call', async () => {
    await alice.getByRole('button', { name: 'New conversation' }).click();
    await alice.getByRole('menuitem', { name: 'Start a meeting' }).click();
    await alice.getByLabel('What is it about?').fill('Tide talk');
    await alice.getByRole('button', { name: 'Create the meeting' }).click();
    await fieldOf(alice, 'Tide talk').waitFor();
    const section = await settings(alice);
    await section.getByRole('button', { name: 'Copy the link' }).click();
    await section.getByText('Copied.').waitFor();
    const address = await section.getByLabel('Link to the meeting').inputValue();
    assert.equal(await alice.evaluate('navigator.clipboard.readText()'), address);
    const carol = await visitor();
    await carol.goto(address);
    await carol.getByLabel('Username').fill('carol');
    await carol.getByLabel('Password', { exact: true }).fill(accounts.carol.password);
    await carol.getByRole('button', { name: 'Sign in', exact: true }).click();
    await carol.getByRole('heading', { name: 'You are invited to a meeting' }).waitFor();
    assert.equal(await carol.getByText('Tide talk').count(), 0, 'opening a link lets nobody in');
    await carol.getByRole('button', { name: 'Join with sound only' }).click();
    await callOf(carol).waitFor();
    await alice.goto('about:blank');
    await alice.goto(address);
    await alice.getByRole('button', { name: 'Join with video' }).click();
    await Promise.all([inCall(alice, 'carol'), inCall(carol, 'alice')]);
    assert.equal(await liveCalls(), 1);
    // Nobody was rung: whoever comes, comes.
    assert.equal(await bob.getByRole('alertdialog').count(), 0);
    await hangUp(carol);
    await fieldOf(carol, 'Tide talk').waitFor();
    await callOf(alice).waitFor({ state: 'detached' });
    await carol.context().close();
    await noCalls();
  });

  test('MTG-01 two who come at the same moment are in one call', async () => {
    const meeting = await meet({ title: 'At once', lobby: 'open' });
    await Promise.all([follow(alice, meeting), follow(bob, meeting)]);
    const both = Promise.withResolvers<void>();
    const waiting = new Set<Page>();
    for (const page of [alice, bob]) {
      const hold = async (route: Route) => {
        if (waiting.add(page).size === 2) both.resolve();
        await both.promise;
        await route.continue();
      };
      await page.route('**/v1/signal', hold, { times: 1 });
    }
    await Promise.all(
      [alice, bob].map(async (page) => await page.getByRole('button', { name: 'Join with sound only' }).click()),
    );
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
    await until(async () => (await liveCalls()) === 1, 'one live call', CALL_PATIENCE_MILLIS);
    await hangUp(bob);
    await callOf(alice).waitFor({ state: 'detached' });
    await noCalls();
  });

  test('MTG-01 who waits comes in when the host lets them, and reads why when they do not', async () => {
    const meeting = await meet({ title: `Locks ${HOSTILE}`, lobby: 'everyone_waits' });
    const other = await meet({ title: 'Closed doors', lobby: 'everyone_waits' });
    // The host sees it wherever they are.
    await alice.getByRole('link', { name: 'Calendar', exact: true }).click();
    await follow(bob, meeting);
    await bob.getByRole('button', { name: 'Only open the room' }).click();
    await bob.getByRole('heading', { name: 'Waiting for the host' }).waitFor();
    const lobby = alice.getByRole('region', { name: 'Waiting to be let in' });
    await lobby.getByText('bob wants to join “Locks').waitFor();
    for (const size of [WIDE, NARROW]) {
      for (const page of [alice, bob]) await page.setViewportSize(size);
      await assertAccessible(alice, `somebody waits, ${size.width}`);
      await assertAccessible(bob, `waiting, ${size.width}`);
    }
    for (const page of [alice, bob]) await page.setViewportSize(WIDE);
    for (const page of [alice, bob]) {
      assert.equal(await page.locator('img[src="x"]').count(), 0);
      assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /[\u202a-\u202e]/);
    }
    // A host who was away sees it when they are back.
    await alice.reload();
    await lobby.getByRole('button', { name: 'Let in: bob' }).click();
    await fieldOf(bob, `Locks ${HOSTILE.replaceAll(/[\u202a-\u202e]/g, '')}`).waitFor();
    await lobby.waitFor({ state: 'detached' });
    await follow(bob, other);
    await bob.getByRole('button', { name: 'Join with sound only' }).click();
    await bob.getByRole('heading', { name: 'Waiting for the host' }).waitFor();
    await lobby.getByRole('button', { name: 'Turn away: bob' }).click();
    await bob.getByRole('alert').getByText(ERRORS.meeting_forbidden.error).waitFor();
    await lobby.waitFor({ state: 'detached' });
    assert.equal(await callOf(bob).count(), 0);
  });

  test('MTG-01 the host makes a new link, changes who waits, and ends the meeting', async () => {
    const meeting = await meet({ title: 'Last one', lobby: 'open', participants: ['bob'] });
    await follow(alice, meeting);
    await alice.getByRole('button', { name: 'Only open the room' }).click();
    await fieldOf(alice, 'Last one').waitFor();
    const section = await settings(alice);
    const link = section.getByLabel('Link to the meeting');
    await section.getByRole('button', { name: 'Make a new link' }).click();
    await until(async () => (await link.inputValue()) !== addressOf(meeting), 'another link');
    assert.equal((await fetch(addressOf(meeting), { headers: { accept: 'text/html' } })).status, 404);
    await section.getByLabel('Who waits for the host').click();
    await alice.getByRole('option', { name: 'Everybody who comes by the link' }).click();
    const stored = async () => await ofMeetings('GET', `/${meeting.id}`);
    await until(async () => (await stored()).lobby === 'everyone_waits', 'the lobby to be changed');
    for (const size of [WIDE, NARROW]) {
      await alice.setViewportSize(size);
      await assertAccessible(alice, `settings of a meeting, ${size.width}`);
    }
    await alice.setViewportSize(WIDE);
    await section.getByRole('button', { name: 'End the meeting' }).click();
    const question = alice.getByRole('dialog', { name: 'End the meeting for everybody?' });
    await question.getByRole('button', { name: 'End the meeting' }).click();
    await alice.getByText('This meeting is over.').waitFor();
    assert.equal((await stored()).state, 'cancelled');
    // Whoever had the screen of the link open reads it.
    await bob.evaluate(`location.hash = '#/meeting/${(await stored()).link}'`);
    await bob.getByRole('button', { name: 'Join with sound only' }).click();
    await bob.getByRole('alert').getByText(ERRORS.meeting_over.error).waitFor();
  });
});
