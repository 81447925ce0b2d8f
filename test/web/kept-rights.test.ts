/** What a person may in conversations, as the browser keeps it for the next visit. Without Chromium on the machine it is skipped. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { start } from '#test/messaging/conversing.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { openRow, signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** As src/web/chat/state/kept-rooms.ts has them, which runs in a browser alone. */
const [RIGHTS, RIGHTS_KEPT_MAX] = ['parley.rights', 100] as const;

describe('rights that are kept in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let server: TestServer;
  let people: People;
  let page: Page;
  const rooms: Record<string, string> = {};

  before(async () => {
    buildApp();
    server = await startServer();
    const { gwen } = await server.people('gwen', 'hugo');
    for (const title of ['Orchard', 'Pond']) rooms[title] = (await start(server, gwen, 'room', ['hugo'], title)).id;
    people = await People.start();
    page = await people.person();
    await signIn(server, page, 'hugo');
  });
  after(async () => {
    await people?.stop();
    await server?.stop();
  });
  afterEach(() => assert.deepEqual(people.complaints.splice(0), []));

  /** Of which conversations rights are kept, those that go first in front. */
  const kept = async () => {
    const text = await page.evaluate((name) => localStorage.getItem(name), RIGHTS);
    return Object.entries(JSON.parse(text ?? '{}') as Record<string, string[] | null>);
  };
  /** Begins a visit by a browser that has kept rights in these conversations; the app of before is closed, and writes no more. */
  const visit = async (names: readonly string[]) => {
    const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, []])));
    await page.goto(`${server.coordinator}/worker.js`);
    await page.evaluate(([name, value]) => localStorage.setItem(name, value), [RIGHTS, text] as const);
    await page.goto(server.coordinator);
  };
  /** Opens a room, and waits until what the server says of it is kept behind all others. */
  const open = async (title: string) => {
    await openRow(page, title);
    await until(async () => {
      const [name, rights] = (await kept()).at(-1) ?? [];
      return name === rooms[title] && (rights ?? []).length > 0;
    }, 'the rights in the room to be kept');
  };
  const others = (count: number) => Array.from({ length: count }, (_, at) => `other-${at}`);

  test('CAP-02 of a hundred conversations it is kept what one may there, and of one more the first goes', async () => {
    for (const [count, forgotten] of [
      [RIGHTS_KEPT_MAX - 1, 0],
      [RIGHTS_KEPT_MAX, 0],
      [RIGHTS_KEPT_MAX + 1, 1],
    ] as const) {
      const earlier = others(count - 1);
      await visit(earlier);
      await open('Orchard');
      const names = (await kept()).map(([name]) => name);
      assert.deepEqual(names, [...earlier.slice(forgotten), rooms['Orchard']], String(count));
    }
  });

  test('CAP-02 a conversation that is opened again goes last', async () => {
    await visit([rooms['Orchard']!, ...others(RIGHTS_KEPT_MAX - 1)]);
    for (const title of ['Orchard', 'Pond', 'Orchard']) await open(title);
    const names = (await kept()).map(([name]) => name);
    assert.deepEqual(names, [...others(RIGHTS_KEPT_MAX - 1).slice(1), rooms['Pond'], rooms['Orchard']]);
  });
});
