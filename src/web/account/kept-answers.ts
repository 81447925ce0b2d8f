/**
 * Answers of the server that this browser keeps for its next visit, in stores of its cache: as many as are stated, for so many days,
 * and none behind somebody who signed out. Where a browser keeps nothing, as on a page that is not secure, there are none.
 */
import { KEPT_ANSWERS, keptSession } from './kept-session.ts';

const DAY_MILLIS = 86_400_000;
/** Says on which day an answer came, counted from the epoch. */
const DAY = 'x-kept-day';

export interface KeptAnswersOptions {
  /** What they are of, as part of the store's name. */
  readonly name: string;
  /** The username of whom they are for. */
  readonly owner: string;
  /** Beyond so many, those go that came longest ago. */
  readonly most: number;
  /** One that came longer ago is not there any more. */
  readonly days: number;
}

export class KeptAnswers {
  readonly #store: string;
  readonly #options: KeptAnswersOptions;

  constructor(options: KeptAnswersOptions) {
    this.#options = options;
    // Whoever signs in where another one never signed out sees nothing of theirs, also while it is being forgotten.
    this.#store = `${KEPT_ANSWERS}${options.name} ${options.owner}`;
  }

  /** Under which keys there are any, the one that came last at the end. */
  async keys(): Promise<readonly string[]> {
    return (await this.#in(async (store) => (await store.keys()).map(keyOf))) ?? [];
  }

  async read(key: string): Promise<Response | undefined> {
    const kept = await this.#in(async (store) => await store.match(addressOf(key)));
    const day = Number(kept?.headers.get(DAY) ?? Number.NaN);
    return today() - day <= this.#options.days ? kept : undefined;
  }

  /** Keeps an answer in the place of the one before; a browser without room keeps none. */
  async keep(key: string, body: BodyInit, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    if (!this.#isOwn()) return;
    await this.#in(async (store) => {
      // Put anew it is the last one.
      await store.delete(addressOf(key));
      await store.put(addressOf(key), new Response(body, { headers: { ...headers, [DAY]: String(today()) } }));
      const all = await store.keys();
      const oldest = all.slice(0, Math.max(0, all.length - this.#options.most));
      await Promise.all(oldest.map(async (one) => await store.delete(one)));
      // They signed out while it was written.
      if (!this.#isOwn()) await caches.delete(this.#store);
    });
  }

  async forget(key: string): Promise<void> {
    await this.#in(async (store) => await store.delete(addressOf(key)));
  }

  #isOwn(): boolean {
    return keptSession()?.user === this.#options.owner;
  }

  async #in<T>(use: (store: Cache) => Promise<T>): Promise<T | undefined> {
    try {
      return await use(await caches.open(this.#store));
    } catch {
      return undefined;
    }
  }
}

/** Where it stands in the store; nobody asks a server for it. */
function addressOf(key: string): string {
  return new URL(`kept/${encodeURIComponent(key)}`, document.baseURI).href;
}

function keyOf({ url }: Request): string {
  return decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '');
}

function today(): number {
  return Math.floor(Date.now() / DAY_MILLIS);
}
