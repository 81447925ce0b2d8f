/**
 * App passwords: what calendar programs sign in with, made and revoked by the person. A password opens the calendar and
 * nothing else, and it is looked up by its hash, so that checking one costs a read whoever asks and whatever is wrong.
 *
 * 120 random bits need no slow hash: nobody can try them, and a program sends its password with every request.
 */
import { type Clock, unixSeconds } from '#src/base/clock.ts';
import { isId, makeId, randomSymbols } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import { hashSecret } from './credentials/opaque-secrets.ts';
import { APP_PASSWORDS_MAX, type AppPasswordView } from '#src/protocol/sessions/app-passwords.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { guestRecords } from './guest-records.ts';

interface AppPasswordRecord {
  readonly id: string;
  readonly name: string;
  /** SHA-256 of the password, hex. */
  readonly hash: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly usedAt: string | null;
}

/** Username → theirs, oldest first. */
const ownPasswords = defineCollection<readonly AppPasswordRecord[]>('app_passwords', { version: 1 });
/** Hash → whose it is, and which. */
const passwordHashes = defineCollection<{ readonly user: string; readonly id: string }>('app_password_hashes', {
  version: 1,
});

/** Groups of symbols with dashes between: what a person can type on a telephone. */
const GROUPS = 4;
const GROUP_SYMBOLS = 6;

/** A use is written down once in this time: polling programs come every minute. */
const USE_NOTED_MILLIS = 3_600_000;

export class AppPasswords {
  readonly #accounts: Accounts;
  readonly #clock: Clock;

  constructor(accounts: Accounts, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /** @throws Refusal `app_passwords_full`. */
  async create(user: string, name: string, address: string): Promise<AppPasswordView & { readonly password: string }> {
    const now = this.#clock.now();
    const groups = Array.from({ length: GROUPS }, () => randomSymbols(GROUP_SYMBOLS));
    const record: AppPasswordRecord = {
      id: makeId('apw', now),
      name,
      hash: hashSecret(groups.join('')),
      createdAt: formatInstant(now),
      usedAt: null,
    };
    await this.#accounts.change((draft) => {
      const own = draft.document(ownPasswords, user) ?? [];
      if (own.length >= APP_PASSWORDS_MAX) throw new Refusal('app_passwords_full');
      draft.putDocument(ownPasswords, user, [...own, record]);
      draft.putDocument(passwordHashes, record.hash, { user, id: record.id });
      audit(draft, now, 'dav.app_password_made', user, address, record);
    });
    return { ...viewOf(record), password: groups.join('-') };
  }

  list(user: string): AppPasswordView[] {
    return (this.#accounts.document(ownPasswords, user) ?? []).map(viewOf);
  }

  /** Ends a password; the next request with it is refused. @throws Refusal `app_password_not_found`. */
  async revoke(user: string, id: string, address: string): Promise<void> {
    if (!isId('apw', id)) throw new Refusal('app_password_not_found');
    await this.#accounts.change((draft) => {
      const own = draft.document(ownPasswords, user) ?? [];
      const record = own.find((one) => one.id === id);
      if (record === undefined) throw new Refusal('app_password_not_found');
      const rest = own.filter((one) => one !== record);
      if (rest.length === 0) draft.removeDocument(ownPasswords, user);
      else draft.putDocument(ownPasswords, user, rest);
      draft.removeDocument(passwordHashes, record.hash);
      audit(draft, this.#clock.now(), 'dav.app_password_revoked', user, address, record);
    });
  }

  /**
   * The id of that person's app password, where they may sign in. Dashes, spaces and upper case are forgiven, since
   * people type it. Undefined for everything else alike.
   */
  verify(user: string, password: string): string | undefined {
    const now = this.#clock.now();
    const hash = hashSecret(password.replaceAll(/[\s-]/g, '').toLowerCase());
    const owner = this.#accounts.document(passwordHashes, hash);
    if (owner === undefined || owner.user !== user || !mayCome(this.#accounts, user, unixSeconds(now)))
      return undefined;
    this.#noteUse(user, owner.id, now);
    return owner.id;
  }

  /** Whether a person, who may sign in, has an app password of that id. */
  has(user: string, id: string): boolean {
    const own = this.#accounts.document(ownPasswords, user) ?? [];
    return own.some((one) => one.id === id) && mayCome(this.#accounts, user, unixSeconds(this.#clock.now()));
  }

  #noteUse(user: string, id: string, now: number): void {
    const isDue = ({ usedAt }: AppPasswordRecord) => usedAt === null || now - Date.parse(usedAt) >= USE_NOTED_MILLIS;
    const record = (this.#accounts.document(ownPasswords, user) ?? []).find((one) => one.id === id);
    if (record === undefined || !isDue(record)) return;
    const noted = this.#accounts.change((draft) => {
      const own = draft.document(ownPasswords, user) ?? [];
      // Requests that came together note one use, and one that was revoked meanwhile stays away.
      if (!own.some((one) => one.id === id && isDue(one))) return;
      const usedAt = formatInstant(now);
      draft.putDocument(
        ownPasswords,
        user,
        own.map((one) => (one.id === id ? { ...one, usedAt } : one)),
      );
    });
    // When it was used last is worth no failed request: the next one notes it.
    noted.catch(() => undefined);
  }
}

/** Takes all passwords of a person away, as part of a change. */
export function removeAppPasswords(draft: AccountsDraft, user: string): void {
  for (const { hash } of draft.document(ownPasswords, user) ?? []) draft.removeDocument(passwordHashes, hash);
  draft.removeDocument(ownPasswords, user);
}

function viewOf({ id, name, createdAt, usedAt }: AppPasswordRecord): AppPasswordView {
  return { id, name, created_at: createdAt, ...(usedAt === null ? {} : { last_used_at: usedAt }) };
}

/** Whether a person is active and, for a guest, within the term. */
function mayCome(view: Pick<AccountsReader, 'document' | 'person'>, user: string, nowSeconds: number): boolean {
  if (view.person(user)?.state !== 'active') return false;
  return (view.document(guestRecords, user)?.endsAt ?? Infinity) > nowSeconds;
}

function audit(
  draft: AccountsDraft,
  now: number,
  event: string,
  user: string,
  address: string,
  { id, name }: AppPasswordRecord,
): void {
  draft.audit(now, { event, actor: `user:${user}`, address, subject: `app-password:${id}`, details: { name } });
}
