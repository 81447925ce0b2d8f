/** A headless Chromium, driven by its DevTools protocol over a WebSocket: one page, and what a person does with it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WebSocket } from 'ws';
import { deadline, PATIENCE_MILLIS, until } from '#test/support/waiting.ts';

/** Where Chromium is on this machine; undefined where it is not installed. */
export function findChromium(): string | undefined {
  return findFirst(['chromium', 'chromium-browser']);
}

/**
 * Chromium's engine without its windows, extensions and services, which draws the same pages for a quarter less of CPU time than
 * the whole one in headless mode; undefined where it is not installed. It has no notifications and no clipboard.
 */
export function findHeadlessShell(): string | undefined {
  return findFirst(['chromium-headless-shell']);
}

function findFirst(programs: readonly string[]): string | undefined {
  const found = programs.map((name) => spawnSync('which', [name], { encoding: 'utf8' }));
  return found.map(({ stdout }) => stdout.trim()).find((path) => path !== '');
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

export class Chromium {
  /** What the page complained of: exceptions, refused resources, errors that a script wrote. */
  readonly complaints: string[] = [];
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #session = '';
  #count = 0;

  private constructor(process: ChildProcess, folder: string, socket: WebSocket) {
    this.#process = process;
    this.#folder = folder;
    this.#socket = socket;
    socket.on('message', (data: Buffer) => this.#hear(JSON.parse(data.toString('utf8')) as Answer));
  }

  /** With the flags that a test needs beside its own. */
  static async start(path: string, more: readonly string[] = []): Promise<Chromium> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-browser-'));
    // Without its sandbox: containers and root have none, and it opens nothing but the server under test.
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
    const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--lang=en-GB'];
    const own = ['--remote-debugging-port=0', `--user-data-dir=${folder}`, 'about:blank'];
    const child = spawn(path, [...flags, ...quiet, ...more, ...own], { stdio: ['ignore', 'ignore', 'pipe'] });
    const { promise, resolve } = Promise.withResolvers<string>();
    createInterface({ input: child.stderr }).on('line', (line) => {
      const [, url] = /^DevTools listening on (ws:.+)$/.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    });
    const socket = new WebSocket(await deadline(promise, PATIENCE_MILLIS, 'Chromium to listen'));
    await once(socket, 'open');
    const browser = new Chromium(child, folder, socket);
    await browser.#open();
    return browser;
  }

  async stop(): Promise<void> {
    const gone = once(this.#process, 'exit');
    this.#socket.close();
    this.#process.kill('SIGKILL');
    await gone;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  async goTo(url: string): Promise<void> {
    await this.#send('Page.navigate', { url });
  }

  async setSize(width: number, height: number): Promise<void> {
    await this.#send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  }

  /** Plugs an authenticator in that has its person verified by itself (WebAuthn, section 11); answers what pulls it out. */
  async plugAuthenticator(): Promise<() => Promise<void>> {
    await this.#send('WebAuthn.enable', {});
    const options = {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
      ...{ isUserVerified: true, automaticPresenceSimulation: true },
    };
    const { authenticatorId } = await this.#send('WebAuthn.addVirtualAuthenticator', { options });
    return async () => void (await this.#send('WebAuthn.removeVirtualAuthenticator', { authenticatorId }));
  }

  /** The value of an expression in the page. */
  async read<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.#send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) throw new Error(`${expression} failed: ${JSON.stringify(exceptionDetails)}`);
    return (result as { value: T }).value;
  }

  /** Waits until the page shows a text. */
  async sees(text: string): Promise<void> {
    const shown = async () => await this.#tried(`document.body.innerText.includes(${JSON.stringify(text)})`);
    await until(shown, `“${text}” in ${await this.#tried<string>('document.body.innerText')}`);
  }

  /** Presses the button or link with that text, once it is there and lets itself be pressed. */
  async press(text: string, within = 'body'): Promise<void> {
    const find = `[...document.querySelectorAll(${JSON.stringify(`${within} button, ${within} a`)})]
      .find((one) => one.textContent.trim() === ${JSON.stringify(text)} && one.checkVisibility() && !one.disabled)`;
    await this.#whenThere(find, 'one.click()', `the button “${text}”`);
  }

  /** Puts a value into the control with that label, as typing does. */
  async fill(label: string, value: string): Promise<void> {
    const find = `[...document.querySelectorAll('label')]
      .find((one) => one.textContent.trim() === ${JSON.stringify(label)} && one.checkVisibility())?.control`;
    const type = `one.focus();
      one.value = ${JSON.stringify(value)};
      one.dispatchEvent(new Event('input', { bubbles: true }));`;
    await this.#whenThere(find, type, `the field “${label}”`);
  }

  /** Finds an element and does something with it in one turn of the page, which may draw itself anew in between. */
  async #whenThere(find: string, act: string, what: string): Promise<void> {
    const attempt = `(() => {
      const one = ${find};
      if (one == null) return false;
      ${act}
      return true;
    })()`;
    await until(async () => await this.#tried(attempt), what);
  }

  /** As `read`, but nothing while the page is on its way to another. */
  async #tried<T = boolean>(expression: string): Promise<T | undefined> {
    try {
      return await this.read<T>(expression);
    } catch {
      return undefined;
    }
  }

  async #open(): Promise<void> {
    const { targetId } = await this.#send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#send('Target.attachToTarget', { targetId, flatten: true });
    this.#session = sessionId as string;
    for (const domain of ['Page', 'Runtime', 'Log']) await this.#send(`${domain}.enable`, {});
  }

  async #send(method: string, params: object): Promise<Readonly<Record<string, unknown>>> {
    this.#count += 1;
    const id = this.#count;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#asked.set(id, resolve);
    this.#socket.send(
      JSON.stringify({ id, method, params, ...(this.#session === '' ? {} : { sessionId: this.#session }) }),
    );
    const { error, result } = await deadline(promise, PATIENCE_MILLIS, method);
    if (error !== undefined) throw new Error(`${method} was refused: ${error.message}`);
    return result ?? {};
  }

  #hear(answer: Answer): void {
    if (answer.id !== undefined) {
      this.#asked.get(answer.id)?.(answer);
      this.#asked.delete(answer.id);
    }
    const { method, params } = answer;
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params?.['exceptionDetails']));
    if (method !== 'Log.entryAdded') return;
    const entry = params?.['entry'] as Record<'level' | 'source' | 'text' | 'url', string>;
    const { level, source, text, url } = entry;
    // A refused request is a line of the network; whether it should have been is for the page to say.
    if (level === 'error' && source !== 'network') this.complaints.push(`${source}: ${text} ${url}`);
  }
}
