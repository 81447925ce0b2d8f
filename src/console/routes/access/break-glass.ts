/** The break-glass account: its state, setting it, signing in as it (TFA-02). */
import { z } from 'zod';
import type { BreakGlassAccount } from '#src/identity/console/break-glass.ts';
import { password, PASSWORD_LENGTH_MAX } from '#src/protocol/sessions/sessions.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { oneTimeCode, totpSetup } from '#src/protocol/sessions/second-factors.ts';
import { consoleSession, sessionBody } from './signed-in.ts';

const breakGlassState = z
  .strictObject({
    is_set: z.boolean(),
    set_at: z.string().nullable(),
    set_by: z.string().nullable(),
    last_used_at: z.string().nullable(),
    last_used_address: z.string().nullable(),
  })
  .meta({ id: 'BreakGlass' });

export const breakGlassRoutes = {
  readBreakGlass: {
    method: 'get',
    path: '/break-glass',
    summary: 'Whether the break-glass account is set, and its last use.',
    access: 'access:write',
    vendor: 'closed',
    audit: null,
    replies: { 200: breakGlassState },
    errors: [],
  },
  setBreakGlass: {
    method: 'put',
    path: '/break-glass',
    summary: 'Sets the break-glass account anew: its password, and a second factor that is answered once.',
    access: 'access:write',
    vendor: 'closed',
    audit: 'break_glass.set',
    body: z.strictObject({ password }).meta({ id: 'SetBreakGlass' }),
    replies: { 200: totpSetup },
    errors: ['password_too_common', 'password_too_short', 'encryption_locked', 'busy'],
  },
  breakGlassLogin: {
    method: 'post',
    path: '/break-glass/login',
    summary: 'Signs in as the break-glass account, always with password and code. It is audited and raises an alert.',
    access: 'public',
    vendor: 'closed',
    audit: 'break_glass.used',
    body: z
      .strictObject({ password: z.string().min(1).max(PASSWORD_LENGTH_MAX), code: oneTimeCode })
      .meta({ id: 'BreakGlassLogin' }),
    replies: { 200: consoleSession },
    errors: ['login_failed', 'second_factor_wrong', 'encryption_locked', 'rate_limited', 'busy'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface BreakGlassPageOptions {
  readonly breakGlass: BreakGlassAccount;
  readonly idleSeconds: number;
}

export function makeBreakGlassPage({ breakGlass, idleSeconds }: BreakGlassPageOptions): ConsolePage {
  return page(breakGlassRoutes, {
    readBreakGlass: () => ({ status: 200, body: breakGlass.state }),
    setBreakGlass: async ({ principal, body, address }) => ({
      status: 200,
      body: await breakGlass.set(principal, body.password, address),
    }),
    breakGlassLogin: async ({ body, address }) => ({
      status: 200,
      body: sessionBody(await breakGlass.login(body, address), idleSeconds),
    }),
  });
}
