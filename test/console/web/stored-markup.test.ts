/**
 * Words that were put into the installation to become something else where an administrator reads them: markup, scripts, links that
 * run, templates, marks that turn the writing round or pile up, words without end. Without Chromium it is skipped.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import { buildApp } from '#test/web/built-app.ts';
import { CHROMIUM, NARROW, People, WIDE } from '#test/web/browser.ts';
import { ConsolePage } from './console-page.ts';
import { hostileAnswer } from './hostile-answers.ts';

/** Would run in a page that makes elements of text, or a template of it. */
const SCRIPT = 'window.__hit=1';
const MARKUP = `"'><img data-hit src=x onerror="${SCRIPT}"><script data-hit>${SCRIPT}</script><svg data-hit onload="${SCRIPT}">`;
const TEMPLATE = `{{constructor.constructor('${SCRIPT}')()}}\${${SCRIPT}}$t(action.save){{count}}`;
/** Turn the writing round, and are not seen. */
const TURNED = '\u202Egnp.exe\u202C\u2066a\u2067b\u2069\u200Bc\u2060d\uFEFFe\u00ADf\u{E0041}g';
const PILED = `z${'\u0301'.repeat(1_000)}`;
const WORDS: Readonly<Record<string, string>> = {
  'markup, templates and marks': `hit${PILED}${TURNED}${MARKUP}${TEMPLATE}`,
  'a link that runs': `javascript:${SCRIPT}//hit`,
  'a word without end': `hit${'W'.repeat(10_000)}`,
};

/** Screens on which nobody else's words stand before something is asked for. */
const WITHOUT_WORDS = ['#/recovery', '#/break-glass', '#/settings', '#/message-export'];

/** What is wrong with what is shown: a sentence for each. */
const LOOK = `(() => {
  const faults = [];
  if (window.__hit !== undefined) faults.push('a script ran');
  for (const refused of window.__refused) faults.push('the policy had to refuse ' + refused);
  for (const one of document.querySelectorAll('[data-hit]')) faults.push('an element was made: ' + one.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll('[href], [src], [action]')) {
    const to = one.getAttribute('href') ?? one.getAttribute('src') ?? one.getAttribute('action');
    if (!/^(?:[#/.]|https?:|data:image\\/)/.test(to)) faults.push('it leads to ' + to.slice(0, 80));
  }
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push('the page is ' + root.scrollWidth + ' wide of ' + innerWidth);
  const main = document.querySelector('main');
  if (main !== null && main.scrollWidth > main.clientWidth) {
    const wide = [...main.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > main.getBoundingClientRect().right + 1 && one.closest('.scroll') === null);
    faults.push('the screen is ' + main.scrollWidth + ' wide of ' + main.clientWidth + ': ' + [...wide].slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(' AND '));
  }
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!['SCRIPT', 'STYLE', 'TEXTAREA'].includes(walker.currentNode.parentElement.tagName)) texts.push([walker.currentNode.parentElement, walker.currentNode.data]);
  for (const one of document.querySelectorAll('[aria-label], [title], [alt], [placeholder]'))
    for (const name of ['aria-label', 'title', 'alt', 'placeholder'])
      if (one.hasAttribute(name)) texts.push([one, one.getAttribute(name)]);
  for (const [where, text] of texts) {
    const says = where.outerHTML.slice(0, 100);
    if (/[\\u202a-\\u202e\\u2066-\\u2069]/.test(text)) faults.push('it turns the writing round in ' + says);
    if (where.tagName !== 'PRE' && /[\\u200b\\u2060\\ufeff\\u00ad\\u{e0041}]/u.test(text)) faults.push('what is not seen is in ' + says);
    if (/\\p{M}{5}/u.test(text)) faults.push('marks pile up in ' + says);
  }
  return { faults: [...new Set(faults)], hits: texts.filter(([, text]) => text.includes('hit')).length };
})()`;

