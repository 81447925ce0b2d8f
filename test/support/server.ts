/**
 * A real server for black-box tests: a process of its own on free ports, over a temporary folder, with one shard where a
 * test does not ask for more. Its code is that of `npm start`, in a run of all tests bundled (bundle.ts), so that it starts in less than half of
 * the CPU time.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PARTICIPANTS_MAX } from '#src/protocol/limits.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { callControl } from './control.ts';
import { threadStates } from './process.ts';
import { programOf } from './program.ts';
import { deadline, until } from './waiting.ts';

const PROGRAM = programOf(new URL('../../src/main.ts', import.meta.url));
/** What one password hash may cost in tests: argon2's least memory, so that hundreds of sign-ins take no time. */
const TEST_PASSWORD_MEMORY_KIB = '64';
/** How long a start may take: a machine under heavy load gives the process its turn late. */
const READY_MILLIS = 120_000;
/** How long an end may take: the drain of tests is a second. */
const END_MILLIS = 60_000;

export interface ServerOptions {
  /** Environment variables beyond the tests' own; `undefined` takes one away. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Threads that serve sockets and write messages. Two where what is asked may lie with another thread than the one that was
   * asked, or where one may die; by default one, which takes a fifth less of the CPU time of a start.
   */
  readonly shards?: 1 | 2;
  /** A folder to start on, kept afterwards. By default a new one, removed with `stop`. */
  readonly folder?: string;
  /** A command that runs it, such as one that enters a namespace. */
  readonly through?: readonly string[];
  /** Where its lines are put; a new array by default. */
  readonly output?: string[];
}

export interface Reply<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined where there is none. */
  readonly body: T;
}

export interface Person {
  readonly username: string;
  readonly password: string;
  session: Session;
}

export class TestServer {
  readonly folder: string;
  readonly coordinator: string;
  readonly messaging: string;
  readonly calendar: string;
  /** Everything it wrote, both outputs. */
  readonly output: string[];
  readonly process: ChildProcess;
  readonly #keepsFolder: boolean;

  constructor(
    process: ChildProcess,
    folder: string,
    urls: { coordinator: string; messaging: string; calendar: string },
    output: string[],
    keepsFolder: boolean,
  ) {
    this.process = process;
    this.folder = folder;
    this.coordinator = urls.coordinator;
    this.messaging = urls.messaging;
    this.calendar = urls.calendar;
    this.output = output;
    this.#keepsFolder = keepsFolder;
  }

  get isRunning(): boolean {
    return this.process.exitCode === null && this.process.signalCode === null;
  }

  get pid(): number {
    return this.process.pid as number;
  }

  /** Adds people through the control socket and signs each in on a device of its own. */
  async people<Name extends string>(...names: Name[]): Promise<Record<Name, Person>> {
    const people: [Name, Person][] = [];
    // One after the other: the control socket is an operator's, and takes a handful of connections at once.
    for (const name of names) people.push([name, await this.person(name)]);
    return Object.fromEntries(people) as Record<Name, Person>;
  }

  async person(username: string): Promise<Person> {
    const password = `password of ${username}`;
    await callControl(this.folder, 'user.add', { username, password, role: 'person' });
    return { username, password, session: await this.signIn(username, password) };
  }

  async signIn(username: string, password: string, deviceId?: string): Promise<Session> {
    const body = { username, password, ...(deviceId === undefined ? {} : { device_id: deviceId }) };
    const reply = await request<Session>('POST', `${this.coordinator}/v1/auth/login`, { body });
    if (reply.status !== 200) throw new Error(`Signing in as ${username} was refused: ${reply.text}`);
    return reply.body;
  }

