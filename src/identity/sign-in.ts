/**
 * Sign-in and sessions (CRD-02, CRD-08): login, renew, logout.
 *
 * A session lives in the device it was made on, and a device has one: signing in again on it ends the one before.
 * Every change is on disk before it is announced to the shards, and announced before the caller has the answer.
 */
import type { HashTurn, Passwords } from './credentials/passwords.ts';
import type { SessionAnnouncer } from './credentials/revocations.ts';
import {
  isSuperseded,
  readRefreshToken,
  refresh,
  TOKEN_ALONE_SECONDS,
  tokenBounds,
  type RefreshToken,
} from './credentials/refresh-tokens.ts';
import type { SessionTokens } from './credentials/session-tokens.ts';
import type { SignInGuard } from './credentials/sign-in-guard.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Config } from '#src/config.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Login, Session, SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { LastUse, LiveSession, PersonRecord } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { countDailyUse } from '#storage/accounts/daily-use.ts';
import { openSession, type OpenedSession, type OpenSession } from './device-sessions.ts';
import { guestRecords } from './guest-records.ts';
import type { LdapSignIn } from './ldap/ldap-sign-in.ts';
import type { ClientFactors } from './second-factors/client-factors.ts';
import { PendingSignIns, type PendingSignIn } from './second-factors/pending-sign-ins.ts';
import type { SignInSwitches } from './sign-in-switches.ts';

export interface SignInOptions {
  readonly config: Pick<Config, 'sessionSeconds' | 'renewSeconds'>;
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly tokens: SessionTokens;
  readonly announcer: SessionAnnouncer;
  readonly guard: SignInGuard;
  readonly clock: Clock;
  readonly quotas: Pick<QuotaGate, 'limits' | 'require'>;
  readonly switches: Pick<SignInSwitches, 'refusePasswords'>;
  /** The directory server that judges some names; undefined before there is one to ask. */
  readonly directory: () => LdapSignIn | undefined;
  /** What asks for second factors; undefined before there is a vault to keep them in. */
  readonly factors: () => ClientFactors | undefined;
  /** Told of a session that was ended because a refresh token was used that had been replaced. */
  readonly reused: (session: ReusedSession) => Promise<void> | void;
}

/**
 * How old the last use of a session may be that is renewed by its token, before it is written down: those that are renewed by
 * refresh tokens write at each renewal anyway.
 */
const USE_NOTED_SECONDS = 3_600;

/** A session of which two had a refresh token, and whence the one came that showed it. */
export interface ReusedSession {
  readonly user: string;
  readonly sid: string;
  readonly address: string;
}

/** What a browser has of a session: the device that it says it is, the refresh token of its cookie, the token of its page. */
export interface KeptSession {
  readonly device: string;
  readonly refreshToken: string | undefined;
  readonly token: string | undefined;
}

/** What is kept of a session beside it, as part of the change that opens it. */
export type Noted = (draft: AccountsDraft, opened: OpenedSession) => void;

export class SignIn {
  readonly #options: SignInOptions;
  readonly #pending = new PendingSignIns<Opening>();

  constructor(options: SignInOptions) {
    this.#options = options;
  }

