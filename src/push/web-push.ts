/** Web Push: encrypted to the subscription (RFC 8291), signed with the installation's VAPID key (RFC 8292). */
import webPush from 'web-push';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
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

export function makeWebPush({ allowPrivateTargets, now, vapid }: WebPushOptions): PushService {
  const agent = makeAgent(allowPrivateTargets, PUSH_SOCKETS_MAX);
  return {
    close: () => agent.destroy(),
    async send(push): Promise<PushAnswer> {
      const request = encrypt(push, push.address as WebPushAddress, vapid);
      // Keys that are no point of the curve were refused at registration; nothing can be encrypted to these.
      if (request === undefined) return { result: 'gone' };
      const { headers, body, endpoint: url } = request;
      const bounds = { millis: PUSH_ATTEMPT_MILLIS, bytesMax: PUSH_REPLY_BYTES_MAX, allowPrivateTargets, agent };
      try {
        const reply = await sendOutgoing({ method: 'POST', url, headers: namesOf(headers), body, ...bounds });
        return answerOf(reply.status, readRetryAfter(reply.headers['retry-after'], now()));
      } catch (error) {
        return error instanceof Refusal ? { result: 'refused', reason: error.code } : unreachable(reasonOf(error));
      }
    },
  };
}

function encrypt(
  { badge, data, kind, text, ...push }: OutgoingPush,
  address: WebPushAddress,
  vapid: PushCredentials['vapid'],
) {
  const payload = { ...data, ...(badge === undefined ? {} : { badge }), ...(text === undefined ? {} : { text }) };
  try {
    return webPush.generateRequestDetails(address, JSON.stringify(payload), {
      vapidDetails: vapid,
      TTL: push.ttlSeconds,
      urgency: kind === 'message' ? 'normal' : 'high',
      topic: push.collapseId,
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
