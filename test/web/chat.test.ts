/**
 * The app as two strangers meet it, each in a browser of their own: from an invitation's link to a conversation with files,
 * over a broken connection, in both themes and at two widths. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Locator, Page, WebSocketRoute } from 'playwright-core';
import sharp from 'sharp';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { chooseInHead } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, restingTop, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';

/** Marks that turn the writing round, nothing to be seen, one word of 10,000 letters, 16,000 quotes in each other, 1,000 marks on one letter. */
const HOSTILE = {
  script: '<img src=x onerror="document.title=1"><script>document.title=1</script>[x](javascript:document.title=1)',
  turned: '\u202ereversed\u202c and \u200bunseen\u200b',
  long: 'w'.repeat(10_000),
  nested: '>'.repeat(16_000),
  marked: `z${'\u0301'.repeat(1_000)} end`,
};

let server: TestServer;
before(async () => {
  buildApp();
  server = await startServer();
});
after(async () => await server?.stop());

describe('the app in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let alice: Page;
  let bob: Page;
  let accounts: Record<'alice' | 'bob' | 'carol', Person>;

  before(async () => {
    accounts = await server.people('alice', 'bob', 'carol');
    people = await People.start();
  });
  after(async () => {
    await people?.stop();
  });

  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  const signIn = async (page: Page, username: string) => {
    await page.goto(server.coordinator);
    await enter(page, username);
  };
  const enter = async (page: Page, username: string) => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill(`password of ${username}`);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
  };
  const field = (page: Page, title: string) => page.getByRole('textbox', { name: `Message ${title}`, exact: true });
  const send = async (page: Page, title: string, text: string) => {
    await field(page, title).fill(text);
    await field(page, title).press('Enter');
  };
  const messageOf = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text });
  const rowOf = (page: Page, title: string) =>
    page
      .getByRole('navigation')
      .getByRole('link')
      .filter({ has: page.locator('bdi', { hasText: new RegExp(`^${title}$`) }) });
  const openRow = async (page: Page, title: string) => {
    await rowOf(page, title).click();
    await field(page, title).waitFor();
  };
  const act = async (message: Locator, name: string) => {
    await message.hover();
    await message.getByRole('button', { name, exact: true }).click();
  };
  const choose = async (page: Page, item: string) => {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };

  test('whoever is refused reads why, in their language', async () => {
    alice = await people.person();
    await alice.goto(server.coordinator);
    await alice.getByLabel('Username').fill('alice');
    await alice.getByLabel('Password', { exact: true }).fill('not the password');
    await alice.getByRole('button', { name: 'Sign in', exact: true }).click();
    await alice.getByRole('alert').getByText('The username or the password is wrong.').waitFor();
    await alice.getByRole('button', { name: 'Русский' }).click();
    await alice.getByRole('heading', { name: 'Вход в Parley' }).waitFor();
    assert.equal(await alice.locator('html').getAttribute('lang'), 'ru');
    await alice.getByRole('button', { name: 'English' }).click();
  });

  test('a page without JavaScript says what is needed', async () => {
    const page = await people.person({ javaScriptEnabled: false });
    await page.goto(server.coordinator);
    // Playwright's texts pass over what stands in a noscript.
    const said = page.locator('noscript p').first();
    await said.waitFor();
    assert.match((await said.textContent()) ?? '', /Its app needs JavaScript/);
    assert.ok(((await said.boundingBox())?.y ?? Infinity) < 300, 'it is in sight');
    await page.context().close();
  });

  test('an invitation leads into the app', async () => {
    const link = await until(() => /http:\S+\/v1\/enroll\/\S+/.exec(server.output.join('\n'))?.[0], 'the set-up link');
    const owner = await people.person();
    await owner.goto(link);
    await owner.getByLabel('Username').fill('root');
    await owner.getByLabel('Password', { exact: true }).fill('a long enough password');
    await owner.getByLabel('Password again').fill('a long enough password');
    await owner.getByRole('button', { name: 'Create the account' }).click();
    await owner.getByRole('link', { name: 'Go on to the app' }).click();
    await owner.getByText('Welcome, root.').waitFor();
    await owner.getByLabel('Password', { exact: true }).fill('a long enough password');
    await owner.keyboard.press('Enter');
    await owner.getByText('No conversations yet.').waitFor();
    await owner.context().close();
  });

  test('words that do not come leave the app in English, and not an empty page', async () => {
    const page = await people.person({ locale: 'ru-RU' });
    await page.route(/russian-[^/]*[.]js$/, async (route) => await route.abort());
    await page.goto(server.coordinator);
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    await page.unroute(/russian-[^/]*[.]js$/);
    await page.reload();
    await page.getByRole('button', { name: 'Войти', exact: true }).waitFor();
    // What was told of it; nothing else is wrong with the page.
    assert.equal(new Set(people.complaints.splice(0)).size, 1);
    await page.context().close();
  });

  test('the first JavaScript of the chat is at most 320 KB, gzipped', async () => {
    await signIn(alice, 'alice');
    const names = await alice.evaluate<string[]>(
      "performance.getEntriesByType('resource').map((one) => one.name).filter((name) => name.endsWith('.js'))",
    );
    const sizes = await Promise.all(
      names.map(async (name) => {
        // The browser has Brotli; the bar is stated in gzip. `identity` of what is sent tells the bytes on the way.
        const reply = await fetch(name, { method: 'HEAD', headers: { 'accept-encoding': 'gzip' } });
        assert.equal(reply.headers.get('content-encoding'), 'gzip');
        return Number(reply.headers.get('content-length'));
      }),
    );
    const sum = sizes.reduce((total, size) => total + size, 0);
    assert.ok(sum > 100_000 && sum <= 320_000, `${sum} bytes of ${names.length} files`);
    // The large ones say to V8 that all of their functions are called.
    const large = names.filter((_, index) => (sizes[index] ?? 0) > 50_000);
    const starts = await Promise.all(large.map(async (name) => (await (await fetch(name)).text()).slice(0, 29)));
    assert.deepEqual(
      starts,
      Array.from({ length: 2 }, () => '//# allFunctionsCalledOnLoad\n'),
    );
  });

  test('two people find each other, talk, and see that they are read', async () => {
    await choose(alice, 'Message a person');
    await alice.getByLabel('Find people by name').fill('bo');
    await alice.getByRole('option', { name: 'bob' }).waitFor();
    await alice.keyboard.press('Enter');
    await send(alice, 'bob', 'Hello **Bob**');
    await messageOf(alice, 'Hello Bob').waitFor();

    bob = await people.person();
    await signIn(bob, 'bob');
    const row = rowOf(bob, 'alice');
    await row.getByLabel('1 unread message').waitFor();
    await alice.getByRole('img', { name: 'Sent', exact: true }).waitFor();
    await row.click();
    assert.equal(await messageOf(bob, 'Hello Bob').locator('strong').textContent(), 'Bob');
    await row.getByLabel('1 unread message').waitFor({ state: 'detached' });
    await alice.getByRole('img', { name: 'Read', exact: true }).waitFor();

    await field(bob, 'alice').pressSequentially('I a');
    await alice.getByTestId('typing').getByText('bob is typing…').waitFor();
    await field(bob, 'alice').press('Shift+Enter');
    await field(bob, 'alice').pressSequentially('m here');
    await field(bob, 'alice').press('Enter');
    await messageOf(alice, 'm here').waitFor();
    assert.equal(await messageOf(alice, 'm here').locator('br').count(), 1);
    await alice.getByRole('log').getByText('bob: I a m here').waitFor({ state: 'attached' });
  });

  test('a message is answered, reacted to, changed and deleted, and the other sees each of it', async () => {
    await send(bob, 'alice', 'The first word');
    await messageOf(alice, 'The first word').waitFor();
    await act(messageOf(alice, 'The first word'), 'React');
    await alice.getByRole('group', { name: 'Emoji' }).getByRole('button', { name: '🎉' }).click();
    await messageOf(bob, 'The first word').getByRole('button', { name: '🎉 1: alice' }).click();
    await messageOf(alice, 'The first word')
      .getByRole('button', { name: /^🎉 2: / })
      .waitFor();

    await act(messageOf(alice, 'The first word'), 'Reply');
    await alice.getByText('Replying to bob: The first word').waitFor();
    await send(alice, 'bob', 'An answer');
    await messageOf(bob, 'An answer').getByRole('button', { name: 'bob The first word' }).waitFor();
    // Bob may have it before her own page knows that it was taken.
    await messageOf(alice, 'An answer').waitFor();

    await field(alice, 'bob').press('ArrowUp');
    assert.equal(await field(alice, 'bob').inputValue(), 'An answer');
    await send(alice, 'bob', 'A better answer');
    await messageOf(bob, 'A better answer').getByText('edited').waitFor();

    await act(messageOf(alice, 'A better answer'), 'Delete');
    await bob.getByRole('article').getByText('This message was deleted.').waitFor();
    assert.equal(await messageOf(bob, 'A better answer').count(), 0);
  });

  test('a room is made, found, joined, and people are mentioned in it', async () => {
    await choose(alice, 'Create a room');
    const dialog = alice.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('Harbour');
    await dialog.getByLabel('Topic').fill('Boats and weather');
    await dialog.getByLabel('Public').check({ force: true });
    await dialog.getByRole('button', { name: 'Create the room' }).click();
    await field(alice, 'Harbour').waitFor();

    await choose(bob, 'Browse public rooms');
    await bob.getByLabel('Find rooms by name').fill('harb');
    await bob.getByRole('button', { name: 'Join Harbour' }).click();
    await field(bob, 'Harbour').waitFor();
    await openRow(bob, 'alice');

    await field(alice, 'Harbour').pressSequentially('Look, @bo');
    await alice.getByRole('listbox', { name: 'People to mention' }).getByRole('option', { name: 'bob' }).waitFor();
    await field(alice, 'Harbour').press('Enter');
    await field(alice, 'Harbour').pressSequentially('a boat');
    await field(alice, 'Harbour').press('Enter');
    await rowOf(bob, 'Harbour').getByLabel('1 mention of you').waitFor();
    await openRow(bob, 'Harbour');
    await messageOf(bob, 'a boat').locator('.parley-me', { hasText: '@bob' }).waitFor();

    await act(messageOf(bob, 'a boat'), 'Open the thread');
    const thread = bob.getByRole('complementary', { name: 'Thread' });
    await thread.getByRole('textbox', { name: 'Message Thread' }).fill('What kind of boat?');
    await thread.getByRole('textbox').press('Enter');
    await messageOf(alice, 'a boat').getByRole('button', { name: '1 reply' }).click();
    await alice.getByRole('complementary').getByText('What kind of boat?').waitFor();
    await thread.getByRole('button', { name: 'Close' }).click();
    await alice.getByRole('complementary').getByRole('button', { name: 'Close' }).click();
  });

  test('a room is renamed, left and entered by a link', async () => {
    await alice.getByRole('button', { name: 'More', exact: true }).click();
    await alice.getByRole('menuitem', { name: 'Room settings' }).click();
    const settings = alice.getByRole('complementary', { name: 'Room settings' });
    await settings.getByLabel('Name', { exact: true }).fill('The harbour');
    await settings.getByRole('button', { name: 'Save' }).click();
    await bob.getByRole('heading', { name: 'The harbour' }).waitFor();

    await settings.getByRole('button', { name: 'Make an invitation link' }).click();
    const link = await settings.getByLabel('Invitation link').inputValue();
    await settings.getByRole('button', { name: 'Close' }).click();
    const carol = await people.person();
    await signIn(carol, 'carol');
    await carol.goto(link);
    await carol.getByRole('button', { name: 'Join the room' }).click();
    await messageOf(carol, 'What kind of boat?').waitFor();

    await alice.getByRole('button', { name: 'People', exact: true }).click();
    const members = alice.getByRole('complementary', { name: 'People' }).getByRole('listitem');
    await until(async () => (await members.count()) === 3, 'three people');
    assert.match((await members.filter({ hasText: 'alice' }).textContent()) ?? '', /owner/);
    await carol.getByRole('button', { name: 'More', exact: true }).click();
    await carol.getByRole('menuitem', { name: 'Room settings' }).click();
    await carol.getByRole('button', { name: 'Leave the room' }).click();
    await carol.getByRole('dialog').getByRole('button', { name: 'Leave the room' }).click();
    await carol.getByText('No conversations yet.').waitFor();
    await until(async () => (await members.count()) === 2, 'two people');
    await alice.getByRole('complementary').getByRole('button', { name: 'Close' }).click();
    await carol.context().close();
  });

  test('files are sent by paste and by choice; pictures keep their place, names show what they are', async () => {
    const picture = await sharp({ create: { width: 640, height: 480, channels: 3, background: '#2b8a3e' } })
      .png()
      .toBuffer();
    const files = [
      { name: 'meadow.png', mimeType: 'image/png', buffer: picture },
      { name: 'annual\u202efdp.exe', mimeType: 'application/octet-stream', buffer: Buffer.from('MZ') },
    ];
    const [chooser] = await Promise.all([
      alice.waitForEvent('filechooser'),
      alice.getByRole('button', { name: 'Attach files' }).click(),
    ]);
    await chooser.setFiles(files);
    const image = bob.getByRole('button', { name: 'Open meadow.png' }).locator('img');
    await image.waitFor();
    const size = await image.boundingBox();
    assert.deepEqual([Math.round(size?.width ?? 0), Math.round(size?.height ?? 0)], [380, 285]);
    const card = bob.getByRole('button', { name: 'Download annualfdp.exe' });
    const [download] = await Promise.all([bob.waitForEvent('download'), card.click()]);
    assert.equal(readFileSync(await download.path(), 'utf8'), 'MZ');
  });

  test('the list is searched, walked by the keyboard, and has favourites on top', async () => {
    await alice.keyboard.press('Control+k');
    await alice.getByLabel('Search conversations').pressSequentially('bob');
    await rowOf(alice, 'The harbour').waitFor({ state: 'detached' });
    await alice.keyboard.press('Enter');
    await field(alice, 'bob').waitFor();
    await rowOf(alice, 'The harbour').waitFor();
    await alice.keyboard.press('Alt+ArrowUp');
    await field(alice, 'The harbour').waitFor();
    await alice.keyboard.press('Alt+ArrowDown');
    await field(alice, 'bob').waitFor();
    await alice.getByLabel('Search conversations').fill('nobody at all');
    await alice.getByText('No conversation is called “nobody at all”.').waitFor();
    await alice.getByLabel('Search conversations').press('Escape');

    await alice.getByRole('button', { name: 'More', exact: true }).click();
    await alice.getByRole('menuitem', { name: 'Add to favourites' }).click();
    await alice.getByRole('heading', { name: 'Favourites' }).waitFor();
    const listed = await alice.getByRole('navigation').getByRole('link').allTextContents();
    const placeOf = (title: string) => listed.findIndex((text) => text.includes(title));
    assert.ok(placeOf('bob') >= 0 && placeOf('bob') < placeOf('The harbour'), listed.join());
    // Another visit finds it there: the server keeps it.
    await alice.reload();
    await alice.getByRole('heading', { name: 'Favourites' }).waitFor();
    await alice.getByRole('button', { name: 'More', exact: true }).click();
    await alice.getByRole('menuitem', { name: 'Remove from favourites' }).click();
    await alice.getByRole('heading', { name: 'Favourites' }).waitFor({ state: 'detached' });
  });

  test('what is sent without a connection waits in sight, and goes out by itself', async () => {
    await openRow(alice, 'bob');
    await openRow(bob, 'alice');
    await alice.context().setOffline(true);
    await send(alice, 'bob', 'Sent from a tunnel');
    await alice.getByRole('img', { name: 'Waiting to be sent' }).waitFor();
    await alice.context().setOffline(false);
    await messageOf(bob, 'Sent from a tunnel').waitFor();
    await alice.getByRole('img', { name: 'Waiting to be sent' }).waitFor({ state: 'detached' });
    assert.equal(await messageOf(alice, 'Sent from a tunnel').count(), 1);
  });

  test('a lost connection is said, and what was missed is there when it is back', async () => {
    const train = await people.person();
    let isCut = false;
    const open = new Set<WebSocketRoute>();
    await train.routeWebSocket(/\/v1\/ws/, (socket) => {
      if (isCut) void socket.close({ code: 1001 });
      else {
        open.add(socket);
        socket.connectToServer();
      }
    });
    await signIn(train, 'bob');
    await openRow(train, 'alice');
    await field(train, 'alice').waitFor();
    isCut = true;
    for (const socket of open) await socket.close({ code: 1001 });
    await train.getByRole('status').getByText('No connection.').waitFor();
    await train.getByRole('button', { name: 'Try now' }).waitFor();
    await send(alice, 'bob', 'Said meanwhile');
    await messageOf(alice, 'Said meanwhile').waitFor();
    isCut = false;
    await train.evaluate(() => globalThis.dispatchEvent(new Event('online')));
    await messageOf(train, 'Said meanwhile').waitFor();
    await train.getByText('No connection.').waitFor({ state: 'detached' });
    await train.context().close();
  });

  test('a refused message stays with its reason until it is sent again or given up', async () => {
    await alice.route('**/v1/conversations/*/messages', async (route) => {
      if (route.request().method() !== 'POST') return await route.fallback();
      const body = JSON.stringify({ code: 'conversation_archived', error: 'The room is archived.' });
      await route.fulfill({
        status: 409,
        contentType: 'application/json',
        headers: { 'access-control-allow-origin': '*' },
        body,
      });
    });
    await send(alice, 'bob', 'Will it go?');
    await alice.getByRole('alert').getByRole('button', { name: 'Send again' }).waitFor();
    await alice.unroute('**/v1/conversations/*/messages');
    await alice.getByRole('button', { name: 'Send again' }).click();
    await messageOf(bob, 'Will it go?').waitFor();
    await alice.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });
  });

  test('MSG-12 a long history is read to both sides, and nothing moves under the eyes', async () => {
    const room = await server.api<{ id: string }>(accounts.alice, 'POST', '/v1/conversations', {
      kind: 'room',
      title: 'Archive',
      participants: ['bob'],
    });
    for (let at = 1; at <= 230; at += 1) {
      const message = { kind: 'text', body: `Line ${at}`, client_msg_id: `line-${at}` };
      await server.api(accounts.alice, 'POST', `/v1/conversations/${room.body.id}/messages`, message);
    }
    // Of what comes while the room is open nothing is unread.
    await rowOf(bob, 'Archive').getByLabel('230 unread messages').waitFor();
    await openRow(bob, 'Archive');
    // The first one that is unread is far up: the list begins there, under a line that says so.
    await bob.getByRole('separator', { name: 'New messages' }).waitFor();
    await messageOf(bob, 'Line 1').first().waitFor();
    await bob.getByRole('button', { name: 'To the newest message' }).click();
    await messageOf(bob, 'Line 230').waitFor();
    const topOf = async (text: string) => await restingTop(bob.getByText(text, { exact: true }));
    const held = Promise.withResolvers<void>();
    await bob.route('**/messages?*before_seq=*', async (route) => {
      await held.promise;
      await route.continue();
    });
    const first = 230 - 100 + 1;
    await bob.getByRole('log', { name: 'Messages' }).hover();
    await until(async () => {
      await bob.mouse.wheel(0, -400);
      return (await bob.getByText(`Line ${first}`, { exact: true }).count()) === 1;
    }, 'the oldest one of the page');
    await bob.getByText(`Line ${first}`, { exact: true }).scrollIntoViewIfNeeded();
    const stood = await topOf(`Line ${first}`);
    held.resolve();
    await bob.getByText(`Line ${first - 1}`, { exact: true }).waitFor({ state: 'attached' });
    assert.ok(
      Math.abs((await topOf(`Line ${first}`)) - stood) < 3,
      `the older page moved what was in sight: ${stood} to ${await topOf(`Line ${first}`)}`,
    );
    await until(async () => {
      await bob.mouse.wheel(0, -2000);
      return (await bob.getByText('Line 1', { exact: true }).count()) === 1;
    }, 'the first line');
    await bob.getByText('This is where the conversation begins.').waitFor();
  });

  test('hostile texts and names are shown harmlessly and move nothing', async () => {
    await openRow(alice, 'Archive');
    const list = alice.getByRole('log', { name: 'Messages' });
    const conv = new URL(alice.url()).hash.split('/').at(-1) ?? '';
    const post = async (name: keyof typeof HOSTILE, shown: string) => {
      const message = { kind: 'text', body: HOSTILE[name], client_msg_id: `hostile-${name}` };
      const reply = await server.api(accounts.bob, 'POST', `/v1/conversations/${conv}/messages`, message);
      assert.equal(reply.status, 201, reply.text);
      const row = alice.getByRole('article').filter({ hasText: shown });
      await row.waitFor();
      assert.ok(await row.evaluate((one) => one.scrollWidth <= one.clientWidth), `${name} is wider than its place`);
      return row;
    };
    await post('script', '<img src=x onerror=');
    assert.equal(await list.locator('script, img[src="x"], a[href^="javascript"]').count(), 0);
    assert.equal(await alice.title(), 'Parley');
    const turned = (await (await post('turned', 'reversed and')).textContent()) ?? '';
    assert.doesNotMatch(turned, /[\u202a-\u202e\u2066-\u2069]/u);
    await post('long', 'wwwwww');
    await post('nested', '>>>>>>');
    const marked = await post('marked', ' end');
    assert.doesNotMatch((await marked.textContent()) ?? '', /\p{M}{5}/u);
    assert.ok(((await marked.boundingBox())?.height ?? Infinity) < 60, 'marks make no row taller');
    const isWider = async () => await alice.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth');
    assert.equal(await isWider(), false, 'the page is wider');
    // What is written, in a window as narrow as WCAG 2.2 asks for (1.4.10).
    await alice.setViewportSize({ width: 320, height: 568 });
    const composer = alice.getByRole('textbox', { name: /^Message / });
    await composer.fill(`https://example.org/${'a'.repeat(200)}`);
    const { x = 0 } = (await alice.getByRole('button', { name: 'Send', exact: true }).boundingBox()) ?? {};
    assert.ok(x > 200 && x < 300, `to send is at ${x}`);
    await composer.fill('');
    await alice.setViewportSize(WIDE);
    // What is searched for is said again where nothing is found, and no more of it is asked than the server takes.
    const query = alice.getByRole('searchbox', { name: 'Search conversations' });
    await query.fill('v'.repeat(10_000));
    await alice.getByText('No conversation is called').waitFor();
    assert.equal(await isWider(), false, 'the list is wider');
    const answer = alice.waitForResponse((response) => response.url().includes('/v1/search'));
    await query.press('Enter');
    assert.equal((await answer).status(), 200);
    await alice.getByText('Nothing was found').waitFor();
    await query.press('Escape');
  });

  test('one has a name, a status, another password, and devices that can be signed out', async () => {
    const second = await people.person();
    await signIn(second, 'alice');
    await alice.getByRole('navigation').getByTitle('Settings').click();
    await alice.getByLabel('Display name').fill('\u202aAlice\u202c Harbour\u200b');
    await alice.getByLabel('Status', { exact: true }).fill('At sea');
    await alice.getByRole('region', { name: 'Profile' }).getByRole('button', { name: 'Save' }).click();
    await alice.getByRole('status').getByText('Saved.').waitFor();
    await openRow(bob, 'Alice Harbour');
    await bob.locator('.parley-head').getByText('At sea').waitFor();

    const devices = alice.getByRole('region', { name: 'Devices' });
    await devices.getByText('This device', { exact: true }).waitFor();
    await devices.getByRole('button', { name: 'Sign out' }).first().click();
    await alice.getByLabel('Current password').fill('password of alice');
    await alice.getByLabel('New password').fill('password');
    await alice.getByRole('button', { name: 'Change the password' }).click();
    await alice.getByText('This password is among the most common ones; choose another.').waitFor();
    await alice.getByLabel('New password').fill('a heron over the quiet lake');
    await alice.getByRole('button', { name: 'Change the password' }).click();
    await alice.getByText('The password is changed;').waitFor();
    await second.getByRole('alert').getByText('Please sign in again').waitFor();
    assert.equal(await second.evaluate("localStorage.getItem('parley.session')"), null);
    await second.context().close();
  });

  test('VER-04 an app that is behind says so, and one that is too old stops', async () => {
    const page = await people.person();
    const answerAs = async (service: string, least: string) =>
      await page.route('**/v1/auth/sso', async (route) => {
        const response = await route.fetch();
        const headers = { ...response.headers(), 'x-service-protocol': service, 'x-service-protocol-min': least };
        await route.fulfill({ response, headers });
      });
    await answerAs('2', '1');
    await page.goto(server.coordinator);
    await page.getByText('There is a newer version of this app.').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await answerAs('2', '2');
    await page.reload();
    await page.getByRole('heading', { name: 'This version of the app is too old' }).waitFor();
    await page.context().close();
  });

  const screens: readonly [name: string, go: (page: Page) => Promise<unknown>][] = [
    ['list', async (page) => await page.goto(`${server.coordinator}/#/`)],
    [
      'conversation',
      async (page) => {
        await page.goto(`${server.coordinator}/#/`);
        await openRow(page, 'The harbour');
        await messageOf(page, 'What kind of boat?').waitFor();
      },
    ],
    [
      'members',
      async (page) => {
        const title = page.locator('.parley-head h1');
        const isWhole = await title.evaluate((element) => element.scrollHeight <= element.clientHeight);
        assert.ok(isWhole, 'the title is cut off');
        await chooseInHead(page, 'People');
        await page.getByRole('complementary').getByRole('listitem').first().waitFor();
      },
    ],
    [
      'room',
      async (page) => {
        await page.getByRole('complementary').getByRole('button', { name: 'Close' }).click();
        await page.getByRole('button', { name: 'More', exact: true }).click();
        await page.getByRole('menuitem', { name: 'Room settings' }).click();
      },
    ],
    [
      'settings',
      async (page) => {
        await page.goto(`${server.coordinator}/#/settings`);
        await page.getByText('This device', { exact: true }).waitFor();
      },
    ],
    [
      'people',
      async (page) => {
        await page.goto(`${server.coordinator}/#/`);
        await choose(page, 'Message a person');
        await page.getByLabel('Find people by name').fill('a');
        await page.getByRole('option').first().waitFor();
      },
    ],
  ];
  test('axe finds nothing on any screen, light and dark, wide and narrow', async () => {
    const page = await people.person({ reducedMotion: 'reduce' });
    await page.goto(server.coordinator);
    await page.getByLabel('Username').waitFor();
    for (const viewport of [WIDE, NARROW]) {
      await page.setViewportSize(viewport);
      await assertAccessible(page, `sign-in-${viewport.width}`);
    }
    await enter(page, 'bob');
    for (const viewport of [WIDE, NARROW]) {
      await page.setViewportSize(viewport);
      for (const [name, go] of screens) {
        await go(page);
        // What is not shown counts for nothing, also where the list is all that there is.
        if (name === 'list') await page.getByRole('main').waitFor();
        if (name === 'list') await page.getByRole('heading', { level: 1 }).waitFor();
        await assertAccessible(page, `${name}-${viewport.width}`);
      }
      // What the last screen left open is not in the way of the other width.
      await page.keyboard.press('Escape');
    }
    await page.context().close();
  });
});
