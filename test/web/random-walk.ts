/**
 * People who press, type and go at random through the app, and what no screen may show whatever they do: an exception, a screen that
 * broke or is empty, words that mean nothing, a page wider than its window, a button without a name, an answer of 500 or above, a list
 * that says otherwise once it is loaded again. They found what nobody had thought of; so every run has a seed of its own.
 */
import type { ElementHandle, Page } from 'playwright-core';
import sharp from 'sharp';
import type { SeededRandom } from '#test/support/random.ts';
import { until } from '#test/support/waiting.ts';
import { NARROW, OF_NETWORK, WIDE } from './browser.ts';

/** What people type: plain, formatted, in other scripts and directions, unseen, far too long, and what no field wants. */
const TYPED = [
  ...['hello', 'ок, договорились', '😀👍🏽', '@alice @bob look', 'https://example.org/a?b=c', '/help', ' ', '', 'a'],
  ...['**bold** _it_ `code`', '```js\nconst a = 1;\n```', '- one\n- two\n\n> quote', '| a | b |\n|---|---|\n| 1 | 2 |'],
  ...['\u202ereversed\u202c \u200bx', 'w'.repeat(3_000), '<img src=x onerror=alert(1)>', `z${'\u0301'.repeat(200)}`],
  ...['0', '99999999999', '25:99', '2026-12-01', '2026-12-01T10:00', 'mailto:x@y.z'],
];
/** What fits a field that takes nothing else. */
const FITTING: Readonly<Record<string, string>> = {
  color: '#336699',
  date: '2026-12-01',
  'datetime-local': '2026-12-01T10:00',
  number: '5',
  range: '5',
  time: '10:00',
};
const KEYS = [
  ...[
    'Escape',
    'Enter',
    'Tab',
    'Shift+Tab',
    'ArrowUp',
    'ArrowDown',
    'ArrowLeft',
    'ArrowRight',
    'Home',
    'End',
    'PageUp',
  ],
  ...['PageDown', 'Delete', 'Backspace', ' ', 'Control+k', 'Control+/', 'Control+b', 'Control+Enter', 'Alt+ArrowDown'],
  ...['Alt+ArrowUp', '?', 'j', 'n', 't', 'w', 'm', 'a', 'F6'],
];
const ADDRESSES = ['#/', '#/calendar', '#/settings', '#/search', '#/c/nothing', '#/meeting/xyz', '#/nonsense/%ff'];
const SIZES = [WIDE, NARROW, { width: 900, height: 600 }, { width: 320, height: 568 }];
const FILE_NAMES = ['picture.png', '<b>.txt', `${'с'.repeat(100)}.pdf`, 'dates.ics'];
const PRESSED = [
  'button',
  'a[href]',
  'input',
  'textarea',
  'select',
  '[contenteditable=true]',
  '[role=gridcell]',
  'article',
]
  .concat(['button', 'menuitem', 'tab', 'option', 'switch', 'checkbox'].map((role) => `[role=${role}]`))
  .join(', ');

/** How long one press may take: what is covered in the meantime is left. */
const PRESS_MILLIS = 1_500;
/** Tries to find something that can be pressed where it is. */
const TRIES = 12;
/** Longer than the line that somebody writes stays without another letter, and a draft until it is kept. */
const RESTING_MILLIS = 7_000;
/** As the languages of those who walk have it. */
const HANG_UP = /^(?:Hang up|Завершить звонок)$/;
/** Steps that are told with a fault. */
const TOLD_STEPS = 15;

/** One of those who walk. */
export interface Walker {
  readonly name: string;
  readonly page: Page;
  /** Signs them in anew, wherever they are. */
  readonly enter: () => Promise<void>;
}

export interface Fault {
  readonly who: string;
  readonly what: string;
  readonly address: string;
  /** The last steps before it. */
  readonly steps: readonly string[];
}

interface Element {
  readonly tag: string;
  readonly type: string;
  readonly isEditable: boolean;
  readonly name: string;
  readonly href: string | null;
  readonly html: string;
}

export class RandomWalk {
  /** Each once, however often it was seen. */
  readonly faults: Fault[] = [];
  readonly #random: SeededRandom;
  readonly #walkers: readonly Walker[];
  readonly #steps = new Map<Walker, string[]>();
  readonly #picture: Buffer;

