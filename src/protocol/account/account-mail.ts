/** What people do with their own accounts by mail: show that an address is theirs, ask for a link to set a forgotten password. */
import { z } from 'zod';
import { profileFields } from '../directory/directory.ts';
import { route, type Route } from '../route.ts';

/** POST /v1/auth/password-reset. */
export const requestPasswordReset = z.strictObject({ email: profileFields.email }).meta({ id: 'RequestPasswordReset' });
export type RequestPasswordReset = z.infer<typeof requestPasswordReset>;

/** The same for every address. */
export const passwordResetRequested = z
  .strictObject({ status: z.literal('ok') })
  .meta({ id: 'PasswordResetRequested' });

/** POST /v1/me/email/code: where the code went. */
export const emailCodeSent = z.strictObject({ email: z.string() }).meta({ id: 'EmailCodeSent' });

/** PUT /v1/me/email/confirmation. */
export const confirmEmail = z
  .strictObject({
    code: z
      .string()
      .max(64)
      .transform((code) => code.trim().toLowerCase()),
  })
  .meta({ id: 'ConfirmEmail' });
export type ConfirmEmail = z.infer<typeof confirmEmail>;

export const ACCOUNT_MAIL_ROUTES = {
  requestPasswordReset: route.post(
    '/v1/auth/password-reset',
    'Asks for a link that sets a forgotten password, by mail to an address that its person confirmed. Every address has the same answer.',
    { auth: 'none', body: requestPasswordReset, replies: { 202: passwordResetRequested }, errors: ['rate_limited'] },
  ),
  sendEmailCode: route.post(
    '/v1/me/email/code',
    "Mails a code to the caller's address, which shows that it is theirs.",
    {
      replies: { 202: emailCodeSent },
      errors: ['email_missing', 'mail_unavailable', 'rate_limited'],
    },
  ),
  confirmEmail: route.put('/v1/me/email/confirmation', "Confirms the caller's address by that code.", {
    body: confirmEmail,
    replies: { 204: null },
    errors: ['email_code_wrong'],
  }),
} as const satisfies Record<string, Route>;
