/**
 * Asks a personnel system who has left, and blocks them: `GET {base_url}/people`, with the token as Bearer, answers
 * `{items: [{username, state: "active" | "left"}], next: string | null}`, and `?after=` goes on with the next page.
 *
 * Nobody is blocked before every page was read, owners never, and nobody where more would be than one pull may: a system
 * that lost its people would lock everybody out. Nobody is let in again by it either, which is for administrators.
 */
import { WorkerPool } from '#src/pool/worker-pool.ts';
import { sendOutgoing } from '#src/outgoing/request.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { People } from './people.ts';
import type { readPersonnelPage } from './personnel-page.ts';

const PULL_MILLIS = 15 * 60_000;
/** One page, from the look-up to its last byte. */
const PAGE_MILLIS = 30_000;
/** A page of some 50,000 people; a longer one is cut and so no JSON. */
const PAGE_BYTES_MAX = 4 * 1024 ** 2;
const PAGES_MAX = 100;
/** A page of four megabytes takes some tens of milliseconds; what takes this long will not end. */
const READING_MILLIS = 5_000;

/** People blocked by one pull; of more, nobody is, and the log says so. */
export const LEAVERS_PER_PULL_MAX = 50;

const BY = { actor: 'hrms', address: null } as const;

/** The screen of the system, complete. */
export interface PersonnelSystem {
  readonly base_url: string;
  readonly api_token: string;
}

export interface PersonnelPullOptions {
  readonly accounts: Pick<Accounts, 'person'>;
  readonly people: Pick<People, 'block'>;
  /** The system as it is set now; undefined while it is not. @throws Refusal `encryption_locked`. */
  readonly system: () => PersonnelSystem | undefined;
  readonly allowPrivateTargets: PrivateTargets;
  readonly log: Logger;
}

export class PersonnelPull {
  readonly #options: PersonnelPullOptions;
  /** One page is read at a time, so nothing waits. */
  readonly #pages = new WorkerPool<string, ReturnType<typeof readPersonnelPage>>({
    worker: new URL('personnel-page.ts', import.meta.url),
    task: 'readPersonnelPage',
    threads: 1,
    waitingMax: 0,
    deadlineMillis: READING_MILLIS,
    refusal: () => new Error('A page took too long to be read.'),
  });
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: PersonnelPullOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.pull(), PULL_MILLIS).unref();
    this.pull();
  }

  /** Lets no other pull begin, and waits for the one that goes on. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
    await this.#pages.close();
  }

  /** Asks now, behind a pull that goes on. What fails is in the log, and tried again with the next one. */
  pull(): void {
    this.#turn = this.#turn.then(async () => {
      try {
        await this.#pullOnce();
      } catch (error) {
        this.#options.log.warn('the personnel system could not be asked who has left', { error });
      }
    });
  }

  async #pullOnce(): Promise<void> {
    const { accounts, log, people, system } = this.#options;
    const asked = system();
    if (asked === undefined) return;
    const gone = (await this.#leavers(asked)).filter((username) => {
      const person = accounts.person(username);
      return person?.state === 'active' && person.role !== 'owner';
    });
    if (gone.length > LEAVERS_PER_PULL_MAX) {
      log.warn('the personnel system says that too many have left; nobody is blocked', { leavers: gone.length });
      return;
    }
    for (const username of gone) await people.block(username, BY);
  }

  async #leavers({ api_token: token, base_url: base }: PersonnelSystem): Promise<string[]> {
    const left: string[] = [];
    let after: string | null = null;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const query: string = after === null ? '' : `?${new URLSearchParams({ after })}`;
      const { status, text } = await sendOutgoing({
        method: 'GET',
        url: `${base.replace(/\/$/, '')}/people${query}`,
        headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
        millis: PAGE_MILLIS,
        bytesMax: PAGE_BYTES_MAX,
        allowPrivateTargets: this.#options.allowPrivateTargets,
      });
      if (status !== 200) throw new Error(`It answered ${status}.`);
      const read = await this.#pages.run(text);
      left.push(...read.left);
      if (read.next === null) return [...new Set(left)];
      after = read.next;
    }
    throw new Error(`It has more than ${PAGES_MAX} pages.`);
  }
}
