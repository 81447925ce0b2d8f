/** The console in a page of Chromium, and what a person does with it: presses, fills in, reads. */
import type { Page, ViewportSize } from 'playwright-core';
import { PATIENCE_MILLIS, until } from '#test/support/waiting.ts';
import { findingsInThemes } from '#test/web/browser.ts';

/** A text that is all of a button's, whatever blanks are around it. */
const whole = (text: string) => new RegExp(`^\\s*${text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}\\s*$`);

/** How long a change that is no change of elements may stay unseen. */
const LOOK_MILLIS = 100;

export class ConsolePage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** The value of an expression in the page. */
  async read<T>(expression: string): Promise<T> {
    return await this.page.evaluate<T>(expression);
  }

  /** Waits until the page shows a text. */
  async sees(text: string): Promise<void> {
    await this.#becomes(`document.body.innerText.includes(${JSON.stringify(text)})`, `“${text}”`);
  }

  /** Waits until the page does not show a text any more. */
  async seesNot(text: string): Promise<void> {
    await this.#becomes(`!document.body.innerText.includes(${JSON.stringify(text)})`, `“${text}” to go`);
  }

  /** Presses the button or link with that text, within what a selector names, once it lets itself be pressed. */
  async press(text: string, within = 'body'): Promise<void> {
    await this.page
      .locator(within)
      .locator('button, a, summary')
      .filter({ hasText: whole(text), visible: true })
      .first()
      .click();
  }

  /** As `press`, in the dialog that is open. */
  async answer(text: string): Promise<void> {
    await this.press(text, '[role=dialog]');
  }

  /** Puts a value into the control with that label, or chooses it there. */
  async fill(label: string, value: string, within = 'body'): Promise<void> {
    const control = this.page.locator(within).getByLabel(label, { exact: true }).filter({ visible: true }).first();
    const isChoice = await control.evaluate((one) => one.tagName === 'SELECT');
    if (isChoice) await control.selectOption(value);
    else await control.fill(value);
  }

  /** Ticks the box with that label. */
  async tick(label: string): Promise<void> {
    await this.page.getByLabel(label, { exact: true }).check();
  }

  /** What a secret that is shown once is. */
  async secret(): Promise<string> {
    const place = this.page.locator('pre.secret').last();
    await place.waitFor();
    return (await place.textContent()) ?? '';
  }

  /** The addresses of the menu. */
  async places(): Promise<string[]> {
    return await this.read<string[]>("[...document.querySelectorAll('nav a')].map((one) => one.hash)");
  }

  /** Opens a screen, or a page below one, and waits for all that it loads. */
  async open(place: string): Promise<void> {
    await this.read(`location.hash = ${JSON.stringify(place)}`);
    const screen = /^#\/[\w-]+/.exec(place)?.[0];
    const isLoaded = `document.querySelector('nav [aria-current]')?.hash === ${JSON.stringify(screen)}
      && document.querySelector('main [aria-busy]') === null`;
    await this.#becomes(isLoaded, `${place} to load`);
  }

  /**
   * Opens every screen of the menu, and of the pages that a screen leads to the first, and looks at each in the sizes given: what there
   * is to find fault with, and how many screens there are. The page has the last size afterwards.
   */
  async walk(
    ...sizes: readonly ViewportSize[]
  ): Promise<{ readonly count: number; readonly faults: readonly string[] }> {
    const places = await this.places();
    const faults: string[] = [];
    const look = async (place: string) => {
      for (const size of sizes) {
        await this.page.setViewportSize(size);
        if (size === sizes[0]) await this.open(place);
        // The frame is the same around all of them.
        const without = place === places[0] ? [] : ['header', 'nav'];
        faults.push(...(await this.faults(without)).map((fault) => `${place}, ${size.width} wide: ${fault}`));
      }
    };
    for (const place of places) {
      await look(place);
      const first = `document.querySelector('main a[href^="${place}/"]')?.hash`;
      const below = await this.read<string | undefined>(first);
      if (below !== undefined) await look(below);
    }
    return { count: places.length, faults };
  }

  /** What is wrong with what is shown: a failure, something wider than the window, or a finding of axe in either theme. */
  async faults(without: readonly string[] = []): Promise<string[]> {
    const failed = await this.read<string>(
      "[...document.querySelectorAll('main p.bad')].map((one) => one.textContent).join('')",
    );
    const isWide = await this.read<boolean>('document.documentElement.scrollWidth > innerWidth');
    const found = await findingsInThemes(this.page, without);
    return [...(failed === '' ? [] : [failed]), ...(isWide ? ['it is wider than the window'] : []), ...found];
  }

  /** Plugs an authenticator in that has its person verified by itself (WebAuthn, section 11); answers what pulls it out. */
  async plugAuthenticator(): Promise<() => Promise<void>> {
    const devices = await this.page.context().newCDPSession(this.page);
    await devices.send('WebAuthn.enable', {});
    const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return async () => void (await devices.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId }));
  }

  /**
   * Waits until an expression is true. The page itself looks, when something of it has changed: to be asked from here every few
   * milliseconds took a third of what a walk through the screens takes.
   */
  async #becomes(expression: string, what: string): Promise<void> {
    const waiting = `new Promise((resolve) => {
      const end = (isSo) => {
        clearInterval(again);
        observer.disconnect();
        resolve(isSo);
      };
      const look = () => {
        if (document.body !== null && (${expression})) end(true);
        else if (performance.now() > last) end(false);
      };
      const last = performance.now() + ${PATIENCE_MILLIS};
      const observer = new MutationObserver(look);
      observer.observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
      // What is seen may change by a style alone.
      const again = setInterval(look, ${LOOK_MILLIS});
      look();
    })`;
    try {
      await until(async () => await this.#tried<boolean>(waiting), what);
    } catch (error) {
      const shown = await this.#tried<string>('document.body.innerText');
      throw new Error(`${(error as Error).message} The page shows: ${shown}`, { cause: error });
    }
  }

  /** As `read`, but nothing while the page is on its way to another. */
  async #tried<T>(expression: string): Promise<T | undefined> {
    try {
      return await this.read<T>(expression);
    } catch {
      return undefined;
    }
  }
}
