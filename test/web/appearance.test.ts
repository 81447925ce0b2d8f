/** How the app looks by a person's choice: contrast, density and the size of its text, in windows as narrow as 320 pixels. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { messageOf, openRow, send, signIn } from './app-page.ts';
import { CHROMIUM, findingsOfMoreContrast, People, WIDE } from './browser.ts';
import { buildApp } from './built-app.ts';

/** Of a colour that the page names, relative as WCAG 2.2 has it. */
async function luminanceOf(page: Page, name: string): Promise<number> {
  const rgb = await page.evaluate((variable) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = `var(${variable})`;
    const { color } = getComputedStyle(probe);
    probe.remove();
    return (color.match(/[\d.]+/g) ?? []).map(Number);
  }, name);
  const [red = 0, green = 0, blue = 0] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const SCREENS = ['/', '/search', '/calendar', '/settings'];
const NARROWEST = { width: 320, height: 568 };

describe('appearance', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let server: TestServer;
  let people: People;
  let room: string;

  before(async () => {
    buildApp();
    server = await startServer();
    const { alice } = await server.people('alice', 'bob', 'carol');
    await server.api(alice, 'POST', '/v1/conversations', { kind: 'direct', participants: ['bob'] });
    const form = { kind: 'room', title: 'Harbour', participants: ['bob', 'carol'] };
    room = (await server.api<{ id: string }>(alice, 'POST', '/v1/conversations', form)).body.id;
    const body = 'see `this`, @bob, and https://example.org\n\n```js\nconst tide = "high"; // metres: 4\n```';
    await server.api(alice, 'POST', `/v1/conversations/${room}/messages`, { kind: 'text', body });
    people = await People.start();
  });

  after(async () => {
    await people?.stop();
    await server?.stop();
  });

  const settings = async (page: Page): Promise<void> => {
    await page.evaluate("location.hash = '#/settings'");
    await page.getByRole('region', { name: 'Appearance' }).waitFor();
  };
  const choose = async (page: Page, group: string, name: string): Promise<void> =>
    await page.getByRole('radiogroup', { name: group }).getByText(name, { exact: true }).click();
  const dataOf = async (page: Page, name: string) =>
    await page.evaluate<string>(`document.documentElement.dataset['${name}']`);
  const widthOf = async (page: Page) => await page.evaluate<number>('document.documentElement.scrollWidth');

  test('WEB-01 text of another size is kept, holds in other tabs at once, and its icons grow with it', async () => {
    const page = await people.person();
    await signIn(server, page, 'alice');
    const other = await page.context().newPage();
    await other.goto(server.coordinator);
    await other.getByRole('navigation', { name: 'Conversations' }).waitFor();
    await settings(page);
    const icon = page.locator('.parley-settings .lucide').first();
    const usual = (await icon.boundingBox())?.width ?? 0;
    await page.getByRole('combobox', { name: 'Text size' }).selectOption('150%');
    // As many pixels hold less of it: what stands side by side in a window of 1,440 has no room beside it any more.
    const breakpointOf = async () => await dataOf(page, 'breakpoint');
    assert.equal(await breakpointOf(), 'medium');
    const rootOf = async (one: Page) =>
      await one.evaluate<number>('parseFloat(getComputedStyle(document.documentElement).fontSize)');
    assert.equal(await rootOf(page), 24);
    assert.equal((await icon.boundingBox())?.width, usual * 1.5);
    await until(async () => (await rootOf(other)) === 24, 'the other tab to follow');
    await other.reload();
    await other.getByRole('navigation', { name: 'Conversations' }).waitFor();
    assert.equal(await rootOf(other), 24);
    await page.getByRole('combobox', { name: 'Text size' }).selectOption('100%');
    assert.equal(await rootOf(page), 16);
    for (const [width, name] of [
      [1_201, 'wide'],
      [1_200, 'large'],
      [992, 'medium'],
      [768, 'narrow'],
    ] as const) {
      await page.setViewportSize({ ...WIDE, width });
      await until(async () => (await breakpointOf()) === name, `${width} pixels to be ${name}`);
    }
    await page.setViewportSize(WIDE);
    await page.getByRole('combobox', { name: 'Text size' }).selectOption('110%');
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.getByLabel('Username').waitFor();
    await page.reload();
    await page.getByLabel('Username').waitFor();
    assert.equal(await rootOf(page), 17.6, 'what a person needs to read the way in, too');
    await page.context().close();
  });

  test('WEB-01 what is kept and is no choice counts as the usual one, each for itself', async () => {
    const page = await people.person();
    await signIn(server, page, 'alice');
    for (const [kept, text, density] of [
      ['{"text":"151","density":"compact"}', '100', 'compact'],
      ['{"text":"125","density":["compact"]}', '125', 'comfortable'],
      ['{"text":', '100', 'comfortable'],
      ['null', '100', 'comfortable'],
    ] as const) {
      await page.evaluate(`localStorage.setItem('parley.appearance', ${JSON.stringify(kept)})`);
      await page.reload();
      await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
      assert.deepEqual([await dataOf(page, 'text'), await dataOf(page, 'density')], [text, density], kept);
    }
    await page.context().close();
  });

  test('WEB-01 compact shows more: a row of the list is one line with its badge, and messages stand closer', async () => {
    const page = await people.person();
    await signIn(server, page, 'bob');
    const row = page.getByRole('navigation').getByRole('link', { name: 'Harbour' });
    const heightOf = async (one = row) => (await one.boundingBox())?.height ?? 0;
    await row.getByLabel('unread').waitFor();
    const roomy = await heightOf();
    await settings(page);
    await choose(page, 'Density', 'Compact');
    await until(async () => (await heightOf()) < roomy * 0.65, 'a row to be one line');
    await row.getByLabel('unread').waitFor();
    assert.equal(await row.locator('.parley-row-line').isVisible(), false);
    await openRow(page, 'Harbour');
    for (const text of ['one', 'two']) await send(page, 'Harbour', text);
    await messageOf(page, 'two').waitFor();
    const close = await heightOf(messageOf(page, 'two'));
    await settings(page);
    await choose(page, 'Density', 'Comfortable');
    await openRow(page, 'Harbour');
    const wide = await heightOf(messageOf(page, 'two'));
    assert.ok(close < wide && close >= 24, `${close} of ${wide}`);
    await page.context().close();
  });

  test('WEB-01 more contrast: axe finds no word under 7:1 in either theme, and what the system asks for is followed', async () => {
    const page = await people.person({ contrast: 'no-preference', reducedMotion: 'reduce' });
    await signIn(server, page, 'bob');
    assert.equal(await dataOf(page, 'contrast'), 'standard');
    await page.emulateMedia({ contrast: 'more' });
    await until(async () => (await dataOf(page, 'contrast')) === 'more', 'the contrast of the system');
    await settings(page);
    await choose(page, 'Contrast', 'Standard');
    assert.equal(await dataOf(page, 'contrast'), 'standard');
    assert.notDeepEqual(await findingsOfMoreContrast(page), [], 'the usual colours would do, and nothing was shown');
    await choose(page, 'Contrast', 'More');
    await page.emulateMedia({ contrast: 'no-preference' });
    assert.equal(await dataOf(page, 'contrast'), 'more');
    for (const path of [`/c/${room}`, ...SCREENS]) {
      await page.evaluate(`location.hash = ${JSON.stringify(`#${path}`)}`);
      await page.getByRole('main').waitFor();
      if (path.startsWith('/c/')) await messageOf(page, 'metres').locator('.hljs-comment').waitFor();
      if (path === '/settings') await page.getByRole('region', { name: 'Calendar programs' }).waitFor();
      assert.deepEqual(await findingsOfMoreContrast(page), [], path);
    }
    // Lines, of which axe has no rule (1.4.11).
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await until(async () => (await dataOf(page, 'mantineColorScheme')) === colorScheme, colorScheme);
      for (const line of ['--parley-line', '--mantine-color-default-border'])
        for (const under of ['--mantine-color-body', '--parley-side']) {
          const [one, other] = [await luminanceOf(page, line), await luminanceOf(page, under)];
          const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
          assert.ok(ratio >= 3, `${line} on ${under} in the ${colorScheme}: ${ratio}`);
        }
    }
    await page.context().close();
  });

  test('WEB-01 no screen and no menu is wider than 320 pixels, in Russian and with text of half as much again', async () => {
    const page = await people.person({ locale: 'ru-RU', viewport: WIDE });
    await page.goto(server.coordinator);
    await page.locator('input[autocomplete~=username]').fill('bob');
    await page.locator('input[type=password]').fill('password of bob');
    await page.locator('input[type=password]').press('Enter');
    await page.getByRole('navigation').first().waitFor();
    await page.setViewportSize(NARROWEST);
    for (const text of ['100', '150']) {
      await page.evaluate(`localStorage.setItem('parley.appearance', '{"text":"${text}"}')`);
      for (const path of [`/c/${room}`, ...SCREENS]) {
        await page.evaluate(`location.hash = ${JSON.stringify(`#${path}`)}`);
        await page.reload();
        await page.getByRole('main').waitFor();
        await until(async () => (await widthOf(page)) === 320, `${path} with text of ${text} to fit`, 5_000);
        for (const target of await page.locator('button[aria-haspopup]:visible').all()) {
          // One that is closing is still to be seen while the next one opens.
          const is = async (expanded: string, what: string, millis?: number) =>
            await until(async () => (await target.getAttribute('aria-expanded')) === expanded, what, millis);
          // The field of a conversation takes the focus as that opens, and the key with it.
          const open = async () => {
            await target.press('Enter');
            return await is('true', 'a menu to open', 2_000).then(
              () => true,
              () => false,
            );
          };
          await until(open, 'a menu to open');
          const name = await target.getAttribute('aria-label');
          // What opens is put into its place a picture later.
          const what = `${name} of ${path} with text of ${text} to fit`;
          await until(async () => (await widthOf(page)) === 320, what, 5_000);
          await page.keyboard.press('Escape');
          await is('false', 'a menu to close');
        }
      }
    }
    await page.context().close();
  });

  test('no page complained', () => assert.deepEqual(people.complaints, []));
});
