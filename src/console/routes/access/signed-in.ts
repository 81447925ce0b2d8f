/** The answer to every sign-in of the console: a session's token and what it is good for. */
import { z } from 'zod';
import type { SignedIn } from '#src/identity/console/console-sign-in.ts';
import { formatInstant } from '#src/base/time.ts';
import { PERSON_CONSOLE_ROLES } from '#src/identity/console/permissions.ts';

export const consoleSession = z
  .strictObject({
    token: z.string().meta({ description: 'For X-Admin-Token or Authorization: Bearer. Shown once.' }),
    /** Null for the break-glass account. */
    user: z.string().nullable(),
    role: z.enum(PERSON_CONSOLE_ROLES),
    sign_in: z.enum(['password', 'sso', 'break_glass']),
    is_full: z.boolean(),
    /** `enrollment` while the session opens second-factor set-up and nothing else. */
    second_factor: z.literal('enrollment').nullable(),
    expires_at: z.string(),
    /** Unused for this long, the session is over before that. */
    idle_seconds: z.int(),
  })
  .meta({ id: 'ConsoleSession' });

export function sessionBody(signedIn: SignedIn, idleSeconds: number): z.infer<typeof consoleSession> {
  return {
    token: signedIn.token,
    user: signedIn.username,
    role: signedIn.role,
    sign_in: signedIn.signIn,
    is_full: signedIn.isFull,
    second_factor: signedIn.isFull ? null : 'enrollment',
    expires_at: formatInstant(signedIn.expiresAt),
    idle_seconds: idleSeconds,
  };
}
