/**
 * Rooms that are gone to and fro between, and rooms in which others write fast: who is at the end stays there, and who comes back
 * sees what there is. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { fieldOf, messageOf, openRow, send, signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** More than a screen and a page of the history hold. */
const MANY = 150;
/** Posted at once, so that several come between two pictures. */
const AT_ONCE = 10;

let server: TestServer;
before(async () => {
  buildApp();
  // Whoever writes that fast is a program.
  server = await startServer({ environment: { PARLEY_RATE_LIMITS: '0' } });
});
after(async () => await server?.stop());

describe('rooms in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let people: People;
  let alice: Page;
  let accounts: Record<'alice' | 'bob', Person>;
  let [docks, yard] = ['', ''];

  const makeRoom = async (title: string) => {
    const form = { kind: 'room', title, participants: ['bob'] };
    return (await server.api<{ id: string }>(accounts.alice, 'POST', '/v1/conversations', form)).body.id;
  };
  let posted = 0;
  const post = async (conv: string, body: string) => {
    posted += 1;
    const message = { kind: 'text', body, client_msg_id: `posted-${posted}` };
    const { status } = await server.api(accounts.bob, 'POST', `/v1/conversations/${conv}/messages`, message);
    assert.equal(status, 201);
  };
  const postMany = async (conv: string, word: string) => {
    for (let first = 1; first <= MANY; first += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, index) => await post(conv, `${word} ${first + index}`)),
      );
    await post(conv, `${word} at last`);
  };
  const unreadIn = async (conv: string) => {
    const { body } = await server.api<{ items: { conversation: { id: string }; unread: number }[] }>(
      accounts.alice,
      'GET',
      '/v1/inbox',
    );
    return body.items.find(({ conversation }) => conversation.id === conv)?.unread;
  };
  /** Whether a message is wholly within the list. */
  const isInSight = async (text: string) =>
    await messageOf(alice, text).evaluate((article) => {
      const list = article.closest('[role="log"]')?.getBoundingClientRect();
      const own = article.getBoundingClientRect();
      return list !== undefined && own.top >= list.top - 1 && own.bottom <= list.bottom + 1;
    });

  before(async () => {
    accounts = await server.people('alice', 'bob');
    docks = await makeRoom('Docks');
    yard = await makeRoom('Yard');
    people = await People.start();
    alice = await people.person();
    await signIn(server, alice, 'alice');
  });
  after(async () => await people?.stop());
  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  test('a draft is where it was left, on another device too, and in the list', async () => {
    await openRow(alice, 'Docks');
    const field = fieldOf(alice, 'Docks');
    await field.fill('Half a thou');
    await alice.reload();
    await until(async () => (await field.inputValue()) === 'Half a thou', 'the draft after a reload');
    const draft = async () => {
      const { body } = await server.api<{ items: { draft?: string }[] }>(accounts.alice, 'GET', '/v1/inbox');
      return body.items.some((item) => item.draft === 'Half a thou');
    };
    await field.press('End');
    await field.press('g');
    await field.press('Backspace');
    await until(draft, 'the draft on the server');
    // The list says so of a room that is not open, and of this device's own drafts no event does.
    const row = alice.getByRole('navigation').getByRole('link').filter({ hasText: 'Docks' });
    await openRow(alice, 'Yard');
    await row.getByText('Draft: Half a thou').waitFor();
    await openRow(alice, 'Docks');
    await row.getByText('Draft:').waitFor({ state: 'detached' });
    await field.fill('');
    await until(async () => !(await draft()), 'no draft on the server');
    await openRow(alice, 'Yard');
    await row.getByText('Nothing said yet').waitFor();
  });

  test('the words about a beginning stand right above the first message, however far below the top that is', async () => {
    await openRow(alice, 'Yard');
    await post(yard, 'The first of all');
    await messageOf(alice, 'The first of all').waitFor();
    const words = await alice.getByText('This is where the conversation begins.').boundingBox();
    const message = await messageOf(alice, 'The first of all').boundingBox();
    assert.ok(words !== null && message !== null);
    // The line of the day is between them.
    const between = message.y - (words.y + words.height);
    assert.ok(between >= -80 && between < 80 && words.y > 200, `${words.y} and ${message.y}`);
  });

  test('who is at the end of a room stays there while others write, however fast', async () => {
    await openRow(alice, 'Docks');
    await post(docks, 'the first word');
    await messageOf(alice, 'the first word').waitFor();
    await postMany(docks, 'crate');
    await messageOf(alice, 'crate at last').waitFor();
    await until(async () => await isInSight('crate at last'), 'the newest message in sight');
    assert.equal(await alice.getByRole('button', { name: 'To the newest message' }).count(), 0);
  });

  test('who scrolled up is not taken to the end by others', async () => {
    await alice.getByRole('log', { name: 'Messages' }).hover();
    await alice.mouse.wheel(0, -1_500);
    await alice.getByRole('button', { name: 'To the newest message' }).waitFor();
    await post(docks, 'while she reads');
    await alice.getByRole('log').getByText('bob: while she reads').waitFor({ state: 'attached' });
    assert.equal(await messageOf(alice, 'while she reads').count(), 0);
    await alice.getByRole('button', { name: 'To the newest message' }).click();
    await until(
      async () => (await messageOf(alice, 'while she reads').count()) === 1 && (await isInSight('while she reads')),
      'the newest message in sight',
    );
  });

  test('a click that scrolls nothing leaves nobody behind while others write', async () => {
    await until(async () => await isInSight('while she reads'), 'the newest message in sight');
    await alice.getByRole('log', { name: 'Messages' }).click({ position: { x: 5, y: 5 } });
    await post(docks, 'within the click');
    await postMany(docks, 'barrel');
    await messageOf(alice, 'barrel at last').waitFor();
    await until(async () => await isInSight('barrel at last'), 'the newest message in sight');
  });

  test('a room that was left is there without asking, with what was said in it meanwhile', async () => {
    // That the newest was read goes out a moment after it came into sight; until then the room begins at what was not.
    await until(async () => (await unreadIn(docks)) === 0, 'all of the room to be read');
    await post(yard, 'a word in the yard');
    await openRow(alice, 'Yard');
    await messageOf(alice, 'a word in the yard').waitFor();
    await post(docks, 'said meanwhile');
    await alice.getByRole('navigation').getByText('bob: said meanwhile').waitFor();
    const held = Promise.withResolvers<void>();
    await alice.route(`**/conversations/${docks}/**`, async (route) => {
      await held.promise;
      await route.continue();
    });
    await openRow(alice, 'Docks');
    await messageOf(alice, 'said meanwhile').waitFor();
    await until(async () => await isInSight('said meanwhile'), 'the newest message in sight');
    await alice.getByRole('separator', { name: 'New messages' }).waitFor();
    held.resolve();
    await alice.unrouteAll({ behavior: 'wait' });
    await send(alice, 'Docks', 'and she answers');
    await messageOf(alice, 'and she answers').waitFor();
    await alice.getByRole('separator', { name: 'New messages' }).waitFor();
  });

  test('a room that was read is shown at its end from the first picture on, and nothing moves after it', async () => {
    const quay = await makeRoom('Quay');
    await postMany(quay, 'rope');
    const read = { state: 'read', seq: MANY + 1 };
    await server.api(accounts.alice, 'POST', `/v1/conversations/${quay}/receipts`, read);
    await openRow(alice, 'Quay');
    await messageOf(alice, 'rope at last').waitFor();
    for (const from of ['Docks', 'Yard']) {
      await openRow(alice, from);
      assert.deepEqual(await picturesOf(alice, quay, MANY + 1), { places: [0], without: 0 }, `from ${from}`);
    }
    await alice.getByRole('log', { name: 'Messages' }).hover();
    await until(async () => {
      await alice.mouse.wheel(0, -1_000);
      return (await messageOf(alice, 'rope 1').count()) > 0;
    }, 'the first message');
  });

  test('a message asks for nothing of drafts beside it, and takes the one that the server has with it', async () => {
    await openRow(alice, 'Yard');
    const asked: string[] = [];
    alice.on('request', (request) => void (request.url().endsWith('/draft') && asked.push(request.method())));
    await send(alice, 'Yard', 'at once');
    await messageOf(alice, 'at once').waitFor();
    const count = (method: string) => asked.filter((one) => one === method).length;
    // Where the machine is so slow that the draft was saved in between, it is dropped.
    assert.ok(count('DELETE') <= count('PUT'), `asked ${asked.join(', ')}`);
    const isKept = async () => {
      const { body } = await server.api<{ items: { draft?: string }[] }>(accounts.alice, 'GET', '/v1/inbox');
      return body.items.some(({ draft }) => draft === 'thought over');
    };
    const field = alice.getByRole('textbox', { name: 'Message Yard', exact: true });
    await field.fill('thought over');
    await until(isKept, 'the draft on the server');
    await field.press('Enter');
    await messageOf(alice, 'thought over').waitFor();
    await until(async () => !(await isKept()), 'no draft on the server');
  });

  test('what can be done with a message is reached by the keyboard alone', async () => {
    await openRow(alice, 'Docks');
    const message = messageOf(alice, 'said meanwhile');
    await message.getByRole('button', { name: 'Other actions' }).focus();
    await message.getByRole('button', { name: 'Reply' }).waitFor();
    assert.equal(
      await alice.evaluate(() => document.activeElement?.getAttribute('aria-label')),
      'Other actions',
      'the focus stays where it was',
    );
    await alice.keyboard.press('Shift+Tab');
    await alice.keyboard.press('Shift+Tab');
    await alice.keyboard.press('Enter');
    await alice
      .getByText('Replying to')
      .or(alice.getByRole('log', { name: 'Thread' }))
      .first()
      .waitFor();
  });
});

