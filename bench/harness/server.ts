/** Parley as a subject: the real server, as `npm start` runs it, in a child process over a folder made for the run. */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { programOf } from '#test/support/program.ts';
import { plainEnvironment, spawnNode } from './pinning.ts';
import { endProcess, readyLine, type Person, type Subject, type World, type WorldSize } from './subject.ts';

const START = new URL('../../src/cli/start.ts', import.meta.url);
const CLI = new URL('../../src/cli/parley.ts', import.meta.url);

const seeded = z.object({
  people: z.array(z.object({ username: z.string(), password: z.string(), token: z.string(), device_id: z.string() })),
  rooms: z.array(z.object({ id: z.string(), members: z.array(z.string()) })),
});

const signedIn = z.object({ token: z.string(), device_id: z.string() });

/** All seeded people have one password. */
interface Seeded {
  readonly world: World;
  readonly password: string;
}

export interface ServerSettings {
  shards: number;
  cores: readonly number[];
  /** Where the data folder is made; the disk under it is what "durable" means in this run. */
  folder?: string;
  /** Settings of the server beyond those of every bench. */
  environment?: Readonly<Record<string, string>>;
}

/** A stop that takes longer than this failed its promise of 10 s; the process is killed then. */
const STOP_SECONDS = 12;

export class Server implements Subject {
  readonly name = 'parley';
  readonly dialect = 'plain';
  readonly host = '127.0.0.1';
  readonly world: World;
  readonly #folder: string;
  readonly #password: string;
  #coordinator = '';
  #calendar = '';
  readonly #settings: ServerSettings;
  #child: ChildProcess | undefined;
  #port = 0;

  private constructor(folder: string, settings: ServerSettings, { world, password }: Seeded) {
    this.#folder = folder;
    this.#password = password;
    this.#settings = settings;
    this.world = world;
    process.once('exit', this.#remove);
  }

  /** A run that is broken off leaves no folder behind. */
  readonly #remove = (): void => rmSync(this.#folder, { recursive: true, force: true });

  /** Makes a data folder with people and rooms, and starts the server over it. */
  static async start(size: WorldSize, settings: ServerSettings): Promise<Server> {
    const folder = mkdtempSync(join(settings.folder ?? tmpdir(), 'parley-bench-'));
    try {
      const server = new Server(folder, settings, seed(folder, size, settings));
      await server.up();
      return server;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Starts another host beside it, on a folder of its own that takes all from there; it serves the same people and rooms. */
  async beside(environment: Readonly<Record<string, string>>): Promise<Server> {
    const folder = mkdtempSync(join(this.#settings.folder ?? tmpdir(), 'parley-bench-'));
    const known = { world: this.world, password: this.#password };
    const server = new Server(folder, { ...this.#settings, environment }, known);
    try {
      await server.up();
      return server;
    } catch (error) {
      server.#remove();
      throw error;
    }
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get port(): number {
    return this.#port;
  }

  /** Base URL of the coordinator, once the server is up. */
  get coordinator(): string {
    return this.#coordinator;
  }

  /** Base URL of the calendar service, once the server is up. */
  get calendar(): string {
    return this.#calendar;
  }

  /** The data folder. */
  get data(): string {
    return join(this.#folder, 'data');
  }

  socketPath(person: Person): string {
    return `/v1/ws?token=${person.token}&device=${person.device}`;
  }

  /** Starts the process over the folder as it is, again after `down`. Answers when it says that it is ready. */
  async up(): Promise<void> {
    const child = spawnNode(START, [], {
      cores: this.#settings.cores,
      environment: environmentOf(this.#folder, this.#settings),
    });
    this.#child = child;
    const ready = await readyLine('parley', child);
    this.#port = Number(new URL(String(ready['messaging'])).port);
    this.#coordinator = String(ready['coordinator']);
    this.#calendar = String(ready['calendar']);
  }

  /** Signs a seeded person in on one device more. */
  async addDevice(username: string): Promise<Person> {
    return await this.signIn({ username });
  }

  /** Signs a seeded person in on the device that they have, which ends the session before, or on a new one. */
  async signIn(person: Pick<Person, 'username'> & Partial<Person>): Promise<Person> {
    const reply = await fetch(`${this.#coordinator}/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(this.signInForm(person)),
    });
    const { token, device_id: device } = signedIn.parse(await reply.json());
    return { username: person.username, token, device };
  }

  /** What a seeded person sends to sign in. */
  signInForm({ username, device }: Pick<Person, 'username'> & Partial<Person>): Record<string, string> {
    return { username, password: this.#password, ...(device === undefined ? {} : { device_id: device }) };
  }

  /** Ends the process and keeps the folder. A clean stop answers 0. */
  async down(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    return this.#child === undefined ? null : await endProcess(this.#child, signal, STOP_SECONDS);
  }

  async stop(): Promise<void> {
    await this.down('SIGTERM');
    process.off('exit', this.#remove);
    this.#remove();
  }
}

/** @throws Error with what the command said when it fails. */
function seed(folder: string, size: WorldSize, settings: ServerSettings): Seeded {
  const out = join(folder, 'seed.json');
  const counts = ['--people', size.people, '--rooms', size.rooms, '--members', size.members].map(String);
  const command = ['seed', ...counts, '--out', out, '--data', join(folder, 'data')];
  const done = spawnSync(process.execPath, [...programOf(CLI), ...command], {
    env: { ...plainEnvironment(), ...environmentOf(folder, settings) },
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`parley seed ended with ${done.status}:\n${done.stdout}${done.stderr}`);
  const { people, rooms } = seeded.parse(JSON.parse(readFileSync(out, 'utf8')));
  const world = {
    people: people.map(({ username, token, device_id }) => ({ username, token, device: device_id })),
    rooms,
  };
  return { world, password: people[0]?.password ?? '' };
}

/** Free ports, so that nothing running is disturbed, and a quiet log; everything else as it comes. */
function environmentOf(folder: string, settings: ServerSettings): Record<string, string> {
  return {
    PARLEY_DATA: join(folder, 'data'),
    PARLEY_COORDINATOR_PORT: '0',
    PARLEY_MESSAGING_PORT: '0',
    PARLEY_CALENDAR_PORT: '0',
    PARLEY_SHARDS: String(settings.shards),
    PARLEY_LOG_LEVEL: 'warn',
    PARLEY_RATE_LIMITS: '0',
    // Rooms of thousands are made for what is measured in them; asking people is not.
    PARLEY_ADD_UNASKED: '20000',
    ...settings.environment,
  };
}
