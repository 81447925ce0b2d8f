/**
 * Second factors of people (TFA-01): an authenticator app, passkeys, and ten recovery codes. The shared key of the app is
 * kept as a secret, the recovery codes as hashes, and of each code that was used the time step, so that it is not
 * used again. The console asks everybody for one; apps ask those who enrolled for them, and whom the rule names.
 *
 *     none ──set-up──► waiting for a code ──right code──► in force ──removed by an owner──► none
 *                           └── 15 minutes ──► over             └── set-up anew, on a new phone
 */
import { countCodeAttempt, forgetCodeAttempts } from '../credentials/code-attempts.ts';
import { makeRecoveryCodes, spendRecoveryCode } from '../credentials/recovery-codes.ts';
import type { Revocation, SessionAnnouncer } from '../credentials/revocations.ts';
import type { SecretKeeper } from '../credentials/secret-keeper.ts';
import type { SignInGuard } from '../credentials/sign-in-guard.ts';
import { acceptTotp, makeTotpSecret, NO_STEP, totpSetup, type TotpSetup } from '../credentials/totp.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { actorOf, hasSteppedUp, type ConsolePerson, type Principal } from './principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { forgetPasskeys, type Passkeys, type VerifiedPasskey } from '../second-factors/passkeys.ts';
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
  /** What the person calls the app. */
  readonly name?: string;
  /** Milliseconds of the last code; unknown for one of before that was kept. */
  readonly usedAt?: number;
  /** Whether signing in with an app asks for a factor: not where the person enrolled for the console alone. */
  readonly isAskedInApps?: boolean;
}

const secondFactors = defineCollection<SecondFactorRecord>('second_factors', { version: 1 });

/** What a person proves at sign-in: a code of the app, one of the recovery codes, or a passkey that was verified. */
export interface SecondFactorProof {
  readonly code?: string | undefined;
  readonly recovery_code?: string | undefined;
  readonly verified?: VerifiedPasskey | undefined;
}

/** What proved it, as the audit trail says it. */
export type ProvenBy = 'code' | 'recovery_code' | 'passkey';

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
  readonly passkeys: Passkeys;
  readonly clock: Clock;
  /** Ends sessions of apps that could only set a factor up, as part of the change that puts the first one in force here. */
  readonly endUnproven: (draft: AccountsDraft, username: string) => readonly Revocation[];
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
}

export class SecondFactors {
  readonly #options: SecondFactorsOptions;

  constructor(options: SecondFactorsOptions) {
    this.#options = options;
  }

  /** Whether the person has a second factor in force; within a change, `view` is its draft. */
  isEnrolled(username: string, view: Pick<AccountsDraft, 'document'> = this.#options.accounts): boolean {
    return this.hasApp(username, view) || this.#options.passkeys.of(username, view).length > 0;
  }

  /** Whether an authenticator app is among them. */
  hasApp(username: string, view: Pick<AccountsDraft, 'document'> = this.#options.accounts): boolean {
    return isInForce(view.document(secondFactors, username));
  }

  /** The app of a person as they see it; undefined where there is none. */
  app(username: string, view: Pick<AccountsDraft, 'document'> = this.#options.accounts) {
    const record = view.document(secondFactors, username);
    if (record === undefined || record.confirmedAt === null) return undefined;
    return { name: record.name ?? APP_NAME, createdAt: record.confirmedAt, usedAt: record.usedAt ?? null };
  }

  /** Whether the person enrolled for their apps. */
  isAskedInApps(username: string, view: Pick<AccountsDraft, 'document'> = this.#options.accounts): boolean {
    return view.document(secondFactors, username)?.isAskedInApps === true;
  }

  recoveryCodesLeft(username: string): number {
    return this.#options.accounts.document(secondFactors, username)?.recoveryHashes.length ?? 0;
  }

  /**
   * Begins a set-up; its secret is in the answer and never shown again. One that waits already is over with it.
   * @throws Refusal `second_factor_enrolled` for a session that has not proven the factor in force, `step_up_required`
   * for a full one that was not asked for its factor again: a token that was stolen is no proof. `right_missing` for
   * the break-glass account, whose factor is its own.
   */
  async setup(principal: Principal, address: string): Promise<TotpSetup> {
    const { accounts, clock } = this.#options;
    const person = personOf(principal);
    if (person.isFull && !hasSteppedUp(person, clock.now())) throw new Refusal('step_up_required');
    const secret = makeTotpSecret();
    await accounts.change((draft) => {
      if (this.isEnrolled(person.username, draft) && !person.isFull) throw new Refusal('second_factor_enrolled');
      this.beginApp(draft, person.username, secret);
      this.#audit(draft, 'second_factor.setup', { principal, address, username: person.username });
    });
    return await totpSetup(secret, person.username);
  }

