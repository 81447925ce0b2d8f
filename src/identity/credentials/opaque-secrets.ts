/**
 * Opaque secrets: the random part of a token that means nothing and grants something. Shown once, stored as a hash
 * (CRD-09): 256 random bits need no slow hash, since nobody can try them.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const SECRET_BYTES = 32;

/** The form of a secret, for the pattern of a token that holds one. */
export const SECRET_PATTERN = '[A-Za-z0-9_-]{43}';

/** A new secret: 32 random bytes as base64url. */
export function makeSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** What is stored of a secret: its SHA-256, hex. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether two hashes are one, at a cost that does not tell where they differ. */
export function sameHash(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && a.length > 0 && timingSafeEqual(a, b);
}
