/** The HTTP forms by which a guest gets a new password, as data: see `routes.ts` (GST-02, GST-03). */
import * as guests from './guests.ts';
import type { Route } from '../route.ts';
import { PASSWORD_POLICY_ERRORS } from '../sessions/sessions.ts';

export const RECOVERY_ROUTES = {
  recover: {
    method: 'post',
    path: '/v1/auth/recover',
    summary: 'Asks for a recovery code. The answer is the same for a known and an unknown number.',
    auth: 'none',
    body: guests.recover,
    replies: { 200: guests.recoverReply },
    errors: ['rate_limited'],
  },
  confirmRecovery: {
    method: 'post',
    path: '/v1/auth/recover/confirm',
    summary: 'Exchanges a recovery code for a new password; ends every session of the guest.',
    auth: 'none',
    body: guests.confirmRecovery,
    replies: { 200: guests.recoverReply },
    errors: [...PASSWORD_POLICY_ERRORS, 'recovery_failed', 'rate_limited'],
  },
} as const satisfies Record<string, Route>;