  /** A request to the messaging service as a person, or as nobody. */
  async api<T = Record<string, unknown>>(
    who: Person | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply<T>> {
    const token = who?.session.token;
    return await request<T>(method, `${this.messaging}${path}`, { body, headers, token });
  }

  /** Ends the process as SIGTERM does, waits for it, and removes a folder that was made for it. Its exit code. */
  async stop(): Promise<number | null> {
    const code = await this.end('SIGTERM');
    if (!this.#keepsFolder) await rm(this.folder, { recursive: true, force: true });
    return code;
  }

  /**
   * Pauses the process, and waits until each of its threads stands. SIGSTOP is taken by one of them, when it next has a core, and the
   * others go on until then: 8 ms at the median and up to 24 on a machine that is busy, which is enough to answer a request.
   */
  async pause(): Promise<void> {
    this.process.kill('SIGSTOP');
    await until(() => threadStates(this.pid).every((state) => state === 'T'), 'every thread to stand');
  }

  /** Lets a process go on that was paused. */
  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** Sends a signal and waits until the process is gone. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (!this.isRunning) return this.process.exitCode;
    const gone = once(this.process, 'exit');
    this.process.kill(signal);
    try {
      const [code] = await deadline(gone, END_MILLIS, `the server to end on ${signal}`);
      return code as number | null;
    } catch (error) {
      // One that hangs would keep the tests from ending, too.
      this.process.kill('SIGKILL');
      throw new Error(`${(error as Error).message} It said:\n${this.output.join('\n')}`, { cause: error });
    }
  }
}

/** Starts a server and waits until it is ready. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'parley-test-')));
  const environment = {
    ...process.env,
    PARLEY_DATA: folder,
    PARLEY_COORDINATOR_PORT: '0',
    PARLEY_MESSAGING_PORT: '0',
    PARLEY_CALENDAR_PORT: '0',
    PARLEY_SHARDS: String(options.shards ?? 1),
    PARLEY_LANES: '4',
    PARLEY_LANE_SIZE: '1',
    PARLEY_LOG_LEVEL: 'warn',
    PARLEY_DRAIN_SECONDS: '1',
    // Tests do in seconds what people do in days; the limits have tests of their own.
    PARLEY_RATE_LIMITS: '0',
    // Tests fill their rooms; when people are asked first has tests of its own (room-invitations.test.ts).
    PARLEY_ADD_UNASKED: String(PARTICIPANTS_MAX),
    PARLEY_ADD_GUESTS: 'unasked',
    PARLEY_PASSWORD_MEMORY_KIB: TEST_PASSWORD_MEMORY_KIB,
    ...options.environment,
  };
  const [program, ...args] = [...(options.through ?? []), process.execPath, ...PROGRAM] as [string, ...string[]];
  const child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = options.output ?? [];
  const { promise, resolve, reject } = Promise.withResolvers<{
    coordinator: string;
    messaging: string;
    calendar: string;
  }>();
  child.once('exit', (code, signal) => {
    reject(new Error(`The server ended with ${signal ?? code} before it was ready`));
  });
  createInterface({ input: child.stderr }).on('line', (line) => output.push(line));
  createInterface({ input: child.stdout }).on('line', (line) => {
    output.push(line);
    if (line.startsWith('{"event":"ready"')) resolve(JSON.parse(line));
  });
  const urls = await deadline(promise, READY_MILLIS, 'the server to be ready').catch((error: unknown) => {
    // One that hangs would keep the tests from ending, too.
    child.kill('SIGKILL');
    throw new Error(`${(error as Error).message}:\n${output.join('\n')}`, { cause: error });
  });
  return new TestServer(child, folder, urls, output, options.folder !== undefined);
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string | undefined;
  /** Ends it without an answer. */
  readonly signal?: AbortSignal;
}

/** One HTTP request; a body that is not a string is sent as JSON. */
export async function request<T = Record<string, unknown>>(
  method: string,
  url: string,
  options: RequestOptions = {},
): Promise<Reply<T>> {
  const { body, signal, token } = options;
  const headers: Record<string, string> = { ...options.headers };
  if (body !== undefined) headers['content-type'] ??= 'application/json';
  if (token !== undefined) headers['authorization'] ??= `Bearer ${token}`;
  const sent =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers,
    ...(signal && { signal }),
    ...(sent === undefined ? {} : { body: sent as BodyInit }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (text === '' ? undefined : JSON.parse(text)) as T,
  };
}
