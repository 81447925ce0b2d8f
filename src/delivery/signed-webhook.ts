/** A signed webhook: one POST of JSON, signed, to a checked address, without redirects, bounded in time and size. */
import { createHmac } from 'node:crypto';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { reasonOf, sendOutgoing } from '#src/outgoing/request.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** How long one attempt may take, from the lookup to the answer. [the attempt has failed] */
export const WEBHOOK_MILLIS = 10_000;
/** What is read of a receiver's answer, in bytes: enough for its error. The rest is let go. */
export const REPLY_BYTES_MAX = 512;

export interface SignedWebhook {
  readonly url: string;
  readonly secret: Uint8Array;
  readonly body: string;
  /** The delivery's, the same at every attempt, so that a receiver can tell a repeat. */
  readonly id: string;
  /** Which attempt it is, from 1. */
  readonly attempt: number;
  /** What sends it: `Parley-Automation/1`. */
  readonly userAgent: string;
}

export interface SignedWebhookOptions {
  readonly clock: Clock;
  readonly allowPrivateTargets: PrivateTargets;
  /** WEBHOOK_MILLIS. */
  readonly attemptMillis?: number | undefined;
  /** Ends it before its time. */
  readonly signal: AbortSignal;
}

export interface WebhookAnswer {
  /** Null where nobody answered. */
  readonly status: number | null;
  /** The beginning of what was answered, as text. */
  readonly reply: string | null;
  /** Why nobody answered, in a word: the code of a refusal of this server, or the system's. */
  readonly reason: string | null;
  /** Any 2xx. */
  readonly isTaken: boolean;
  /** This server itself refused to ask: another attempt would end the same way. */
  readonly isRefused: boolean;
}

/** Makes one attempt; whatever comes of it is the answer. */
export async function postSigned(
  { attempt, body, id, secret, url, userAgent }: SignedWebhook,
  { allowPrivateTargets, attemptMillis = WEBHOOK_MILLIS, clock, signal }: SignedWebhookOptions,
): Promise<WebhookAnswer> {
  const headers = {
    'content-type': 'application/json',
    'user-agent': userAgent,
    'x-parley-delivery': id,
    'x-parley-attempt': String(attempt),
    'x-parley-signature': signatureOf(secret, unixSeconds(clock.now()), body),
  };
  const bounds = { millis: attemptMillis, bytesMax: REPLY_BYTES_MAX, allowPrivateTargets, signal };
  try {
    const { status, text } = await sendOutgoing({ method: 'POST', url, headers, body, ...bounds });
    return { status, reply: text, reason: null, isTaken: status >= 200 && status < 300, isRefused: false };
  } catch (error) {
    const isRefused = error instanceof Refusal;
    return { status: null, reply: null, reason: isRefused ? error.code : reasonOf(error), isTaken: false, isRefused };
  }
}

/**
 * `t=<unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<body>` under the secret. The time is in it so that a receiver
 * can refuse what somebody recorded and sends again.
 */
export function signatureOf(secret: Uint8Array, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
}