  /**
   * Signs a person in on a device: theirs, when `device_id` names one, otherwise a new one.
   * @throws Refusal `login_failed`, at one cost for an unknown person, a wrong password and a blocked person;
   * `sign_in_by_identity` where passwords do not sign in (CRD-10);
   * `rate_limited` after too many failures of this username from this address, of the address or of its network;
   * `quota_exceeded` for who has signed in too often today; `directory_unavailable` while the directory server is away,
   * for whoever's password is not right here; `busy`. A device of the person is none of these addresses' concern.
   * `second_factor_required` after the right password alone, with what `finish` goes on with.
   */
  async login(form: Login, address: string): Promise<Session> {
    const { accounts, guard, switches } = this.#options;
    const directory = this.#options.directory();
    if (switches.refusePasswords()) throw new Refusal('sign_in_by_identity');
    // Phones write a capital at the start of a line; usernames have none.
    const username = form.username.toLowerCase();
    const knownDevice = accounts.devices(username).find(({ id }) => id === form.device_id)?.id;
    const opening = await guard.attempt({ username, address, knownDevice }, async (turn) => {
      const person = accounts.person(username);
      const server = directory?.judges(username);
      // Whoever judges, one hash is made, so that its time does not tell whose the name is.
      const own = server === undefined ? person : undefined;
      const mayEnter = await this.#mayEnter(own, form.password, turn);
      if (directory !== undefined && server !== undefined) {
        const user = await directory.signIn(server, username, form.password);
        return { ...formOf(form), username: user, refuse: 'login_failed' as const, noted: () => undefined };
      }
      if (own === undefined || !mayEnter) {
        await directory?.fail(username);
        throw new Refusal('login_failed');
      }
      return await this.#judged(own, form, turn);
    });
    return await this.#openOrAsk(opening, address);
  }

  /**
   * Goes on with a sign-in that waits for its second factor. `prove` judges what was given for it, and answers what spends it.
   * @throws Refusal `sign_in_over` for one that has ended, was finished or never was; `second_factor_wrong`, counted as a
   * failed sign-in, and what `prove` throws: five times at most; `login_failed`, `sso_failed` for who may not sign in any
   * more; `sign_in_by_identity`; `rate_limited`, `quota_exceeded`, `busy`, `storage_full`.
   */
  async finish(
    secret: string,
    address: string,
    prove: (pending: PendingSignIn<unknown>) => Promise<(draft: AccountsDraft) => void>,
  ): Promise<Session> {
    const { clock, guard, switches } = this.#options;
    const pending = this.#pending.claim(secret, clock.now());
    const { username, what } = pending;
    // Switched off since the password was given.
    if (what.instead !== 'provider' && switches.refusePasswords()) throw new Refusal('sign_in_by_identity');
    try {
      const attempt = { username, address, knownDevice: this.#known(username, what.deviceId) };
      return await guard.attempt(attempt, async () => {
        const spend = await prove(pending);
        const noted: Noted = (draft, opened) => {
          spend(draft);
          what.noted(draft, opened);
        };
        return await this.#openSession({ ...what, noted }, address);
      });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const isWrong = error.code === 'second_factor_wrong';
      this.#pending.putBack(pending, isWrong);
      if (isWrong) await this.#auditRefused(username, address);
      throw error;
    }
  }

  /**
   * Signs in whom a passkey names that is both factors. `prove` answers who it is, and what uses the passkey.
   * @throws Refusal `login_failed`, whatever is wrong; `sign_in_by_identity`, `rate_limited`, `quota_exceeded`, `busy`.
   */
  async enterAlone(
    form: Pick<Login, 'device' | 'device_id'>,
    { address, credential, holder }: { address: string; credential: string; holder: string | undefined },
    prove: () => Promise<{ readonly username: string; readonly use: (draft: AccountsDraft) => boolean } | undefined>,
  ): Promise<Session> {
    const { guard, switches } = this.#options;
    if (switches.refusePasswords()) throw new Refusal('sign_in_by_identity');
    const knownDevice = holder === undefined ? undefined : this.#known(holder, form.device_id);
    // Counted for the passkey that is named: whose it is, nobody is told by waiting.
    return await guard.attempt({ username: `~${credential}`, address, knownDevice }, async () => {
      const proven = await prove();
      if (proven === undefined) throw new Refusal('login_failed');
      const noted: Noted = (draft) => {
        if (!proven.use(draft)) throw new Refusal('login_failed');
      };
      return await this.#openSession(
        { ...formOf(form), username: proven.username, refuse: 'login_failed', noted },
        address,
      );
    });
  }

