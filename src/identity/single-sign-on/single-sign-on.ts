/**
 * Sign-in at an identity provider: OpenID Connect with the authorization code flow, PKCE, state and nonce (TFA-02). The
 * provider supplies the second factor, so the session is full at once.
 *
 *     start ──► redirect URL and a ticket ──► the provider's page ──► the console's page with code and state
 *                                                                       └──► callback with code, state and ticket
 *
 * The same walk binds an account to who is signed in already, and asks a session of the provider for its sign-in anew.
 * What the callback needs is in the ticket (`sso-tickets.ts`): a code that is slipped to a browser with another ticket
 * opens nothing. Whose account is whose is in `sso-bindings.ts`.
 */
import * as oidc from 'openid-client';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { PersonConsoleRole } from '../console/permissions.ts';
import { actorOf, type ConsolePerson, type Principal } from '../console/principal.ts';
import { isReservedUsername } from '#src/protocol/directory/resources.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { Entry } from '#storage/accounts/collections.ts';
import { consoleRoleOf, highestRole, holdsConsoleRole } from '../console/console-role-record.ts';
import { endProviderSessions, type ConsoleSessions } from '../console/console-sessions.ts';
import type { SignedIn } from '../console/console-sign-in.ts';
import { markStepUp } from '../console/step-up.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { SignInSettings } from '../sign-in-switches.ts';
import {
  bindIdentity,
  consoleIdentities,
  forgetIdentity,
  isBound,
  noteOwnerSignIn,
  ownerAtProvider,
  usernameBoundTo,
  type IdentityRecord,
} from './sso-bindings.ts';
import { PROVIDER_SECONDS, ProviderConnection, type ProviderClaims } from './sso-provider.ts';
import {
  areComplete,
  projectedRole,
  usernameOf,
  verifiedEmail,
  type SsoSettings,
  type SsoSettingsReader,
} from './sso-settings.ts';
import { SsoTickets, START_MILLIS, type Purpose, type Ticket } from './sso-tickets.ts';

/**
 * Callbacks under way at once: each waits for the provider, and anybody can ask for one. More are answered `busy`.
 */
export const CALLBACKS_MAX = 16;

/** How far behind the provider's clock may be for a sign-in to count as one of after the start. */
const CLOCK_SKEW_MILLIS = 30_000;

export interface SsoStart {
  readonly redirect_url: string;
  readonly ticket: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

export interface SsoCallback {
  readonly code: string;
  readonly state: string;
  readonly ticket: string;
  /** The issuer, where the provider states it in its answer (RFC 9207). */
  readonly iss?: string | undefined;
}

export interface SingleSignOnOptions {
  readonly accounts: Accounts;
  readonly sessions: ConsoleSessions;
  readonly sso: SsoSettingsReader;
  readonly signIn: SignInSettings;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly allowPrivateTargets: PrivateTargets;
  /** Usernames of people with an e-mail address, given in lower case. */
  readonly holdersOf: (draft: AccountsDraft, email: string) => readonly string[];
  /** How long a request to the provider may take. */
  readonly providerSeconds?: number | undefined;
}

export class SingleSignOn {
  readonly #options: SingleSignOnOptions;
  readonly #provider: ProviderConnection;
  readonly #tickets: SsoTickets;
  #callbacks = 0;

  constructor(options: SingleSignOnOptions) {
    this.#options = options;
    this.#provider = new ProviderConnection({ ...options, seconds: options.providerSeconds ?? PROVIDER_SECONDS });
    this.#tickets = new SsoTickets(options.clock);
  }

  /** Whether it is set up. */
  get isSet(): boolean {
    return this.#options.sso.settings() !== undefined;
  }

  /**
   * Where to send a browser, and the ticket that it comes back with.
   * @throws Refusal `sso_not_set`, `sso_provider_unavailable`.
   */
  async start(): Promise<SsoStart> {
    return await this.#start('sign_in', null);
  }

  /** As `start`, for a session of the provider to sign in there anew (VND-17). @throws as `start`, and `right_missing`. */
  async startStepUp(principal: Principal): Promise<SsoStart> {
    return await this.#start('step_up', personOf(principal, 'sso').sid, { prompt: 'login', max_age: '0' });
  }

  /**
   * As `start`, for somebody who is signed in by password to bind their account (CRD-13).
   * @throws as `start`, and `right_missing`.
   */
  async startBinding(principal: Principal): Promise<SsoStart> {
    return await this.#start('bind', personOf(principal, 'password').sid, { prompt: 'login' });
  }

  /**
   * Exchanges the provider's code for a full console session.
   * @throws Refusal `sso_failed` for a ticket, state, code or answer that is not right, and for a person who is
   * blocked here; `sso_not_bound` for an account that is bound to nobody; `right_missing` for somebody without a
   * console role; `sso_not_set`, `sso_provider_unavailable`, `busy`.
   */
  async callback(form: SsoCallback, address: string): Promise<SignedIn> {
    const { claims, settings } = await this.#finish('sign_in', null, form);
    return await this.#enter(settings, claims, address);
  }

