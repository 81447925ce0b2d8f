/** The connection to the identity provider: its metadata, found once and kept, and what its failures mean to a caller. */
import * as oidc from 'openid-client';
import { hashSecret } from '../credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { makeFetch, type FetchBounds } from '#src/outgoing/fetch.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { isSecureUrl, type SsoSettings } from './sso-settings.ts';

/** How long one request to the provider may take, in seconds. Beyond it: `sso_provider_unavailable`. */
export const PROVIDER_SECONDS = 5;

/** What is read of one answer of the provider: keys of a large one have some 20 KiB. [the rest is let go] */
const ANSWER_BYTES_MAX = 1024 * 1024;

/** How long its metadata is good for: providers change endpoints and keys rarely, and announce it. */
export const METADATA_MILLIS = 3_600_000;

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
  async connect(settings: SsoSettings, clientSecret: string | undefined): Promise<oidc.Configuration> {
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

  async #discover(settings: SsoSettings, clientSecret: string | undefined): Promise<oidc.Configuration> {
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
  settings: SsoSettings,
  clientSecret: string | undefined,
): oidc.Configuration {
  const metadata = configuration.serverMetadata();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const secret = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
  const authentication = clientSecret === undefined ? oidc.None() : secret(clientSecret);
  const made = new oidc.Configuration(metadata, settings.client_id, clientSecret, authentication);
  if (new URL(settings.issuer).protocol === 'http:') allowLoopback(made);
  return made;
}

/** Nothing came back: the platform's fetch says so by a TypeError, the library by a code when it waited too long. */
function isUnreachable(error: unknown): boolean {
  if (error instanceof oidc.ClientError) return error.code === 'OAUTH_TIMEOUT' || error.code === 'OAUTH_ABORT';
  return error instanceof TypeError && error.message === 'fetch failed';
}
