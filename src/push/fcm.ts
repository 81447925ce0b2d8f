/** Firebase Cloud Messaging, HTTP v1: a service account's OAuth token, and data messages that the app shows itself. */
import { sign } from 'node:crypto';
import type { Agent } from 'node:https';
import { unixSeconds } from '#src/base/clock.ts';
import { makeAgent, reasonOf, sendOutgoing, type OutgoingReply } from '#src/outgoing/request.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { PushAddress, PushCredentials } from '#src/protocol/push/push.ts';
import { readRetryAfter } from '#src/outgoing/retry-after.ts';
import {
  isTemporary,
  PUSH_ATTEMPT_MILLIS,
  PUSH_REPLY_BYTES_MAX,
  PUSH_SOCKETS_MAX,
  tokenContent,
  unreachable,
  type OutgoingPush,
  type PushAnswer,
  type PushService,
} from './push-service.ts';

type FcmAddress = Extract<PushAddress, { provider: 'fcm' }>;
type FcmCredentials = NonNullable<PushCredentials['fcm']>;

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
/** Google gives tokens for an hour; this much before its end the next one is fetched. */
const EARLY_SECONDS = 120;
const ASSERTION_SECONDS = 3_600;

export interface FcmOptions {
  readonly credentials: FcmCredentials;
  readonly allowPrivateTargets: PrivateTargets;
  readonly now: () => number;
}

export class Fcm implements PushService {
  readonly #options: FcmOptions;
  readonly #agent: Agent;
  #token: { readonly text: string; readonly until: number } | undefined;
  #fetching: Promise<string> | undefined;

  constructor(options: FcmOptions) {
    this.#options = options;
    this.#agent = makeAgent(options.allowPrivateTargets, PUSH_SOCKETS_MAX);
  }

  async send(push: OutgoingPush): Promise<PushAnswer> {
    const { gateway, projectId } = this.#options.credentials;
    try {
      const token = await this.#accessToken();
      const reply = await this.#post(
        `${gateway}/v1/projects/${projectId}/messages:send`,
        { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        JSON.stringify({ message: messageOf(push) }),
      );
      if (reply.status === 401) this.#token = undefined;
      return answerOf(reply, this.#options.now());
    } catch (error) {
      return unreachable(error instanceof TokenRefused ? 'oauth' : reasonOf(error));
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #accessToken(): Promise<string> {
    const now = unixSeconds(this.#options.now());
    if (this.#token !== undefined && this.#token.until > now) return this.#token.text;
    // Pushes that are sent together share one.
    this.#fetching ??= this.#fetchToken(now).finally(() => {
      this.#fetching = undefined;
    });
    return await this.#fetching;
  }

  async #fetchToken(now: number): Promise<string> {
    const { clientEmail, privateKey, tokenUrl } = this.#options.credentials;
    const claims = { iss: clientEmail, scope: SCOPE, aud: tokenUrl, iat: now, exp: now + ASSERTION_SECONDS };
    const content = tokenContent({ alg: 'RS256', typ: 'JWT' }, claims);
    const assertion = `${content}.${sign('sha256', Buffer.from(content), privateKey).toString('base64url')}`;
    const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    const reply = await this.#post(tokenUrl, { 'content-type': 'application/x-www-form-urlencoded' }, form.toString());
    const { access_token: text, expires_in: seconds = 0 } = readJson(reply.text) as {
      access_token?: string;
      expires_in?: number;
    };
    if (reply.status !== 200 || typeof text !== 'string') throw new TokenRefused();
    this.#token = { text, until: now + seconds - EARLY_SECONDS };
    return text;
  }

  async #post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<OutgoingReply> {
    const { allowPrivateTargets } = this.#options;
    // An access token has some 1,000 characters, and may have more.
    const bytesMax = 4 * PUSH_REPLY_BYTES_MAX;
    const bounds = { millis: PUSH_ATTEMPT_MILLIS, bytesMax, allowPrivateTargets, agent: this.#agent };
    return await sendOutgoing({ method: 'POST', url, headers, body, ...bounds });
  }
}

/** The service account gets no access token. */
class TokenRefused extends Error {}

/** Values of a data message are texts. */
function messageOf({ address, badge, collapseId, data, kind, text, ttlSeconds }: OutgoingPush): object {
  const said = { ...data, ...(badge === undefined ? {} : { badge }), ...(text === undefined ? {} : { text }) };
  return {
    token: (address as FcmAddress).token,
    data: Object.fromEntries(Object.entries({ kind, ...said }).map(([name, value]) => [name, String(value)])),
    android: { collapse_key: collapseId, priority: 'high', ttl: `${ttlSeconds}s` },
  };
}

function answerOf({ headers, status, text }: OutgoingReply, now: number): PushAnswer {
  if (status === 200) return { result: 'sent' };
  const { error } = readJson(text) as { error?: { status?: string; details?: { errorCode?: string }[] } };
  const code =
    error?.details?.find(({ errorCode }) => errorCode !== undefined)?.errorCode ?? error?.status ?? String(status);
  if (code === 'UNREGISTERED' || status === 404) return { result: 'gone' };
  const retryMillis = readRetryAfter(headers['retry-after'], now);
  if (isTemporary(status)) return { result: 'failed', reason: code, isDown: status >= 500, retryMillis };
  // The credentials are not right, or no longer: nothing is wrong with the push.
  if (status === 401 || status === 403) return { result: 'failed', reason: code, isDown: true, retryMillis };
  return { result: 'refused', reason: code };
}

function readJson(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
