/**
 * Signing people in at a provider for their client sessions: OpenID Connect with the authorization code flow and PKCE
 * towards the provider, and PKCE again towards the app (RFC 8252, RFC 9700).
 *
 *     app ──start──► redirect, with a cookie ──► the provider's page ──► callback ──► the app's address with a code
 *      └──────────────────────── code and verifier ──► the session that a password gives ◄───────────┘
 *
 * Whose account is whose is in `person-identities.ts`; what the browser carries in `sign-on-walks.ts`.
 */
import * as oidc from 'openid-client';
import type { Clock } from '#src/base/clock.ts';
import { randomSymbols } from '#src/base/ids.ts';
import { isReservedUsername } from '#src/protocol/directory/resources.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import type { ExchangeCode, SsoCallbackQuery, SsoStartQuery } from '#src/protocol/sessions/sso.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { holdsConsoleRole } from '../console/console-role-record.ts';
import { actorOf, type Principal } from '../console/principal.ts';
import type { Passwords } from '../credentials/passwords.ts';
import type { SessionAnnouncer } from '../credentials/revocations.ts';
import type { Noted, SignIn } from '../sign-in.ts';
import { mayLeadTo } from './app-redirects.ts';
import type { ProviderSession } from './back-channel-logout.ts';
import { bindPerson, identityAt, noteForeignSession, personBoundTo, unbindPerson } from './person-identities.ts';
import {
  claimedPerson,
  isWhole,
  type ClaimedPerson,
  type PersonProvider,
  type PersonProviders,
} from './person-providers.ts';
import { SignOnWalks, type Walk } from './sign-on-walks.ts';
import { PROVIDER_SECONDS, ProviderConnection, type ProviderClaims } from './sso-provider.ts';
import { START_MILLIS } from './sso-tickets.ts';

/** Callbacks under way at once: each waits for a provider, and anybody can ask for one. More are answered `busy`. */
export const CALLBACKS_MAX = 16;

/** A person whom a provider vouches for and who gets an account by that. */
export interface NewPersonForm {
  readonly username: string;
  readonly displayName: string | undefined;
  readonly email: string | undefined;
  readonly passwordHash: string;
  readonly by: AuditActor;
}

export interface SignOnOptions {
  readonly accounts: Accounts;
  readonly allowPrivateTargets: PrivateTargets;
  readonly announcer: Pick<SessionAnnouncer, 'directoryChanged' | 'revoked'>;
  /** The addresses of apps that signing in may lead back to. */
  readonly appRedirects: () => readonly string[];
  /** Where this server is reached, which providers send people back to. */
  readonly baseUrl: () => string;
  readonly clock: Clock;
  /** Adds a person as part of a change; answers the directory's change number. */
  readonly createPerson: (draft: AccountsDraft, form: NewPersonForm) => number;
  /** Has a person be in those groups, of the ones that a provider decides over, and in no other of these. */
  readonly follow: (
    username: string,
    groups: { among: readonly string[]; in: readonly string[] },
    by: AuditActor,
  ) => Promise<void>;
  /** Usernames of people with an e-mail address, given in lower case. */
  readonly holdersOf: (draft: AccountsDraft, email: string) => readonly string[];
  readonly log: Pick<Logger, 'warn'>;
  readonly passwords: Pick<Passwords, 'hash'>;
  readonly providers: PersonProviders;
  readonly signIn: Pick<SignIn, 'enter'>;
  /** How long a request to a provider may take. */
  readonly providerSeconds?: number | undefined;
}

/** Where a browser goes, and the cookie that it gets with it. */
export interface SignOnStart {
  readonly location: string;
  readonly cookie: {
    readonly name: string;
    readonly value: string;
    readonly path: string;
    readonly seconds: number;
    readonly isSecure: boolean;
  };
}

export class SignOn {
  readonly #options: SignOnOptions;
  readonly #connections = new Map<string, ProviderConnection>();
  readonly #walks: SignOnWalks;
  #callbacks = 0;

  constructor(options: SignOnOptions) {
    this.#options = options;
    this.#walks = new SignOnWalks(options.clock);
  }

