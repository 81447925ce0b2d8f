/**
 * A Thunderbird of the test's own: without windows, on a profile of its own, driven by Marionette (a length, a colon and
 * JSON on a socket of loopback) within its own scripts, so that what runs is what its buttons run.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { deadline, until } from '#test/support/waiting.ts';

/** A first start writes the whole profile, and a machine may be five times slower. */
const START_MILLIS = 180_000;
/** A step that takes longer waits for somebody to press a button. */
const STEP_MILLIS = 60_000;

/** What a profile says before its first start: no questions to whoever starts it, and nothing asked of the world. */
const PREFERENCES: Readonly<Record<string, boolean | number | string>> = {
  'marionette.port': 0,
  // The recommended ones keep it from saving passwords, among others.
  'remote.prefs.recommended': false,
  'mail.provider.suppress_dialog_on_startup': true,
  'mail.spotlight.firstRunDone': true,
  'mail.winsearch.firstRunDone': true,
  'mail.shell.checkDefaultClient': false,
  'mailnews.start_page.enabled': false,
  'mailnews.start_page_override.mstone': 'ignore',
  'mail.rights.version': 1,
  'datareporting.policy.dataSubmissionEnabled': false,
  'toolkit.telemetry.enabled': false,
  'app.update.enabled': false,
  'app.update.auto': false,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.proxy.type': 0,
  'services.settings.server': 'data:,',
  'calendar.timezone.useSystemTimezone': false,
  'calendar.timezone.local': 'Europe/Berlin',
};

type Answer = readonly [type: 1, id: number, error: { error: string; message: string } | null, result: unknown];

/** The packets of a stream: each is `<bytes>:<JSON>`. */
class Packets {
  #rest = Buffer.alloc(0);

  take(chunk: Buffer): unknown[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const taken: unknown[] = [];
    for (;;) {
      const colon = this.#rest.indexOf(':');
      if (colon === -1) return taken;
      const end = colon + 1 + Number(this.#rest.subarray(0, colon).toString());
      if (this.#rest.length < end) return taken;
      taken.push(JSON.parse(this.#rest.subarray(colon + 1, end).toString()));
      this.#rest = this.#rest.subarray(end);
    }
  }
}

export class Thunderbird {
  readonly #process: ChildProcess;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;

  private constructor(process: ChildProcess, socket: Socket, greeted: () => void) {
    this.#process = process;
    this.#socket = socket;
    const packets = new Packets();
    socket.on('data', (chunk: Buffer) => {
      for (const packet of packets.take(chunk)) {
        // The first packet says who is there; every other one answers a command.
        if (!Array.isArray(packet)) greeted();
        else {
          const answer = packet as unknown as Answer;
          this.#waiting.get(answer[1])?.(answer);
          this.#waiting.delete(answer[1]);
        }
      }
    });
  }

  /** Starts it with an empty profile in that folder, and waits for its main window. */
  static async start(folder: string): Promise<Thunderbird> {
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
    await writeFile(join(folder, 'user.js'), lines.join('\n'));
    const child = spawn(
      'thunderbird',
      ['--headless', '--no-remote', '--profile', folder, '--marionette', '--remote-allow-system-access'],
      {
        env: { PATH: process.env['PATH'], HOME: folder, LANG: 'C.UTF-8', TZ: 'UTC' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    try {
      const port = await until(
        async () => {
          if (child.exitCode !== null) throw new Error(`Thunderbird ended with ${child.exitCode}:\n${said}`);
          return await readFile(join(folder, 'MarionetteActivePort'), 'utf8').then(Number, () => undefined);
        },
        'the port of Marionette',
        START_MILLIS,
      );
      const socket = connect(port, '127.0.0.1');
      // What ends the connection ends the process too, which is what a step that waits is told by.
      socket.on('error', () => undefined);
      const { promise, resolve } = Promise.withResolvers<void>();
      const started = new Thunderbird(child, socket, resolve);
      await deadline(promise, START_MILLIS, 'the greeting of Marionette');
      await started.#command('WebDriver:NewSession', {}, START_MILLIS);
      await started.#command('Marionette:SetContext', { value: 'chrome' });
      await started.#command('WebDriver:SetTimeouts', { script: STEP_MILLIS });
      return started;
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  async #command(name: string, parameters: object, millis = 2 * STEP_MILLIS): Promise<unknown> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, resolve);
    const text = JSON.stringify([0, id, name, parameters]);
    this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [, , error, result] = await deadline(promise, millis, name);
    if (error !== null) throw new Error(`${name}: ${error.error}: ${error.message}`);
    return result;
  }

  /**
   * Runs the body of an asynchronous function in the main window, where `args` are its arguments.
   * @throws Error with what it threw.
   */
  async run<T>(body: string, ...args: unknown[]): Promise<T> {
    const script = `const done = arguments[arguments.length - 1];
      (async (...args) => { ${body} })(...Array.prototype.slice.call(arguments, 0, -1)).then(
        (value) => done({ value: value === undefined ? null : value }),
        (error) => done({ failure: String(error) + "\\n" + (error && error.stack) }));`;
    const answer = await this.#command('WebDriver:ExecuteAsyncScript', {
      script,
      args,
      sandbox: 'system',
      newSandbox: false,
    });
    const { value: outcome } = answer as { value: { failure?: string; value?: T } | null };
    if (outcome === null) throw new Error(`A question of Thunderbird's ended the step ${body}`);
    const { failure, value } = outcome;
    if (failure !== undefined) throw new Error(failure);
    return value as T;
  }

  async stop(): Promise<void> {
    this.#socket.destroy();
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
  }
}
