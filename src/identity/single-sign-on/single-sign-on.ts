/**
 * Sign-in at an identity provider: OpenID Connect with the authorization code flow, PKCE, state and nonce (TFA-02). The
 * provider supplies the second factor, so the session is full at once.
 *
 *     start ──► redirect URL and a ticket ──► the provider's page ──► the console's page with code and state
 *                                                                       └──► callback with code, state and ticket
 *
 * Nothing is kept for a start: what the callback needs is sealed in the ticket, which its browser keeps and the
 * provider never sees. So nobody can push out the start of somebody else, and a code that is slipped to a browser
 * with another ticket opens nothing.
 */
import * as oidc from 'openid-client';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { PersonConsoleRole } from '../console/permissions.ts';
import { actorOf, type Principal } from '../console/principal.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection, type Entry } from '#storage/accounts/collections.ts';
import { makeKey, makeKeyId, seal, unseal } from '#storage/vault/sealing.ts';
import { consoleRoleOf, highestRole } from '../console/console-role-record.ts';
import type { ConsoleSessions } from '../console/console-sessions.ts';
import type { SignedIn } from '../console/console-sign-in.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { SignInSettings } from '../sign-in-switches.ts';
import { PROVIDER_SECONDS, ProviderConnection } from './sso-provider.ts';
import {
  areComplete,
  projectedRole,
  usernameOf,
  type Claims,
  type SsoSettings,
  type SsoSettingsReader,
} from './sso-settings.ts';

/** How long somebody may take on the provider's page. */
export const START_MILLIS = 10 * 60_000;

/**
 * Callbacks under way at once: each waits for the provider, and anybody can ask for one. More are answered `busy`.
 */
export const CALLBACKS_MAX = 16;

/** What a ticket is sealed as, so that nothing else that is sealed passes for one. */
const TICKET = 'sso-ticket';

/** Whom a username belongs to at the provider: decided at the first sign-in. */
export interface IdentityRecord {
  readonly issuer: string;
  readonly subject: string;
  /** RFC 3339. Identities that signed in before it was kept have none until their next sign-in. */
  readonly signedInAt?: string;
}

const consoleIdentities = defineCollection<IdentityRecord>('console_identities', { version: 1 });

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

interface Ticket {
  readonly verifier: string;
  readonly nonce: string;
  readonly state: string;
  /** Milliseconds. */
  readonly expiresAt: number;
}

export interface SingleSignOnOptions {
  readonly accounts: Accounts;
  readonly sessions: ConsoleSessions;
  readonly sso: SsoSettingsReader;
  readonly signIn: SignInSettings;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** How long a request to the provider may take. */
  readonly providerSeconds?: number | undefined;
}

export class SingleSignOn {
  readonly #options: SingleSignOnOptions;
  readonly #provider: ProviderConnection;
  /** Made at start: a ticket does not outlive the process that gave it. */
  readonly #key = makeKey();
  readonly #keyId = makeKeyId();
  #callbacks = 0;

