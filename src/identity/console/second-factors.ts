/**
 * Second factors of the console (TFA-01): an authenticator app and ten recovery codes per person. The shared key is
 * kept as a secret, the recovery codes as hashes, and of each code that was used the time step, so that it is not
 * used again.
 *
 *     none ──set-up──► waiting for a code ──right code──► in force ──removed by an owner──► none
 *                           └── 15 minutes ──► over             └── set-up anew, on a new phone
 */
import { countCodeAttempt, forgetCodeAttempts } from '../credentials/code-attempts.ts';
import { makeRecoveryCodes, spendRecoveryCode } from '../credentials/recovery-codes.ts';
import type { SecretKeeper } from '../credentials/secret-keeper.ts';
import type { SignInGuard } from '../credentials/sign-in-guard.ts';
import { acceptTotp, makeTotpSecret, NO_STEP, totpSetup, type TotpSetup } from '../credentials/totp.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { actorOf, hasSteppedUp, type ConsolePerson, type Principal } from './principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { endConsoleSessions, type ConsoleSessions } from './console-sessions.ts';

/** How long a set-up waits for its first code: time enough to install an app. */
export const SETUP_MILLIS = 15 * 60_000;

interface SecondFactorRecord {
  /** Milliseconds since when it is in force; null while the first set-up waits for its code. */
  readonly confirmedAt: number | null;
  /** The time step of the last code that was accepted. */
  readonly lastStep: number;
  readonly recoveryHashes: readonly string[];
  /** Milliseconds of the set-up that waits for its code; null when none does. */
  readonly setupAt: number | null;
}

const secondFactors = defineCollection<SecondFactorRecord>('second_factors', { version: 1 });

/** What a person proves at sign-in: a code of the app, or one of the recovery codes. */
export interface SecondFactorProof {
  readonly code?: string | undefined;
  readonly recovery_code?: string | undefined;
}

/** A second factor as an owner sees it. */
export interface ListedSecondFactor {
  readonly user: string;
  /** RFC 3339. */
  readonly since: string;
  readonly recovery_codes_left: number;
}

export interface SecondFactorsOptions {
  readonly accounts: Accounts;
  readonly secrets: SecretKeeper;
  readonly sessions: ConsoleSessions;
  readonly guard: SignInGuard;
  readonly clock: Clock;
}

export class SecondFactors {
  readonly #options: SecondFactorsOptions;

  constructor(options: SecondFactorsOptions) {
    this.#options = options;
  }

  /** Whether the person has a second factor in force; within a change, `view` is its draft. */
  isEnrolled(username: string, view: Pick<AccountsDraft, 'document'> = this.#options.accounts): boolean {
    return isInForce(view.document(secondFactors, username));
  }

  /**
   * Begins a set-up; its secret is in the answer and never shown again. One that waits already is over with it.
   * @throws Refusal `second_factor_enrolled` for a session that has not proven the factor in force, `step_up_required`
   * for a full one that was not asked for its factor again: a token that was stolen is no proof. `right_missing` for
   * the break-glass account, whose factor is its own.
   */
  async setup(principal: Principal, address: string): Promise<TotpSetup> {
    const { accounts, clock, secrets } = this.#options;
    const person = personOf(principal);
    if (person.isFull && !hasSteppedUp(person, clock.now())) throw new Refusal('step_up_required');
    const secret = makeTotpSecret();
    await accounts.change((draft) => {
      const record = draft.document(secondFactors, person.username);
      if (isInForce(record) && !person.isFull) throw new Refusal('second_factor_enrolled');
      const setupAt = clock.now();
      draft.putDocument(secondFactors, person.username, { ...(record ?? NONE), setupAt });
      secrets.put(draft, pendingName(person.username), secret);
      this.#audit(draft, 'second_factor.setup', { principal, address, username: person.username });
    });
    return await totpSetup(secret, person.username);
  }