  private constructor(random: SeededRandom, walkers: readonly Walker[], picture: Buffer) {
    [this.#random, this.#walkers, this.#picture] = [random, walkers, picture];
    for (const walker of walkers) this.#listen(walker);
  }

  static async make(random: SeededRandom, walkers: readonly Walker[]): Promise<RandomWalk> {
    const plain = { create: { width: 64, height: 48, channels: 3, background: '#336699' } } as const;
    return new RandomWalk(random, walkers, await sharp(plain).png().toBuffer());
  }

  /** One of them does something, and their page is looked at. */
  async step(): Promise<void> {
    const walker = this.#random.pick(this.#walkers);
    const { enter, page } = walker;
    const [home] = new URL(page.url()).href.split('#');
    await this.#act(walker);
    if (page.url().split('#', 1)[0] !== home) await page.goto(home as string);
    if (await page.locator('input[autocomplete~=username]').isVisible()) {
      this.#said(walker, 'sign in again');
      await enter();
    }
    await this.#look(walker);
  }

  /** What the list says is what it says when the page is loaded again: nothing of it waited for that. */
  async compareLists(): Promise<void> {
    for (const { page } of this.#walkers) {
      const hangUp = page.getByRole('button', { name: HANG_UP });
      // A call that somebody is in covers all else.
      await until(async () => {
        await hangUp.evaluateAll((found) => (found as HTMLElement[])[0]?.click());
        return (await page.locator('.parley-panes[inert]').count()) === 0;
      }, 'the end of a call');
    }
    for (const walker of this.#walkers) {
      const { page } = walker;
      const search = page.locator('nav input[type=search], input[aria-keyshortcuts="Control+K"]').first();
      await page.keyboard.press('Escape');
      await page.evaluate("location.hash = '#/'");
      if (await search.isVisible()) await search.fill('');
      const before = await restingList(page);
      await page.reload();
      const after = await restingList(page);
      if (before !== after) this.#fault(walker, `a list that says otherwise after a reload:\n${before}\n---\n${after}`);
    }
  }

  #said(walker: Walker, step: string): void {
    const steps = this.#steps.get(walker) ?? [];
    this.#steps.set(walker, [...steps, step].slice(-TOLD_STEPS));
  }

  #fault(walker: Walker, what: string): void {
    const kind = (text: string) => text.replaceAll(/\d+/g, '0').slice(0, 160);
    if (this.faults.some((known) => kind(known.what) === kind(what))) return;
    const steps = this.#steps.get(walker) ?? [];
    this.faults.push({ who: walker.name, what, address: walker.page.url(), steps });
  }

  #listen(walker: Walker): void {
    const { page } = walker;
    page.on('pageerror', (error) => this.#fault(walker, `exception: ${error.stack ?? error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !OF_NETWORK.test(text)) this.#fault(walker, `console: ${text}`);
    });
    page.on('response', (response) => {
      const path = new URL(response.url()).pathname;
      if (response.status() >= 500) this.#fault(walker, `${response.status()} ${response.request().method()} ${path}`);
    });
    page.on('dialog', (dialog) => void dialog.dismiss().catch(() => undefined));
    page.on('popup', (popup) => void popup.close().catch(() => undefined));
  }

  async #act(walker: Walker): Promise<void> {
    const { page } = walker;
    const random = this.#random;
    const dice = random.unit();
    if (dice < 0.62) return await this.#press(walker);
    if (dice < 0.82) {
      const key = random.pick(KEYS);
      this.#said(walker, `key ${key}`);
      return await page.keyboard.press(key);
    }
    if (dice < 0.88) return await page.mouse.wheel(0, random.pick([-2_000, -300, 300, 2_000]));
    if (dice < 0.91) {
      this.#said(walker, 'back');
      return void (await page.goBack({ timeout: PRESS_MILLIS }).catch(() => undefined));
    }
    if (dice < 0.93) {
      this.#said(walker, 'reload');
      return void (await page.reload());
    }
    if (dice < 0.95) {
      const size = random.pick(SIZES);
      this.#said(walker, `window of ${size.width}`);
      return await page.setViewportSize(size);
    }
    if (dice < 0.98) {
      const address = random.pick(ADDRESSES);
      this.#said(walker, `go to ${address}`);
      return await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
    }
    this.#said(walker, 'lose the connection');
    await page.context().setOffline(true);
    await this.#press(walker);
    await page.context().setOffline(false);
  }

  async #press(walker: Walker): Promise<void> {
    const found = await this.#findPressed(walker.page);
    if (found === undefined) return;
    const [element, about] = found;
    const { href, html, isEditable, name, tag, type } = about;
    // Away from the app, and out of it: the walk would be over.
    if (href !== null && !href.startsWith('#')) return;
    if (/sign out|выйти/i.test(name)) return;
    if (tag === 'BUTTON' && name === '') this.#fault(walker, `a button without a name: ${html}`);
    this.#said(walker, `${tag} ${type} “${name}”`);
    const random = this.#random;
    // What is covered or gone by then is left: a person would do the same.
    const timeout = { timeout: PRESS_MILLIS };
    if (type === 'file') {
      const file = { name: random.pick(FILE_NAMES), mimeType: 'image/png', buffer: this.#picture };
      return await element.setInputFiles(file, timeout).catch(() => undefined);
    }
    if (tag === 'ARTICLE') return await element.hover(timeout).catch(() => undefined);
    if (random.chance(0.05)) return await element.dblclick(timeout).catch(() => undefined);
    await element.click(timeout).catch(() => undefined);
    if (tag !== 'INPUT' && tag !== 'TEXTAREA' && !isEditable) return;
    const fitting = FITTING[type];
    if (fitting !== undefined) return await element.fill(fitting, timeout).catch(() => undefined);
    const typed = random.pick(TYPED);
    this.#said(walker, `type ${JSON.stringify(typed.slice(0, 40))}`);
    await walker.page.keyboard.insertText(typed);
    if (random.chance(0.5)) await walker.page.keyboard.press('Enter');
  }

  async #findPressed(page: Page): Promise<[ElementHandle<HTMLElement>, Element] | undefined> {
    const all = (await page.locator(PRESSED).elementHandles()) as ElementHandle<HTMLElement>[];
    for (let tries = 0; tries < TRIES && all.length > 0; tries += 1) {
      const element = this.#random.pick(all);
      const about = await element.evaluate(describe).catch(() => undefined);
      if (about !== undefined) return [element, about];
    }
    return undefined;
  }

  async #look(walker: Walker): Promise<void> {
    const { page } = walker;
    const seen = await page.evaluate(meaningless).catch(() => undefined);
    for (const text of seen?.words ?? []) this.#fault(walker, `words that mean nothing: ${text}`);
    if (seen?.isBroken) this.#fault(walker, 'a screen that broke');
    // What is being laid out or loaded may be so for a moment.
    const settles = async (isWell: () => boolean, what: string) =>
      await until(async () => await page.evaluate(isWell).catch(() => true), what, 10_000).catch(async () =>
        this.#fault(walker, `${what}${await page.evaluate(standingOut).catch(() => '')}`),
      );
    await settles(
      () => document.documentElement.scrollWidth <= innerWidth + 1,
      `a page wider than ${page.viewportSize()?.width}`,
    );
    await settles(
      () => document.body.innerText.trim() !== '' || document.querySelector('input, svg') !== null,
      'empty',
    );
  }
}