  /**
   * Where to lead a browser that an app opened.
   * @throws Refusal `sso_provider_not_found`, `sso_redirect_forbidden`, `sso_provider_unavailable`,
   * `encryption_locked`.
   */
  async start(id: string, query: SsoStartQuery): Promise<SignOnStart> {
    const provider = this.#options.providers.read(id);
    if (!mayLeadTo(this.#options.appRedirects(), query.redirect_uri)) throw new Refusal('sso_redirect_forbidden');
    const configuration = await this.#connect(id, provider);
    const walk = this.#walks.begin({
      provider: id,
      redirectUri: query.redirect_uri,
      challenge: query.code_challenge,
      appState: query.state,
    });
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: this.redirectUri(id),
      scope: provider.scope,
      state: walk.state,
      nonce: walk.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(walk.verifier),
      code_challenge_method: 'S256',
    });
    const { pathname: path, protocol } = new URL(this.redirectUri(id));
    const bounds = { path, seconds: START_MILLIS / 1_000, isSecure: protocol === 'https:' };
    return { location: url.href, cookie: { ...this.#walks.cookieOf(walk), ...bounds } };
  }

  /**
   * Where to lead a browser that came back from a provider: to its app, with a code or with an error of the catalogue.
   * @throws Refusal `sso_provider_not_found`; `sso_failed` for what no walk of this browser is, which leads nowhere.
   */
  async finish(id: string, query: SsoCallbackQuery, cookie: string | undefined, address: string): Promise<string> {
    const provider = this.#options.providers.read(id);
    const walk = this.#walks.return(id, query.state, cookie);
    const url = new URL(walk.redirectUri);
    if (walk.appState !== undefined) url.searchParams.set('state', walk.appState);
    try {
      url.searchParams.set('code', await this.#codeFor(id, provider, walk, query, address));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      url.searchParams.set('error', error.code);
    }
    return url.href;
  }

  /** @throws Refusal `sso_code_invalid`, `sso_failed` for who may not sign in any more; `quota_exceeded`, `busy`. */
  async exchange(form: ExchangeCode, address: string): Promise<Session> {
    const grant = this.#walks.redeem(form.code, form.code_verifier, form.redirect_uri);
    const { issuer, providerSid, subject, username } = grant;
    const noted: Noted = (draft, { session }) => {
      // Taken away from them since the code was made.
      if (personBoundTo(draft, { issuer, subject }) !== username) throw new Refusal('sso_failed');
      const { sid } = session;
      noteForeignSession(draft, username, {
        issuer,
        subject,
        sid,
        ...(providerSid === undefined ? {} : { providerSid }),
      });
    };
    return await this.#options.signIn.enter(username, form, { address, noted });
  }

  /** Forgets codes of an account, or of one session of it, that signed out at its provider. */
  signedOut(issuer: string, { providerSid, subject }: ProviderSession): void {
    this.#walks.forget(
      (grant) =>
        grant.issuer === issuer &&
        (subject === undefined || grant.subject === subject) &&
        (providerSid === undefined || grant.providerSid === providerSid),
    );
  }

  /** The address that a provider has to know this server by. */
  redirectUri(id: string): string {
    return `${this.#options.baseUrl().replace(/\/$/, '')}/v1/auth/sso/${id}/callback`;
  }

  /**
   * Binds a person's account at a provider on an administrator's word; an owner's nobody binds (CRD-13), and that of
   * another who has a role in the console an owner alone: it is a way in, as a new password is.
   * @throws Refusal `sso_provider_not_found`, `person_not_found`, `person_left`, `owner_binds_own_account`,
   * `right_missing`, `sso_identity_taken`.
   */
  async assign(id: string, principal: Principal, username: string, subject: string, address: string): Promise<void> {
    const { accounts, announcer, clock, providers } = this.#options;
    const { issuer } = providers.read(id);
    const ended = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new Refusal('person_not_found');
      if (person.role === 'owner') throw new Refusal('owner_binds_own_account');
      if (person.state === 'left') throw new Refusal('person_left');
      const isOwn = principal.kind === 'person' && principal.username === username;
      if (principal.role !== 'owner' && !isOwn && holdsConsoleRole(draft, username)) throw new Refusal('right_missing');
      const binding = { by: 'administrator', actor: actorOf(principal), address, now: clock.now() } as const;
      return bindPerson(draft, username, { issuer, subject }, binding);
    });
    if (ended.length > 0) await announcer.revoked(ended);
  }

  /**
   * Takes away what binds a person at a provider, and ends the sessions that it opened.
   * @throws Refusal `sso_provider_not_found`, `sso_identity_not_found`.
   */
  async forget(id: string, username: string, by: AuditActor): Promise<void> {
    const { accounts, announcer, clock, providers } = this.#options;
    const { issuer } = providers.read(id);
    const ended = await accounts.change((draft) => {
      const revoked = unbindPerson(draft, username, issuer);
      if (revoked === undefined) throw new Refusal('sso_identity_not_found');
      const details = { issuer };
      draft.audit(clock.now(), { event: 'sso.identity_forgotten', ...by, subject: `user:${username}`, details });
      return revoked;
    });
    if (ended.length > 0) await announcer.revoked(ended);
  }

  async #codeFor(id: string, provider: PersonProvider, walk: Walk, query: SsoCallbackQuery, address: string) {
    if (query.code === undefined) throw new Refusal('sso_failed');
    if (this.#callbacks >= CALLBACKS_MAX) throw new Refusal('busy');
    this.#callbacks += 1;
    try {
      const { redirectUri, challenge } = walk;
      const configuration = await this.#connect(id, provider);
      const claims = await this.#connection(id).exchange(configuration, {
        redirectUri: this.redirectUri(id),
        code: query.code,
        state: query.state,
        iss: query.iss,
        expected: walk,
        isComplete: (given) => isWhole(provider, given),
      });
      const account = { issuer: provider.issuer, subject: claims.sub };
      const username = await this.#personOf(provider, claims, address);
      return this.#walks.grant({ ...account, username, providerSid: claims.sid, redirectUri, challenge });
    } finally {
      this.#callbacks -= 1;
    }
  }

  /**
   * Whose account the claims are, bound now where that may be; in the groups that the provider says.
   * @throws Refusal `sso_not_bound`: one answer, whether the name is somebody's or not; `sso_failed` for a person who
   * may not sign in.
   */
  async #personOf(provider: PersonProvider, claims: ProviderClaims, address: string): Promise<string> {
    const { accounts, announcer, clock, follow, passwords } = this.#options;
    const account = { issuer: provider.issuer, subject: claims.sub };
    const claimed = claimedPerson(provider, claims);
    const isKnown = personBoundTo(accounts, account) !== undefined;
    // Of a password that nobody was ever told.
    const passwordHash = isKnown || !provider.creates_people ? undefined : await passwords.hash(randomSymbols(32));
    const by = (username: string) => ({ actor: `user:${username}`, address });
    const found = await accounts.change((draft) => {
      const bound = personBoundTo(draft, account) ?? this.#byEmail(draft, provider, claimed);
      const username = bound ?? claimed.username;
      if (username === undefined) throw new Refusal('sso_not_bound');
      const rev =
        bound === undefined ? this.#create(draft, username, { claimed, passwordHash, by: by(username) }) : undefined;
      if (draft.person(username)?.state !== 'active') throw new Refusal('sso_failed');
      if (personBoundTo(draft, account) === undefined) {
        const reason = bound === undefined ? 'first_sign_in' : 'email';
        bindPerson(draft, username, account, { by: reason, ...by(username), now: clock.now() });
      }
      return { username, rev };
    });
    if (found.rev !== undefined) announcer.directoryChanged(found.username, found.rev);
    const among = Object.values(provider.groups);
    await follow(found.username, { among, in: claimed.groups }, { actor: 'server', address: null });
    return found.username;
  }

  /** The one person, no owner, who has the address that the provider verified, where that binds. */
  #byEmail(draft: AccountsDraft, provider: PersonProvider, { email }: ClaimedPerson): string | undefined {
    const holders = provider.bind_by_email && email !== undefined ? this.#options.holdersOf(draft, email) : [];
    const [holder] = holders;
    if (holders.length !== 1 || holder === undefined) return undefined;
    const person = draft.person(holder);
    const isFree = identityAt(draft, holder, provider.issuer) === undefined;
    return person?.state === 'active' && person.role !== 'owner' && isFree ? holder : undefined;
  }

  /** @throws Refusal `sso_not_bound` where nobody is made, and for a name that is somebody's. */
  #create(
    draft: AccountsDraft,
    username: string,
    { by, claimed, passwordHash }: { by: AuditActor; claimed: ClaimedPerson; passwordHash: string | undefined },
  ): number {
    const isNobodys = !isReservedUsername(username) && draft.person(username) === undefined;
    if (passwordHash === undefined || !isNobodys) throw new Refusal('sso_not_bound');
    return this.#options.createPerson(draft, { ...claimed, username, passwordHash, by });
  }

  async #connect(id: string, provider: PersonProvider): Promise<oidc.Configuration> {
    return await this.#connection(id).connect(provider, this.#options.providers.clientSecret(id));
  }

  /** As many as there are providers: ids that name none were refused. */
  #connection(id: string): ProviderConnection {
    const seconds = this.#options.providerSeconds ?? PROVIDER_SECONDS;
    const connection = this.#connections.get(id) ?? new ProviderConnection({ ...this.#options, seconds });
    this.#connections.set(id, connection);
    return connection;
  }
}
