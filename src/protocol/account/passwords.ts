/** Passwords as people change them, and as they are reset by a link (CRD-12). */
import { z } from 'zod';
import { count } from '../names.ts';
import { password, PASSWORD_LENGTH_MAX } from '../sessions/sessions.ts';

/** POST /v1/me/password. With `end_others` every other session of the person ends; this one stays. */
export const changePassword = z
  .strictObject({
    current: z.string().min(1).max(PASSWORD_LENGTH_MAX),
    new: password,
    end_others: z.boolean(),
  })
  .meta({ id: 'ChangePassword' });
export type ChangePassword = z.infer<typeof changePassword>;

export const passwordChanged = z
  .strictObject({ sessions_ended: count.meta({ description: 'How many other sessions ended with it.' }) })
  .meta({ id: 'PasswordChanged' });

/** POST /v1/password-reset/{link}. Programs with app passwords go on signing in where `end_app_passwords` is false. */
export const usePasswordReset = z
  .strictObject({ password, end_app_passwords: z.boolean().default(true) })
  .meta({ id: 'UsePasswordReset' });
export type UsePasswordReset = z.infer<typeof usePasswordReset>;

export const passwordReset = z.strictObject({ status: z.literal('ok') }).meta({ id: 'PasswordReset' });

/** Console: a link that sets somebody’s password, in this answer and nowhere else. */
export const passwordResetLink = z
  .strictObject({ url: z.string(), expires_at: z.string() })
  .meta({ id: 'PasswordResetLink' });
