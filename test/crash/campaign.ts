/** Cycles of traffic, `kill -9` and comparison over one data folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkFolder } from '#storage/check.ts';
import { SeededRandom } from '#test/support/random.ts';
import { type Person, startServer, type TestServer } from '#test/support/server.ts';
import { Checker } from './checker.ts';
import { Ledger } from './ledger.ts';
import { Poster } from './poster.ts';
import { Reader } from './reader.ts';

/** When the server is killed, in milliseconds after the first post of a cycle. */
const KILL_MILLIS_MIN = 150;
const KILL_MILLIS_MAX = 1_500;

const NAMES = ['ann', 'ben', 'cem', 'dora', 'eva', 'finn'] as const;
const DIRECTS = [
  ['ann', 'ben'],
  ['cem', 'dora'],
  ['eva', 'ann'],
] as const;
const READERS = ['ann', 'cem', 'finn'] as const;
/** Rooms that live from the first cycle to the last; each cycle adds one more. */
const LASTING_ROOMS = 2;
/** Sessions outlive the longest campaign: this is not about renewing. */
const ENVIRONMENT = { PARLEY_SESSION_SECONDS: '86400' };

export interface CampaignOptions {
  readonly cycles: number;
  readonly seed: number;
  /** Told after each cycle. */
  readonly onCycle?: (cycle: number, ledger: Ledger, killedAfterMillis: number) => void;
}

/** Runs the cycles and a last comparison of everything; the ledger says what was lost. */
export async function runCampaign(options: CampaignOptions): Promise<Ledger> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
  const campaign = new Campaign(folder, options);
  try {
    return await campaign.run();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

class Campaign {
  readonly #folder: string;
  readonly #options: CampaignOptions;
  readonly #random: SeededRandom;
  readonly #ledger = new Ledger();
  #people: Readonly<Record<string, Person>> = {};
  #readers: readonly Reader[] = [];

  constructor(folder: string, options: CampaignOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<Ledger> {
    let server = await this.#start();
    try {
      await this.#settle(server);
      for (let cycle = 1; cycle <= this.#options.cycles; cycle += 1) {
        await this.#openRoom(server);
        const killedAfterMillis = await this.#trafficAndKill(server);
        await this.#checkFolder();
        server = await this.#start();
        await this.#recover(server, cycle === this.#options.cycles);
        this.#options.onCycle?.(cycle, this.#ledger, killedAfterMillis);
      }
      const code = await server.end('SIGTERM');
      if (code !== 0) this.#ledger.lose(`The server, asked to stop, ended with ${code}.`);
      await this.#checkFolder();
    } finally {
      await server.end('SIGKILL');
    }
    return this.#ledger;
  }

  async #start(): Promise<TestServer> {
    return await startServer({ folder: this.#folder, environment: ENVIRONMENT });
  }

  /** People, their first conversations, and the readers. */
  async #settle(server: TestServer): Promise<void> {
    this.#people = await server.people(...NAMES);
    this.#readers = READERS.map((name) => new Reader(this.#people[name] as Person, this.#ledger));
    for (const [one, other] of DIRECTS) await this.#create(server, 'direct', one, [other]);
    for (let room = 0; room < LASTING_ROOMS; room += 1) await this.#openRoom(server);
    await Promise.all(this.#readers.map((reader) => reader.connect(server)));
  }

  async #openRoom(server: TestServer): Promise<void> {
    const [owner, ...others] = NAMES;
    await this.#create(server, 'room', owner, others);
  }

  async #create(server: TestServer, kind: string, owner: string, participants: readonly string[]): Promise<void> {
    const form = { kind, participants };
    const reply = await server.api<{ id: string }>(this.#people[owner], 'POST', '/v1/conversations', form);
    if (reply.status !== 201) throw new Error(`A conversation was refused: ${reply.text}`);
    this.#ledger.add(reply.body.id, [owner, ...participants]);
  }

  /** Everybody writes to the directs, the lasting rooms and the newest room, until the kill. How long that was. */
  async #trafficAndKill(server: TestServer): Promise<number> {
    const all = [...this.#ledger.conversations.values()];
    const busy = [...all.slice(0, DIRECTS.length + LASTING_ROOMS), ...all.slice(-1)];
    const posters = busy.flatMap((conversation) =>
      conversation.members.slice(0, 3).map((name) => {
        const person = this.#people[name] as Person;
        return new Poster({ server, ledger: this.#ledger, conversation, person, random: this.#random.fork() });
      }),
    );
    const writing = posters.map((poster) => poster.run());
    const millis = this.#random.whole(KILL_MILLIS_MIN, KILL_MILLIS_MAX);
    await pause(millis);
    await server.end('SIGKILL');
    await Promise.all(writing);
    return millis;
  }

  async #checkFolder(): Promise<void> {
    const { problems } = await checkFolder(this.#folder);
    for (const problem of problems) this.#ledger.lose(`The check of the folder says: ${problem}`);
  }

  /** Readers catch up while unanswered posts are sent again; then everything is compared. */
  async #recover(server: TestServer, isLast: boolean): Promise<void> {
    const checker = new Checker({
      server,
      ledger: this.#ledger,
      people: this.#people,
      random: this.#random.fork(),
    });
    await Promise.all([checker.retry(), ...this.#readers.map((reader) => reader.connect(server))]);
    await checker.repeatSome();
    await checker.compare(this.#readers, isLast);
  }
}