  /**
   * Has a session of the provider count as stepped up; answers until when, in milliseconds.
   * @throws as `callback` does for what came back, `sso_failed` for another account too; `reauthentication_missing`
   * where the provider did not ask for a sign-in anew, or does not say when there was one.
   */
  async finishStepUp(principal: Principal, form: SsoCallback, address: string): Promise<number> {
    const { accounts, clock, sessions } = this.#options;
    const person = personOf(principal, 'sso');
    const { claims, settings, ticket } = await this.#finish('step_up', person.sid, form);
    const signedInAt = (claims.auth_time ?? 0) * 1_000;
    if (signedInAt < ticket.startedAt - CLOCK_SKEW_MILLIS) throw new Refusal('reauthentication_missing');
    return await accounts.change((draft) => {
      const account = { issuer: settings.issuer, subject: claims.sub };
      if (usernameBoundTo(draft, account) !== person.username) throw new Refusal('sso_failed');
      return markStepUp(draft, { sessions, principal: person, factor: 'sso', address, now: clock.now() });
    });
  }

  /**
   * Binds the account that came back to who is signed in.
   * @throws as `callback` does for what came back, and `sso_identity_taken`.
   */
  async finishBinding(principal: Principal, form: SsoCallback, address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const person = personOf(principal, 'password');
    const { claims, settings } = await this.#finish('bind', person.sid, form);
    const account = { issuer: settings.issuer, subject: claims.sub };
    const binding = { by: 'person', actor: actorOf(person), address, now: clock.now() } as const;
    await accounts.change((draft) => bindIdentity(draft, person.username, account, binding));
  }

