/** Web Push: encrypted to the subscription (RFC 8291), signed with the installation's VAPID key (RFC 8292). */
import { ECDH } from 'node:crypto';
import type { Agent } from 'node:https';
import webPush from 'web-push';
import { checkedHost, isTargetUrl, type PrivateTargets } from '#src/outgoing/targets.ts';
import type { PushAddress, PushCredentials } from '#src/protocol/push/push.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { makeAgent, reasonOf, sendOutgoing } from '#src/outgoing/request.ts';
import { readRetryAfter } from '#src/outgoing/retry-after.ts';
import {
  isTemporary,
  PUSH_ATTEMPT_MILLIS,
  PUSH_REPLY_BYTES_MAX,
  PUSH_SOCKETS_MAX,
  unreachable,
  type OutgoingPush,
  type PushAnswer,
  type PushService,
} from './push-service.ts';

type WebPushAddress = Extract<PushAddress, { provider: 'webpush' }>;

export interface WebPushOptions {
  readonly vapid: PushCredentials['vapid'];
  readonly allowPrivateTargets: PrivateTargets;
  readonly now: () => number;
}

/** Where a push goes, and what it is encrypted with: p256dh and auth in base64url. */
export type WebPushTarget = Pick<WebPushAddress, 'endpoint' | 'keys'>;

/** What is sent to a subscription, whatever it is about. */
export interface WebPushMessage {
  /** Encrypted: the push service does not read it. */
  readonly payload: string;
  /** Of what is inside; the push service's own idea without it. */
  readonly contentType?: string;
  readonly ttlSeconds: number;
  readonly urgency: 'normal' | 'high';
  /** Pushes of one topic take each other's place: 32 characters of base64url at most, which the push service reads. */
  readonly topic: string;
}

export interface WebPushSendOptions extends WebPushOptions {
  readonly agent: Agent;
}

export function makeWebPush(options: WebPushOptions): PushService {
  const agent = makeWebPushAgent(options.allowPrivateTargets);
  return {
    close: () => agent.destroy(),
    send: async (push) => await sendWebPush(push.address as WebPushAddress, messageOf(push), { ...options, agent }),
  };
}

export function makeWebPushAgent(allowPrivateTargets: PrivateTargets): Agent {
  return makeAgent(allowPrivateTargets, PUSH_SOCKETS_MAX);
}

/** Makes one attempt to hand a message to a push service. Never throws. */
export async function sendWebPush(
  target: WebPushTarget,
  message: WebPushMessage,
  { agent, allowPrivateTargets, now, vapid }: WebPushSendOptions,
): Promise<PushAnswer> {
  const request = encrypt(target, message, vapid);
  // Keys that are no point of the curve were refused at registration; nothing can be encrypted to these.
  if (request === undefined) return { result: 'gone' };
  const { headers, body, endpoint: url } = request;
  const type = message.contentType === undefined ? {} : { 'content-type': message.contentType };
  const bounds = { millis: PUSH_ATTEMPT_MILLIS, bytesMax: PUSH_REPLY_BYTES_MAX, allowPrivateTargets, agent };
  try {
    const reply = await sendOutgoing({
      method: 'POST',
      url,
      headers: { ...namesOf(headers), ...type },
      body,
      ...bounds,
    });
    return answerOf(reply.status, readRetryAfter(reply.headers['retry-after'], now()));
  } catch (error) {
    return error instanceof Refusal ? { result: 'refused', reason: error.code } : unreachable(reasonOf(error));
  }
}

/**
 * A subscription names the host that the server is to connect to, so it is judged like any other such host; where its
 * name leads is judged again at every connection.
 * @throws Refusal `field_invalid`, `target_private`.
 */
export function assertWebPushTarget({ endpoint, keys }: WebPushTarget, allowPrivateTargets: PrivateTargets): void {
  if (!isTargetUrl(endpoint, ['https:'])) throw new Refusal('field_invalid', { field: 'endpoint' });
  checkedHost(new URL(endpoint), allowPrivateTargets, 'endpoint');
  try {
    ECDH.convertKey(keys.p256dh, 'prime256v1', 'base64url');
  } catch {
    throw new Refusal('field_invalid', { field: 'keys.p256dh' });
  }
}

function messageOf({ badge, collapseId, data, kind, text, ttlSeconds }: OutgoingPush): WebPushMessage {
  const payload = { ...data, ...(badge === undefined ? {} : { badge }), ...(text === undefined ? {} : { text }) };
  const urgency = kind === 'message' ? 'normal' : 'high';
  return { payload: JSON.stringify(payload), ttlSeconds, urgency, topic: collapseId };
}

function encrypt(target: WebPushTarget, message: WebPushMessage, vapid: PushCredentials['vapid']) {
  const { payload, topic, ttlSeconds, urgency } = message;
  try {
    return webPush.generateRequestDetails(target, payload, {
      vapidDetails: vapid,
      TTL: ttlSeconds,
      urgency,
      topic,
      contentEncoding: 'aes128gcm',
    });
  } catch {
    return undefined;
  }
}

/** The library gives lengths as numbers, and its own idea of the length. */
function namesOf(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length');
  return Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function answerOf(status: number, retryMillis: number | undefined): PushAnswer {
  if (status >= 200 && status < 300) return { result: 'sent' };
  if (status === 404 || status === 410) return { result: 'gone' };
  const reason = String(status);
  if (isTemporary(status)) return { result: 'failed', reason, isDown: status >= 500, retryMillis };
  return { result: 'refused', reason };
}
