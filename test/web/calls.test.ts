/**
 * Calls of two and three people in the app, with the camera and the microphone that Chromium makes up: pictures flow, people
 * answer, decline, are busy, hang up, and networks break. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Locator, Page, Route, WebSocketRoute } from 'playwright-core';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { openRow, signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';
import { makeCamera } from './camera.ts';

/** Three people's pictures are made and read by one processor here: under load a connection stands late. */
const CALL_PATIENCE_MILLIS = 90_000;

/** Peer connections of a page, for looking at what the app itself has no words for. */
const KEEP_CONNECTIONS = `
  globalThis.connections = [];
  const Native = RTCPeerConnection;
  globalThis.RTCPeerConnection = class extends Native {
    constructor(...given) { super(...given); connections.push(this); }
  };`;

/** Frames that came over the connections that are open, one number for each. */
const FRAMES = `(async () => {
  const open = connections.filter((one) => one.connectionState !== 'closed');
  return await Promise.all(open.map(async (one) => {
    const all = [...(await one.getStats()).values()];
    return all.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video')?.framesDecoded ?? 0;
  }));
})()`;

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

describe('calls in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let accounts: Record<'alice' | 'bob' | 'carol', Person>;
  let alice: Page;
  let bob: Page;
  let carol: Page;
  /** Sockets of Bob’s page, and whether new ones are refused. */
  const cut = { isCut: false, open: new Set<WebSocketRoute>() };

  const visitor = async (name: string, options: Parameters<People['person']>[0] = {}) => {
    const page = await people.person(options);
    page.context().setDefaultTimeout(CALL_PATIENCE_MILLIS);
    await page.addInitScript(KEEP_CONNECTIONS);
    await signIn(server, page, name);
    return page;
  };
  before(async () => {
    accounts = await server.people('alice', 'bob', 'carol');
    await server.api(accounts.alice, 'POST', '/v1/conversations', { kind: 'direct', participants: ['bob'] });
    const room = { kind: 'room', title: 'Harbour', participants: ['bob', 'carol'] };
    await server.api(accounts.alice, 'POST', '/v1/conversations', room);
    people = await People.start({ flags: [...camera.flags, '--auto-select-tab-capture-source-by-title=Parley'] });
    bob = await people.person();
    bob.context().setDefaultTimeout(CALL_PATIENCE_MILLIS);
    await bob.addInitScript(KEEP_CONNECTIONS);
    await bob.routeWebSocket(/\/v1\/ws/, (socket) => {
      if (cut.isCut) {
        void socket.close({ code: 1001 });
      } else {
        cut.open.add(socket);
        socket.connectToServer();
      }
    });
    await signIn(server, bob, 'bob');
    [alice, carol] = await Promise.all([visitor('alice'), visitor('carol')]);
    await openRow(alice, 'bob');
    await openRow(bob, 'alice');
  });
  after(async () => await people?.stop());
  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  const patient = async <T>(look: () => Promise<T | undefined | false>, what: string) =>
    await until(look, what, CALL_PATIENCE_MILLIS);
  const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true });
  const card = (page: Page, name: string) =>
    page.getByRole('alertdialog', { name: new RegExp(`\\b${name} is calling`) });
  const callOf = (page: Page) => page.locator('.parley-call');
  const tile = (page: Page, name: string) => callOf(page).getByRole('group', { name, exact: true });
  const ended = async (page: Page) => await callOf(page).waitFor({ state: 'detached' });
  const inCall = async (page: Page, name: string) =>
    await page.locator(`.parley-tile[data-state="connected"][aria-label="${name}"]`).waitFor();
  const liveCalls = async () =>
    (await server.api<{ items: object[] }>(accounts.alice, 'GET', '/v1/calls')).body.items.length;
  /** Pictures come over so many connections, and go on coming. */
  const framesGrow = async (page: Page, count: number) => {
    const first = await page.evaluate<number[]>(FRAMES);
    await patient(async () => {
      const now = await page.evaluate<number[]>(FRAMES);
      return now.length === count && now.every((frames, index) => frames > (first[index] ?? 0));
    }, `pictures over ${count} connections`);
  };
  const call = async (from: Page, kind: 'Voice call' | 'Video call', to: Page, caller: string) => {
    await button(from, kind).click();
    await card(to, caller).waitFor();
  };
  /** A video call of Alice to Bob that stands. */
  const connect = async () => {
    await call(alice, 'Video call', bob, 'alice');
    await button(card(bob, 'alice'), 'Answer with video').click();
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
  };
  const hangUp = async (page: Page) => {
    await button(callOf(page), 'Hang up').click();
    await Promise.all([ended(alice), ended(bob)]);
    await patient(async () => (await liveCalls()) === 0, 'no live call');
  };

  test('a call rings, is answered, shows both, and is in the history when somebody hangs up', async () => {
    await call(alice, 'Video call', bob, 'alice');
    await callOf(alice).getByText('Calling…').waitFor();
    await bob.locator('.parley-incoming[data-sounding]').waitFor();
    await button(card(bob, 'alice'), 'Answer with video').click();
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
    await Promise.all([framesGrow(alice, 1), framesGrow(bob, 1)]);
    await callOf(alice).getByRole('timer').waitFor();
    // Mute is seen by the other; pictures stop being shown when the camera is off.
    await button(callOf(alice), 'Mute').click();
    await tile(bob, 'alice').getByRole('img', { name: 'alice is muted' }).waitFor();
    await alice.keyboard.press('Control+Shift+M');
    await tile(bob, 'alice').getByRole('img', { name: 'alice is muted' }).waitFor({ state: 'detached' });
    await button(callOf(alice), 'Turn the camera off').click();
    await tile(bob, 'alice').locator('video').waitFor({ state: 'hidden' });
    await button(callOf(alice), 'Turn the camera on').click();
    await tile(bob, 'alice').locator('video').waitFor();
    await framesGrow(bob, 1);
    await hangUp(bob);
    await alice
      .getByRole('article')
      .getByText(/Call, \d+:\d\d$/)
      .waitFor();
    await bob
      .getByRole('article')
      .getByText(/Call, \d+:\d\d$/)
      .waitFor();
  });

  test('a call is declined, taken back and missed, each in words, and called back from the history', async () => {
    await call(alice, 'Voice call', bob, 'alice');
    await bob.keyboard.press('Control+Shift+D');
    const over = alice.getByRole('dialog', { name: 'bob declined' });
    await button(over, 'Call again').click();
    await card(bob, 'alice').waitFor();
    await button(callOf(alice), 'Hang up').click();
    await Promise.all([ended(alice), card(bob, 'alice').waitFor({ state: 'detached' })]);
    await alice.getByRole('article').getByText('Declined call').waitFor();
    await bob.getByRole('article').getByText('Missed call').waitFor();
    await button(bob.getByRole('article').last(), 'Call back').click();
    await card(alice, 'bob').waitFor();
    await alice.keyboard.press('Control+Shift+S');
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
    // A third one who calls hears that the line is busy.
    await server.api(accounts.carol, 'POST', '/v1/conversations', { kind: 'direct', participants: ['bob'] });
    await openRow(carol, 'bob');
    await button(carol, 'Voice call').click();
    await carol.getByRole('dialog', { name: 'bob is in another call' }).waitFor();
    await button(callOf(carol), 'Back to the conversations').click();
    await hangUp(alice);
  });

  test('two who call each other at once are in one call', async () => {
    // Neither call is on its way before both people have called: whoever is rung first has no button to call with any more.
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
    await Promise.all([button(alice, 'Voice call').click(), button(bob, 'Voice call').click()]);
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
    assert.equal(await liveCalls(), 1);
    await hangUp(alice);
  });

  test('SIG-08 of two browsers of one person the first wins, and of two tabs one sounds', async () => {
    const laptop = await visitor('bob');
    const tab = await bob.context().newPage();
    await tab.goto(server.coordinator);
    await tab.getByRole('navigation', { name: 'Conversations' }).waitFor();
    await call(alice, 'Voice call', bob, 'alice');
    await Promise.all([card(laptop, 'alice').waitFor(), card(tab, 'alice').waitFor()]);
    const sounding = async (page: Page) => await page.locator('.parley-incoming[data-sounding]').count();
    await patient(async () => (await sounding(bob)) + (await sounding(tab)) === 1, 'one tab to sound');
    await button(card(laptop, 'alice'), 'Answer').click();
    await inCall(alice, 'bob');
    await Promise.all([bob, tab].map(async (page) => await card(page, 'alice').waitFor({ state: 'detached' })));
    assert.equal(await callOf(bob).count(), 0);
    await tab.close();
    await button(callOf(alice), 'Hang up').click();
    await Promise.all([ended(alice), ended(laptop)]);
    await laptop.context().close();
    await patient(async () => (await liveCalls()) === 0, 'no live call');
  });

  test('a socket that breaks and comes back leaves the call as it is, and so does another way of the network', async () => {
    await connect();
    cut.isCut = true;
    for (const socket of cut.open) await socket.close({ code: 1001 });
    await bob.getByRole('status').getByText('No connection.').waitFor();
    await Promise.all([framesGrow(alice, 1), framesGrow(bob, 1)]);
    cut.isCut = false;
    await bob.evaluate(() => globalThis.dispatchEvent(new Event('online')));
    await bob.getByText('No connection.').waitFor({ state: 'detached' });
    await Promise.all([framesGrow(alice, 1), framesGrow(bob, 1)]);
    assert.equal(await liveCalls(), 1);
    const ufrag = 'connections.at(-1).localDescription.sdp.match(/ice-ufrag:(.*)/)[1]';
    const first = await alice.evaluate<string>(ufrag);
    await alice.evaluate('connections.at(-1).restartIce()');
    await patient(async () => (await alice.evaluate<string>(ufrag)) !== first, 'new ways to be looked for');
    await Promise.all([framesGrow(alice, 1), framesGrow(bob, 1)]);
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
    // A page that goes away in the middle leaves no call behind.
    await alice.reload();
    await Promise.all([ended(bob), patient(async () => (await liveCalls()) === 0, 'no live call')]);
    await openRow(alice, 'bob');
  });

  test('three in a room see each other, and the last one who is left is out', async () => {
    await Promise.all([openRow(alice, 'Harbour'), openRow(carol, 'Harbour'), openRow(bob, 'Harbour')]);
    await button(alice, 'Video call').click();
    await card(bob, 'alice').getByText('in Harbour').waitFor();
    await button(card(bob, 'alice'), 'Answer with video').click();
    await inCall(alice, 'bob');
    // Whoever did not answer joins by the room.
    await button(card(carol, 'alice'), 'Decline').click();
    await button(carol, 'Join the call (2 people)').click();
    await Promise.all([inCall(carol, 'alice'), inCall(carol, 'bob'), inCall(alice, 'carol'), inCall(bob, 'carol')]);
    await button(callOf(carol), 'Turn the camera on')
      .or(button(callOf(carol), 'Turn the camera off'))
      .waitFor();
    await Promise.all([framesGrow(alice, 2), framesGrow(bob, 2), framesGrow(carol, 2)]);
    await button(callOf(alice), 'Hang up').click();
    await ended(alice);
    await Promise.all([tile(bob, 'alice').waitFor({ state: 'detached' }), framesGrow(bob, 1), framesGrow(carol, 1)]);
    await button(callOf(bob), 'Hang up').click();
    await Promise.all([ended(bob), ended(carol)]);
    await patient(async () => (await liveCalls()) === 0, 'no live call');
    await Promise.all([openRow(alice, 'bob'), openRow(bob, 'alice')]);
  });

  test('the screen is shared and devices are chosen; small, one reads on', async () => {
    await connect();
    await button(callOf(alice), 'Share the screen').click();
    await tile(bob, 'alice').getByRole('img', { name: 'alice shares the screen' }).waitFor();
    await button(callOf(alice), 'Stop sharing the screen').click();
    await tile(bob, 'alice').getByRole('img', { name: 'alice shares the screen' }).waitFor({ state: 'detached' });
    await button(callOf(alice), 'Devices').click();
    await alice
      .getByRole('menuitem', { name: /fake_device_1|Fake Audio Input 2|Fake audio input 2/i })
      .first()
      .click();
    await alice.keyboard.press('Escape');
    await framesGrow(bob, 1);
    await button(callOf(alice), 'Make the call small').click();
    await alice.getByRole('textbox', { name: 'Message bob' }).fill('Do you see it?');
    await alice.keyboard.press('Enter');
    await bob.locator('.parley-panes', { hasText: 'Do you see it?' }).waitFor({ state: 'attached' });
    await button(callOf(alice), 'Make the call large').click();
    await hangUp(alice);
  });

  test('WEB-01 nothing is in anybody’s way on the screens of calls', async () => {
    const wear = async (size: typeof WIDE) => {
      for (const page of [alice, bob]) await page.setViewportSize(size);
    };
    // Nobody rings for as long as all looks take, so each width has a call that rings; one that stands has both.
    for (const size of [NARROW, WIDE]) {
      await wear(size);
      await call(alice, 'Video call', bob, 'alice');
      await Promise.all([
        assertAccessible(alice, `calling, ${size.width}`),
        assertAccessible(bob, `rung, ${size.width}`),
      ]);
      if (size === WIDE) break;
      await button(callOf(alice), 'Hang up').click();
      await Promise.all([ended(alice), card(bob, 'alice').waitFor({ state: 'detached' })]);
    }
    await button(card(bob, 'alice'), 'Answer with video').click();
    await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
    await framesGrow(alice, 1);
    for (const size of [NARROW, WIDE]) {
      await wear(size);
      await assertAccessible(alice, `in a call, ${size.width}`);
      await button(callOf(alice), 'Make the call small').click();
      await assertAccessible(alice, `a small call, ${size.width}`);
      await button(callOf(alice), 'Make the call large').click();
    }
    await button(callOf(bob), 'Hang up').click();
    await Promise.all([ended(alice), ended(bob)]);
  });

  test('a browser that refuses the microphone, and one without devices, say so and go on', async () => {
    for (const [refused, said] of [
      ['NotAllowedError', 'The browser does not let this page use the microphone.'],
      ['NotFoundError', 'There is no microphone.'],
    ] as const) {
      const native = 'navigator.mediaDevices.constructor.prototype.getUserMedia';
      await alice.evaluate(
        `navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('refused', '${refused}'); }`,
      );
      await call(alice, 'Voice call', bob, 'alice');
      await callOf(alice).getByRole('alert').getByText(said).waitFor();
      await button(card(bob, 'alice'), 'Answer').click();
      await Promise.all([inCall(alice, 'bob'), inCall(bob, 'alice')]);
      await tile(bob, 'alice').getByRole('img', { name: 'alice is muted' }).waitFor();
      // Small, there is no room for it; whoever asks for the device again is told again.
      await button(callOf(alice), 'Make the call small').click();
      await callOf(alice).getByRole('alert').waitFor({ state: 'hidden' });
      await button(callOf(alice), 'Unmute').click();
      await callOf(alice).getByRole('alert').getByText(said).waitFor();
      await alice.evaluate(`navigator.mediaDevices.getUserMedia = ${native}`);
      await button(callOf(alice).getByRole('alert'), 'Try again').click();
      await tile(bob, 'alice').getByRole('img', { name: 'alice is muted' }).waitFor({ state: 'detached' });
      await hangUp(alice);
    }
  });
});
