/** What was seen is there at the next visit: at once, without a network, and nothing of it once somebody signs out. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page, WebSocketRoute } from 'playwright-core';
import sharp from 'sharp';
import type { KeptMirror } from '#src/client/conversations/conversation-mirror.ts';
import { say, start } from '#test/messaging/conversing.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { fieldOf, messageOf, openRow, send, signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** As src/web/chat/state/kept-names.ts has them, which runs in a browser alone. */
const NAMES_KEPT_MAX = 500;
const NAMES_KEPT_DAYS = 30;
/** As src/web/chat/state/kept-pictures.ts has them. */
const [PICTURES, PICTURES_KEPT_MAX, PICTURES_KEPT_DAYS] = ['parley.kept pictures wilma', 300, 30] as const;

let server: TestServer;
let people: People;
before(async () => {
  buildApp();
  server = await startServer();
  people = await People.start({ whole: true });
});
after(async () => {
  await people?.stop();
  await server?.stop();
});

/** All that the browser keeps of conversations, as text. */
async function kept(page: Page): Promise<string> {
  return await page.evaluate(
    async () =>
      await new Promise<string>((resolve, reject) => {
        const opening = indexedDB.open('parley');
        opening.addEventListener('error', () => reject(new Error('The browser has no database.')));
        opening.addEventListener('success', () => {
          const reading = opening.result.transaction('mirrors').objectStore('mirrors').getAll();
          reading.addEventListener('success', () => {
            opening.result.close();
            resolve(JSON.stringify(reading.result));
          });
        });
      }),
  );
}

async function untilKept(page: Page, words: string): Promise<void> {
  await until(async () => (await kept(page)).includes(words), `“${words}” to be kept`);
}

/** Waits for a message itself: what the list shows of the newest one is kept without opening its conversation, and earlier. */
async function untilMessageKept(page: Page, words: string): Promise<void> {
  await until(async () => {
    const mirrors = JSON.parse(await kept(page)) as readonly KeptMirror[];
    return JSON.stringify(mirrors.map(({ messages }) => messages)).includes(words);
  }, `the message “${words}” to be kept`);
}

/** Waits for the service worker, which has the app's files without a network. */
async function untilInstalled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
  });
}

/** A room of two, with something said in it, and the first one's page. */
async function inRoom(
  one: string,
  other: string,
  title: string,
): Promise<{ page: Page; host: Person; guest: Person; room: string }> {
  const [host, guest] = [await server.person(one), await server.person(other)];
  const { id: room } = await start(server, host, 'room', [other], title);
  await say(server, guest, room, 'the first words');
  const page = await people.person();
  await signIn(server, page, one);
  await untilInstalled(page);
  return { page, room, host, guest };
}

