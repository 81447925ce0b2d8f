/** The connection to the identity provider: its metadata, found once and kept, and what its failures mean to a caller. */
import * as oidc from 'openid-client';
import { hashSecret } from '../credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { makeFetch, type FetchBounds } from '#src/outgoing/fetch.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { isSecureUrl, type Claims, type SsoSettings } from './sso-settings.ts';

/** How long one request to the provider may take, in seconds. Beyond it: `sso_provider_unavailable`. */
export const PROVIDER_SECONDS = 5;

/** What is read of one answer of the provider: keys of a large one have some 20 KiB. [the rest is let go] */
export const ANSWER_BYTES_MAX = 1024 * 1024;

/** Characters of a subject (OpenID Connect Core, section 2). Longer, or with none, it names nobody. [sso_failed] */
const SUBJECT_LENGTH_MAX = 255;

/** How long its metadata is good for: providers change endpoints and keys rarely, and announce it. */
export const METADATA_MILLIS = 3_600_000;

/** The client that this server is at a provider. */
export type ProviderClient = Pick<SsoSettings, 'client_id' | 'issuer'>;

/** What the provider says of somebody, with the account's subject and when they signed in there, in Unix seconds. */
export type ProviderClaims = Claims & {
  readonly sub: string;
  readonly auth_time?: number | undefined;
  /** The session at the provider, where it tells it: what it names when it ends it. */
  readonly sid?: string;
};

/** What a browser came back with, and what it was sent with. */
export interface Return {
  /** The registered address that it came back to. */
  readonly redirectUri: string;
  readonly code: string;
  readonly state: string;
  /** The issuer, where the provider states it in its answer (RFC 9207). */
  readonly iss?: string | undefined;
  readonly expected: { readonly verifier: string; readonly nonce: string; readonly state: string };
  /** Whether these claims are all that is wanted; if not, the user info is asked. */
  readonly isComplete: (claims: Claims) => boolean;
}

interface Connection {
  /** Of all settings it was made from. */
  readonly key: string;
  /** Milliseconds. */
  readonly until: number;
  readonly configuration: Promise<oidc.Configuration>;
}

export interface ProviderConnectionOptions {
  /** Whether the provider may be at a private address: whoever starts a sign-in makes the server connect to it. */
  readonly allowPrivateTargets: PrivateTargets;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** How long a request may take. */
  readonly seconds: number;
}

export class ProviderConnection {
  readonly #clock: Clock;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #seconds: number;
  readonly #fetch: oidc.CustomFetch;
  #connection: Connection | undefined;

  constructor({ allowPrivateTargets, clock, log, seconds }: ProviderConnectionOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#seconds = seconds;
    const bounds: FetchBounds = { allowPrivateTargets, bytesMax: ANSWER_BYTES_MAX, millis: seconds * 1_000 };
    this.#fetch = makeFetch(bounds) as oidc.CustomFetch;
  }

  /** The provider as it describes itself. @throws Refusal `sso_provider_unavailable`. */
  async connect(settings: ProviderClient, clientSecret: string | undefined): Promise<oidc.Configuration> {
    const key = hashSecret(JSON.stringify([settings.issuer, settings.client_id, clientSecret]));
    const now = this.#clock.now();
    const kept = this.#connection;
    if (kept !== undefined && kept.key === key && now < kept.until) return await kept.configuration;
    // Kept before it is there: those who come meanwhile wait for the same one.
    const connection = { key, until: now + METADATA_MILLIS, configuration: this.#discover(settings, clientSecret) };
    this.#connection = connection;
    try {
      return await connection.configuration;
    } catch (error) {
      if (this.#connection === connection) this.#connection = undefined;
      throw error;
    }
  }

  /** Does something with the provider. @throws Refusal `sso_failed`, `sso_provider_unavailable`. */
  async ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#refusalOf(error, isUnreachable(error) ? 'sso_provider_unavailable' : 'sso_failed');
    }
  }

