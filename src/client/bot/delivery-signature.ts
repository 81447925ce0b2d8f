/** For receivers of a bot's event subscriptions: whether a delivery comes from the server, and just now. */

/** How old a signature may be, in seconds: what is older may be a recording that somebody sends again. */
const WINDOW_SECONDS = 300;

/**
 * Whether `signature`, the header `X-Parley-Signature`, is that of this body under the subscription's secret, made within
 * five minutes of `nowSeconds` (Unix). `body` is the text as it came, before it is parsed. A delivery that comes twice
 * has the same `id`: keep those of the last hours.
 */
export async function verifyDelivery(
  secret: string,
  signature: string,
  body: string,
  nowSeconds: number,
): Promise<boolean> {
  const [, seconds, hex] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  if (seconds === undefined || hex === undefined) return false;
  if (Math.abs(nowSeconds - Number(seconds)) > WINDOW_SECONDS) return false;
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
  // The platform compares in constant time.
  return await crypto.subtle.verify('HMAC', key, bytesOf(hex), encoder.encode(`${seconds}.${body}`));
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