describe('conversations that are kept', { skip: CHROMIUM === undefined && 'there is no Chromium' }, () => {
  test('SOC-11 what was read is there without a network, what is written there waits, and what was missed comes in its place', async () => {
    const { guest, page, room } = await inRoom('anna', 'bert', 'Garden');
    await openRow(page, 'Garden');
    await messageOf(page, 'the first words').waitFor();
    await send(page, 'Garden', 'the second words');
    await untilMessageKept(page, 'the second words');
    await page.context().setOffline(true);
    await page.reload();
    await messageOf(page, 'the first words').waitFor();
    await messageOf(page, 'the second words').waitFor();
    await page.getByRole('navigation', { name: 'Conversations' }).getByText('the second words').waitFor();
    await send(page, 'Garden', 'written on the train');
    await say(server, guest, room, 'missed meanwhile');
    await page.context().setOffline(false);
    await messageOf(page, 'missed meanwhile').waitFor();
    const shown = page.getByRole('article');
    const texts = async () => (await shown.allTextContents()).join(' ');
    await until(async () => /first.*second.*missed.*train/s.test(await texts()), 'all of them in order');
    assert.equal(await shown.count(), 4);
  });

  test('SOC-11 without a network, what a slow device has later than it knows that is shown', async () => {
    const { page } = await inRoom('vera', 'yann', 'Library');
    await openRow(page, 'Library');
    await messageOf(page, 'the first words').waitFor();
    await untilMessageKept(page, 'the first words');
    await page.context().setOffline(true);
    // Reading from the disk ends when the test says so.
    await page.addInitScript(() => {
      const ended = new Promise<void>((resolve) => Object.assign(globalThis, { endReading: resolve }));
      const { prototype } = IDBObjectStore;
      const getAll: unknown = Reflect.get(prototype, 'getAll');
      prototype.getAll = function readLate(this: IDBObjectStore) {
        const request = Reflect.apply(getAll as () => IDBRequest, this, []);
        const listen = request.addEventListener.bind(request);
        request.addEventListener = (type: string, listener: (event: Event) => void) =>
          listen(type, (event) => void ended.then(() => listener(event)));
        return request;
      };
    });
    await page.reload();
    await page.getByText('No connection.').waitFor();
    await page.evaluate(() => (globalThis as unknown as { endReading: () => void }).endReading());
    await messageOf(page, 'the first words').waitFor();
  });

  test('the list of the last visit is there before the server has said a word, and is put right by what it says', async () => {
    const { guest, host, page, room } = await inRoom('cora', 'dirk', 'Cellar');
    await page.getByRole('navigation').getByText('Cellar').waitFor();
    await untilKept(page, 'Cellar');
    const held = Promise.withResolvers<void>();
    await page.route(/\/v1\/(inbox|auth\/renew)/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.reload();
    await page.getByRole('navigation').getByText('Cellar').waitFor();
    const path = `/v1/conversations/${room}`;
    const put = await server.api(host, 'PATCH', path, { title: 'Attic' });
    assert.equal(put.status, 200, put.text);
    // No message is new: what was there reads otherwise.
    const edited = await server.api(guest, 'PATCH', `${path}/messages/1`, { body: 'the first words, put better' });
    assert.equal(edited.status, 200, edited.text);
    held.resolve();
    await page.getByRole('navigation').getByText('Attic').waitFor();
    await page.getByRole('navigation').getByText('Cellar').waitFor({ state: 'detached' });
    await page.getByRole('navigation').getByText('the first words, put better').waitFor();
  });

  test('the list is walked once in a visit, by the client, and says what changed of one’s own meanwhile', async () => {
    const { guest, host, page, room } = await inRoom('zoe', 'adam', 'Balcony');
    const own = { category: null, favourite: true };
    const row = page.getByRole('navigation').getByRole('link').filter({ hasText: 'Balcony' });
    await row.waitFor();
    await untilKept(page, 'Balcony');
    const walks: string[] = [];
    page.on('request', (request) => void (request.url().includes('/v1/inbox') && walks.push(request.url())));
    const mention = async (id: string) => {
      const mentions = [{ username: 'zoe', offset: 7, length: 4 }];
      const message = { kind: 'text', body: 'now to @zoe', mentions, client_msg_id: id };
      const posted = await server.api(guest, 'POST', `/v1/conversations/${room}/messages`, message);
      assert.equal(posted.status, 201, posted.text);
    };
    await page.goto('about:blank');
    const placed = await server.api(host, 'PUT', `/v1/conversations/${room}/placement`, own);
    assert.ok(placed.status < 300, placed.text);
    const draft = await server.api(host, 'PUT', `/v1/conversations/${room}/draft`, { body: 'from the phone' });
    assert.ok(draft.status < 300, draft.text);
    await mention('zoe-1');
    for (const words of ['to all', 'to all again']) await say(server, guest, room, words);
    await page.goto(server.coordinator);
    await row.getByText('Draft: from the phone').waitFor();
    await page.getByRole('navigation').getByText('Favourites').waitFor();
    // Counted once, though the walk says so and what was missed is told behind it.
    await row.getByLabel('4 unread messages').waitFor();
    await row.getByLabel('1 mention of you').waitFor();
    await mention('zoe-2');
    await row.getByLabel('2 mentions of you').waitFor();
    assert.equal(walks.length, 1, walks.join());
  });

  test('a mention that was missed while the connection was away is counted once', async () => {
    const { guest, page, room } = await inRoom('dora', 'egon', 'Gallery');
    const open = new Set<WebSocketRoute>();
    let isCut = false;
    await page.routeWebSocket(/\/v1\/ws/, (socket) => {
      if (isCut) void socket.close({ code: 1001 });
      else {
        open.add(socket);
        socket.connectToServer();
      }
    });
    await page.reload();
    const row = page.getByRole('navigation').getByRole('link').filter({ hasText: 'Gallery' });
    const mention = async (id: string) => {
      const mentions = [{ username: 'dora', offset: 0, length: 5 }];
      const message = { kind: 'text', body: '@dora', mentions, client_msg_id: id };
      const posted = await server.api(guest, 'POST', `/v1/conversations/${room}/messages`, message);
      assert.equal(posted.status, 201, posted.text);
    };
    await mention('dora-1');
    await row.getByLabel('1 mention of you').waitFor();
    isCut = true;
    for (const socket of open) await socket.close({ code: 1001 });
    await page.getByText('No connection.').waitFor();
    await mention('dora-2');
    for (const words of ['to all', 'to all again']) await say(server, guest, room, words);
    isCut = false;
    await page.evaluate(() => globalThis.dispatchEvent(new Event('online')));
    await row.getByLabel('5 unread messages').waitFor();
    await row.getByLabel('2 mentions of you').waitFor();
    await mention('dora-3');
    await row.getByLabel('6 unread messages').waitFor();
    await row.getByLabel('3 mentions of you').waitFor();
  });

  test('where no socket opens, the list is walked over HTTP', async () => {
    const { page, guest, room } = await inRoom('beth', 'carl', 'Chapel');
    await untilKept(page, 'Chapel');
    await page.routeWebSocket(/\/v1\/ws/, (socket) => void socket.close());
    await page.goto('about:blank');
    await say(server, guest, room, 'not over a socket');
    await page.goto(server.coordinator);
    await page.getByRole('navigation').getByText('not over a socket').waitFor();
  });

  test('RCP-01 what was read on another device meanwhile is not unread to who opens the room at once', async () => {
    const { page, host, guest, room } = await inRoom('rosa', 'sven', 'Harbour');
    const newestOf = async (count: number, word: string) => {
      for (let at = 1; at <= count; at += 1) await say(server, guest, room, `${word} ${at}`);
    };
    await newestOf(1, 'unread here');
    await untilKept(page, 'unread here 1');
    await page.goto('about:blank');
    await newestOf(60, 'read elsewhere');
    const receipt = { state: 'read', seq: 62 };
    const read = await server.api(host, 'POST', `/v1/conversations/${room}/receipts`, receipt);
    assert.ok(read.status < 300, read.text);
    const history = Promise.withResolvers<void>();
    page.on('response', (response) => /\/messages\?/.test(response.url()) && history.resolve());
    await page.route(/\/v1\/inbox/, async (route) => {
      await history.promise;
      await route.continue();
    });
    await page.goto(`${server.coordinator}/#/c/${room}`);
    await messageOf(page, 'read elsewhere 60').waitFor();
    assert.equal(await page.getByRole('separator', { name: 'New messages' }).count(), 0);
    assert.equal(await page.getByRole('button', { name: 'To the newest message' }).count(), 0);
  });

  test('a list that is walked for longer than a second keeps no room waiting', async () => {
    const { page, guest, room } = await inRoom('tara', 'udo', 'Island');
    await say(server, guest, room, 'unread here');
    await untilKept(page, 'unread here');
    const held = Promise.withResolvers<void>();
    await page.route(/\/v1\/inbox/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto('about:blank');
    await page.goto(`${server.coordinator}/#/c/${room}`);
    await messageOf(page, 'unread here').waitFor();
    held.resolve();
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('whoever was removed meanwhile finds nothing of the room, also in what is kept', async () => {
    const { host, page, room } = await inRoom('emma', 'finn', 'Office');
    const handed = await server.api(host, 'PATCH', `/v1/conversations/${room}/participants/finn`, { role: 'owner' });
    assert.equal(handed.status, 200, handed.text);
    await untilKept(page, 'Office');
    await page.goto('about:blank');
    const left = await server.api(host, 'DELETE', `/v1/conversations/${room}/participants/emma`);
    assert.ok(left.status < 300, left.text);
    await page.goto(server.coordinator);
    await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
    await page.getByRole('navigation').getByText('Office').waitFor({ state: 'detached' });
    await until(async () => !(await kept(page)).includes('the first words'), 'it to be gone from what is kept');
  });

  test('signing out leaves nothing, in no tab, and the next person finds nothing', async () => {
    const { guest, page, room } = await inRoom('gina', 'hugo', 'Kitchen');
    await untilKept(page, 'the first words');
    const other = await page.context().newPage();
    await other.goto(server.coordinator);
    await other.getByRole('navigation').getByText('Kitchen').waitFor();
    await page.evaluate(() => {
      location.hash = '#/settings';
    });
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Username').waitFor();
    await other.getByLabel('Username').waitFor();
    await say(server, guest, room, 'after it');
    await until(async () => (await kept(page)) === '[]', 'nothing to be kept');
    await signIn(server, page, 'hugo');
    await page.getByRole('navigation').getByText('Kitchen').waitFor();
    await untilKept(page, 'after it');
  });

  test('what another one left who never signed out is not shown to who signs in next', async () => {
    const { page } = await inRoom('ines', 'jens', 'Secret garden');
    await untilKept(page, 'the first words');
    await server.people('kurt');
    await page.evaluate(async () => void (await caches.open('parley.kept pictures ines')));
    // Their session is gone without a word, as where the cookies are cleared.
    await page.context().clearCookies();
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await signIn(server, page, 'kurt');
    await until(async () => (await kept(page)) === '[]', 'nothing to be kept');
    assert.equal(await page.getByText('Secret garden').count(), 0);
    const stores = async () => (await page.evaluate(async () => await caches.keys())).join();
    await until(async () => !(await stores()).includes('ines'), 'what was kept for her to be gone');
  });

  test('texts of a secret chat stay in memory', async () => {
    const { lena, mara } = await server.people('lena', 'mara');
    const { id: chat } = await start(server, lena, 'secret', ['mara']);
    await say(server, mara, chat, 'between us');
    const page = await people.person();
    await signIn(server, page, 'lena');
    await page.getByRole('navigation').getByText('between us').waitFor();
    await untilKept(page, chat);
    assert.ok(!(await kept(page)).includes('between us'));
    // So there are none without a network; they come with it, by themselves.
    await untilInstalled(page);
    await page.context().setOffline(true);
    await page.goto(`${server.coordinator}/#/c/${chat}`);
    await page.reload();
    await page.getByText('The server could not be reached.').waitFor();
    await page.context().setOffline(false);
    await messageOf(page, 'between us').waitFor();
  });

  test('NAM-01 people are called what they were called at the last visit, until the directory says otherwise', async () => {
    const { page, guest, room } = await inRoom('pia', 'quin', 'Pantry');
    const isCalled = async (name: string) => {
      const put = await fetch(`${server.coordinator}/v1/me`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${guest.session.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ display_name: name }),
      });
      assert.equal(put.status, 200, await put.text());
    };
    const keptNames = async () => await page.evaluate(() => localStorage.getItem('parley.names') ?? '');
    await isCalled('Quintus Maximus');
    await openRow(page, 'Pantry');
    const message = page.getByRole('article').filter({ hasText: 'the first words' });
    await message.getByText('Quintus Maximus').waitFor();
    await until(async () => (await keptNames()).includes('Quintus Maximus'), 'the name to be kept');
    // As an old visit and a long one left it: names that nobody confirmed for long, and one more than are kept.
    await page.evaluate(
      ([most, days]) => {
        const today = Math.floor(Date.now() / 86_400_000);
        const others = Array.from({ length: most }, (_, index) => [String(index), `Name ${index}`, today]);
        const own = JSON.parse(localStorage.getItem('parley.names') ?? '[]') as unknown[];
        const old = ['old', 'Too old', today - days - 1];
        localStorage.setItem('parley.names', JSON.stringify([old, ...others.toReversed(), ...own]));
      },
      [NAMES_KEPT_MAX, NAMES_KEPT_DAYS] as const,
    );
    const held = Promise.withResolvers<void>();
    await page.route('**/v1/directory?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await isCalled('Quintus Minimus');
    await page.reload();
    await message.getByText('Quintus Maximus').waitFor();
    held.resolve();
    await message.getByText('Quintus Minimus').waitFor();
    await until(async () => (await keptNames()).includes('Quintus Minimus'), 'the new name to be kept');
    const names = (JSON.parse(await keptNames()) as [string][]).map(([user]) => user);
    assert.equal(names.length, NAMES_KEPT_MAX);
    assert.ok(!names.includes('old') && !names.includes(String(NAMES_KEPT_MAX - 1)), 'the oldest ones are gone');
    assert.equal(names.at(-1), 'quin');
    await say(server, guest, room, 'before the end');
    await page.evaluate(() => {
      location.hash = '#/settings';
    });
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Username').waitFor();
    assert.equal(await keptNames(), '');
  });

  test('pictures of people are there at once and without a network, until they change, grow old or somebody signs out', async () => {
    const { guest, page } = await inRoom('wilma', 'xeno', 'Attic');
    const isSeen = async (shade: string) => {
      const body = await sharp({ create: { width: 64, height: 64, channels: 3, background: shade } })
        .png()
        .toBuffer();
      const put = await fetch(`${server.coordinator}/v1/me/avatar`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${guest.session.token}`, 'content-type': 'image/png' },
        body,
      });
      assert.equal(put.status, 200, await put.text());
    };
    const keptNow = async () =>
      await page.evaluate(async (name) => {
        if (!(await caches.has(name))) return undefined;
        const cache = await caches.open(name);
        const all = await Promise.all(
          (await cache.keys()).map(async (one) => [one.url, await cache.match(one)] as const),
        );
        return all.map(([url, answer]) => `${url.split('/').at(-1)} ${answer?.headers.get('x-picture-number')}`);
      }, PICTURES);
    const asked: string[] = [];
    page.on('request', (request) => void (request.url().includes('/v1/avatars/') && asked.push(request.url())));
    await openRow(page, 'Attic');
    const face = messageOf(page, 'the first words').locator('img[src^="blob:"]');
    await isSeen('#204080');
    await face.waitFor();
    const first = await until(
      async () => (await keptNow())?.find((one) => one.startsWith('xeno ')),
      'the picture to be kept',
    );
    assert.equal(asked.length, 1);
    const [directory] = await Promise.all([page.waitForResponse(/\/v1\/directory\?/), page.reload()]);
    await directory.finished();
    await face.waitFor();
    await untilMessageKept(page, 'the first words');
    await page.context().setOffline(true);
    await page.reload();
    await face.waitFor();
    assert.ok(await face.evaluate((image: HTMLImageElement) => image.naturalWidth > 0));
    assert.equal(asked.length, 1, 'a picture that is kept is not asked for');
    await page.context().setOffline(false);

    // One more than are kept, of whom the oldest goes; what is there of somebody is replaced.
    await page.evaluate(
      async ([name, most]) => {
        const cache = await caches.open(name);
        for (let at = 0; at < most; at += 1) await cache.put(`kept/other-${at}`, new Response('x'));
      },
      [PICTURES, PICTURES_KEPT_MAX] as const,
    );
    await isSeen('#804020');
    const now = await until(async () => {
      const all = (await keptNow()) ?? [];
      return (
        all.length === PICTURES_KEPT_MAX && all.at(-1)?.startsWith('xeno ') === true && !all.includes(first) && all
      );
    }, 'the new picture to be kept');
    assert.ok(now[0]?.startsWith('other-1 '), now[0]);

    // A day beyond its time there are the letters of the name, until the server is asked.
    const grownOld = async (days: number) =>
      await page.evaluate(
        async ([name, age]) => {
          const cache = await caches.open(name);
          const answer = (await cache.match('kept/xeno')) as Response;
          const headers = new Headers(answer.headers);
          headers.set('x-kept-day', String(Math.floor(Date.now() / 86_400_000) - age));
          await cache.put('kept/xeno', new Response(await answer.blob(), { headers }));
        },
        [PICTURES, days] as const,
      );
    await page.context().setOffline(true);
    await grownOld(PICTURES_KEPT_DAYS);
    await page.reload();
    await face.waitFor();
    await grownOld(PICTURES_KEPT_DAYS + 1);
    await page.reload();
    await messageOf(page, 'the first words').waitFor();
    assert.equal(await face.count(), 0);
    await page.context().setOffline(false);
    await face.waitFor();
    const headers = { authorization: `Bearer ${guest.session.token}` };
    assert.ok((await fetch(`${server.coordinator}/v1/me/avatar`, { method: 'DELETE', headers })).ok);
    await face.waitFor({ state: 'detached' });
    const isForgotten = async () => (await keptNow())?.every((one) => !one.startsWith('xeno ')) === true;
    await until(isForgotten, 'a picture that there is no more to be forgotten');
    await page.evaluate(() => {
      location.hash = '#/settings';
    });
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Username').waitFor();
    await until(async () => (await keptNow()) === undefined, 'the pictures to be forgotten');
  });

  test('in a browser that keeps nothing all of it works, from the network', async () => {
    const { nora, otto } = await server.people('nora', 'otto');
    const { id: room } = await start(server, nora, 'room', ['otto'], 'Porch');
    await say(server, otto, room, 'the first words');
    const page = await people.person();
    await page.addInitScript(() => {
      Object.defineProperty(IDBFactory.prototype, 'open', {
        value: () => {
          throw new DOMException('The user denied permission to access the database.', 'InvalidStateError');
        },
      });
    });
    await signIn(server, page, 'nora');
    await openRow(page, 'Porch');
    await messageOf(page, 'the first words').waitFor();
    await page.reload();
    await messageOf(page, 'the first words').waitFor();
    await fieldOf(page, 'Porch').waitFor();
  });

  test('no page complained', () => {
    assert.deepEqual(people.complaints, []);
  });
});
