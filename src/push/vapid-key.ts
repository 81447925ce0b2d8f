/**
 * The installation's VAPID key (RFC 8292). Browsers subscribe to its public half, so it changes only when a backup is restored:
 * then they are to register again.
 */
import { createECDH, hkdfSync } from 'node:crypto';
import type { PushCredentials } from '#src/protocol/push/push.ts';

/** The order of P-256 (SEC 2): a private key lies below it. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The key pair that follows from the installation's push key. */
export function vapidKey(pushKey: Uint8Array, subject: string): PushCredentials['vapid'] {
  const secret = hkdfSync('sha256', pushKey, new Uint8Array(), 'parley vapid', 32);
  // Fewer than one in four thousand million draws lies beyond the order; folding it in costs nothing.
  const number = (BigInt(`0x${Buffer.from(secret).toString('hex')}`) % (ORDER - 1n)) + 1n;
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(Buffer.from(number.toString(16).padStart(64, '0'), 'hex'));
  const privateKey = pair.getPrivateKey('hex').padStart(64, '0');
  return {
    publicKey: pair.getPublicKey('base64url'),
    privateKey: Buffer.from(privateKey, 'hex').toString('base64url'),
    subject,
  };
}