/**
 * Opens a conversation and looks at every picture until long after the rows above are there: how many pixels the end of the newest
 * message was away from that of the list, and how many pictures were without it.
 */
async function picturesOf(page: Page, conv: string, newest: number) {
  return await page.evaluate(
    async ([id, seq]) => {
      const PICTURES = 90;
      const end = (element: Element) => element.getBoundingClientRect().bottom;
      // The turn after a frame: in the frame itself the list is still about to find its place.
      const drawn = async () =>
        await new Promise<void>((resolve) =>
          requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel();
            port1.addEventListener('message', () => resolve());
            port1.start();
            port2.postMessage(0);
          }),
        );
      const left = document.querySelector('main [role="log"]');
      const places = new Set<number>();
      let without = 0;
      document.querySelector<HTMLAnchorElement>(`a[href$="#/c/${id}"]`)?.click();
      for (let picture = 0; picture < PICTURES;) {
        await drawn();
        const list = document.querySelector('main [role="log"]');
        if (list === null || list === left) continue;
        picture += 1;
        const message = list.querySelector(`article[data-seq="${seq}"]`);
        if (message?.checkVisibility({ visibilityProperty: true }) !== true) without += 1;
        else places.add(Math.round((end(list) - end(message)) / 3));
      }
      return { places: [...places], without };
    },
    [conv, newest] as const,
  );
}