describe('hostile words in the console', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let console: ConsoleServer;
  let people: People;
  before(async () => {
    buildApp();
    console = await startConsoleServer();
    people = await People.start();
  });
  after(async () => {
    await people?.stop();
    await console?.stop();
  });

  /** The console of the owner, in a page that keeps what its policy refused. */
  const open = async (prepare?: (page: Page) => Promise<void>): Promise<ConsolePage> => {
    const page = await people.person();
    const token = console.callers.owner['x-admin-token'] as string;
    await page.addInitScript(`
      window.__refused = [];
      addEventListener('securitypolicyviolation', ({ violatedDirective, sample }) => window.__refused.push(violatedDirective + ' ' + sample));
      sessionStorage.setItem('parley.console.credential', ${JSON.stringify(JSON.stringify({ token, idleSeconds: null, expiresAt: null }))});
    `);
    page.on('dialog', (dialog) => {
      people.complaints.push(`a dialog said ${dialog.message()}`);
      void dialog.dismiss();
    });
    await prepare?.(page);
    await page.goto(`${console.server.coordinator}/console/`);
    const browser = new ConsolePage(page);
    await browser.sees('owner · Owner');
    return browser;
  };

  /** Asks each question that the screen has, and takes it back. */
  const askAll = async (browser: ConsolePage, place: string): Promise<string[]> => {
    const faults: string[] = [];
    const dangers = browser.page.locator('main button.danger').filter({ visible: true });
    for (let at = 0; at < (await dangers.count()); at += 1) {
      await dangers.nth(at).click();
      const dialog = browser.page.locator('[role=dialog]').filter({ visible: true });
      await dialog.waitFor();
      asked += 1;
      faults.push(...(await lookAt(browser, `${place}, asked`)).faults);
      const inside = await dialog.evaluate((one) => one.scrollWidth - one.clientWidth);
      if (inside > 0) faults.push(`${place}: a question is ${inside} too wide`);
      await browser.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    }
    return faults;
  };
  let asked = 0;

  /** What is wrong with a screen at both widths. */
  const lookAt = async (browser: ConsolePage, place: string): Promise<{ faults: string[]; hits: number }> => {
    const faults: string[] = [];
    let hits = 0;
    for (const size of [WIDE, NARROW]) {
      await browser.page.setViewportSize(size);
      await browser.page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
      const seen = await browser.read<{ faults: string[]; hits: number }>(LOOK);
      faults.push(...seen.faults.map((fault) => `${place} at ${size.width}: ${fault}`));
      hits = seen.hits;
    }
    return { faults, hits };
  };

  /** All screens of the menu, and the first page below each. */
  const walk = async (browser: ConsolePage) => {
    const faults: string[] = [];
    const silent: string[] = [];
    for (const place of await browser.places()) {
      await browser.page.setViewportSize(WIDE);
      await browser.open(place);
      const seen = await lookAt(browser, place);
      faults.push(...seen.faults);
      if (seen.hits === 0) silent.push(place);
      const below = await browser.read<string | undefined>(
        `document.querySelector(${JSON.stringify(`main a[href^="${place}/"]`)})?.hash`,
      );
      if (below === undefined) continue;
      await browser.page.setViewportSize(WIDE);
      await browser.open(below);
      faults.push(...(await lookAt(browser, `${place}/…`)).faults);
      faults.push(...(await askAll(browser, `${place}/…`)));
    }
    return { faults, silent };
  };

  for (const [name, word] of Object.entries(WORDS)) {
    test(`CON-01 ${name}, in every text of every answer, changes nothing on any screen`, async () => {
      const browser = await open(async (page) => {
        await page.route('**/admin/api/**', async (route) => {
          const asked = route.request();
          const made = hostileAnswer(asked.method(), asked.url(), word);
          if (made === undefined || made.path === '/me') return await route.fallback();
          return await route.fulfill({ json: made.body });
        });
      });
      const { faults, silent } = await walk(browser);
      assert.deepEqual(faults, []);
      assert.deepEqual(silent, WITHOUT_WORDS, 'screens that show no word of others');
      assert.ok(asked > 5, `${asked} questions were asked`);
      assert.deepEqual(people.complaints, []);
      await browser.page.context().close();
    });
  }
});
