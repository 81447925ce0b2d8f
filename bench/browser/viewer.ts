/** Somebody who looks at a server in a Chromium of their own, by the app or by the plain page, with the probe in each page. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type BrowserContext, type CDPSession, type Page } from 'playwright-core';
import { findChromium, findHeadlessShell } from '#test/console/web/chromium.ts';
import { within } from '../harness/deadline.ts';
import type { Server } from '../harness/server.ts';
import type { Person } from '../harness/subject.ts';
import { installProbe } from './probe.ts';

/** Where Chromium is on this machine: its engine without windows where that is installed; undefined where neither is. */
export const CHROMIUM = findHeadlessShell() ?? findChromium();

/** The memory that a page's scripts hold is told exactly; what a machine lacks is left out. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--enable-precise-memory-info'];
const VIEWPORT = { width: 1440, height: 900 };
const PATIENCE_MILLIS = 60_000;

export type ViewerName = 'app' | 'plain page';

export class Viewer {
  readonly name: ViewerName;
  readonly page: Page;
  /** What a page complained of: exceptions, and what its policy refused. */
  readonly complaints: string[] = [];
  readonly #context: BrowserContext;
  readonly #devtools: CDPSession;
  readonly #folder: string;
  readonly #url: string;

  private constructor(
    name: ViewerName,
    url: string,
    { context, devtools, folder, page }: { context: BrowserContext; devtools: CDPSession; folder: string; page: Page },
  ) {
    this.name = name;
    this.#url = url;
    this.#context = context;
    this.#devtools = devtools;
    this.#folder = folder;
    this.page = page;
    page.on('pageerror', (error) => this.complaints.push(String(error)));
  }

  /** Somebody at the app, signed in by their password. */
  static async ofApp(server: Server, person: Person): Promise<Viewer> {
    const viewer = await Viewer.#start('app', server.coordinator);
    const { username = '', password = '' } = server.signInForm({ username: person.username });
    const { page } = viewer;
    await page.goto(server.coordinator);
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await viewer.listShown();
    return viewer;
  }

  /** Somebody at the plain page, with the session that the seed made. */
  static async ofPlainPage(server: Server, person: Person, origin: string): Promise<Viewer> {
    const { device, token } = person;
    const messaging = `http://${server.host}:${server.port}`;
    const viewer = await Viewer.#start('plain page', `${origin}/?${new URLSearchParams({ messaging, token, device })}`);
    await viewer.load();
    return viewer;
  }

  static async #start(name: ViewerName, url: string): Promise<Viewer> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-browser-'));
    // With a folder, so that the caches are those of a browser in earnest: on disk, scripts as they were compiled among them.
    const context = await chromium.launchPersistentContext(folder, {
      executablePath: CHROMIUM as string,
      args: FLAGS,
      viewport: VIEWPORT,
      locale: 'en-GB',
    });
    context.setDefaultTimeout(PATIENCE_MILLIS);
    await context.addInitScript(installProbe);
    const page = context.pages()[0] ?? (await context.newPage());
    const devtools = await context.newCDPSession(page);
    // Of CPU time a busy neighbour takes less away than of time by the clock.
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
    return new Viewer(name, url, { context, devtools, folder, page });
  }

  /** Loads the page anew, and answers after how many milliseconds the list was shown. */
  async load(): Promise<number> {
    await this.page.goto('about:blank');
    await this.page.goto(this.#url);
    return await this.listShown();
  }

  async listShown(): Promise<number> {
    return await this.page.evaluate(async () => await window.probe.listShown);
  }

  /** Throws away all that the browser kept of the pages but who is signed in. */
  async forgetPages(): Promise<void> {
    await this.page.goto('about:blank');
    await this.#devtools.send('Network.clearBrowserCache');
    await this.#devtools.send('Storage.clearDataForOrigin', {
      origin: new URL(this.#url).origin,
      storageTypes: 'service_workers,cache_storage,indexeddb,shader_cache',
    });
  }

  /** Presses a row of the list, and answers after how many milliseconds that text was in sight. */
  async switchTo(conv: string, text: string): Promise<number> {
    const shown = this.page.evaluate(async ([id, newest]) => await window.probe.switchTo(id, newest), [
      conv,
      text,
    ] as const);
    return await within(`“${text}” to be in sight`, PATIENCE_MILLIS / 1000, shown);
  }

  /** Milliseconds of CPU that the page's main thread took so far. */
  async mainThreadMillis(): Promise<number> {
    const { metrics } = await this.#devtools.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
  }

  /** Bytes of the heap in use; what is garbage counts until it is collected. */
  async heapBytes(isCollected: boolean): Promise<number> {
    if (isCollected) await this.#devtools.send('HeapProfiler.collectGarbage');
    return (await this.#devtools.send('Runtime.getHeapUsage')).usedSize;
  }

  async stop(): Promise<void> {
    await this.#context.close();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
