/** A provider ends sessions that it opened (OpenID Connect Back-Channel Logout 1.0). */
import { createRemoteJWKSet, customFetch, jwtVerify, errors, type JWTPayload } from 'jose';
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { makeFetch } from '#src/outgoing/fetch.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { SessionAnnouncer } from '../credentials/revocations.ts';
import { endSessionsOf } from './person-identities.ts';
import type { PersonProvider, PersonProviders } from './person-providers.ts';
import { ANSWER_BYTES_MAX, PROVIDER_SECONDS, ProviderConnection } from './sso-provider.ts';

const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** Algorithms by a key pair: with one that anybody can use, or none, a public key would sign. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/** How old a token may be, and how far the clocks may be apart (section 2.6 leaves it open). */
const AGE_SECONDS_MAX = 300;
const CLOCK_SKEW_SECONDS = 30;

/** Tokens that were taken and could come again. Beyond it: `logout_token_invalid`, and the provider tries again. */
export const TOKENS_KEPT_MAX = 10_000;

/** The longest id of a token that is kept. */
const ID_LENGTH_MAX = 255;

export interface BackChannelLogoutOptions {
  readonly accounts: Accounts;
  readonly allowPrivateTargets: PrivateTargets;
  readonly announcer: Pick<SessionAnnouncer, 'revoked'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly providers: PersonProviders;
  /** Told of an account, or a session of one, that signed out before its code was exchanged. */
  readonly signedOut: (issuer: string, meant: ProviderSession) => void;
}

/** What a logout token names. */
export interface ProviderSession {
  readonly subject: string | undefined;
  readonly providerSid: string | undefined;
}

type Keys = ReturnType<typeof createRemoteJWKSet>;

export class BackChannelLogout {
  readonly #options: BackChannelLogoutOptions;
  readonly #connections = new Map<string, ProviderConnection>();
  /** URL of keys → the keys, which the library asks for again when a token names another, every half minute at most. */
  readonly #keys = new Map<string, Keys>();
  /** Issuer and id of a token that was taken → until when it would be taken, in milliseconds. */
  readonly #taken = new Map<string, number>();

  constructor(options: BackChannelLogoutOptions) {
    this.#options = options;
  }

  /**
   * Ends the sessions that a token names: those of an account, or those of one session at the provider. They are over,
   * and their sockets closed, when this resolves; a token that names nobody here is as good (section 2.7).
   * @throws Refusal `sso_provider_not_found`, `logout_token_invalid`, `sso_provider_unavailable`, `encryption_locked`.
   */
  async take(id: string, token: string): Promise<void> {
    const { accounts, announcer, clock, providers, signedOut } = this.#options;
    const provider = providers.read(id);
    const { iss: issuer, jti, sid, sub } = await this.#verify(id, provider, token);
    const isWhole = issuer !== undefined && typeof jti === 'string' && jti.length <= ID_LENGTH_MAX;
    const isNamed = typeof sub === 'string' || typeof sid === 'string';
    if (!isWhole || !isNamed) throw new Refusal('logout_token_invalid');
    this.#takeOnce(`${issuer}\n${jti}`);
    const meant = { subject: sub, providerSid: typeof sid === 'string' ? sid : undefined };
    signedOut(issuer, meant);
    const ended = await accounts.change(
      (draft) => {
        const found = endSessionsOf(draft, issuer, meant);
        if (found === undefined || found.ended.length === 0) return [];
        const details = { provider: id, sessions_ended: found.ended.length };
        const subject = `user:${found.username}`;
        draft.audit(clock.now(), { event: 'sso.logged_out', actor: 'server', address: null, subject, details });
        return found.ended;
      },
      { isUrgent: true },
    );
    if (ended.length > 0) await announcer.revoked(ended);
  }

  async #verify(id: string, provider: PersonProvider, token: string): Promise<JWTPayload & { sid?: unknown }> {
    const { clock, log } = this.#options;
    const keys = await this.#keysOf(id, provider);
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer: provider.issuer,
        audience: provider.client_id,
        maxTokenAge: AGE_SECONDS_MAX,
        clockTolerance: CLOCK_SKEW_SECONDS,
        currentDate: new Date(clock.now()),
        requiredClaims: ['iat', 'exp', 'jti', 'events'],
      });
      const { events, nonce } = payload as { events?: Readonly<Record<string, unknown>>; nonce?: unknown };
      const event = typeof events === 'object' && events !== null ? events[LOGOUT_EVENT] : undefined;
      const isEvent = typeof event === 'object' && event !== null && !Array.isArray(event);
      // An ID token has a nonce and no event: it is no logout token (section 2.6, steps 6 to 8).
      const { typ = 'JWT' } = protectedHeader;
      const isTyped = ['jwt', 'logout+jwt', 'application/logout+jwt'].includes(typ.toLowerCase());
      if (!isEvent || nonce !== undefined || !isTyped) throw new Refusal('logout_token_invalid');
      return payload;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const isUnreachable = !(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout;
      const code = isUnreachable ? 'sso_provider_unavailable' : 'logout_token_invalid';
      log.warn('a logout token was refused', { code, provider: id, reason: (error as { code?: string }).code ?? null });
      throw new Refusal(code);
    }
  }

  async #keysOf(id: string, provider: PersonProvider): Promise<Keys> {
    const { allowPrivateTargets, providers } = this.#options;
    const known = this.#connections.get(id);
    const connection = known ?? new ProviderConnection({ ...this.#options, seconds: PROVIDER_SECONDS });
    this.#connections.set(id, connection);
    const configuration = await connection.connect(provider, providers.clientSecret(id));
    const url = configuration.serverMetadata().jwks_uri ?? '';
    const name = `${id} ${url}`;
    const keys = this.#keys.get(name);
    if (keys !== undefined) return keys;
    const bounds = { allowPrivateTargets, bytesMax: ANSWER_BYTES_MAX, millis: PROVIDER_SECONDS * 1_000 };
    const fetched = createRemoteJWKSet(new URL(url), { [customFetch]: makeFetch(bounds) });
    for (const kept of this.#keys.keys()) if (kept.startsWith(`${id} `)) this.#keys.delete(kept);
    this.#keys.set(name, fetched);
    return fetched;
  }

  /** @throws Refusal `logout_token_invalid` for a token that came before. */
  #takeOnce(token: string): void {
    const now = this.#options.clock.now();
    if (this.#taken.size >= TOKENS_KEPT_MAX) {
      for (const [taken, until] of this.#taken) if (until <= now) this.#taken.delete(taken);
    }
    const isFull = this.#taken.size >= TOKENS_KEPT_MAX;
    if (isFull || (this.#taken.get(token) ?? 0) > now) throw new Refusal('logout_token_invalid');
    this.#taken.set(token, now + (AGE_SECONDS_MAX + 2 * CLOCK_SKEW_SECONDS) * 1_000);
  }
}