  /**
   * Puts the factor in force when the code is one of the app that was set up: the session is full from then on, and
   * the person's others end. Answers the recovery codes, once.
   * @throws Refusal `second_factor_setup_missing`, `second_factor_wrong`, and `rate_limited` after too many wrong ones.
   */
  async confirm(principal: Principal, code: string, address: string): Promise<string[]> {
    const { accounts, clock, secrets, sessions } = this.#options;
    const person = personOf(principal);
    const { codes, hashes } = makeRecoveryCodes();
    await this.#limited(person.username, address, async () => {
      await accounts.change((draft) => {
        const now = clock.now();
        const record = draft.document(secondFactors, person.username);
        const setupAt = record?.setupAt ?? null;
        const secret = setupAt === null ? undefined : secrets.get(pendingName(person.username), draft);
        if (secret === undefined || setupAt === null || now >= setupAt + SETUP_MILLIS) {
          throw new Refusal('second_factor_setup_missing');
        }
        if (record?.confirmedAt !== null && !person.isFull) throw new Refusal('second_factor_enrolled');
        const step = acceptTotp(secret, code, { nowMillis: now, lastStep: NO_STEP });
        if (step === undefined) throw new Refusal('second_factor_wrong');
        forgetCodeAttempts(draft, person.username);
        const inForce = { confirmedAt: now, lastStep: step, recoveryHashes: hashes, setupAt: null };
        draft.putDocument(secondFactors, person.username, inForce);
        secrets.put(draft, secretName(person.username), secret);
        secrets.remove(draft, pendingName(person.username));
        sessions.makeFull(draft, person.username, person.sid);
        this.#audit(draft, 'second_factor.confirmed', { principal, address, username: person.username });
      });
    });
    return codes;
  }

  /** New recovery codes in place of those before. @throws as `confirm` does, and `second_factor_not_found`. */
  async renewRecoveryCodes(principal: Principal, code: string, address: string): Promise<string[]> {
    const { accounts } = this.#options;
    const { username } = personOf(principal);
    const { codes, hashes } = makeRecoveryCodes();
    await this.#limited(username, address, async () => {
      await accounts.change((draft) => {
        this.spend(draft, username, { code });
        const record = draft.document(secondFactors, username);
        if (record !== undefined) draft.putDocument(secondFactors, username, { ...record, recoveryHashes: hashes });
        this.#audit(draft, 'second_factor.recovery_codes', { principal, address, username });
      });
    });
    return codes;
  }

  /**
   * Asks for the factor again in the midst of a session, and does `then` in the same change. Wrong codes count as they
   * do at sign-in. @throws Refusal as `spend` does, and `rate_limited`.
   */
  async prove(
    username: string,
    proof: SecondFactorProof,
    address: string,
    then: (draft: AccountsDraft, factor: 'code' | 'recovery_code') => void,
  ): Promise<void> {
    await this.#limited(username, address, async () => {
      await this.#options.accounts.change((draft) => then(draft, this.spend(draft, username, proof)));
    });
  }

  /**
   * Spends a code or recovery code as part of a change, and says which it was. A recovery code needs no secret, and
   * so opens the console also while secrets are locked: somebody has to come in to unlock them.
   * @throws Refusal `second_factor_wrong`, `second_factor_not_found` when there is none in force, and what the keeper
   * of secrets throws while it is locked.
   */
  spend(draft: AccountsDraft, username: string, proof: SecondFactorProof): 'code' | 'recovery_code' {
    const { clock, secrets } = this.#options;
    const { code, recovery_code: recoveryCode } = proof;
    const record = draft.document(secondFactors, username);
    if (record === undefined || record.confirmedAt === null) throw new Refusal('second_factor_not_found');
    if (recoveryCode !== undefined) {
      const recoveryHashes = spendRecoveryCode(record.recoveryHashes, recoveryCode);
      if (recoveryHashes === undefined) throw new Refusal('second_factor_wrong');
      forgetCodeAttempts(draft, username);
      draft.putDocument(secondFactors, username, { ...record, recoveryHashes });
      return 'recovery_code';
    }
    const secret = secrets.get(secretName(username), draft);
    if (secret === undefined) throw new Error(`The second factor of ${username} has no secret.`);
    const step = acceptTotp(secret, code ?? '', { nowMillis: clock.now(), lastStep: record.lastStep });
    if (step === undefined) throw new Refusal('second_factor_wrong');
    forgetCodeAttempts(draft, username);
    draft.putDocument(secondFactors, username, { ...record, lastStep: step });
    return 'code';
  }

  /** Second factors in force, in the order of usernames behind `after`. */
  list(after: string | undefined, limit: number): { items: ListedSecondFactor[]; next: string | null } {
    const page = after === undefined ? { limit } : { after, limit };
    const found = this.#options.accounts.documents(secondFactors, page);
    const items = found.flatMap(({ id, document: { confirmedAt, recoveryHashes } }) =>
      confirmedAt === null
        ? []
        : [{ user: id, since: formatInstant(confirmedAt), recovery_codes_left: recoveryHashes.length }],
    );
    return { items, next: found.length < limit ? null : (found.at(-1)?.id ?? null) };
  }

  /**
   * Takes a person's second factor away, for whoever lost theirs, and ends their console sessions.
   * @throws Refusal `right_missing` for anybody but an owner, `second_factor_not_found`.
   */
  async remove(principal: Principal, username: string, address: string): Promise<void> {
    if (principal.role !== 'owner') throw new Refusal('right_missing');
    await this.#options.accounts.change((draft) => {
      if (draft.document(secondFactors, username) === undefined) throw new Refusal('second_factor_not_found');
      this.forget(draft, username);
      endConsoleSessions(draft, username);
      this.#audit(draft, 'second_factor.removed', { principal, address, username });
    });
  }

  /** Takes what there is of a person's second factor away, as part of a change. */
  forget(draft: AccountsDraft, username: string): void {
    draft.removeDocument(secondFactors, username);
    forgetCodeAttempts(draft, username);
    for (const name of [secretName(username), pendingName(username)]) this.#options.secrets.remove(draft, name);
  }

  /**
   * Counts a code of a person before it is judged, wherever it comes from; a right one forgets those before it.
   * @throws Refusal `rate_limited` after too many wrong ones in a row.
   */
  async countAttempt(username: string): Promise<void> {
    const { accounts, clock } = this.#options;
    await countCodeAttempt(accounts, username, clock.now());
  }

  /** Wrong codes count as failed sign-ins do, for this person at this address. */
  async #limited(username: string, address: string, work: () => Promise<void>): Promise<void> {
    await this.#options.guard.attempt({ username, address }, async () => {
      await this.countAttempt(username);
      await work();
    });
  }

  #audit(draft: AccountsDraft, event: string, who: { principal: Principal; address: string; username: string }): void {
    draft.audit(this.#options.clock.now(), {
      event,
      actor: actorOf(who.principal),
      address: who.address,
      subject: `user:${who.username}`,
      details: {},
    });
  }
}

const NONE: SecondFactorRecord = { confirmedAt: null, lastStep: NO_STEP, recoveryHashes: [], setupAt: null };

function isInForce(record: SecondFactorRecord | undefined): boolean {
  return record !== undefined && record.confirmedAt !== null;
}

function personOf(principal: Principal): ConsolePerson {
  if (principal.kind !== 'person') throw new Refusal('right_missing');
  return principal;
}

function secretName(username: string): string {
  return `totp:${username}`;
}

function pendingName(username: string): string {
  return `totp-pending:${username}`;
}
