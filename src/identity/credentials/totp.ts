/**
 * One-time codes of an authenticator app (RFC 6238): SHA-1, six digits, thirty seconds, which is what every app
 * understands. A code is good once: whoever accepts one keeps its time step and accepts only later ones.
 */
import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import QRCode from 'qrcode';

/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;

const STEP_SECONDS = 30;

/** Steps that a phone's clock may be off, either way: one, which is what RFC 6238 recommends. */
const SKEW_STEPS = 1;

const ISSUER = 'Parley';

/** No step was used yet. */
export const NO_STEP = -1;

/** A second factor as an authenticator app takes it in: shown once. */
export interface TotpSetup {
  /** Base 32, for typing it in. */
  readonly secret: string;
  readonly otpauth_url: string;
  /** The URL as a QR code: an SVG document. */
  readonly qr: string;
}

export function makeTotpSecret(): Uint8Array {
  return Uint8Array.from(randomBytes(SECRET_BYTES));
}

/** What the authenticator app of `account` needs. */
export async function totpSetup(secret: Uint8Array, account: string): Promise<TotpSetup> {
  const totp = totpOf(secret, account);
  const otpauth = totp.toString();
  return {
    secret: totp.secret.base32,
    otpauth_url: otpauth,
    qr: await QRCode.toString(otpauth, { type: 'svg', errorCorrectionLevel: 'M' }),
  };
}

/**
 * The time step that a code belongs to, when it is right, within the allowed skew, and later than `lastStep`;
 * otherwise undefined. The code must be stored as used in the same change that lets its sender in.
 */
export function acceptTotp(
  secret: Uint8Array,
  code: string,
  { nowMillis, lastStep }: { nowMillis: number; lastStep: number },
): number | undefined {
  // Apps show two groups of three, and people type what they see.
  const token = code.replace(' ', '');
  if (!/^\d{6}$/.test(token)) return undefined;
  const delta = totpOf(secret, '').validate({ token, timestamp: nowMillis, window: SKEW_STEPS });
  if (delta === null) return undefined;
  const step = Math.floor(nowMillis / 1000 / STEP_SECONDS) + delta;
  return step > lastStep ? step : undefined;
}

function totpOf(secret: Uint8Array, label: string): TOTP {
  return new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: STEP_SECONDS,
    // A copy: the bytes may be a view of a larger buffer.
    secret: new Secret({ buffer: Uint8Array.from(secret).buffer }),
  });
}