  /**
   * Exchanges a code for what the provider says of who signed in: its ID token, whose signature is verified by the
   * provider's keys, and the user info for what is not in it.
   * @throws Refusal `sso_failed`, `sso_provider_unavailable`.
   */
  async exchange(configuration: oidc.Configuration, back: Return): Promise<ProviderClaims> {
    const { code, expected, isComplete, iss, redirectUri, state } = back;
    const url = new URL(redirectUri);
    url.searchParams.set('code', code);
    url.searchParams.set('state', state);
    if (iss !== undefined) url.searchParams.set('iss', iss);
    return await this.ask(async () => {
      const tokens = await oidc.authorizationCodeGrant(configuration, url, {
        pkceCodeVerifier: expected.verifier,
        expectedState: expected.state,
        expectedNonce: expected.nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('The provider gave no ID token.');
      // With an empty one everybody of such a provider would be one account.
      if (claims.sub === '' || claims.sub.length > SUBJECT_LENGTH_MAX) throw new Error('The ID token names nobody.');
      const { auth_time: authTime, sid } = claims;
      const own = { ...claims, sid: typeof sid === 'string' ? sid : undefined } as ProviderClaims;
      if (isComplete(claims) || configuration.serverMetadata().userinfo_endpoint === undefined) return own;
      // Many providers put groups and names into the user info only. When and where somebody signed in, the token alone says.
      const more = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return { ...own, ...more, auth_time: authTime, sid: own.sid } as ProviderClaims;
    });
  }

  async #discover(settings: ProviderClient, clientSecret: string | undefined): Promise<oidc.Configuration> {
    try {
      const issuer = new URL(settings.issuer);
      const configuration = await oidc.discovery(issuer, settings.client_id, clientSecret, undefined, {
        timeout: this.#seconds,
        [oidc.customFetch]: this.#fetch,
        ...(issuer.protocol === 'http:' && isSecureUrl(settings.issuer) ? { execute: [allowLoopback] } : {}),
      });
      const metadata = configuration.serverMetadata();
      const endpoints = [metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri];
      if (!endpoints.every((url) => url !== undefined && isSecureUrl(url))) {
        throw new Error('An endpoint of the provider is missing or not on https.');
      }
      const made = authenticated(configuration, settings, clientSecret);
      made.timeout = this.#seconds;
      made[oidc.customFetch] = this.#fetch;
      return made;
    } catch (error) {
      throw this.#refusalOf(error, 'sso_provider_unavailable');
    }
  }

  /** The operator reads why; the caller does not. Answers of the provider may hold tokens and are left out. */
  #refusalOf(error: unknown, code: 'sso_failed' | 'sso_provider_unavailable'): Refusal {
    const { cause, message, code: own } = error as { cause?: { code?: string }; message?: string; code?: string };
    const reason = own ?? cause?.code ?? null;
    this.#log.warn('signing in at the identity provider failed', { code, reason, message });
    const refusal = new Refusal(code);
    refusal.cause = error;
    return refusal;
  }
}

/** The library marks it deprecated so that nobody forgets it: it is for a provider on this machine only. */
// oxlint-disable-next-line typescript/no-deprecated
const allowLoopback: (configuration: oidc.Configuration) => void = oidc.allowInsecureRequests;

/** The client's secret goes into the header, which is the standard's default, or the body where only that is taken. */
function authenticated(
  configuration: oidc.Configuration,
  settings: ProviderClient,
  clientSecret: string | undefined,
): oidc.Configuration {
  const metadata = configuration.serverMetadata();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const secret = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
  const authentication = clientSecret === undefined ? oidc.None() : secret(clientSecret);
  const made = new oidc.Configuration(metadata, settings.client_id, clientSecret, authentication);
  if (new URL(settings.issuer).protocol === 'http:') allowLoopback(made);
  // The library trusts the connection that an ID token came over; who stands in between is found out by its signature.
  oidc.enableNonRepudiationChecks(made);
  return made;
}

/** Nothing came back: the platform's fetch says so by a TypeError, the library by a code when it waited too long. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof oidc.ClientError) return error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_ABORT';
  return error instanceof TypeError && error.message === 'fetch failed';
}
