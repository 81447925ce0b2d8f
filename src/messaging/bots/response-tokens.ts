/**
 * Response tokens: what lets a bot answer a command to its caller alone for a while. Signed and not stored, so that any
 * thread takes one back: `<payload>.<HMAC-SHA256>`, both base64url.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

const claims = z.strictObject({
  invocation: z.string(),
  conversation: z.string(),
  /** The caller, and the bot that may answer. */
  user: z.string(),
  bot: z.string(),
  /** Milliseconds since 1970. */
  until: z.int(),
});
export type ResponseClaims = z.infer<typeof claims>;

export function signResponseToken(key: Uint8Array, form: ResponseClaims): string {
  const payload = Buffer.from(JSON.stringify(form)).toString('base64url');
  return `${payload}.${signatureOf(key, payload).toString('base64url')}`;
}

/** What a token that is good now says; undefined for any other. */
export function readResponseToken(keys: readonly Uint8Array[], token: string, now: number): ResponseClaims | undefined {
  const [payload = '', signature = '', ...more] = token.split('.');
  const given = Buffer.from(signature, 'base64url');
  const isOurs = keys.some((key) => {
    const right = signatureOf(key, payload);
    return given.length === right.length && timingSafeEqual(given, right);
  });
  if (more.length > 0 || !isOurs) return undefined;
  const form = claims.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  return form.until > now ? form : undefined;
}

/** Under a name of its own, since the key signs other things too. */
function signatureOf(key: Uint8Array, payload: string): Buffer {
  return createHmac('sha256', key).update(`response\0${payload}`).digest();
}
