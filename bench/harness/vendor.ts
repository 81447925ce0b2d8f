/** A vendor token of a server under test, made the way an owner makes one: by command, password, second factor, console. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { TOTP } from 'otpauth';
import { z } from 'zod';
import { programOf } from '#test/support/program.ts';
import { plainEnvironment } from './pinning.ts';

const CLI = new URL('../../src/cli/parley.ts', import.meta.url);
const PASSWORD = 'a password of the benches';

const signedIn = z.object({ token: z.string() });
const setUp = z.object({ secret: z.string() });

/** Signs an owner in to the console of a running server; answers how to ask it as the owner. */
export class ConsoleOwner {
  readonly #coordinator: string;
  readonly #token: string;

  private constructor(coordinator: string, token: string) {
    this.#coordinator = coordinator;
    this.#token = token;
  }

  static async make(coordinator: string, data: string): Promise<ConsoleOwner> {
    const child = spawn(process.execPath, [...programOf(CLI), 'init', '--owner', 'owner', '--data', data], {
      env: plainEnvironment(),
    });
    child.stdin.end(`${PASSWORD}\n`);
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`parley init ended with ${code}.`);
    const credentials = { username: 'owner', password: PASSWORD };
    const { token } = signedIn.parse(await ask(coordinator, 'POST', '/login', undefined, credentials));
    const owner = new ConsoleOwner(coordinator, token);
    const { secret } = setUp.parse(await owner.ask('POST', '/second-factor/setup'));
    const app = new TOTP({ secret });
    await owner.ask('POST', '/second-factor/confirm', { code: app.generate() });
    // A code is good once: the next one is taken too, since a phone's clock may be ahead.
    const next = app.generate({ timestamp: Date.now() + app.period * 1_000 });
    await owner.ask('POST', '/step-up', { code: next });
    return owner;
  }

  async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    return await ask(this.#coordinator, method, path, this.#token, body);
  }

  /** Issues a vendor token for a year. */
  async vendorToken(): Promise<string> {
    const form = { name: 'bench', purpose: 'reading beside messages', term_days: 365 };
    return signedIn.parse(await this.ask('POST', '/vendor-tokens', form)).token;
  }
}

/** @throws Error with the answer, when it is no success. */
async function ask(
  coordinator: string,
  method: string,
  path: string,
  token: string | undefined,
  body?: unknown,
): Promise<unknown> {
  const headers = {
    ...(token === undefined ? {} : { 'x-admin-token': token }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  const answer = await fetch(`${coordinator}/admin/api${path}`, init);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
