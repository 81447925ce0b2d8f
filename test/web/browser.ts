/** Debian's Chromium driven by Playwright: a context of its own for each person, and what their pages complained of. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core';
import { findChromium, findHeadlessShell } from '#test/console/web/chromium.ts';
import { until } from '#test/support/waiting.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Where Chromium is on this machine; undefined where it is not installed. */
export const CHROMIUM = findChromium();
const HEADLESS_SHELL = findHeadlessShell();
/** On a machine under load a page draws late; what is waited for comes, or the test is wrong. */
export const PAGE_PATIENCE_MILLIS = 60_000;

/** Lines of the network say nothing of the page: a request that was refused, a socket that was tried without a connection. */
export const OF_NETWORK = /^Failed to load resource|ERR_INTERNET_DISCONNECTED|^WebSocket connection/;

export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 390, height: 844 };

export interface BrowserOptions {
  readonly flags?: readonly string[];
  /** The headless shell is not enough: it has no notifications and no clipboard. */
  readonly whole?: boolean;
}

export class People {
  /** Exceptions, and what the page's policy refused. */
  readonly complaints: string[] = [];
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  /**
   * `flags` of Chromium go beside those that every run has. It is the headless shell, where that is installed and a test needs no
   * more (`whole`): it draws the same pages for less work.
   */
  static async start({ flags = [], whole = false }: BrowserOptions = {}): Promise<People> {
    const found = (whole ? undefined : HEADLESS_SHELL) ?? CHROMIUM;
    const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...flags];
    return new People(await chromium.launch({ executablePath: found as string, args }));
  }

  /** A browser of one person: nothing of the others' is in it. */
  async person(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context: BrowserContext = await this.#browser.newContext({
      viewport: WIDE,
      locale: 'en-GB',
      ...options,
    });
    context.setDefaultTimeout(PAGE_PATIENCE_MILLIS);
    const page = await context.newPage();
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error' && !OF_NETWORK.test(message.text())) this.complaints.push(message.text());
    });
    return page;
  }

  async stop(): Promise<void> {
    await this.#browser.close();
  }
}

interface AxeScope {
  /** Selectors of what is left out. */
  readonly without: readonly string[];
  /** The rules that count; all where there are none. */
  readonly only?: readonly string[];
}

/** axe-core's findings of WCAG 2.2 A and AA, and its best practices. */
async function findingsIn(page: Page, { only, without }: AxeScope): Promise<string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  const options = { resultTypes: ['violations'], ...(only === undefined ? {} : { runOnly: only }) };
  const context = { include: [['html']], exclude: without.map((selector) => [selector]) };
  const { violations } = await page.evaluate<{
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  }>(`axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, html }) => `${id}: ${html}\n${failureSummary}`),
  );
}

/** What the themes do not share is colours; these are all rules of theirs. */
const COLOUR_RULES: readonly string[] = ['color-contrast', 'link-in-text-block'];

/** Puts a page into a theme, and waits until all of it has that. */
async function wear(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  const isWorn = (scheme: string) => {
    const { mantineColorScheme: worn = scheme } = document.documentElement.dataset;
    if (!matchMedia(`(prefers-color-scheme: ${scheme})`).matches || worn !== scheme) return false;
    // No colour is on the way from the other one any more: nobody looks at that here, and each picture of it costs.
    const underWay = document.getAnimations().filter((one) => one instanceof CSSTransition);
    for (const one of underWay) one.finish();
    return underWay.length === 0;
  };
  await until(async () => await page.evaluate(isWorn, colorScheme), `the page to be ${colorScheme}`);
}

/**
 * What axe finds on one screen in both themes, in the light with all rules, and in the dark with those of colours, which are all that
 * the theme changes. The page wears afterwards what it did not before: to change a theme costs as much as to look at it.
 */
export async function findingsInThemes(page: Page, without: readonly string[] = []): Promise<string[]> {
  const isDark = await page.evaluate<boolean>("matchMedia('(prefers-color-scheme: dark)').matches");
  const looks = [
    async () => {
      await wear(page, 'light');
      return await findingsIn(page, { without });
    },
    async () => {
      await wear(page, 'dark');
      const found = await findingsIn(page, { without, only: COLOUR_RULES });
      return found.map((finding) => `in the dark, ${finding}`);
    },
  ];
  const found: string[] = [];
  for (const look of isDark ? looks.toReversed() : looks) found.push(...(await look()));
  return found;
}

/** Words that have less than 7:1 on what they stand on, in both themes (WCAG 2.2, 1.4.6). */
export async function findingsOfMoreContrast(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const scheme of ['light', 'dark'] as const) {
    await wear(page, scheme);
    const findings = await findingsIn(page, { without: [], only: ['color-contrast-enhanced'] });
    found.push(...findings.map((finding) => `${scheme}: ${finding}`));
  }
  return found;
}

export async function assertAccessible(page: Page, name: string): Promise<void> {
  assert.deepEqual(await findingsInThemes(page), [], name);
}

/** Where an element stands, once ten pictures in a row have it there: a list that grows is put right over several of them. */
export async function restingTop(locator: Locator): Promise<number> {
  const look = async () =>
    await locator.evaluate(async (element) => {
      let [last, still] = [Number.NaN, 0];
      while (still < 10 && element.isConnected) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        const now = element.getBoundingClientRect().y;
        still = now === last ? still + 1 : 0;
        last = now;
      }
      return element.isConnected && last;
    });
  return await until(look, 'an element to stand still');
}
