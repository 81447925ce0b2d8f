/** The coordinator put together: people, sessions and invitations, and the app that serves them (SVC-03). */
import type { FastifyInstance } from 'fastify';
import { LoginLimiter } from '#src/auth/login-limiter.ts';
import { Passwords } from '#src/auth/passwords.ts';
import type { SessionAnnouncer } from '#src/auth/revocations.ts';
import type { SessionTokens } from '#src/auth/session-tokens.ts';
import { systemClock, unixSeconds, type Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { Accounts } from '#storage/accounts.ts';
import { addEnrollmentPage } from './enrollment-page.ts';
import { makeHttpSurface, type Health, type HttpTelemetry, type Log } from './http-surface.ts';
import { Invitations } from './invitations.ts';
import { People } from './people.ts';
import { addSessionRoutes } from './session-routes.ts';
import { SignIn } from './sign-in.ts';

/** How often what time has settled is removed from the accounts file. */
const SWEEP_MILLIS = 3_600_000;

export interface CoordinatorOptions {
  readonly config: Config;
  readonly accounts: Accounts;
  /** Made with `accounts.secret('session_key')`. */
  readonly tokens: SessionTokens;
  readonly announcer: SessionAnnouncer;
  readonly log: Log;
  readonly health: Health;
  readonly allowsOrigin: (origin: string) => boolean;
  readonly telemetry?: HttpTelemetry | undefined;
  readonly clock?: Clock | undefined;
}

export interface Coordinator {
  /** Not listening yet; closing it is the caller's. */
  readonly app: FastifyInstance;
  readonly people: People;
  readonly invitations: Invitations;
  readonly passwords: Passwords;
}

export async function makeCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { config, accounts, tokens, announcer, log, clock = systemClock } = options;
  const passwords = await Passwords.make(config.passwordMemoryKib);
  const limiter = new LoginLimiter(config.loginAttemptsPerMinute, clock);
  const signIn = new SignIn({ config, accounts, passwords, tokens, announcer, limiter, clock });
  const people = new People({ accounts, passwords, announcer, clock });
  const invitations = new Invitations({ accounts, passwords, announcer, clock });
  const app = await makeHttpSurface(options);
  addSessionRoutes(app, signIn, invitations);
  addEnrollmentPage(app);
  const sweep = setInterval(() => {
    accounts
      .sweep(unixSeconds(clock.now()))
      .catch((error: unknown) => log.warn('sweeping the accounts failed', { error }));
  }, SWEEP_MILLIS);
  sweep.unref();
  app.addHook('onClose', async () => clearInterval(sweep));
  return { app, people, invitations, passwords };
}
