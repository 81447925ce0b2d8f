/**
 * What two people do with messages in the app beyond saying them: searching, formatting, pinning, forwarding, taking back,
 * playing and looking through what was sent. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { portOf } from '#src/http/listening-address.ts';
import { startConsoleServer, type ConsoleServer } from '#test/support/console.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { act, bringIntoView, chooseFor, chooseInHead, fieldOf, messageOf, openRow, send, signIn } from './app-page.ts';
import { assertAccessible, CHROMIUM, NARROW, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';

/** Each has the word that is searched for, so that it is among what is found. */
const HOSTILE = [
  'zebra <img src=x onerror="document.title=1"><script>document.title=1</script>[x](javascript:document.title=1)',
  'zebra \u202ereversed\u202c and \u200bunseen\u200b',
  `zebra ${'w'.repeat(10_000)}`,
  `zebra z${'\u0301'.repeat(1_000)} end`,
];
/** Messages that are there at first: more than a page of the history. */
const NEWEST = 130;
/** What a page may say of itself: the server cuts it, and the app shows it as it shows names. */
const PAGE = `<title>Fine \u202eboats ${'w'.repeat(180)}</title><meta name="description" content="&lt;b&gt;All z${'\u0301'.repeat(300)} of them">`;

const pages = createServer((_, response) => response.setHeader('content-type', 'text/html; charset=utf-8').end(PAGE));
let started: ConsoleServer;
let server: TestServer;
before(async () => {
  buildApp();
  await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve));
  const environment = { PARLEY_LINK_PREVIEWS: 'on', PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  started = await startConsoleServer({ environment });
  ({ server } = started);
});
after(async () => {
  await started?.stop();
  pages.closeAllConnections();
  pages.close();
});

