/** Deliveries as they are sent: `{id, subscription, event}`, the same bytes and the same id at every attempt. */
import { createHash } from 'node:crypto';
import { toSymbols } from '#src/base/ids.ts';
import type { EventEnvelope } from '#src/protocol/sockets/events.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';

export interface Delivery {
  readonly id: string;
  readonly body: string;
}

/** A change of a conversation. */
export function eventDelivery(
  epoch: string,
  subscription: string,
  { conv = '', rev = 0 }: EventEnvelope,
  json: string,
): Delivery {
  return deliveryOf(subscription, [epoch, conv, String(rev)], json);
}

/** A command; `name` is unique to the subscription and the invocation. */
export function commandDelivery(subscription: string, name: string, json: string): Delivery {
  return deliveryOf(subscription, [name], json);
}

/** What stands for changes that are there no more: the receiver reads the conversation. `ts` in Unix seconds. */
export function gapDelivery(
  epoch: string,
  subscription: string,
  { id, rev }: ConversationRecord,
  after: number,
  ts: number,
): Delivery {
  const event = { type: 'changes.missed', conv: id, ts, data: { after_rev: after, rev } };
  return deliveryOf(subscription, [epoch, id, String(after), 'gap'], JSON.stringify(event));
}

/** The id is made of what is told, so that it is the same after a restart and nobody else's. */
function deliveryOf(subscription: string, parts: readonly string[], json: string): Delivery {
  const hash = createHash('sha256')
    .update([subscription, ...parts].join('\0'))
    .digest();
  const id = `dlv_${toSymbols(hash, 22)}`;
  return { id, body: `{"id":"${id}","subscription":"${subscription}","event":${json}}` };
}
