/** APNs over HTTP/2 with provider tokens (ES256): one connection for all pushes, and a token renewed within the hour. */
import { sign } from 'node:crypto';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { unixSeconds } from '#src/base/clock.ts';
import { reasonOf } from '#src/outgoing/request.ts';
import { checkedHost, makeLookup, type PrivateTargets } from '#src/outgoing/targets.ts';
import type { PushAddress, PushCredentials } from '#src/protocol/push/push.ts';
import { readRetryAfter } from '#src/outgoing/retry-after.ts';
import {
  isTemporary,
  PUSH_ATTEMPT_MILLIS,
  PUSH_REPLY_BYTES_MAX,
  tokenContent,
  unreachable,
  type OutgoingPush,
  type PushAnswer,
  type PushService,
} from './push-service.ts';

type ApnsAddress = Extract<PushAddress, { provider: 'apns' }>;
type ApnsCredentials = NonNullable<PushCredentials['apns']>;

/** Apple refuses tokens older than an hour, and ones that change more often than every 20 minutes. */
export const APNS_TOKEN_SECONDS = 45 * 60;
const VOIP = '.voip';
/** Reasons by which Apple says that a device token is nobody's (Handling notification responses from APNs). */
const GONE = new Set(['BadDeviceToken', 'DeviceTokenNotForTopic', 'ExpiredToken', 'Unregistered']);
const TOKEN_OVER = new Set(['ExpiredProviderToken', 'InvalidProviderToken']);

export interface ApnsOptions {
  readonly credentials: ApnsCredentials;
  readonly allowPrivateTargets: PrivateTargets;
  readonly now: () => number;
}

export class Apns implements PushService {
  readonly #options: ApnsOptions;
  /** Not imported: every shard would load it when it starts, 15 ms of CPU, and few installations push to Apple. */
  readonly #http2 = process.getBuiltinModule('node:http2');
  #session: ClientHttp2Session | undefined;
  #token: { readonly text: string; readonly at: number } | undefined;

  constructor(options: ApnsOptions) {
    this.#options = options;
  }

  async send(push: OutgoingPush): Promise<PushAnswer> {
    const { topic } = this.#options.credentials;
    const wanted = (push.address as ApnsAddress).topic ?? topic;
    // A certificate of another app would be needed for any other.
    if (wanted !== topic && wanted !== `${topic}${VOIP}`) return { result: 'refused', reason: 'topic' };
    try {
      const reply = await this.#request(push, wanted);
      const answer = answerOf(reply, this.#options.now());
      if (TOKEN_OVER.has(reply.reason)) this.#token = undefined;
      return answer;
    } catch (error) {
      return unreachable(reasonOf(error));
    }
  }

  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
  }

  async #request(push: OutgoingPush, topic: string): Promise<Reply> {
    const { ttlSeconds, collapseId } = push;
    const isVoip = topic.endsWith(VOIP);
    const { constants } = this.#http2;
    const stream = this.#connection().request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: `/3/device/${(push.address as ApnsAddress).token}`,
      authorization: `bearer ${this.#providerToken()}`,
      'apns-topic': topic,
      'apns-push-type': isVoip ? 'voip' : 'alert',
      'apns-priority': '10',
      'apns-expiration': String(unixSeconds(this.#options.now()) + ttlSeconds),
      'apns-collapse-id': collapseId,
    });
    stream.setTimeout(PUSH_ATTEMPT_MILLIS, () => stream.close(constants.NGHTTP2_CANCEL));
    stream.end(JSON.stringify(payloadOf(push)));
    return await readReply(stream);
  }

  #connection(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const { allowPrivateTargets, credentials } = this.#options;
    const url = new URL(credentials.gateway);
    checkedHost(url, allowPrivateTargets);
    const session = this.#http2.connect(url, { lookup: makeLookup(allowPrivateTargets) });
    const forget = () => {
      if (this.#session === session) this.#session = undefined;
    };
    // What is under way on it fails by itself, and is tried again over the next one.
    session.on('error', forget).on('close', forget).on('goaway', forget);
    session.unref();
    this.#session = session;
    return session;
  }

  #providerToken(): string {
    const at = unixSeconds(this.#options.now());
    if (this.#token !== undefined && at - this.#token.at < APNS_TOKEN_SECONDS) return this.#token.text;
    const { keyId, privateKey, teamId } = this.#options.credentials;
    const content = tokenContent({ alg: 'ES256', kid: keyId }, { iss: teamId, iat: at });
    const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    this.#token = { text: `${content}.${signature.toString('base64url')}`, at };
    return this.#token.text;
  }
}

interface Reply {
  readonly status: number;
  readonly reason: string;
  readonly retryAfter: string | undefined;
}

/** The alert names a text of the app's own; `mutable-content` lets the app fetch what it shows instead. */
function payloadOf({ badge, data, kind, text }: OutgoingPush): object {
  const names = {
    ...{ message: 'NEW_MESSAGE', call: 'INCOMING_CALL', cancel: 'CALL_OVER', reminder: 'REMINDER' },
    invitation: 'ROOM_INVITATION',
  } as const;
  const alert = text === undefined ? { 'loc-key': names[kind] } : { body: text };
  const { conversation_id: thread } = data;
  return {
    aps: {
      alert,
      'mutable-content': 1,
      ...(kind === 'cancel' ? {} : { sound: 'default' }),
      ...(badge === undefined ? {} : { badge }),
      ...(thread === undefined ? {} : { 'thread-id': thread }),
    },
    ...data,
  };
}

async function readReply(stream: ClientHttp2Stream): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  let head: { status: number; retryAfter: string | undefined } | undefined;
  let text = '';
  stream.on('response', (headers) => {
    head = { status: Number(headers[':status']), retryAfter: headers['retry-after'] };
  });
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    if (text.length < PUSH_REPLY_BYTES_MAX) text += chunk;
  });
  stream.on('error', reject);
  stream.on('close', () => {
    if (head === undefined) reject(Object.assign(new Error('No answer.'), { code: 'no_answer' }));
    else resolve({ ...head, reason: readReason(text) });
  });
  return await promise;
}

function readReason(text: string): string {
  try {
    const { reason } = JSON.parse(text) as { reason?: unknown };
    return typeof reason === 'string' ? reason.slice(0, 64) : '';
  } catch {
    return '';
  }
}

function answerOf({ status, reason, retryAfter }: Reply, now: number): PushAnswer {
  if (status === 200) return { result: 'sent' };
  if (status === 410 || GONE.has(reason)) return { result: 'gone' };
  const named = reason === '' ? String(status) : reason;
  if (TOKEN_OVER.has(reason)) return { result: 'failed', reason: named, isDown: true };
  if (!isTemporary(status)) return { result: 'refused', reason: named };
  return { result: 'failed', reason: named, isDown: status >= 500, retryMillis: readRetryAfter(retryAfter, now) };
}