  /** Somebody has the password and not the factor: its owner should know. Strangers cannot fill the trail by it. */
  async #auditRefused(username: string, address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const entry = {
      event: 'second_factor.refused',
      actor: 'server',
      address,
      subject: `user:${username}`,
      details: {},
    };
    await accounts.change((draft) => draft.audit(clock.now(), entry));
  }

  #known(username: string, deviceId: string | undefined): string | undefined {
    return this.#options.accounts.devices(username).find(({ id }) => id === deviceId)?.id;
  }

  /**
   * Opens a session for somebody whom a provider vouches for; `noted` is part of the change.
   * @throws Refusal `sso_failed` for a person who may not sign in; `second_factor_required` where providers do not exempt from
   * it; `quota_exceeded`, `busy`, `storage_full`.
   */
  async enter(
    username: string,
    form: Pick<Login, 'device' | 'device_id'>,
    { address, noted }: { readonly address: string; readonly noted: Noted },
  ): Promise<Session> {
    const opening = { ...formOf(form), username, refuse: 'sso_failed' as const, instead: 'provider' as const, noted };
    return await this.#openOrAsk(opening, address);
  }

  /**
   * A fresh token of a session, and its next refresh token: by its refresh token, or, until one was used, by a token that is
   * valid or was not long ago. It never outlives `rnw`.
   * @throws Refusal `session_over` from `rnw` on, `session_revoked`, `session_reused` for a refresh token that was replaced
   * and is over, which ends the session; `refresh_token_missing`, `token_missing`, `token_invalid`; `storage_full`, `busy`.
   */
  async renew(token: string | undefined, refreshToken: string | undefined, address: string): Promise<Session> {
    return refreshToken === undefined
      ? await this.#renewByToken(token, address)
      : await this.#renewByRefreshToken(readRefreshToken(refreshToken), address);
  }

  /**
   * As `renew` by a refresh token that a cookie of one device brought: for a session on that device, and of the token beside it.
   * @throws Refusal as `renew` does, and `session_cookie_invalid` for a cookie that is missing, none of ours or another device’s.
   */
  async renewOnDevice(kept: KeptSession, address: string): Promise<Session> {
    return await this.#renewByRefreshToken(this.#ofDevice(kept), address);
  }

  /**
   * Ends the session that a device’s cookie names, or without one that of the token.
   * @throws Refusal `session_over`, `session_revoked` for one that had ended; what `renewOnDevice` throws for a wrong cookie.
   */
  async logoutOnDevice(kept: KeptSession): Promise<void> {
    if (kept.refreshToken === undefined) return await this.logout(kept.token);
    const { sid, username } = this.#ofDevice(kept);
    await this.#end({ sub: username, dev: kept.device, sid });
  }

  /** The refresh token that a device kept, once it is known for one of that device’s live session. */
  #ofDevice({ device, refreshToken, token }: KeptSession): RefreshToken {
    const { accounts, clock, tokens } = this.#options;
    const given = readRefreshToken(refreshToken ?? '');
    if (given === undefined) throw new Refusal('session_cookie_invalid');
    const found = this.#refreshed(accounts, given, clock.now());
    // A token that cannot be read any more, as after other keys, says nothing.
    const claims = token === undefined ? undefined : tokens.verify(token, unixSeconds(clock.now())).claims;
    const isAnother = claims !== undefined && claims.sid !== given.sid;
    if (found.device.id !== device || isAnother) throw new Refusal('session_cookie_invalid');
    return given;
  }

  async #renewByToken(token: string | undefined, address: string): Promise<Session> {
    const { accounts, announcer, clock } = this.#options;
    const { dev, exp, sid, sub } = this.#read(token);
    const now = unixSeconds(clock.now());
    const session = sessionIn(accounts, { username: sub, sid }, now);
    if (session.device.id !== dev || now >= exp + TOKEN_ALONE_SECONDS) throw new Refusal('session_over');
    if (session.live.refresh?.rotated !== undefined) throw new Refusal('refresh_token_missing');
    if (this.#options.factors()?.isGraceToBegin(sub, session.live.instead) === true) {
      await accounts.change((draft) => this.#beginGrace(draft, sub, session.live));
    }
    const renewed = this.#issue(sub, dev, { ...session.live, rnw: session.rnw }, now);
    announcer.renewed({ sid, exp: renewed.exp, bounds: null });
    if (now - (session.live.seen?.at ?? 0) >= USE_NOTED_SECONDS) this.#noteUse(sub, sid, { at: now, address });
    return renewed;
  }

  /** Whoever stays signed in has as many days of grace as who signs in anew. */
  #beginGrace(draft: AccountsDraft, username: string, { instead }: LiveSession): void {
    const factors = this.#options.factors();
    if (factors?.isGraceToBegin(username, instead, draft) === true) factors.noteAsked(draft, username);
  }

  /** Writes down when a session was used. That is worth no failed renewal: the next one does it. */
  #noteUse(username: string, sid: string, seen: LastUse): void {
    const noted = this.#options.accounts.change((draft) => {
      const devices = draft.devices(username);
      const live = devices.find(({ session }) => session?.sid === sid)?.session;
      if (live === undefined || (live.seen?.at ?? 0) >= seen.at) return;
      live.seen = seen;
      draft.putDevices(username, devices);
    });
    noted.catch(() => undefined);
  }

  async #renewByRefreshToken(given: RefreshToken | undefined, address: string): Promise<Session> {
    const { accounts, announcer, clock } = this.#options;
    if (given === undefined) throw new Refusal('token_invalid');
    const now = clock.now();
    // Looked at first without a change: a repeat writes nothing, and what is wrong costs no commit.
    const seen = this.#refreshed(accounts, given, now);
    const isWritten = seen.reused || seen.state !== undefined;
    const outcome = isWritten ? await accounts.change((draft) => this.#rotate(draft, given, address, now)) : seen;
    if (outcome.reused) {
      await announcer.revoked([{ sid: given.sid, until: outcome.live.rnw }]);
      await this.#options.reused({ user: given.username, sid: given.sid, address });
      throw new Refusal('session_reused');
    }
    const { device, live, rnw } = outcome;
    const renewed = this.#issue(given.username, device.id, { ...live, rnw }, unixSeconds(now));
    announcer.renewed({ sid: given.sid, exp: renewed.exp, bounds: tokenBounds(live) });
    return { ...renewed, refresh_token: outcome.token };
  }

  /** What a refresh token does, as it is decided on a draft; nothing is stored yet. */
  #refreshed(view: SessionView, given: RefreshToken, now: number) {
    const found = sessionIn(view, given, unixSeconds(now));
    const refreshed = refresh(found.live.refresh, given, now);
    if (refreshed.refuse === 'unknown') throw new Refusal('token_invalid');
    if (refreshed.refuse !== undefined) return { ...found, reused: true as const, state: undefined };
    const { state, token } = refreshed;
    return {
      ...found,
      reused: false as const,
      token,
      state,
      live: { ...found.live, refresh: state ?? found.live.refresh },
    };
  }

  /** Stores what a refresh token does: the next one, or the end of a session of which somebody else has one, too. */
  #rotate(draft: AccountsDraft, given: RefreshToken, address: string, now: number) {
    const outcome = this.#refreshed(draft, given, now);
    const { device, devices, live } = outcome;
    if (outcome.reused) {
      draft.putRevocation({ sid: given.sid, until: live.rnw });
      const details = { session: given.sid, device: device.id };
      const subject = `user:${given.username}`;
      draft.audit(now, { event: 'session.reused', actor: 'server', address, subject, details });
    } else this.#beginGrace(draft, given.username, live);
    device.session = outcome.reused ? undefined : { ...live, seen: { at: unixSeconds(now), address } };
    draft.putDevices(given.username, devices);
    return outcome;
  }

  /**
   * Ends the session of a token that is valid or has expired.
   * @throws Refusal `session_revoked` when it was ended before, `token_missing`, `token_invalid`.
   */
  async logout(token: string | undefined): Promise<void> {
    await this.#end(this.#read(token));
  }

  async #end(claims: Pick<SessionClaims, 'dev' | 'sid' | 'sub'>): Promise<void> {
    const { accounts, announcer } = this.#options;
    const revocation = await accounts.change(
      (draft) => {
        if (draft.isRevoked(claims.sid)) throw new Refusal('session_revoked');
        const devices = draft.devices(claims.sub);
        const device = devices.find(({ id, session }) => id === claims.dev && session?.sid === claims.sid);
        // A session of which nothing is known is one that ran out: its end is what was asked for.
        if (device?.session === undefined) return undefined;
        const ended = { sid: claims.sid, until: device.session.rnw };
        device.session = undefined;
        draft.putDevices(claims.sub, devices);
        draft.putRevocation(ended);
        return ended;
      },
      { isUrgent: true },
    );
    if (revocation !== undefined) await announcer.revoked([revocation]);
  }

  /**
   * The person whose session a token is, for the coordinator's own routes.
   * @throws Refusal `token_missing`, `token_invalid`, `token_expired`, `session_revoked`.
   */
  authenticate(token: string | undefined): string {
    return this.session(token).sub;
  }

  /** The claims of that session, for who needs its device too. @throws Refusal what `authenticate` throws. */
  session(token: string | undefined): SessionClaims {
    const claims = this.enrollingSession(token);
    if (claims.enrolling === true) throw new Refusal('two_factor_enrollment_required');
    return claims;
  }

  /** As `session`, also for one that sets up a second factor and does nothing else. */
  enrollingSession(token: string | undefined): SessionClaims {
    const { accounts, clock, tokens } = this.#options;
    if (token === undefined) throw new Refusal('token_missing');
    const now = unixSeconds(clock.now());
    const { claims, refuse } = tokens.verify(token, now);
    if (claims === undefined) throw new Refusal(refuse);
    const live = accounts.liveSession(claims.sub, claims.dev, claims.sid);
    const isRevoked = live === undefined && (refuse === undefined || accounts.isRevoked(claims.sid));
    if (isRevoked || !accounts.isActive(claims.sub)) throw new Refusal('session_revoked');
    if (refuse !== undefined) throw new Refusal(refuse);
    if (live !== undefined && isSuperseded(claims.iat, tokenBounds(live), now)) throw new Refusal('token_expired');
    if (endOf(accounts, claims.sub) <= now) throw new Refusal('session_revoked');
    return claims;
  }

  async #mayEnter(person: PersonRecord | undefined, password: string, turn: HashTurn): Promise<boolean> {
    const isRight = await this.#options.passwords.verify(password, person?.passwordHash, turn);
    if (!isRight || person?.state !== 'active') return false;
    return endOf(this.#options.accounts, person.username) > unixSeconds(this.#options.clock.now());
  }

  /** Whose password was right, to be let in. */
  async #judged(person: PersonRecord, form: Login, turn: HashTurn): Promise<Opening> {
    const { passwords } = this.#options;
    const outdated = passwords.isOutdated(person.passwordHash);
    const fresh = outdated ? await passwords.hash(form.password, turn) : undefined;
    return {
      ...formOf(form),
      username: person.username,
      refuse: 'login_failed',
      noted: (draft) => {
        const current = draft.person(person.username);
        // Given another password while this one was being checked.
        if (current?.passwordHash !== person.passwordHash) throw new Refusal('login_failed');
        if (fresh !== undefined) draft.putPasswordHash(current, fresh);
      },
    };
  }

  /** @throws Refusal `second_factor_required` with what `finish` goes on with. */
  async #openOrAsk(opening: Opening, address: string): Promise<Session> {
    const { clock } = this.#options;
    const factors = this.#options.factors();
    const { instead, username } = opening;
    if (factors?.isAsked(username, instead) !== true) return await this.#openSession(opening, address);
    const { pending, secret } = this.#pending.begin(username, opening, clock.now());
    throw new Refusal('second_factor_required', { secondFactor: factors.ask(secret, pending) });
  }

  async #openSession(
    { device, deviceId, instead, noted, refuse, username }: Opening,
    address: string,
  ): Promise<Session> {
    const { accounts, announcer, clock, config, quotas } = this.#options;
    const factors = this.#options.factors();
    const now = clock.now();
    const opened = await accounts.change((draft) => {
      // Blocked, or over, since it was looked at.
      if (draft.person(username)?.state !== 'active' || endOf(draft, username) <= unixSeconds(now))
        throw new Refusal(refuse);
      countDailyUse(draft, 'sign_ins', username, now, quotas.require);
      const standing = factors?.standing(username, instead, draft);
      if (standing?.dueAt !== undefined || standing?.isEnrolling === true) factors?.noteAsked(draft, username);
      const session = openSession(draft, username, {
        device,
        deviceId,
        instead: standing?.isEnrolling === true ? 'enrollment' : instead,
        address,
        devicesMax: quotas.limits.devices,
        now,
        // A guest's session does not outlive the guest's term (GST-01).
        renewSeconds: Math.min(config.renewSeconds, endOf(draft, username) - unixSeconds(now)),
      });
      noted(draft, session);
      return session;
    });
    if (opened.revoked.length > 0) await announcer.revoked(opened.revoked);
    const issued = this.#issue(username, opened.deviceId, opened.session, unixSeconds(now));
    return { ...issued, refresh_token: opened.refreshToken };
  }

  #issue(username: string, deviceId: string, session: LiveSession, iat: number): Session {
    const standing = this.#options.factors()?.standing(username, session.instead);
    const dueAt = standing?.dueAt;
    const isEnrolling = standing?.isEnrolling === true;
    // What may do everything ends when it may not any more.
    const due = dueAt === undefined ? Infinity : Math.max(iat + 1, unixSeconds(dueAt));
    const exp = Math.min(iat + this.#options.config.sessionSeconds, session.rnw, due);
    const enrolling = isEnrolling ? ({ enrolling: true } as const) : {};
    const claims = { sub: username, sid: session.sid, dev: deviceId, exp, iat, rnw: session.rnw, ...enrolling };
    return {
      token: this.#options.tokens.sign(claims),
      exp,
      iat,
      rnw: session.rnw,
      user: username,
      device_id: deviceId,
      ...(isEnrolling ? { second_factor: 'enrollment' as const } : {}),
      ...(dueAt === undefined ? {} : { second_factor: 'due' as const, second_factor_due: formatInstant(dueAt) }),
    };
  }

  #read(token: string | undefined): SessionClaims {
    if (token === undefined) throw new Refusal('token_missing');
    const verified = this.#options.tokens.verify(token, unixSeconds(this.#options.clock.now()));
    if (verified.claims === undefined) throw new Refusal(verified.refuse);
    return verified.claims;
  }
}