  /**
   * Binds somebody's account on an administrator's word; an owner's nobody binds but its owner (CRD-13), and that of
   * another who has a role in the console, which it opens in their name, an owner alone.
   * @throws Refusal `owner_binds_own_account`, `right_missing`, `person_not_found`, `person_left`, `sso_identity_taken`, `sso_not_set`.
   */
  async assign(principal: Principal, username: string, subject: string, address: string): Promise<void> {
    const { accounts, clock, sso } = this.#options;
    const issuer = sso.settings()?.issuer;
    if (issuer === undefined) throw new Refusal('sso_not_set');
    await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new Refusal('person_not_found');
      if (person.role === 'owner') throw new Refusal('owner_binds_own_account');
      if (person.state === 'left') throw new Refusal('person_left');
      const isOwn = principal.kind === 'person' && principal.username === username;
      if (principal.role !== 'owner' && !isOwn && holdsConsoleRole(draft, username)) throw new Refusal('right_missing');
      const binding = { by: 'administrator', actor: actorOf(principal), address, now: clock.now() } as const;
      bindIdentity(draft, username, { issuer, subject }, binding);
      endProviderSessions(draft, username);
    });
  }

  /**
   * Takes away what binds a username, and ends its sessions of the provider.
   * @throws Refusal `right_missing` for anybody but an owner, `sso_identity_not_found`; `sso_in_use` for the owner by
   * whom alone somebody gets in while passwords do not sign in.
   */
  async forget(principal: Principal, username: string, address: string): Promise<void> {
    const { accounts, clock, signIn, sso } = this.#options;
    if (principal.role !== 'owner') throw new Refusal('right_missing');
    const settings = sso.settings();
    await accounts.change((draft) => {
      const isAtProvider = signIn.signInMode() === 'identity' || signIn.platformToken() === 'identity';
      const isLast = settings !== undefined && ownerAtProvider(draft, settings) === username;
      if (isAtProvider && isLast) throw new Refusal('sso_in_use');
      const identity = forgetIdentity(draft, username);
      if (identity === undefined) throw new Refusal('sso_identity_not_found');
      endProviderSessions(draft, username);
      draft.audit(clock.now(), {
        event: 'sso.identity_forgotten',
        actor: actorOf(principal),
        address,
        subject: `user:${username}`,
        details: { issuer: identity.issuer },
      });
    });
  }

  /** Usernames that belong to an account of a provider, in their order behind `after`. */
  identities(after: string | undefined, limit: number): Entry<IdentityRecord>[] {
    const range = after === undefined ? { limit } : { after, limit };
    return this.#options.accounts.documents(consoleIdentities, range);
  }

  async #start(purpose: Purpose, sid: string | null, more: Readonly<Record<string, string>> = {}): Promise<SsoStart> {
    const { settings, configuration } = await this.#connect();
    const ticket = this.#tickets.make(purpose, sid);
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: settings.redirect_uri,
      scope: settings.scope,
      state: ticket.state,
      nonce: ticket.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(ticket.verifier),
      code_challenge_method: 'S256',
      ...more,
    });
    return {
      redirect_url: url.href,
      ticket: this.#tickets.seal(ticket),
      expires_at: formatInstant(ticket.startedAt + START_MILLIS),
    };
  }

  /** What the provider says to a code that came back for that purpose. @throws Refusal as `callback` does. */
  async #finish(purpose: Purpose, sid: string | null, form: SsoCallback) {
    const ticket = this.#tickets.open(form.ticket, purpose, sid);
    // Judged before the provider is asked: a made-up callback costs nothing.
    if (ticket === undefined || ticket.state !== form.state) throw new Refusal('sso_failed');
    if (this.#callbacks >= CALLBACKS_MAX) throw new Refusal('busy');
    this.#callbacks += 1;
    try {
      const { settings, configuration } = await this.#connect();
      return { settings, ticket, claims: await this.#exchange(settings, configuration, form, ticket) };
    } finally {
      this.#callbacks -= 1;
    }
  }

  async #connect(): Promise<{ settings: SsoSettings; configuration: oidc.Configuration }> {
    const settings = this.#options.sso.settings();
    if (settings === undefined) throw new Refusal('sso_not_set');
    const configuration = await this.#provider.connect(settings, this.#options.sso.clientSecret());
    return { settings, configuration };
  }

  async #exchange(
    settings: SsoSettings,
    configuration: oidc.Configuration,
    form: SsoCallback,
    ticket: Ticket,
  ): Promise<ProviderClaims> {
    return await this.#provider.exchange(configuration, {
      ...form,
      redirectUri: settings.redirect_uri,
      expected: ticket,
      isComplete: (claims) => areComplete(settings, claims),
    });
  }

  async #enter(settings: SsoSettings, claims: ProviderClaims, address: string): Promise<SignedIn> {
    const { accounts, clock, sessions } = this.#options;
    return await accounts.change((draft) => {
      const now = clock.now();
      const account = { issuer: settings.issuer, subject: claims.sub };
      const projected = projectedRole(settings, claims);
      const username = usernameBoundTo(draft, account) ?? this.#bind(draft, settings, claims, address);
      const person = draft.person(username);
      if (person !== undefined && person.state !== 'active') throw new Refusal('sso_failed');
      const { role, isProjected } = this.#role(draft, username, projected);
      const identity = draft.document(consoleIdentities, username);
      draft.putDocument(consoleIdentities, username, { ...account, ...identity, signedInAt: formatInstant(now) });
      if (projected === 'owner') noteOwnerSignIn(draft, username, settings);
      const open = { signIn: 'sso', isFull: true, address, now, ...(isProjected ? { role } : {}) } as const;
      const opened = sessions.open(draft, username, open);
      draft.audit(now, {
        event: 'console.signed_in',
        actor: `user:${username}`,
        address,
        subject: null,
        details: { sign_in: 'sso', role, role_from: isProjected ? 'identity' : 'local', session: opened.sid },
      });
      return { ...opened, username, role, signIn: 'sso' };
    });
  }

  /**
   * Binds an account at its first sign-in, where that may be: to the one person, no owner, with the address that the
   * provider has verified, if owners switched that on; or to a name that is nobody's here.
   * @throws Refusal `sso_not_bound`: one answer, whether the name is somebody's or not.
   */
  #bind(draft: AccountsDraft, settings: SsoSettings, claims: ProviderClaims, address: string): string {
    const account = { issuer: settings.issuer, subject: claims.sub };
    const of = (username: string) => ({ actor: `user:${username}`, address, now: this.#options.clock.now() });
    const email = verifiedEmail(settings, claims);
    const holders = email === undefined ? [] : this.#options.holdersOf(draft, email);
    const [holder] = holders;
    if (holders.length === 1 && holder !== undefined && mayBindByEmail(draft, holder)) {
      bindIdentity(draft, holder, account, { by: 'email', ...of(holder) });
      return holder;
    }
    const username = usernameOf(settings, claims);
    const isNobodys = username !== undefined && !isReservedUsername(username) && draft.person(username) === undefined;
    if (!isNobodys || projectedRole(settings, claims) === undefined) throw new Refusal('sso_not_bound');
    const known = draft.document(consoleIdentities, username);
    // The name came to belong to another account of the provider: an owner decides whether that is the same person.
    if (known?.issuer === account.issuer && known.subject !== account.subject) throw new Refusal('sso_not_bound');
    bindIdentity(draft, username, account, { by: 'first_sign_in', ...of(username) });
    return username;
  }

  /** With sign-in at identity its word alone counts; otherwise the higher of its role and the one given here. */
  #role(draft: AccountsDraft, username: string, projected: PersonConsoleRole | undefined) {
    const local = this.#options.signIn.signInMode() === 'identity' ? undefined : consoleRoleOf(draft, username);
    const role = highestRole([projected, local].filter((each) => each !== undefined));
    if (role === undefined) throw new Refusal('right_missing');
    return { role, isProjected: role !== local };
  }
}

function mayBindByEmail(draft: AccountsDraft, username: string): boolean {
  const person = draft.person(username);
  return person?.state === 'active' && person.role !== 'owner' && !isBound(draft, username);
}

/** @throws Refusal `right_missing` for whoever is not a person signed in that way. */
function personOf(principal: Principal, signIn: ConsolePerson['signIn']): ConsolePerson {
  if (principal.kind !== 'person' || principal.signIn !== signIn) throw new Refusal('right_missing');
  return principal;
}
