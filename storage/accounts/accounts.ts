/**
 * The accounts file: people, devices with their sessions, revocations, invitations and the installation's secrets.
 *
 * One thread writes it, through `change`: a change reads and writes a draft, sees what the changes before it did, and
 * is answered when all of it is on disk. Any thread reads it, through a handle of its own, and never sees what is not.
 */
import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { systemClock, unixSeconds } from '#src/base/clock.ts';
import { invitationRecord, revocationRecord } from './account-records.ts';
import { AccountsDraft, SECRET_BYTES, SECRET_NAMES, type SecretName } from './accounts-draft.ts';
import { AccountsReader, openEnvironment, type AccountTable } from './accounts-reader.ts';
import { KEY_RINGS, makeKeyRing, RINGLESS, trimKeyRing } from './signing-keys.ts';
import { ChangeQueue, type ChangeUrgency } from '../engine/change-queue.ts';
import type { DurableWords } from '../engine/folder-logs.ts';
import type { Environment } from '../engine/environment.ts';
import { key } from '../engine/keys.ts';

export { AccountsDraft, SECRET_BYTES, SECRET_NAMES, SIGNING_SECRETS, type SecretName } from './accounts-draft.ts';
export { ACCOUNT_TABLES, AccountsReader } from './accounts-reader.ts';

/**
 * Changes that wait for their turn. All that wait go into the next commit together, so this many is one disk flush
 * away from none; more at once is answered `busy`.
 */
export const CHANGES_WAITING_MAX = 4096;

/**
 * Bytes that the file has behind what is used of it, so that sessions can be ended on a full disk: it need not grow for that.
 * A sign-out takes some ten pages, which are free again two commits later, and leaves some hundred bytes.
 */
export const RESERVE_BYTES = 512 * 1024;
/** With less than this left on the disk, only what ends sessions is taken: all else would use the reserve up. */
export const DISK_LEFT_BYTES_MIN = 1024 ** 2;

/** Records looked at in one step of a sweep, so that cleaning never holds the thread for long. */
const SWEEP_STEP = 1000;

/** The one writer of the accounts file. Reads what it wrote. */
export class Accounts extends AccountsReader {
  readonly #environment: Environment<AccountTable>;
  readonly #secrets = new Map<SecretName, Uint8Array>();
  readonly #queue: ChangeQueue<AccountTable, AccountsDraft>;
  readonly #folder: string;
  #committed: () => void = () => undefined;

  private constructor(folder: string, environment: Environment<AccountTable>) {
    super(folder, environment);
    this.#folder = folder;
    this.#environment = environment;
    this.#queue = new ChangeQueue({
      draft: (before) => new AccountsDraft(before, environment.tables),
      commit: async (writes) => {
        await environment.commit(writes);
        this.refresh();
        this.#committed();
      },
      waitingMax: CHANGES_WAITING_MAX,
      hasRoom: async () => await this.#hasRoom(),
    });
  }

  /** Whether there is room for any change, beside what is kept for those that end sessions. */
  async #hasRoom(): Promise<boolean> {
    // A file system that does not say what is left leaves it to the commit.
    const left = await statfs(this.#folder).catch(() => undefined);
    if (left !== undefined && left.bavail * left.bsize < DISK_LEFT_BYTES_MIN) return false;
    return await this.#environment.makeRoom(RESERVE_BYTES).then(
      () => true,
      () => false,
    );
  }

  /** Opens the accounts of a data folder, whose lock the caller has, and makes its secrets when there are none. */
  static async open(folder: string, words?: DurableWords): Promise<Accounts> {
    const accounts = new Accounts(folder, openEnvironment(folder, 'write', words));
    for (const name of SECRET_NAMES) {
      const stored = accounts.#environment.tables.secrets.get(key(name));
      const secret = stored === undefined ? randomBytes(SECRET_BYTES) : Uint8Array.from(stored);
      if (stored === undefined) await accounts.change((draft) => draft.putSecret(name, secret));
      accounts.#secrets.set(name, secret);
    }
    for (const ring of KEY_RINGS) {
      if (accounts.#environment.tables.secrets.get(key(ring)) !== undefined) continue;
      const ringless = accounts.#environment.tables.secrets.get(key(RINGLESS[ring]));
      const keys = makeKeyRing(ringless, unixSeconds(systemClock.now()));
      await accounts.change((draft) => draft.putSigningKeys(ring, keys));
    }
    return accounts;
  }

  /** Has `told` called after every commit, with all of it there to be read. One follower. */
  follow(told: () => void): void {
    this.#committed = told;
  }

  /** A secret of this installation. Served to no route and no log. */
  secret(name: SecretName): Uint8Array {
    return this.#secrets.get(name) as Uint8Array;
  }

  /**
   * Decides a change on a draft of everything before it; resolves with what `decide` returned once it is on disk.
   * What `decide` throws is the answer, and nothing of that change is stored.
   * An urgent one, which ends what somebody may do, is made on a full disk too.
   * @throws Refusal `busy` beyond CHANGES_WAITING_MAX, `storage_full` when the commit failed.
   */
  async change<T>(decide: (draft: AccountsDraft) => T, urgency?: ChangeUrgency): Promise<T> {
    return await this.#queue.change(decide, urgency);
  }

  /** Removes what time has settled: revocations, invitations and retired keys that could not be used any more anyway. */
  async sweep(nowSeconds: number): Promise<void> {
    for (const ring of KEY_RINGS) {
      const keys = this.signingKeys(ring);
      if (trimKeyRing(keys, nowSeconds) === keys) continue;
      await this.change((draft) => draft.putSigningKeys(ring, trimKeyRing(draft.signingKeys(ring), nowSeconds)));
    }
    await this.#sweep('revocations', (value) => revocationRecord.decode(value).until < nowSeconds);
    await this.#sweep('invitations', (value) => invitationRecord.decode(value).expiresAt < nowSeconds);
  }

  async #sweep(table: 'revocations' | 'invitations', isOver: (value: Buffer) => boolean): Promise<void> {
    for (let start = key(''); ;) {
      const step = [...this.#environment.tables[table].getRange({ start, limit: SWEEP_STEP })];
      const over = step.filter(({ value }) => isOver(value)).map((entry) => entry.key.toString('utf8'));
      if (over.length > 0) await this.change((draft) => over.forEach((name) => draft.remove(table, name)));
      const last = step.at(-1);
      if (last === undefined || step.length < SWEEP_STEP) return;
      start = Buffer.concat([last.key, Buffer.of(0)]);
      await new Promise(setImmediate);
    }
  }

  /** Waits for what is being written, then closes. */
  override async close(): Promise<void> {
    await this.#queue.settle();
    await super.close();
  }
}