describe('messages in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let alice: Page;
  let bob: Page;
  let accounts: Record<'alice' | 'bob', Person>;
  let docks: string;

  const makeRoom = async (title: string) => {
    const form = { kind: 'room', title, participants: ['bob'] };
    return (await server.api<{ id: string }>(accounts.alice, 'POST', '/v1/conversations', form)).body.id;
  };
  let posted = 0;
  const post = async (who: Person, conv: string, body: string) => {
    posted += 1;
    const message = { kind: 'text', body, client_msg_id: `posted-${posted}` };
    const reply = await server.api<{ seq: number }>(who, 'POST', `/v1/conversations/${conv}/messages`, message);
    assert.equal(reply.status, 201, reply.text);
    return reply.body.seq;
  };
  const attach = async (page: Page, files: { name: string; mimeType: string; buffer: Buffer }[]) => {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Attach files' }).click(),
    ]);
    await chooser.setFiles(files);
  };
  const assertInPlace = async (part: Locator, name: string) =>
    assert.ok(await part.evaluate((one) => one.scrollWidth <= one.clientWidth), `${name} is wider than its place`);

  before(async () => {
    accounts = await server.people('alice', 'bob');
    docks = await makeRoom('Docks');
    await makeRoom('Sheds');
    for (let at = 1; at <= NEWEST; at += 1) {
      const body = at === 20 ? 'The zebra came aboard' : `Container ${at}`;
      await post(at % 2 === 0 ? accounts.bob : accounts.alice, docks, body);
    }
    people = await People.start();
    [alice, bob] = await Promise.all([people.person(), people.person()]);
    await Promise.all([signIn(server, alice, 'alice'), signIn(server, bob, 'bob')]);
    await openRow(alice, 'Docks');
    await openRow(bob, 'Docks');
    // What is not read yet is where the list begins: Bob goes on to the end, where new ones come into sight.
    await bob.getByRole('button', { name: 'To the newest message' }).click();
    await bob.getByText(`Container ${NEWEST}`, { exact: true }).waitFor();
  });
  after(async () => await people?.stop());
  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  const found = (page: Page) => page.getByRole('region', { name: 'Messages found' }).getByRole('link');
  const search = async (page: Page, words: string) => {
    await page.getByLabel('Words to find').fill(words);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
  };

  test('a message is found by its words and shown where it was said', async () => {
    await alice.getByLabel('Search conversations').fill('zebra');
    await alice.getByRole('link', { name: 'Search messages for “zebra”' }).click();
    await alice.getByText('1 message found.').waitFor();
    assert.equal(await found(alice).locator('mark').textContent(), 'zebra');
    await found(alice).click();
    const target = alice.locator('[data-target]', { hasText: 'The zebra came aboard' });
    await target.waitFor();
    await alice.getByText('Container 19', { exact: true }).waitFor();
    await alice.getByText('Container 21', { exact: true }).waitFor();
    assert.equal(await alice.getByText(`Container ${NEWEST}`, { exact: true }).count(), 0);
    // Back is where one came from, with what was found.
    await alice.goBack();
    await found(alice).waitFor();
  });

  test('operators and filters narrow a search, and each can be taken away', async () => {
    await post(accounts.alice, docks, 'A zebra of mine');
    await search(alice, 'zebra from:bob in:docks');
    await alice.getByText('1 message found.').waitFor();
    assert.equal(await alice.getByLabel('Words to find').inputValue(), 'zebra');
    assert.equal(await alice.getByLabel('From', { exact: true }).first().inputValue(), 'bob');
    assert.equal(await alice.getByLabel('In', { exact: true }).first().inputValue(), 'Docks');
    await alice.getByLabel('From', { exact: true }).first().click();
    await alice.getByRole('option', { name: 'Anybody' }).click();
    await alice.getByText('2 messages found.').waitFor();
    await alice.getByLabel('Before this day').fill('2020-01-01');
    await alice.getByText('Nothing was found.').waitFor();
    await alice.getByLabel('Before this day').fill('');
    await alice.getByLabel('From this day on').fill('2020-01-01');
    await alice.getByText('2 messages found.').waitFor();
    await alice.getByLabel('Files only').check();
    await alice.getByText('Nothing was found.').waitFor();
    await alice.getByLabel('Files only').uncheck();
    await alice.getByText('2 messages found.').waitFor();
    await search(alice, 'z');
    await alice.getByRole('alert').getByText('Search for two characters or more').waitFor();
  });

  test('hostile messages among what is found are harmless and keep their place', async () => {
    for (const text of HOSTILE) await post(accounts.bob, docks, text);
    await search(alice, 'zebra');
    await alice.getByText('6 messages found.').waitFor();
    for (const row of await found(alice).all()) {
      await assertInPlace(row, (await row.textContent()) ?? '');
      assert.ok(((await row.boundingBox())?.height ?? Infinity) < 130, 'three lines at most');
    }
    assert.equal(await alice.locator('.parley-search script, .parley-search img[src="x"]').count(), 0);
    assert.equal(await alice.title(), 'Parley');
    assert.doesNotMatch((await alice.locator('.parley-search-found').textContent()) ?? '', /[\u202a-\u202e]|\p{M}{5}/u);
  });

  test('text is formatted by buttons and by keys, and code has its colours', async () => {
    await openRow(alice, 'Docks');
    const field = fieldOf(alice, 'Docks');
    await field.fill('Mind the gap');
    await field.press('End');
    for (let key = 0; key < 3; key += 1) await field.press('Shift+ArrowLeft');
    await alice.getByRole('toolbar', { name: 'Formatting' }).getByRole('button', { name: 'Bold (Ctrl+B)' }).click();
    assert.equal(await field.inputValue(), 'Mind the **gap**');
    await field.press('Control+b');
    assert.equal(await field.inputValue(), 'Mind the gap');
    await field.press('Control+i');
    await field.press('Enter');
    assert.equal(await messageOf(bob, 'Mind the gap').locator('em').textContent(), 'gap');

    await send(alice, 'Docks', '```js\nconst crane = "<b>up</b>";\n```');
    const code = messageOf(bob, 'const crane').locator('pre');
    await code.locator('.hljs-keyword', { hasText: 'const' }).waitFor();
    assert.equal(await code.textContent(), 'const crane = "<b>up</b>";');
    assert.equal(await code.locator('b').count(), 0);
    // A language that nobody knows, and code beyond what is coloured, stay as they are.
    await send(alice, 'Docks', '```nosuch\nconst plain\n```');
    await messageOf(bob, 'const plain').waitFor();
    assert.equal(await messageOf(bob, 'const plain').locator('.hljs-keyword').count(), 0);
    // The buttons go away for whoever does not want them, and stay away.
    await alice.getByRole('button', { name: 'Formatting', exact: true }).click();
    await alice.getByRole('toolbar').waitFor({ state: 'detached' });
    await alice.reload();
    await fieldOf(alice, 'Docks').waitFor();
    assert.equal(await alice.getByRole('toolbar').count(), 0);
    await alice.getByRole('button', { name: 'Formatting', exact: true }).click();
    await alice.getByRole('toolbar').waitFor();
  });

  test('an emoji is found by a word for it, in the language of the app', async () => {
    await alice.getByRole('button', { name: 'Emoji', exact: true }).click();
    const words = alice.getByLabel('Find an emoji');
    await until(async () => await words.evaluate((one) => one === document.activeElement), 'the focus in the search');
    await alice.keyboard.type('lobst');
    await alice.getByRole('button', { name: '🦞 lobster' }).waitFor();
    await words.press('Enter');
    await until(async () => (await fieldOf(alice, 'Docks').inputValue()) === '🦞', 'the emoji in the field');
    await fieldOf(alice, 'Docks').press('Enter');
    await messageOf(bob, '🦞').waitFor();
    // What was chosen is among the usual ones from then on; groups have all of them.
    await act(messageOf(alice, '🦞').last(), 'React');
    await alice.getByRole('group', { name: 'Emoji' }).getByRole('button', { name: '🦞' }).waitFor();
    await alice.getByRole('button', { name: 'Flags' }).click();
    await alice.getByRole('button', { name: '🏴‍☠️' }).click();
    await messageOf(bob, '🦞').getByRole('button', { name: '🏴‍☠️ 1: alice' }).waitFor();
  });

  test("the installation's own emoji is a picture in texts and reactions, and its name once it was taken away", async () => {
    const call = async (method: string, body?: Buffer) => {
      const headers = { authorization: `Bearer ${accounts.alice.session.token}`, 'content-type': 'image/png' };
      const init = { method, headers, ...(body === undefined ? {} : { body: Uint8Array.from(body) }) };
      return (await fetch(`${server.coordinator}/v1/emoji/happy-parrot`, init)).status;
    };
    assert.equal((await started.console('PUT', '/settings/custom-emoji', { everybody: true })).status, 200);
    const picture = sharp({ create: { width: 40, height: 30, channels: 3, background: '#2b8a3e' } });
    assert.equal(await call('PUT', await picture.png().toBuffer()), 201);

    const drawn = async (image: Locator) => {
      await image.waitFor();
      await until(async () => await image.evaluate((one) => (one as HTMLImageElement).naturalWidth > 0), 'a picture');
    };
    // Alice has it completed by a word of its name; a colon and a letter are a face.
    const field = fieldOf(alice, 'Docks');
    const choice = alice.getByRole('listbox', { name: 'Emoji to write' });
    await field.fill('The');
    await field.press('End');
    await field.pressSequentially(' :parr');
    await choice.getByRole('option', { name: ':happy-parrot:' }).waitFor();
    await field.press('Enter');
    await until(async () => (await field.inputValue()) === 'The :happy-parrot: ', 'the whole name');
    await field.pressSequentially('of 10:20:30 `:happy-parrot:` :p');
    assert.equal(await choice.count(), 0);
    await field.press('Enter');
    for (const page of [alice, bob]) {
      const message = messageOf(page, 'of 10:20:30').first();
      await drawn(message.getByRole('img', { name: ':happy-parrot:' }));
      assert.equal(await message.locator('code').textContent(), ':happy-parrot:');
    }

    // Bob finds it in the choice, and takes it for a reaction and into his text.
    const said = messageOf(bob, 'of 10:20:30').first();
    await act(said, 'React');
    await bob.getByRole('button', { name: 'Custom emoji' }).click();
    const one = bob.getByRole('group', { name: 'Emoji', exact: true }).getByRole('button');
    await drawn(one.locator('img'));
    assert.equal(await one.getAttribute('aria-label'), ':happy-parrot:');
    await one.click();
    await drawn(said.getByRole('button', { name: ':happy-parrot: 1: bob' }).locator('img'));
    await messageOf(alice, 'of 10:20:30').getByRole('button', { name: ':happy-parrot: 1: bob' }).click();
    await drawn(said.getByRole('button', { name: ':happy-parrot: 2: ' }).locator('img'));
    await fieldOf(bob, 'Docks').fill('Mine');
    await bob.getByRole('button', { name: 'Emoji', exact: true }).click();
    await bob.getByLabel('Find an emoji').fill('parr');
    await bob.getByRole('button', { name: ':happy-parrot:', exact: true }).click();
    await until(async () => (await fieldOf(bob, 'Docks').inputValue()) === 'Mine :happy-parrot: ', 'it in the field');
    await fieldOf(bob, 'Docks').press('Enter');
    await drawn(messageOf(alice, 'Mine').getByRole('img', { name: ':happy-parrot:' }));

    // Alice's page learns of its end by opening the choice, Bob's by coming back.
    assert.equal(await call('DELETE'), 204);
    await alice.getByRole('button', { name: 'Emoji', exact: true }).click();
    await messageOf(alice, 'Mine :happy-parrot:').waitFor();
    assert.equal(await alice.getByRole('button', { name: 'Custom emoji' }).count(), 0);
    await alice.keyboard.press('Escape');
    await Promise.all([bob.waitForResponse((reply) => reply.url().endsWith('/v1/emoji')), bob.reload()]);
    await messageOf(bob, 'Mine :happy-parrot:').waitFor();
    for (const page of [alice, bob]) {
      const reaction = messageOf(page, 'of 10:20:30').first().getByRole('button', { name: ':happy-parrot: 2: ' });
      assert.equal(await reaction.textContent(), ':happy-parrot: 2');
      assert.equal(await page.locator('.parley-emoji-own').count(), 0);
    }
  });

  test('a message is pinned for everybody, found among the pins, and unpinned', async () => {
    await send(bob, 'Docks', 'High tide is at six');
    await chooseFor(alice, messageOf(alice, 'High tide is at six'), 'Pin for everybody');
    await messageOf(bob, 'High tide is at six').getByText('Pinned').waitFor();
    await bob.getByRole('button', { name: '1 pinned message' }).click();
    const panel = bob.getByRole('complementary', { name: 'Pinned messages' });
    await panel.getByRole('button', { name: 'High tide is at six' }).click();
    await bob.locator('[data-target]', { hasText: 'High tide is at six' }).waitFor();
    await panel.getByRole('button', { name: 'Unpin' }).click();
    await panel.getByText('Nothing is pinned here.').waitFor();
    await messageOf(alice, 'High tide is at six').getByText('Pinned').waitFor({ state: 'detached' });
    await panel.getByRole('button', { name: 'Close' }).click();
  });

  test('a message is forwarded to another conversation, with whose words it was', async () => {
    await chooseFor(alice, messageOf(alice, 'High tide is at six'), 'Forward');
    const dialog = alice.getByRole('dialog', { name: 'Forward this message' });
    await dialog.getByLabel('Search conversations').fill('shed');
    await dialog.getByRole('button', { name: 'Forward to Sheds' }).click();
    await dialog.getByRole('button', { name: 'Sent to Sheds' }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await openRow(bob, 'Sheds');
    await messageOf(bob, 'High tide is at six').getByText('Forwarded from bob').waitFor();
    await openRow(bob, 'Docks');
  });

  test('one line of a message calls whom it mentions by their name, in the list, in a quote and in a reply', async () => {
    const { carol } = await server.people('carol');
    const named = await fetch(`${server.coordinator}/v1/me`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${carol.session.token}`, 'content-type': 'application/json' },
      // What looks like formatting in a name is the name.
      body: JSON.stringify({ display_name: 'Carol *the* Great' }),
    });
    assert.equal(named.status, 200, await named.text());
    const room = { kind: 'room', title: 'Slips', participants: ['bob', 'carol'] };
    const { id } = (await server.api<{ id: string }>(accounts.alice, 'POST', '/v1/conversations', room)).body;
    const say = async (client_msg_id: string, form: object) => {
      const message = { kind: 'text', client_msg_id, ...form };
      const path = `/v1/conversations/${id}/messages`;
      const reply = await server.api<{ seq: number }>(accounts.alice, 'POST', path, message);
      assert.equal(reply.status, 201, reply.text);
      return reply.body.seq;
    };
    // The second mention lies where one line of so long a text is cut, and stays as it was written.
    const body = `**Ask** @carol and @all ${'x'.repeat(160 - 26)}@carol`;
    const mentions = [
      { username: 'carol', offset: 8, length: 6 },
      { all: true, offset: 19, length: 4 },
      { username: 'carol', offset: body.length - 6, length: 6 },
    ];
    const asked = await say('asked', { body, mentions });
    const line = /^Ask @Carol \*the\* Great and @all x+@c$/;
    const row = bob.getByRole('navigation').getByRole('link').filter({ hasText: 'Slips' });
    await row.getByText('Ask @Carol *the* Great and @all').waitFor();
    await openRow(bob, 'Slips');
    await messageOf(bob, 'Ask').getByText('@Carol *the* Great').first().waitFor();
    await act(messageOf(bob, 'Ask'), 'Reply');
    await bob.getByText('Replying to alice: Ask @Carol *the* Great and @all').waitFor();
    await bob.keyboard.press('Escape');
    await say('answered', { body: 'Done', reply_to: asked });
    const quote = messageOf(bob, 'Done').locator('.parley-quote');
    await quote.getByText('Ask @Carol *the* Great and @all').waitFor();
    assert.ok(line.test((await quote.innerText()).replace(/^alice\s+/, '')), await quote.innerText());
    await openRow(bob, 'Docks');
  });

  test('a deletion is taken back in time, and is final after that', async () => {
    await send(alice, 'Docks', 'Said in haste');
    await messageOf(bob, 'Said in haste').waitFor();
    await act(messageOf(alice, 'Said in haste'), 'Delete');
    await messageOf(alice, 'This message was deleted.').getByRole('button', { name: 'Undo' }).click();
    await messageOf(alice, 'Said in haste').waitFor();
    await act(messageOf(alice, 'Said in haste'), 'Delete');
    await messageOf(bob, 'This message was deleted.').waitFor();
    assert.equal(await messageOf(bob, 'Said in haste').count(), 0);
    // A page that is closed before the time is up deletes all the same.
    await send(alice, 'Docks', 'Said too soon');
    await messageOf(bob, 'Said too soon').waitFor();
    await act(messageOf(alice, 'Said too soon'), 'Delete');
    await alice.getByRole('button', { name: 'Undo' }).waitFor();
    await alice.reload();
    await messageOf(bob, 'Said too soon').waitFor({ state: 'detached' });
    await fieldOf(alice, 'Docks').waitFor();
  });

  test('a link has a preview, whose hostile words are harmless, until it is taken away', async () => {
    await send(bob, 'Docks', `See http://127.0.0.1:${portOf(pages.address())}/boats`);
    const preview = alice.getByRole('group', { name: 'Preview of the link' });
    await preview.getByRole('link', { name: /^Fine boats w+/ }).waitFor();
    await assertInPlace(preview, 'the preview');
    const said = (await preview.textContent()) ?? '';
    assert.ok(said.includes('<b>All z'), said);
    assert.doesNotMatch(said, /\u202e|\p{M}{5}/u);
    assert.equal(
      await alice.getByRole('button', { name: 'Remove the preview' }).count(),
      1,
      'the owner of the room may',
    );
    await bob.getByRole('button', { name: 'Remove the preview' }).click();
    await preview.waitFor({ state: 'detached' });
  });

  test('pictures are looked through over the page, and sounds are played where they stand', async () => {
    const picture = async (background: string) =>
      await sharp({ create: { width: 640, height: 480, channels: 3, background } })
        .png()
        .toBuffer();
    await attach(alice, [
      { name: 'north.png', mimeType: 'image/png', buffer: await picture('#2b8a3e') },
      { name: 'south\u202egnp.png', mimeType: 'image/png', buffer: await picture('#a61e4d') },
    ]);
    await bob.getByRole('button', { name: 'Open southgnp.png' }).waitFor();
    await bob.getByRole('button', { name: 'Open north.png' }).click();
    const viewer = bob.getByRole('dialog', { name: 'Picture' });
    await viewer.getByText('north.png').waitFor();
    const isWhole = async () =>
      await viewer.locator('img').evaluate((one) => (one as HTMLImageElement).naturalWidth === 640);
    await until(isWhole, 'the picture itself');
    // Which of the two was up first is not said.
    const [there, back] = (await viewer.getByRole('button', { name: 'The next picture' }).isEnabled())
      ? ['ArrowRight', 'ArrowLeft']
      : ['ArrowLeft', 'ArrowRight'];
    await bob.keyboard.press(there);
    await viewer.getByText('southgnp.png').waitFor();
    await bob.keyboard.press(back);
    await viewer.getByText('north.png').waitFor();
    await bob.keyboard.press('Escape');
    await viewer.waitFor({ state: 'detached' });

    await attach(alice, [{ name: 'horn.wav', mimeType: 'audio/wav', buffer: toneOf(2) }]);
    await bob.getByRole('button', { name: 'Play horn.wav' }).click();
    const sound = bob.locator('audio');
    await until(
      async () => await sound.evaluate((one) => (one as HTMLAudioElement).currentTime > 0),
      'the sound to go',
    );
    assert.equal(await sound.evaluate((one) => Math.round((one as HTMLAudioElement).duration)), 2);
    await attach(alice, [
      { name: 'broken.mp4', mimeType: 'video/mp4', buffer: Buffer.from('\0\0\0\x18ftypisom no film at all', 'latin1') },
    ]);
    await bob.getByRole('button', { name: 'Play broken.mp4' }).click();
    await bob.getByRole('button', { name: 'Download broken.mp4' }).waitFor();
  });

  test('an upload that broke off goes on from where it was', async () => {
    const sent: number[] = [];
    let isBroken = false;
    await alice.route('**/v1/attachments/*', async (route) => {
      if (route.request().method() !== 'PATCH') return await route.fallback();
      sent.push(Number(route.request().headers()['upload-offset']));
      if (sent.length === 2) {
        isBroken = true;
        return await route.abort();
      }
      return await route.fallback();
    });
    await attach(alice, [
      { name: 'chart.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(9 << 20, 7) },
    ]);
    await bob.getByRole('button', { name: 'Download chart.bin' }).waitFor();
    assert.ok(isBroken);
    assert.deepEqual(sent, [0, 4 << 20, 4 << 20, 8 << 20]);
    await alice.unroute('**/v1/attachments/*');
  });

  test('one goes to a day of the conversation', async () => {
    const goTo = async (day: string) => {
      await alice.getByRole('button', { name: 'More', exact: true }).click();
      await alice.getByRole('menuitem', { name: 'Go to a date' }).click();
      await alice.getByRole('dialog').getByLabel('Day').fill(day);
      await alice.getByRole('dialog').getByRole('button', { name: 'Go', exact: true }).click();
      await alice.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await goTo('2020-01-01');
    await alice.locator('[data-target]', { hasText: 'Container 1' }).waitFor();
    await alice.getByText('This is where the conversation begins.').waitFor();
    await goTo('2100-01-01');
    await messageOf(alice, 'chart.bin').waitFor();
  });

  test('the list of keys is a key away', async () => {
    await alice.keyboard.press('Control+/');
    await alice.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Ctrl').first().waitFor();
    await alice.keyboard.press('Escape');
    await alice.getByRole('dialog').waitFor({ state: 'detached' });
    await alice.keyboard.press('Control+Shift+F');
    await alice.getByLabel('Words to find').waitFor();
  });

  const dialog = (page: Page) => page.getByRole('dialog');
  const closed = async (page: Page) => {
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  };
  const screens: readonly [name: string, go: (page: Page) => Promise<unknown>][] = [
    [
      'search',
      async (page) => {
        await page.goto(`${server.coordinator}/#/search?text=zebra`);
        await page.getByText('messages found.').waitFor();
      },
    ],
    [
      'code',
      async (page) => {
        await page.goto(`${server.coordinator}/#/c/${docks}`);
        await messageOf(page, 'chart.bin').waitFor();
        await bringIntoView(page.locator('.hljs-keyword').first());
      },
    ],
    [
      'emoji',
      async (page) => {
        await page.getByRole('button', { name: 'Emoji', exact: true }).click();
        await page.getByRole('button', { name: '👍 thumbs up' }).waitFor();
      },
    ],
    [
      'pins',
      async (page) => {
        await page.keyboard.press('Escape');
        await chooseInHead(page, '1 pinned message');
        await page.getByRole('complementary', { name: 'Pinned messages' }).waitFor();
      },
    ],
    [
      'picture',
      async (page) => {
        await page.getByRole('complementary').getByRole('button', { name: 'Close' }).click();
        await page.getByRole('button', { name: 'Open north.png' }).click();
        await dialog(page).locator('img').waitFor();
      },
    ],
    [
      'forward',
      async (page) => {
        await closed(page);
        await chooseFor(page, messageOf(page, 'chart.bin'), 'Forward');
        await page.getByRole('button', { name: 'Forward to Sheds' }).waitFor();
      },
    ],
    [
      'shortcuts',
      async (page) => {
        await closed(page);
        await page.keyboard.press('Control+/');
        await dialog(page).getByRole('heading', { name: 'Keyboard shortcuts' }).waitFor();
      },
    ],
  ];
  test('axe finds nothing where messages are searched, marked and looked through, light and dark, wide and narrow', async () => {
    const path = `/v1/conversations/${docks}`;
    const { body } = await server.api<{ items: { seq: number }[] }>(accounts.bob, 'GET', `${path}/messages?limit=1`);
    await server.api(accounts.bob, 'PUT', `${path}/pins/${body.items[0]?.seq ?? 0}`);
    const page = await people.person({ reducedMotion: 'reduce' });
    await signIn(server, page, 'bob');
    for (const viewport of [WIDE, NARROW]) {
      await page.setViewportSize(viewport);
      for (const [name, go] of screens) {
        await go(page);
        await assertAccessible(page, `${name}-${viewport.width}`);
      }
      await closed(page);
    }
    await page.context().close();
  });
});

/** A tone of so many seconds, as a WAV file of 8,000 samples of eight bits a second. */
function toneOf(seconds: number): Buffer {
  const samples = Buffer.alloc(8_000 * seconds, 0).map((_, at) => 128 + Math.round(40 * Math.sin(at / 3)));
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(8_000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}