type SessionView = Pick<AccountsDraft, 'devices' | 'document' | 'isActive' | 'isRevoked'>;

/**
 * A session that may be renewed at that Unix second, where it is stored, and until when.
 * @throws Refusal `session_revoked`, `session_over`.
 */
function sessionIn(view: SessionView, { sid, username }: Pick<RefreshToken, 'sid' | 'username'>, now: number) {
  if (view.isRevoked(sid) || !view.isActive(username)) throw new Refusal('session_revoked');
  const devices = view.devices(username);
  const device = devices.find(({ session }) => session?.sid === sid);
  const live = device?.session;
  if (device === undefined || live === undefined) throw new Refusal('session_over');
  // A guest's term may have been shortened since the session began.
  const rnw = Math.min(live.rnw, endOf(view, username));
  if (now >= rnw) throw new Refusal('session_over');
  return { devices, device, live, rnw };
}

/** The Unix second at which a guest's term ends; people of the organisation have none. */
function endOf(view: Pick<AccountsDraft, 'document'>, username: string): number {
  return view.document(guestRecords, username)?.endsAt ?? Infinity;
}

/** How a session is opened once it is known for whom: at once, or when the second factor was given. */
interface Opening extends Pick<OpenSession, 'device' | 'deviceId' | 'instead'> {
  readonly username: string;
  /** What a person is answered who may not sign in. */
  readonly refuse: 'login_failed' | 'sso_failed';
  readonly noted: Noted;
}

function formOf({ device, device_id: deviceId }: Pick<Login, 'device' | 'device_id'>) {
  return { device, deviceId };
}
