/**
 * The receiving end of a bot's event subscription: takes what is signed and fresh, each delivery once, and answers so that the
 * server tries again what failed.
 */
import { isRecord } from '../conversations/records.ts';
import { verifyDelivery } from './delivery-signature.ts';

/** Characters of a delivery: a message of the longest text with everything that may stand on it is a quarter of that. */
export const DELIVERY_LENGTH_MAX = 1_048_576;

/**
 * Ids of deliveries that are remembered, the newest: one that comes again later than so many others is handled again. One whose
 * answer was lost comes again after 2 s.
 */
export const DELIVERIES_KEPT_MAX = 4_000;

/** What a delivery tells, in the words of the wire. */
export interface Delivery {
  /** One for all attempts at it. */
  readonly id: string;
  /** The subscription's id. */
  readonly subscription: string;
  readonly event: { readonly type: string; readonly conv?: string; readonly data: Readonly<Record<string, unknown>> };
}

export interface DeliveryReceiverOptions {
  /** The subscription's secret, as it was shown once. */
  readonly secret: string;
  /** May answer a promise. What fails is delivered again, later each time, for three days. */
  readonly onDelivery: (delivery: Delivery) => unknown;
  /** Milliseconds since the Unix epoch; the platform's clock when left out. */
  readonly now?: () => number;
}

/**
 * What answers the POSTs of a subscription, from a request of the Fetch standard: `Deno.serve(receive)`, or the route of whatever
 * web framework gives such requests. 204 when handled, 401 for what is not signed by the secret or not fresh, 405, 413 and 400 for
 * what is no delivery, 500 when `onDelivery` failed.
 */
export function deliveryReceiver(options: DeliveryReceiverOptions): (request: Request) => Promise<Response> {
  const { now = Date.now, onDelivery, secret } = options;
  /** Of each delivery what became of it: one that comes again meanwhile waits for the same. */
  const handled = new Map<string, Promise<void>>();

  const handle = async (delivery: Delivery): Promise<void> => {
    const before = handled.get(delivery.id);
    if (before !== undefined) return await before;
    const handling = (async () => void (await onDelivery(delivery)))();
    handled.set(delivery.id, handling);
    const [oldest] = handled.keys();
    if (handled.size > DELIVERIES_KEPT_MAX && oldest !== undefined) handled.delete(oldest);
    try {
      await handling;
    } catch (error) {
      // The next attempt at it is a new one.
      handled.delete(delivery.id);
      throw error;
    }
  };

  return async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
    const body = await readBody(request);
    if (body === undefined) return new Response(null, { status: 413 });
    const signature = request.headers.get('x-parley-signature') ?? '';
    if (!(await verifyDelivery(secret, signature, body, Math.floor(now() / 1000)))) {
      return new Response(null, { status: 401 });
    }
    const delivery = readDelivery(body);
    if (delivery === undefined) return new Response(null, { status: 400 });
    try {
      await handle(delivery);
    } catch {
      return new Response(null, { status: 500 });
    }
    return new Response(null, { status: 204 });
  };
}

/** The text of a body; undefined where it is longer than a delivery, of which no more is read. */
async function readBody(request: Request): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > DELIVERY_LENGTH_MAX) return undefined;
  }
  return text + decoder.decode();
}

function readDelivery(body: string): Delivery | undefined {
  let wire: unknown;
  try {
    wire = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (!isRecord(wire) || typeof wire['id'] !== 'string' || typeof wire['subscription'] !== 'string') return undefined;
  const { event } = wire;
  if (!isRecord(event) || typeof event['type'] !== 'string' || !isRecord(event['data'])) return undefined;
  return wire as unknown as Delivery;
}