  constructor(options: SingleSignOnOptions) {
    this.#options = options;
    this.#provider = new ProviderConnection(options.clock, options.log, options.providerSeconds ?? PROVIDER_SECONDS);
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
    const { settings, configuration } = await this.#connect();
    const ticket: Ticket = {
      verifier: oidc.randomPKCECodeVerifier(),
      nonce: oidc.randomNonce(),
      state: oidc.randomState(),
      expiresAt: this.#options.clock.now() + START_MILLIS,
    };
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: settings.redirect_uri,
      scope: settings.scope,
      state: ticket.state,
      nonce: ticket.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(ticket.verifier),
      code_challenge_method: 'S256',
    });
    const sealed = seal(this.#key, this.#keyId, TICKET, Buffer.from(JSON.stringify(ticket)));
    return {
      redirect_url: url.href,
      ticket: sealed.toString('base64url'),
      expires_at: formatInstant(ticket.expiresAt),
    };
  }

  /**
   * Exchanges the provider's code for a full console session.
   * @throws Refusal `sso_failed` for a ticket, state, code or answer that is not right, and for a person who is
   * blocked here or whose name belongs to somebody else; `right_missing` for somebody without a console role;
   * `sso_not_set`, `sso_provider_unavailable`, `busy`.
   */
  async callback(form: SsoCallback, address: string): Promise<SignedIn> {
    const ticket = this.#open(form.ticket);
    // Judged before the provider is asked: a made-up callback costs nothing.
    if (ticket === undefined || ticket.state !== form.state) throw new Refusal('sso_failed');
    if (this.#callbacks >= CALLBACKS_MAX) throw new Refusal('busy');
    this.#callbacks += 1;
    try {
      const { settings, configuration } = await this.#connect();
      const claims = await this.#exchange(settings, configuration, form, ticket);
      return await this.#enter(settings, claims, address);
    } finally {
      this.#callbacks -= 1;
    }
  }

  /**
   * Lets a username belong to another account of the provider, from its next sign-in on.
   * @throws Refusal `right_missing` for anybody but an owner, `sso_identity_not_found`.
   */
  async forget(principal: Principal, username: string, address: string): Promise<void> {
    const { accounts, clock } = this.#options;
    if (principal.role !== 'owner') throw new Refusal('right_missing');
    await accounts.change((draft) => {
      const identity = draft.document(consoleIdentities, username);
      if (identity === undefined) throw new Refusal('sso_identity_not_found');
      draft.removeDocument(consoleIdentities, username);
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

  async #connect(): Promise<{ settings: SsoSettings; configuration: oidc.Configuration }> {
    const settings = this.#options.sso.settings();
    if (settings === undefined) throw new Refusal('sso_not_set');
    const configuration = await this.#provider.connect(settings, this.#options.sso.clientSecret());
    return { settings, configuration };
  }

  #open(text: string): Ticket | undefined {
    let ticket: Ticket;
    try {
      const sealed = Buffer.from(text, 'base64url');
      ticket = JSON.parse(Buffer.from(unseal(this.#key, TICKET, sealed)).toString('utf8')) as Ticket;
    } catch {
      // Made up, changed, or given by an earlier process.
      return undefined;
    }
    return this.#options.clock.now() < ticket.expiresAt ? ticket : undefined;
  }

  async #exchange(
    settings: SsoSettings,
    configuration: oidc.Configuration,
    form: SsoCallback,
    ticket: Ticket,
  ): Promise<Claims & { sub: string }> {
    const url = new URL(settings.redirect_uri);
    url.searchParams.set('code', form.code);
    url.searchParams.set('state', form.state);
    if (form.iss !== undefined) url.searchParams.set('iss', form.iss);
    return await this.#provider.ask(async () => {
      const tokens = await oidc.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: ticket.verifier,
        expectedState: ticket.state,
        expectedNonce: ticket.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('The provider gave no ID token.');
      if (areComplete(settings, claims) || configuration.serverMetadata().userinfo_endpoint === undefined)
        return claims;
      // Many providers put groups and names into the user info only.
      return { ...claims, ...(await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub)) };
    });
  }

  async #enter(settings: SsoSettings, claims: Claims & { sub: string }, address: string): Promise<SignedIn> {
    const { accounts, clock, sessions } = this.#options;
    const username = usernameOf(settings, claims);
    if (username === undefined) throw new Refusal('sso_failed');
    return await accounts.change((draft) => {
      const now = clock.now();
      const person = draft.person(username);
      if (person !== undefined && person.state !== 'active') throw new Refusal('sso_failed');
      bind(draft, username, { issuer: settings.issuer, subject: claims.sub, signedInAt: formatInstant(now) });
      const { role, isProjected } = this.#role(draft, username, projectedRole(settings, claims));
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

  /** With sign-in at identity its word alone counts; otherwise the higher of its role and the one given here. */
  #role(draft: AccountsDraft, username: string, projected: PersonConsoleRole | undefined) {
    const local = this.#options.signIn.signInMode() === 'identity' ? undefined : consoleRoleOf(draft, username);
    const role = highestRole([projected, local].filter((each) => each !== undefined));
    if (role === undefined) throw new Refusal('right_missing');
    return { role, isProjected: role !== local };
  }
}

/**
 * A name at the provider may come to belong to somebody else; their account has another subject. So a username stays
 * with the subject it was first seen with, until an owner forgets it. Another issuer is a decision of an owner.
 */
function bind(draft: AccountsDraft, username: string, identity: IdentityRecord): void {
  const known = draft.document(consoleIdentities, username);
  if (known?.issuer === identity.issuer && known.subject !== identity.subject) throw new Refusal('sso_failed');
  draft.putDocument(consoleIdentities, username, identity);
}
