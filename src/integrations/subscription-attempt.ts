/** One attempt at a delivery: signed, to a checked address, without following redirects, bounded in time and size. */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { reasonOf, sendOutgoing } from '#src/outgoing/request.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { signatureOf } from './automation-outbox.ts';
import { subscriptionSecret } from './subscription-records.ts';
import type { Delivery } from './subscription-wire.ts';

/** How long one attempt may take, from the lookup to the answer. [the attempt has failed] */
const DELIVERY_MILLIS = 10_000;
/** What is read of a receiver's answer, in bytes, and thrown away. */
const REPLY_BYTES_MAX = 512;

export interface AttemptOptions {
  readonly clock: Clock;
  readonly vault: Pick<Vault, 'get'>;
  readonly allowPrivateTargets: PrivateTargets;
  /** Ends it before its time. */
  readonly signal: AbortSignal;
}

/** Undefined when it got through, otherwise why not: a status, or a word. */
export async function attemptDelivery(
  { allowPrivateTargets, clock, signal, vault }: AttemptOptions,
  subscription: { readonly id: string; readonly url: string },
  { body, id }: Delivery,
  attempt: number,
): Promise<string | undefined> {
  try {
    const secret = vault.get(subscriptionSecret(subscription.id));
    if (secret === undefined) return 'secret_missing';
    const { status } = await sendOutgoing({
      method: 'POST',
      url: subscription.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Parley-Subscription/1',
        'x-parley-delivery': id,
        'x-parley-attempt': String(attempt),
        'x-parley-signature': signatureOf(secret, unixSeconds(clock.now()), body),
      },
      body,
      millis: DELIVERY_MILLIS,
      bytesMax: REPLY_BYTES_MAX,
      allowPrivateTargets,
      signal,
    });
    return status >= 200 && status < 300 ? undefined : String(status);
  } catch (error) {
    return error instanceof Refusal ? error.code : reasonOf(error);
  }
}