  /** Has an app wait for its first code, as part of a change; one that waits already is over with it. */
  beginApp(draft: AccountsDraft, username: string, secret: Uint8Array): void {
    const record = draft.document(secondFactors, username) ?? NONE;
    draft.putDocument(secondFactors, username, { ...record, setupAt: this.#options.clock.now() });
    this.#options.secrets.put(draft, pendingName(username), secret);
  }

  /**
   * Puts an app in force by its first code, as part of a change.
   * @throws Refusal `second_factor_setup_missing`, `second_factor_wrong`.
   */
  acceptApp(draft: AccountsDraft, username: string, code: string, name?: string): void {
    const { clock, secrets } = this.#options;
    const now = clock.now();
    const record = draft.document(secondFactors, username) ?? NONE;
    const { setupAt } = record;
    const secret = setupAt === null ? undefined : secrets.get(pendingName(username), draft);
    if (secret === undefined || setupAt === null || now >= setupAt + SETUP_MILLIS) {
      throw new Refusal('second_factor_setup_missing');
    }
    const lastStep = acceptTotp(secret, code, { nowMillis: now, lastStep: NO_STEP });
    if (lastStep === undefined) throw new Refusal('second_factor_wrong');
    forgetCodeAttempts(draft, username);
    const named = name === undefined ? {} : { name };
    const inForce = { ...record, ...named, confirmedAt: now, usedAt: now, lastStep, setupAt: null };
    draft.putDocument(secondFactors, username, inForce);
    secrets.put(draft, secretName(username), secret);
    secrets.remove(draft, pendingName(username));
  }

  /** Takes the app away, as part of a change; the rest stays. */
  removeApp(draft: AccountsDraft, username: string): void {
    const record = draft.document(secondFactors, username);
    if (!isInForce(record)) throw new Refusal('second_factor_not_found');
    const { name: _, usedAt: __, ...rest } = record ?? NONE;
    draft.putDocument(secondFactors, username, { ...rest, confirmedAt: null, lastStep: NO_STEP, setupAt: null });
    for (const name of [secretName(username), pendingName(username)]) this.#options.secrets.remove(draft, name);
  }

  /** Calls the app something else, as part of a change. */
  renameApp(draft: AccountsDraft, username: string, name: string): void {
    const record = draft.document(secondFactors, username);
    if (record === undefined || !isInForce(record)) throw new Refusal('second_factor_not_found');
    draft.putDocument(secondFactors, username, { ...record, name });
  }

  /** Has apps ask for a factor from now on, as part of a change. */
  askInApps(draft: AccountsDraft, username: string): void {
    const record = draft.document(secondFactors, username) ?? NONE;
    draft.putDocument(secondFactors, username, { ...record, isAskedInApps: true });
  }

  /** Stores the hashes of new recovery codes, as part of a change; those before are void. */
  putRecoveryHashes(draft: AccountsDraft, username: string, recoveryHashes: readonly string[]): void {
    draft.putDocument(secondFactors, username, {
      ...(draft.document(secondFactors, username) ?? NONE),
      recoveryHashes,
    });
  }

  /**
   * Puts the factor in force when the code is one of the app that was set up: the session is full from then on, and
   * the person's others end. Answers the recovery codes, once.
   * @throws Refusal `second_factor_setup_missing`, `second_factor_wrong`, and `rate_limited` after too many wrong ones.
   */
  async confirm(principal: Principal, code: string, address: string): Promise<string[]> {
    const { accounts, announcer, endUnproven, sessions } = this.#options;
    const person = personOf(principal);
    const { codes, hashes } = makeRecoveryCodes();
    await this.#limited(person.username, address, async () => {
      const ended = await accounts.change((draft) => {
        const isEnrolled = this.isEnrolled(person.username, draft);
        const unproven = isEnrolled ? [] : endUnproven(draft, person.username);
        this.acceptApp(draft, person.username, code);
        if (isEnrolled && !person.isFull) throw new Refusal('second_factor_enrolled');
        this.putRecoveryHashes(draft, person.username, hashes);
        sessions.makeFull(draft, person.username, person.sid);
        this.#audit(draft, 'second_factor.confirmed', { principal, address, username: person.username });
        return unproven;
      });
      if (ended.length > 0) await announcer.revoked(ended);
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
        this.putRecoveryHashes(draft, username, hashes);
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
    then: (draft: AccountsDraft, factor: ProvenBy) => void,
  ): Promise<void> {
    await this.#limited(username, address, async () => {
      await this.#options.accounts.change((draft) => then(draft, this.spend(draft, username, proof)));
    });
  }

