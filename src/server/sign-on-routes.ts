/** Signing people in at providers: the services put together, and their routes on the coordinator's app. */
import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import { bindableHoldersOf } from '#src/directory/directory.ts';
import type { Groups } from '#src/directory/groups/groups.ts';
import { addForeignPerson } from '#src/directory/people.ts';
import { addClientRoutes, type ClientHandlers } from '#src/http/client-routes.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SignIn } from '#src/identity/sign-in.ts';
import type { SignInSwitches } from '#src/identity/sign-in-switches.ts';
import { BackChannelLogout } from '#src/identity/single-sign-on/back-channel-logout.ts';
import type { PersonProviders } from '#src/identity/single-sign-on/person-providers.ts';
import { SignOn, type SignOnStart } from '#src/identity/single-sign-on/sign-on.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf } from '#src/limits/networks.ts';
import { SSO_ROUTES } from '#src/protocol/sessions/sso-routes.ts';
import type { backChannelLogout, ExchangeCode, SsoCallbackQuery, SsoStartQuery } from '#src/protocol/sessions/sso.ts';
import { shownMailSettings } from '#src/mail/mail-setup.ts';
import type { Settings } from '#src/settings/settings.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { SessionCookies } from './session-cookies.ts';

export interface SignOnRoutesOptions {
  readonly accounts: Accounts;
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly announcer: SessionAnnouncer;
  readonly baseUrl: () => string;
  readonly clock: Clock;
  readonly config: Pick<Config, 'allowPrivateTargets'>;
  readonly groups: Groups;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly passwords: Passwords;
  readonly personProviders: PersonProviders;
  readonly settings: Pick<Settings, 'appRedirects' | 'view'>;
  readonly sessionCookies: SessionCookies;
  readonly signIn: SignIn;
  readonly signInSwitches: SignInSwitches;
}

/** Adds the routes; answers what they are served by. */
export function addSignOnRoutes(options: SignOnRoutesOptions): SignOn {
  const { app, clock, config, groups, limiter, sessionCookies, settings, signInSwitches } = options;
  const { personProviders: providers } = options;
  const common = { ...options, allowPrivateTargets: config.allowPrivateTargets, providers };
  const signOn = new SignOn({
    ...common,
    appRedirects: () => settings.appRedirects(),
    createPerson: (draft, form) => addForeignPerson(draft, { ...form, now: clock.now() }),
    follow: async (username, among, by) => await groups.follow(username, among, by),
    holdersOf: bindableHoldersOf,
  });
  const signedOut: SignOn['signedOut'] = (issuer, meant) => signOn.signedOut(issuer, meant);
  const logout = new BackChannelLogout({ ...common, signedOut });
  const pace = (address: string) => limiter.take('sso_walk', hostOf(address));
  const handlers: ClientHandlers<typeof SSO_ROUTES> = {
    readSignInWays: () => ({
      status: 200,
      body: {
        password: !signInSwitches.refusePasswords(),
        providers: providers.list().map(({ id, name }) => ({ id, name })),
        reset_by_mail: !signInSwitches.refusePasswords() && shownMailSettings(settings)?.smtp_host !== undefined,
      },
    }),
    startSignOn: async ({ address, parameters, query }) => {
      pace(address);
      const { cookie, location } = await signOn.start(parameters['provider'] ?? '', query as SsoStartQuery);
      return { status: 302, body: undefined, headers: { location, 'set-cookie': headerOf(cookie) } };
    },
    finishSignOn: async ({ address, cookie, parameters, query }) => {
      pace(address);
      const location = await signOn.finish(parameters['provider'] ?? '', query as SsoCallbackQuery, cookie, address);
      return { status: 302, body: undefined, headers: { location } };
    },
    exchangeSsoCode: async (request) => {
      const { address, body } = request;
      pace(address);
      return await sessionCookies.opened(request, async () => await signOn.exchange(body as ExchangeCode, address));
    },
    logOutByProvider: async ({ address, body, parameters }) => {
      pace(address);
      await logout.take(parameters['provider'] ?? '', (body as z.infer<typeof backChannelLogout>).logout_token);
      return { status: 200, body: undefined };
    },
  };
  // No route of the table takes a session.
  addClientRoutes(app, SSO_ROUTES, handlers, () => '');
  return signOn;
}

/** Sent back by the navigation from the provider's page (Lax), to its callback alone, and read by no script. */
function headerOf({ isSecure, name, path, seconds, value }: SignOnStart['cookie']): string {
  const parts = [`${name}=${value}`, `Path=${path}`, `Max-Age=${seconds}`, 'HttpOnly', 'SameSite=Lax'];
  return [...parts, ...(isSecure ? ['Secure'] : [])].join('; ');
}