/** The rows of the list, once none of them changed for longer than somebody's writing is shown. */
async function restingList(page: Page): Promise<string> {
  let [rows, since] = ['', Date.now()];
  await until(async () => {
    const texts = await page.locator('nav a').allInnerTexts();
    const now = texts.map((text) => text.replaceAll(/\s+/g, ' ')).join('\n');
    if (now !== rows) [rows, since] = [now, Date.now()];
    return rows !== '' && Date.now() - since > RESTING_MILLIS;
  }, 'a list at rest');
  return rows;
}

/** What an element is, for who can press it where it is; undefined for what is covered, off or out of sight. */
function describe(element: HTMLElement): Element | undefined {
  const { height, width, x, y } = element.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  if (width < 2 || height < 2 || top === null || !(element.contains(top) || top.contains(element))) return undefined;
  if (element.matches(':disabled')) return undefined;
  const said = [
    element.getAttribute('aria-label'),
    element.innerText,
    element.title,
    element.getAttribute('placeholder'),
  ];
  const name = said.find((text) => text !== null && text.trim() !== '') ?? '';
  const isLabelled = element.hasAttribute('aria-labelledby') || (element as HTMLInputElement).labels?.length;
  return {
    tag: element.tagName,
    type: (element as HTMLInputElement).type ?? '',
    isEditable: element.isContentEditable,
    name: (name === '' && isLabelled ? 'labelled' : name).slice(0, 40).replaceAll('\n', ' '),
    href: element.getAttribute('href'),
    html: element.outerHTML.slice(0, 300),
  };
}

/** What reaches over the right edge of the window, the innermost last: its place, its classes and its words. */
function standingOut(): string {
  const all = [...document.body.querySelectorAll<HTMLElement>('*')];
  const out = all.filter((one) => one.getBoundingClientRect().right > innerWidth + 1).slice(-12);
  return out
    .map((one) => {
      const { left, right } = one.getBoundingClientRect();
      return `\n${one.tagName}.${one.className} from ${left} to ${right}: ${one.textContent?.slice(0, 40)}`;
    })
    .join('');
}

/** What is never meant to be read: values that are none, a word of ours that has no translation, the screen that says that one broke. */
function meaningless(): { readonly words: readonly string[]; readonly isBroken: boolean } {
  const words: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const [text, parent] = [(node.nodeValue ?? '').trim(), node.parentElement];
    // What people wrote may say anything.
    const isTheirs = parent?.closest('script, style, noscript, article, nav, code, pre, bdi, textarea') ?? null;
    if (text === '' || parent === null || isTheirs !== null) continue;
    const isNoValue = /\b(?:undefined|NaN|\[object Object\]|Invalid Date)\b|\{\{/.test(text);
    if (isNoValue || /^[a-z]+(?:\.[a-zA-Z]+)+$/.test(text)) words.push(`${text.slice(0, 80)} in ${parent.outerHTML}`);
  }
  return { words, isBroken: /This screen broke|Этот экран сломался/.test(document.body.innerText) };
}