  /**
   * Spends a proof as part of a change, and says which it was. A recovery code and a passkey need no secret, and
   * so open the console also while secrets are locked: somebody has to come in to unlock them.
   * @throws Refusal `second_factor_wrong`, `second_factor_not_found` when there is none in force, and what the keeper
   * of secrets throws while it is locked.
   */
  spend(draft: AccountsDraft, username: string, proof: SecondFactorProof): ProvenBy {
    const { clock, passkeys, secrets } = this.#options;
    const { code, recovery_code: recoveryCode, verified } = proof;
    if (!this.isEnrolled(username, draft)) throw new Refusal('second_factor_not_found');
    const record = draft.document(secondFactors, username) ?? NONE;
    if (verified !== undefined) {
      const isTheirs = verified.username === username && passkeys.use(draft, verified, false);
      if (!isTheirs) throw new Refusal('second_factor_wrong');
      forgetCodeAttempts(draft, username);
      return 'passkey';
    }
    if (recoveryCode !== undefined) {
      const recoveryHashes = spendRecoveryCode(record.recoveryHashes, recoveryCode);
      if (recoveryHashes === undefined) throw new Refusal('second_factor_wrong');
      forgetCodeAttempts(draft, username);
      draft.putDocument(secondFactors, username, { ...record, recoveryHashes });
      return 'recovery_code';
    }
    if (record.confirmedAt === null) throw new Refusal('second_factor_wrong');
    const secret = secrets.get(secretName(username), draft);
    if (secret === undefined) throw new Error(`The second factor of ${username} has no secret.`);
    const now = clock.now();
    const lastStep = acceptTotp(secret, code ?? '', { nowMillis: now, lastStep: record.lastStep });
    if (lastStep === undefined) throw new Refusal('second_factor_wrong');
    forgetCodeAttempts(draft, username);
    draft.putDocument(secondFactors, username, { ...record, lastStep, usedAt: now });
    return 'code';
  }

  /** Second factors in force, in the order of usernames behind `after`. */
  list(after: string | undefined, limit: number): { items: ListedSecondFactor[]; next: string | null } {
    const page = after === undefined ? { limit } : { after, limit };
    const found = this.#options.accounts.documents(secondFactors, page);
    const items = found.flatMap(({ id, document: { confirmedAt, recoveryHashes } }) => {
      const made = this.#options.passkeys.of(id).map(({ createdAt }) => createdAt);
      const since = Math.min(...(confirmedAt === null ? [] : [confirmedAt]), ...made);
      return since === Infinity
        ? []
        : [{ user: id, since: formatInstant(since), recovery_codes_left: recoveryHashes.length }];
    });
    return { items, next: found.length < limit ? null : (found.at(-1)?.id ?? null) };
  }

  /**
   * Takes a person's second factor away, for whoever lost theirs, and ends their console sessions.
   * @throws Refusal `right_missing` for anybody but an owner, `second_factor_not_found`.
   */
  async remove(principal: Principal, username: string, address: string): Promise<void> {
    if (principal.role !== 'owner') throw new Refusal('right_missing');
    await this.#options.accounts.change((draft) => {
      if (draft.document(secondFactors, username) === undefined && !this.isEnrolled(username, draft))
        throw new Refusal('second_factor_not_found');
      this.forget(draft, username);
      endConsoleSessions(draft, username);
      this.#audit(draft, 'second_factor.removed', { principal, address, username });
    });
  }

  /** Takes what there is of a person's second factors away, as part of a change. */
  forget(draft: AccountsDraft, username: string): void {
    forgetFactors(draft, username, this.#options.secrets);
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

/** Takes what there is of a person's second factors away, as part of a change; whether there was any. */
export function forgetFactors(draft: AccountsDraft, username: string, secrets: Pick<SecretKeeper, 'remove'>): boolean {
  const hadApp = isInForce(draft.document(secondFactors, username));
  const hadPasskeys = forgetPasskeys(draft, username);
  draft.removeDocument(secondFactors, username);
  forgetCodeAttempts(draft, username);
  for (const name of [secretName(username), pendingName(username)]) secrets.remove(draft, name);
  return hadApp || hadPasskeys;
}

/** What an app is called that its person gave no name. */
const APP_NAME = 'TOTP';

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
