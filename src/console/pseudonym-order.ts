/**
 * People in the order of their pseudonyms (VND-16): a page in the order of their names would say which name stands
 * behind the first pseudonym, and which behind the next.
 */
import { createHmac } from 'node:crypto';
import type { AccountsReader } from '#storage/accounts/accounts.ts';

/** People of one step: some 3 ms of the main thread. */
const STEP = 1_000;

/** Digests of a step's people are sorted by a bucket at a time, by their first two hex digits. */
const BUCKET_DIGITS = 2;

export interface PseudonymOrderOptions {
  readonly accounts: Pick<AccountsReader, 'directoryRev' | 'people'>;
  /** The key of pseudonyms. @throws Refusal `storage_full`, `busy`. */
  readonly key: () => Promise<Uint8Array>;
}

export class PseudonymOrder {
  readonly #options: PseudonymOrderOptions;
  /** The last order made, and the directory and the key that it was made of. */
  #made: { readonly mark: string; readonly usernames: Promise<readonly string[]> } | undefined;

  constructor(options: PseudonymOrderOptions) {
    this.#options = options;
  }

  /** Usernames in the order of their pseudonyms; made once for all who ask, until somebody comes or changes. */
  async usernames(): Promise<readonly string[]> {
    const key = await this.#options.key();
    const mark = `${this.#options.accounts.directoryRev} ${Buffer.from(key).toString('base64')}`;
    if (this.#made?.mark !== mark) this.#made = { mark, usernames: this.#make(key) };
    return await this.#made.usernames;
  }

  async #make(key: Uint8Array): Promise<readonly string[]> {
    const buckets = new Map<string, [digest: string, username: string][]>();
    for (let after = ''; ;) {
      const people = this.#options.accounts.people(after, STEP);
      for (const { username } of people) {
        const digest = createHmac('sha256', key).update(username).digest('hex');
        const name = digest.slice(0, BUCKET_DIGITS);
        const bucket = buckets.get(name);
        if (bucket === undefined) buckets.set(name, [[digest, username]]);
        else bucket.push([digest, username]);
      }
      if (people.length < STEP) break;
      after = people.at(-1)?.username ?? '';
      await new Promise(setImmediate);
    }
    const ordered: string[] = [];
    for (const name of [...buckets.keys()].toSorted()) {
      const bucket = buckets.get(name) ?? [];
      for (const [, username] of bucket.toSorted(([a], [b]) => (a < b ? -1 : 1))) ordered.push(username);
      if (bucket.length > STEP / 10) await new Promise(setImmediate);
    }
    return ordered;
  }
}
