/**
 * A person’s own second factors: setting up, naming and taking away, each only by who has just proven to be that person. With a factor in
 * force a factor proves it, and a password does not: it would be the only thing that a thief of both a session and a
 * password needs. Without one the password does, and so does a sign-in of some minutes ago, which is all that people
 * of a provider have.
 */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { NewPasskey, PasskeyCreation, PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import type { FactorAdded, OwnFactor, ProveOneself } from '#src/protocol/sessions/second-factors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { SecondFactors } from '../console/second-factors.ts';
import type { Passwords } from '../credentials/passwords.ts';
import { makeRecoveryCodes } from '../credentials/recovery-codes.ts';
import type { Revocation, SessionAnnouncer } from '../credentials/revocations.ts';
import type { SignInGuard } from '../credentials/sign-in-guard.ts';
import { makeTotpSecret, totpSetup, type TotpSetup } from '../credentials/totp.ts';
import { endConsoleSessions } from '../console/console-sessions.ts';
import { endSessions, settleEnrollment } from '../device-sessions.ts';
import type { ClientFactors } from './client-factors.ts';
import type { PasskeyRecord, Passkeys } from './passkeys.ts';

/** How long a proof counts: time for what one comes for, and not for who finds the device afterwards. [proof_required] */
export const PROOF_MILLIS = 5 * 60_000;

/** Sessions whose proof is remembered; beyond it the oldest is asked again. */
const PROOFS_MAX = 10_000;

type FactorsView = Pick<AccountsDraft, 'document' | 'liveSession'>;

/** The one factor that is no passkey. */
const APP_ID = 'totp';

interface Proof {
  /** Milliseconds. */
  readonly until: number;
  readonly isByFactor: boolean;
}

export interface OwnFactorsOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clientFactors: ClientFactors;
  readonly clock: Clock;
  readonly guard: SignInGuard;
  /** Whether the password of a person is kept elsewhere, at a provider or a directory server. */
  readonly isElsewhere: (username: string) => boolean;
  /** What a person is called. */
  readonly nameOf: (username: string) => string;
  readonly passkeys: Passkeys;
  readonly passwords: Pick<Passwords, 'verify'>;
  readonly secondFactors: SecondFactors;
}

/**
 * Ends a person's sessions that may do no more than set a factor up by now, but for the one that does so, as part of the change
 * that puts a factor in force; before it does, since it is judged by there being none: also sessions of before the rule, or of
 * its days of grace, would become full by what somebody else has proven.
 */
export function endUnproven(
  draft: AccountsDraft,
  clientFactors: Pick<ClientFactors, 'standing'>,
  username: string,
  sid = '',
): Revocation[] {
  const unproven = draft.devices(username).flatMap(({ session }) => {
    const isHeld = session !== undefined && clientFactors.standing(username, session.instead, draft).isEnrolling;
    return isHeld ? [session.sid] : [];
  });
  return settleEnrollment(draft, username, sid, new Set(unproven));
}

export class OwnFactors {
  readonly #options: OwnFactorsOptions;
  /** Session → its proof. In memory: a restart has people prove it once more. */
  readonly #proofs = new Map<string, Proof>();

  constructor(options: OwnFactorsOptions) {
    this.#options = options;
  }

