/** What a person does with their own account, on the coordinator: put together, and its routes registered. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '#src/base/clock.ts';
import { PasswordChanges } from '#src/directory/password-changes.ts';
import type { PasswordResets } from '#src/directory/password-resets.ts';
import { addClientRoutes, type ClientHandlers } from '#src/http/client-routes.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import { SignInSwitches, type SignInSettings } from '#src/identity/sign-in-switches.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { ACCOUNT_ROUTES } from '#src/protocol/account/account-routes.ts';
import type { ChangePassword, UsePasswordReset } from '#src/protocol/account/passwords.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';

export interface OwnAccountOptions {
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly accounts: Accounts;
  readonly announcer: SessionAnnouncer;
  readonly clock: Clock;
  readonly limiter: Limiter;
  readonly passwords: Passwords;
  readonly passwordResets: PasswordResets;
  /** The claims of a client's session. @throws Refusal when the token is none. */
  readonly session: (token: string | undefined) => SessionClaims;
  readonly signInGuard: SignInGuard;
  readonly signInSettings: SignInSettings;
}

/** Adds the routes of people's own accounts to the coordinator's app. */
export function addOwnAccount(options: OwnAccountOptions): void {
  const { app, limiter, passwordResets, session, signInGuard: guard } = options;
  const switches = new SignInSwitches(options.signInSettings);
  const changes = new PasswordChanges({ ...options, guard, isAtProvider: () => switches.refusePasswords() });
  const handlers: ClientHandlers<typeof ACCOUNT_ROUTES> = {
    changePassword: async ({ token, body, address }) => {
      const ended = await changes.change(session(token), body as ChangePassword, address);
      return { status: 200, body: { sessions_ended: ended } };
    },
    usePasswordReset: async ({ parameters, body, address }) => {
      await passwordResets.use(parameters['link'] ?? '', body as UsePasswordReset, address);
      return { status: 200, body: { status: 'ok' } };
    },
  };
  addClientRoutes(app, ACCOUNT_ROUTES, handlers, (token) => session(token).sub, limiter);
}
