/** Cycles of traffic, `kill -9` and comparison over one data folder, with all parts of the mix or some of them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { checkFolder } from '#storage/check/check.ts';
import { SeededRandom } from '#test/support/random.ts';
import { plantOwner } from '#test/support/console.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { CalendarPart } from './calendar.ts';
import { CallsPart } from './calls.ts';
import { FeedsPart } from './feeds.ts';
import { HoldsPart } from './holds.ts';
import { MailPart } from './mails.ts';
import { MessagesPart } from './messages.ts';
import { PART_NAMES, type Part, type PartName, type PartOptions } from './part.ts';
import { PushPart } from './pushes.ts';
import { SearchPart } from './searches.ts';
import { UploadsPart } from './uploads.ts';

/** When the server is killed, in milliseconds after the traffic of a cycle began. */
const KILL_MILLIS_MIN = 150;
export const KILL_MILLIS_MAX = 1_500;

/** Sessions outlive the longest campaign: this is not about renewing. */
const ENVIRONMENT = { PARLEY_SESSION_SECONDS: '86400' };

const PARTS: Readonly<Record<PartName, (options: PartOptions) => Part | Promise<Part>>> = {
  messages: (options) => new MessagesPart(options),
  uploads: (options) => new UploadsPart(options),
  calls: (options) => new CallsPart(options),
  push: async (options) => await PushPart.open(options),
  search: (options) => new SearchPart(options),
  calendar: (options) => new CalendarPart(options),
  mail: async (options) => await MailPart.open(options),
  feeds: async (options) => await FeedsPart.open(options),
  holds: (options) => new HoldsPart(options),
};

export interface CampaignOptions {
  readonly cycles: number;
  readonly seed: number;
  /** The latest moment of a kill, in milliseconds after the traffic began; `KILL_MILLIS_MAX` by default. */
  readonly killMillisMax?: number;
  /** The parts that are run; all of them by default. */
  readonly only?: readonly PartName[];
  /** Told after each cycle. */
  readonly onCycle?: (cycle: number, result: CampaignResult, killedAfterMillis: number) => void;
}

export interface CampaignResult {
  /** One sentence for each thing that was lost, doubled or changed. */
  readonly losses: readonly string[];
  /** What each part did, by name. */
  readonly figures: Readonly<Partial<Record<PartName, Readonly<Record<string, number>>>>>;
}

/** Runs the cycles and a last comparison of everything. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
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
  /** Draws the moments of the kills alone, so that they are the same whatever else is run. */
  readonly #moments: SeededRandom;
  readonly #losses: string[] = [];
  readonly #parts = new Map<PartName, Part>();

  constructor(folder: string, options: CampaignOptions) {
    this.#folder = folder;
    this.#options = options;
    this.#moments = new SeededRandom(options.seed);
  }

  async run(): Promise<CampaignResult> {
    const { cycles, onCycle } = this.#options;
    let server: TestServer | undefined;
    try {
      await this.#openParts();
      server = await this.#start();
      for (const part of this.#all) await part.settle(server);
      for (let cycle = 1; cycle <= cycles; cycle += 1) {
        const killedAfterMillis = await this.#trafficAndKill(server);
        // The check brings the logs to the files, so each other start has to do that itself.
        if (cycle % 2 === 0) await this.#checkFolder();
        server = await this.#start();
        await this.#verify(server, cycle === cycles);
        onCycle?.(cycle, this.#result, killedAfterMillis);
      }
      const code = await server.end('SIGTERM');
      if (code !== 0) this.#losses.push(`The server, asked to stop, ended with ${code}.`);
      await this.#checkFolder();
    } finally {
      await server?.end('SIGKILL');
      for (const part of this.#all) await part.close();
    }
    return this.#result;
  }

  get #result(): CampaignResult {
    const figures = Object.fromEntries([...this.#parts].map(([name, part]) => [name, part.figures]));
    return { losses: this.#losses, figures };
  }

  get #all(): Part[] {
    return [...this.#parts.values()];
  }

  /** Each part has draws of its own, which do not depend on the others that are run. */
  async #openParts(): Promise<void> {
    const { only = PART_NAMES, seed } = this.#options;
    const ownerToken = await plantOwner(this.#folder);
    const seeds = new SeededRandom(seed);
    for (const name of PART_NAMES) {
      const random = seeds.fork();
      const lose = (sentence: string): void => void this.#losses.push(`${name}: ${sentence}`);
      if (only.includes(name)) this.#parts.set(name, await PARTS[name]({ random, lose, ownerToken }));
    }
  }

  async #start(): Promise<TestServer> {
    const environment = Object.assign({}, ENVIRONMENT, ...this.#all.map((part) => part.environment)) as object;
    return await startServer({ shards: 2, folder: this.#folder, environment: { ...environment } });
  }

  /** All parts at once, until the kill. How long that was. */
  async #trafficAndKill(server: TestServer): Promise<number> {
    const traffic = Promise.all(this.#all.map(async (part) => await part.traffic(server)));
    const millis = this.#moments.whole(KILL_MILLIS_MIN, this.#options.killMillisMax ?? KILL_MILLIS_MAX);
    await Promise.race([pause(millis), traffic]);
    await server.end('SIGKILL');
    await traffic;
    return millis;
  }

  async #checkFolder(): Promise<void> {
    const { problems } = await checkFolder(this.#folder);
    for (const problem of problems) this.#losses.push(`The check of the folder says: ${problem}`);
    for (const part of this.#all) await part.inspect?.(this.#folder);
  }

  async #verify(server: TestServer, isLast: boolean): Promise<void> {
    await Promise.all(this.#all.map(async (part) => await part.verify(server, isLast)));
  }
}