  list(claims: SessionClaims) {
    const { clientFactors, passkeys, secondFactors } = this.#options;
    const { sub: username } = claims;
    const app = secondFactors.app(username);
    const until = this.#provenUntil(claims);
    return {
      items: [
        ...(app === undefined ? [] : [appView(app)]),
        ...passkeys.of(username).map((one) => this.#viewOf(username, one)),
      ],
      next: null,
      recovery_codes_left: secondFactors.recoveryCodesLeft(username),
      is_asked: clientFactors.isAsked(username, undefined),
      is_required: clientFactors.isRequired(username),
      proven_until: until === undefined ? null : formatInstant(until),
    };
  }

  /** What a passkey is asked for with as proof. @throws Refusal `second_factor_not_found`, `passkeys_unavailable`. */
  beginProof({ sid, sub: username }: SessionClaims): PasskeyRequest {
    const { passkeys } = this.#options;
    if (passkeys.of(username).length === 0) throw new Refusal('second_factor_not_found');
    return passkeys.request(`proof:${sid}`, username);
  }

  /**
   * Takes a proof; answers until when it counts, in milliseconds.
   * @throws Refusal `proof_wrong`, `password_wrong`, both counted as failed sign-ins; `proof_required` for a password where there is a
   * factor; `second_factor_not_found` for a factor where there is none; `password_at_provider`, `rate_limited`, `busy`,
   * `encryption_locked`, `second_factor_enrolled`.
   */
  async prove(claims: SessionClaims, form: ProveOneself, address: string): Promise<number> {
    const { accounts, clock, secondFactors } = this.#options;
    const { sub: username } = claims;
    this.#assertOwn(claims);
    const isByFactor = form.password === undefined;
    const isEnrolled = secondFactors.isEnrolled(username);
    if (isByFactor && !isEnrolled) throw new Refusal('second_factor_not_found');
    if (!isByFactor && isEnrolled) throw new Refusal('proof_required');
    if (form.password !== undefined) await this.#provePassword(claims, form.password, address);
    else {
      await this.#byFactor(claims, address, async () => {
        if (form.code !== undefined) await secondFactors.countAttempt(username);
        const verified = await this.#verified(claims, form, address);
        const { code, recovery_code } = form;
        await accounts.change((draft) => void secondFactors.spend(draft, username, { code, recovery_code, verified }));
      });
    }
    return this.#remember(claims.sid, { until: clock.now() + PROOF_MILLIS, isByFactor });
  }

  /** Begins to set up an app. @throws Refusal `proof_required`, `encryption_locked`, `second_factor_enrolled`. */
  async setUpApp(claims: SessionClaims, address: string): Promise<TotpSetup> {
    const secret = makeTotpSecret();
    await this.#change(claims, address, 'second_factor.setup', {}, (draft) => {
      this.#options.secondFactors.beginApp(draft, claims.sub, secret);
    });
    return await totpSetup(secret, claims.sub);
  }

  /**
   * Puts an app in force by its first code.
   * @throws Refusal `proof_required`, `proof_wrong`, `rate_limited`, `second_factor_setup_missing`, `encryption_locked`.
   */
  async confirmApp(
    claims: SessionClaims,
    {
      code,
      endOthers,
      name,
    }: { readonly code: string; readonly name: string | undefined; readonly endOthers: boolean },
    address: string,
  ): Promise<FactorAdded> {
    const { secondFactors } = this.#options;
    const { sub: username } = claims;
    this.#assertProven(claims);
    return await this.#byFactor(claims, address, async () => {
      await secondFactors.countAttempt(username);
      return await this.#add(claims, { address, endOthers, kind: 'totp' }, (draft) => {
        secondFactors.acceptApp(draft, username, code, name);
        const app = secondFactors.app(username, draft);
        if (app === undefined) throw new Error(`The app of ${username} is not in force.`);
        return appView(app);
      });
    });
  }

  /** What a passkey is made with. @throws Refusal `proof_required`, `passkeys_full`, `passkeys_unavailable`. */
  async beginPasskey(claims: SessionClaims): Promise<PasskeyCreation> {
    const { nameOf, passkeys } = this.#options;
    this.#assertProven(claims);
    return await passkeys.creation(`registration:${claims.sid}`, claims.sub, nameOf(claims.sub));
  }

  /** Puts a passkey in force. @throws Refusal `passkey_invalid`, `passkeys_full`, `passkeys_unavailable`, `proof_required`. */
  async addPasskey(
    claims: SessionClaims,
    { endOthers, name, passkey }: { readonly name: string; readonly passkey: NewPasskey; readonly endOthers: boolean },
    address: string,
  ): Promise<FactorAdded> {
    const { passkeys } = this.#options;
    const { sid, sub: username } = claims;
    this.#assertProven(claims);
    const put = await passkeys.verifyNew(passkey, `registration:${sid}`, username, name);
    return await this.#add(claims, { address, endOthers, kind: 'passkey' }, (draft) =>
      this.#viewOf(username, put(draft)),
    );
  }

  /** Calls a factor something else. @throws Refusal `second_factor_not_found`, `proof_required`. */
  async rename(claims: SessionClaims, id: string, name: string, address: string): Promise<OwnFactor> {
    const { passkeys, secondFactors } = this.#options;
    const { sub: username } = claims;
    return await this.#change(claims, address, 'second_factor.renamed', { factor: id }, (draft) => {
      if (id !== APP_ID) return this.#viewOf(username, passkeys.rename(draft, username, id, name));
      secondFactors.renameApp(draft, username, name);
      const app = secondFactors.app(username, draft);
      if (app === undefined) throw new Refusal('second_factor_not_found');
      return appView(app);
    });
  }

  /**
   * Takes a factor away; with the last one the recovery codes go, and apps ask for none any more.
   * @throws Refusal `second_factor_not_found`, `proof_required`; `second_factor_last` where one has to be.
   */
  async remove(claims: SessionClaims, id: string, endOthers: boolean, address: string): Promise<void> {
    const { announcer, clientFactors, passkeys, secondFactors } = this.#options;
    const { sid, sub: username } = claims;
    const ended = await this.#change(claims, address, 'second_factor.taken_away', { factor: id }, (draft) => {
      if (id === APP_ID) secondFactors.removeApp(draft, username);
      else passkeys.remove(draft, username, id);
      if (!secondFactors.isEnrolled(username, draft)) {
        if (clientFactors.isRequired(username)) throw new Refusal('second_factor_last');
        secondFactors.forget(draft, username);
        // The console lets nobody go on without one.
        endConsoleSessions(draft, username);
      }
      return endOthers ? endSessions(draft, username, sid) : [];
    });
    if (ended.length > 0) await announcer.revoked(ended);
  }

  /** Makes new recovery codes. @throws Refusal `second_factor_not_found`, `proof_required`. */
  async renewRecoveryCodes(claims: SessionClaims, address: string): Promise<string[]> {
    const { secondFactors } = this.#options;
    const { codes, hashes } = makeRecoveryCodes();
    await this.#change(claims, address, 'second_factor.recovery_codes', {}, (draft) => {
      if (!secondFactors.isEnrolled(claims.sub, draft)) throw new Refusal('second_factor_not_found');
      secondFactors.putRecoveryHashes(draft, claims.sub, hashes);
    });
    return codes;
  }

  /** Puts a factor in force, with recovery codes where it is the first; apps ask for it from now on. */
  async #add(
    claims: SessionClaims,
    {
      address,
      endOthers,
      kind,
    }: { readonly address: string; readonly endOthers: boolean; readonly kind: OwnFactor['kind'] },
    put: (draft: AccountsDraft) => OwnFactor,
  ): Promise<FactorAdded> {
    const { announcer, clientFactors, clock, secondFactors } = this.#options;
    const { sid, sub: username } = claims;
    const { codes, hashes } = makeRecoveryCodes();
    const { revoked, ...added } = await this.#change(claims, address, 'second_factor.added', { kind }, (draft) => {
      const isFirst = !secondFactors.isEnrolled(username, draft);
      const ended: Revocation[] = endUnproven(draft, clientFactors, username, sid);
      const factor = put(draft);
      if (isFirst) secondFactors.putRecoveryHashes(draft, username, hashes);
      secondFactors.askInApps(draft, username);
      const others = endOthers ? endSessions(draft, username, sid) : [];
      return { factor, recovery_codes: isFirst ? codes : null, revoked: [...ended, ...others] };
    });
    if (revoked.length > 0) await announcer.revoked(revoked);
    this.#remember(sid, { until: clock.now() + PROOF_MILLIS, isByFactor: true });
    return { ...added, sessions_ended: revoked.length };
  }

  /** Changes factors as part of one audited change of a session that has proven it. */
  async #change<T>(
    claims: SessionClaims,
    address: string,
    event:
      | 'second_factor.setup'
      | 'second_factor.added'
      | 'second_factor.renamed'
      | 'second_factor.taken_away'
      | 'second_factor.recovery_codes',
    details: Readonly<Record<string, string>>,
    work: (draft: AccountsDraft) => T,
  ): Promise<T> {
    const { accounts, clock } = this.#options;
    const { dev, sid, sub: username } = claims;
    this.#assertProven(claims);
    return await accounts.change((draft) => {
      // Signed out or blocked while this change waited for its turn.
      if (draft.person(username)?.state !== 'active' || draft.liveSession(username, dev, sid) === undefined) {
        throw new Refusal('session_revoked');
      }
      // A factor may have come into force while this change waited: what was proven before it proves it no more.
      this.#assertProven(claims, draft);
      const done = work(draft);
      const actor = `user:${username}`;
      draft.audit(clock.now(), { event, actor, address, subject: actor, details: { session: sid, ...details } });
      return done;
    });
  }

  async #provePassword({ dev, sub: username }: SessionClaims, password: string, address: string): Promise<void> {
    const { accounts, guard, isElsewhere, passwords } = this.#options;
    if (isElsewhere(username)) throw new Refusal('password_at_provider');
    await guard.attempt({ username, address, knownDevice: dev }, async (turn) => {
      const isRight = await passwords.verify(password, accounts.person(username)?.passwordHash, turn);
      if (!isRight) throw new Refusal('password_wrong', { field: 'password' });
    });
  }

  /** Judges a factor: a wrong one counts as a failed sign-in, and is no 401, which would be the session’s. */
  async #byFactor<T>({ dev, sub: username }: SessionClaims, address: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#options.guard.attempt({ username, address, knownDevice: dev }, work);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'second_factor_wrong') throw new Refusal('proof_wrong');
      throw error;
    }
  }

  async #verified({ sid, sub: username }: SessionClaims, { passkey }: ProveOneself, address: string) {
    if (passkey === undefined) return undefined;
    const verified = await this.#options.passkeys.verify(passkey, `proof:${sid}`, address, username);
    if (verified === undefined) throw new Refusal('second_factor_wrong');
    return verified;
  }

  #viewOf(username: string, { createdAt, id, isAlone, name, usedAt }: PasskeyRecord): OwnFactor {
    return {
      id,
      kind: 'passkey',
      name,
      created_at: formatInstant(createdAt),
      last_used_at: usedAt === null ? null : formatInstant(usedAt),
      signs_in_alone: isAlone && !this.#options.isElsewhere(username),
    };
  }

  /** @throws Refusal `proof_required`, `second_factor_enrolled`. */
  #assertProven(claims: SessionClaims, view: FactorsView = this.#options.accounts): void {
    this.#assertOwn(claims, view);
    if (this.#provenUntil(claims, view) === undefined) throw new Refusal('proof_required');
  }

  /**
   * A session that only enrols was opened without a factor: where there is one by now, it may not touch it.
   * @throws Refusal `second_factor_enrolled`.
   */
  #assertOwn({ enrolling, sub: username }: SessionClaims, view: FactorsView = this.#options.accounts): void {
    if (enrolling === true && this.#options.secondFactors.isEnrolled(username, view)) {
      throw new Refusal('second_factor_enrolled');
    }
  }

  /** Milliseconds until when this session counts as proven; undefined where it does not. */
  #provenUntil(
    { dev, sid, sub: username }: SessionClaims,
    view: FactorsView = this.#options.accounts,
  ): number | undefined {
    const { clock, secondFactors } = this.#options;
    const now = clock.now();
    const isEnrolled = secondFactors.isEnrolled(username, view);
    const proof = this.#proofs.get(sid);
    if (proof !== undefined && proof.until > now && (proof.isByFactor || !isEnrolled)) return proof.until;
    if (isEnrolled) return undefined;
    const signedInUntil = (view.liveSession(username, dev, sid)?.iat ?? 0) * 1000 + PROOF_MILLIS;
    return signedInUntil > now ? signedInUntil : undefined;
  }

  #remember(sid: string, proof: Proof): number {
    this.#proofs.delete(sid);
    this.#proofs.set(sid, proof);
    const now = this.#options.clock.now();
    for (const [known, { until }] of this.#proofs) {
      if (until > now && this.#proofs.size <= PROOFS_MAX) break;
      this.#proofs.delete(known);
    }
    return proof.until;
  }
}

function appView({ createdAt, name, usedAt }: { createdAt: number; name: string; usedAt: number | null }): OwnFactor {
  return {
    id: APP_ID,
    kind: 'totp',
    name,
    created_at: formatInstant(createdAt),
    last_used_at: usedAt === null ? null : formatInstant(usedAt),
    signs_in_alone: false,
  };
}
