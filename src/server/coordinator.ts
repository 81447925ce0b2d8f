/**
 * The coordinator put together: people, sessions, directory, access policies, guests and meetings, and the app that
 * serves them (SVC-03).
 */
import type { FastifyInstance } from 'fastify';
import { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { systemClock, unixSeconds, type Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import { APP_PASSWORD_ROUTES } from '#src/protocol/sessions/app-password-routes.ts';
import { DIRECTORY_ROUTES } from '#src/protocol/directory/directory-routes.ts';
import { INTERNAL_ROUTES } from '#src/protocol/services/internal-routes.ts';
import { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import { RECOVERY_ROUTES } from '#src/protocol/directory/recovery-routes.ts';
import { SESSION_ROUTES } from '#src/protocol/routes.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { readAsking } from '#src/settings/asking-settings.ts';
import { AccessControl, type Sharing } from '#src/directory/access-control.ts';
import { AppPasswords } from '#src/identity/app-passwords.ts';
import {
  makeAppPasswordHandlers,
  makeDirectoryHandlers,
  makeMeetingHandlers,
  makeRecoveryHandlers,
} from './client-handlers.ts';
import { addClientRoutes, type Authenticate } from '#src/http/client-routes.ts';
import { Avatars } from '#src/directory/avatars.ts';
import { CustomEmojis } from '#src/emoji/custom-emoji.ts';
import { ThumbnailMaker } from '#src/pictures/thumbnail-maker.ts';
import { Directory } from '#src/directory/directory.ts';
import { Enrollment } from '#src/directory/enrollment.ts';
import { addEnrollmentPage, addPasswordResetPage } from '#src/directory/enrollment-page.ts';
import { Groups } from '#src/directory/groups/groups.ts';
import type { GroupMemberships } from '#src/directory/bookable/group-memberships.ts';
import { Resources } from '#src/directory/bookable/resources.ts';
import { Guests } from '#src/directory/guests.ts';
import { HostedGuests } from '#src/hosting/hosted-guests.ts';
import type { HostedRooms } from '#src/hosting/hosted-rooms.ts';
import { makeHttpSurface, type Health } from '#src/http/http-surface.ts';
import type { HttpTelemetry } from '#src/http/http-telemetry.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { makeInternalHandlers } from './internal-handlers.ts';
import { Invitations } from '#src/directory/invitations.ts';
import { MeetingLinks } from '#src/meetings/meeting-links.ts';
import { addMeetingPage } from '#src/meetings/meeting-page.ts';
import type { MeetingRooms } from '#src/meetings/meeting-rooms.ts';
import { Meetings } from '#src/meetings/meetings.ts';
import { PasswordResets } from '#src/directory/password-resets.ts';
import { People } from '#src/directory/people.ts';
import { Policies } from '#src/directory/policies.ts';
import { Recovery } from '#src/directory/recovery.ts';
import { makeRecoveryWebhook } from '#src/directory/recovery-webhook.ts';
import { SessionCookies } from './session-cookies.ts';
import { makeSessionHandlers } from './session-routes.ts';
import type { Certificate } from '#src/tls/certificate.ts';
import { ServiceTokens } from '#src/identity/service-tokens.ts';
import { SignInSwitches } from '#src/identity/sign-in-switches.ts';
import { isPasswordElsewhere } from '#src/settings/kept-elsewhere.ts';
import { readSignInSettings } from '#src/settings/settings.ts';
import { SignIn, type SignInOptions } from '#src/identity/sign-in.ts';
import { addWebApp } from './web-app.ts';

/** How often what time has settled is removed from the accounts file. */
const SWEEP_MILLIS = 3_600_000;

export interface CoordinatorOptions {
  readonly config: Config;
  readonly accounts: Accounts;
  /** Made with `accounts.signingKeys('session_keys')`. */
  readonly tokens: SessionTokens;
  readonly announcer: SessionAnnouncer;
  /** Told of every change of a group by the announcer. */
  readonly memberships: GroupMemberships;
  readonly limiter: Limiter;
  /** What people may use. */
  readonly quotas: QuotaGate;
  /** What its listener shows over TLS; it speaks plain HTTP without one. */
  readonly certificate?: Certificate | undefined;
  readonly log: Logger;
  readonly health: Health;
  readonly allowsOrigin: (origin: string) => boolean;
  /** Where the messaging service listens, for pages served before it does too. */
  readonly messagingUrl: () => string;
  /** Where the calendar service listens, likewise. */
  readonly calendarUrl: () => string;
  /** Who shares a conversation with whom, as the lanes say. */
  readonly sharing: Sharing;
  readonly rooms: MeetingRooms;
  readonly hostedRooms: HostedRooms;
  /** Told of a session that was ended because two had a refresh token of it. */
  readonly sessionReused: SignInOptions['reused'];
  /** The directory server that judges some names; undefined before there is one to ask. */
  readonly directorySignIn: SignInOptions['directory'];
  /** What asks for second factors; undefined before there is a vault to keep them in. */
  readonly secondFactors: SignInOptions['factors'];
  readonly telemetry?: HttpTelemetry | undefined;
  readonly clock?: Clock | undefined;
}

/** What the management plane works with, beside the app. */
export interface Coordinator extends PeopleServices {
  /** Not listening yet; closing it is the caller's. */
  readonly app: FastifyInstance;
  readonly passwords: Passwords;
  readonly signIn: SignIn;
  /** Where the app keeps what renews its sessions. */
  readonly sessionCookies: SessionCookies;
  /** Whose session a token of the coordinator's own routes is. */
  readonly authenticate: Authenticate;
  /** The claims of that session. @throws Refusal as `authenticate` does. */
  readonly session: (token: string | undefined) => SessionClaims;
  /** Counts failures at sign-in, and wherever else a person's password is asked. */
  readonly signInGuard: SignInGuard;
}

/** People and what concerns them: who they are, what they may, where they meet. */
export interface PeopleServices {
  readonly access: AccessControl;
  readonly appPasswords: AppPasswords;
  readonly people: People;
  readonly directory: Directory;
  readonly groups: Groups;
  readonly memberships: GroupMemberships;
  readonly resources: Resources;
  readonly policies: Policies;
  readonly guests: Guests;
  readonly hostedGuests: HostedGuests;
  readonly invitations: Invitations;
  readonly enrollment: Enrollment;
  readonly avatars: Avatars;
  readonly customEmojis: CustomEmojis;
  /** What opens pictures that people send to the coordinator. */
  readonly pictures: ThumbnailMaker;
  readonly passwordResets: PasswordResets;
  readonly recovery: Recovery;
  readonly meetings: Meetings;
}

export async function makeCoordinator(options: CoordinatorOptions): Promise<Coordinator> {
  const { config, accounts, tokens, announcer, limiter, quotas, clock = systemClock } = options;
  const passwords = await Passwords.make(config.passwordMemoryKib);
  limiter.roundRobin.restWhile(() => passwords.isBusy);
  const guard = new SignInGuard({ limiter, realm: 'client' });
  const signIn = new SignIn({
    config,
    accounts,
    passwords,
    tokens,
    announcer,
    guard,
    clock,
    quotas,
    directory: options.directorySignIn,
    factors: options.secondFactors,
    switches: new SignInSwitches(readSignInSettings(accounts)),
    reused: options.sessionReused,
  });
  const authenticate: Authenticate = (token) => signIn.authenticate(token);
  const nouns = makeNouns({ ...options, clock }, passwords);
  await nouns.directory.prepare();
  const app = await makeHttpSurface(options);
  const sessionCookies = new SessionCookies({ baseUrl: config.coordinatorUrl, clock });
  const sessions = makeSessionHandlers(signIn, nouns.enrollment, nouns.hostedGuests, sessionCookies);
  addClientRoutes(app, SESSION_ROUTES, sessions, authenticate, limiter);
  addClientRoutes(app, APP_PASSWORD_ROUTES, makeAppPasswordHandlers(nouns.appPasswords), authenticate, limiter);
  addClientRoutes(app, DIRECTORY_ROUTES, makeDirectoryHandlers(nouns.directory, nouns.groups), authenticate, limiter);
  addClientRoutes(app, RECOVERY_ROUTES, makeRecoveryHandlers(nouns.recovery), authenticate);
  addClientRoutes(app, MEETING_ROUTES, makeMeetingHandlers(nouns.meetings), authenticate, limiter);
  const services = new ServiceTokens(config.serviceTokens ?? {});
  const internal = makeInternalHandlers({
    session: (token) => signIn.session(token),
    entry: (username) => nouns.directory.entry(username),
  });
  addWebApp(app, {
    messaging: { named: config.messagingUrl, listening: options.messagingUrl },
    calendar: { named: config.calendarUrl, listening: options.calendarUrl },
  });
  addClientRoutes(app, INTERNAL_ROUTES, internal, (token) => services.authenticateInternal(token));
  addEnrollmentPage(app);
  addPasswordResetPage(app);
  addMeetingPage(app, nouns.meetings);
  keepTidy(app, { ...options, clock }, nouns);
  const session = (token: string | undefined) => signIn.session(token);
  return { app, passwords, signIn, sessionCookies, authenticate, session, signInGuard: guard, ...nouns };
}

function makeNouns(options: CoordinatorOptions & { readonly clock: Clock }, passwords: Passwords): PeopleServices {
  const { accounts, announcer, clock, config, limiter, log, memberships } = options;
  const access = new AccessControl({
    accounts,
    announcer,
    sharing: options.sharing,
    clock,
    asking: () => readAsking(accounts, config),
  });
  const invitations = new Invitations({ accounts, passwords, announcer, clock });
  const guests = new Guests({ accounts, access, announcer, clock, log });
  const { recoveryWebhook } = config;
  const sender = recoveryWebhook === undefined ? undefined : makeRecoveryWebhook(recoveryWebhook);
  const links = new MeetingLinks(accounts.secret('meeting_key'));
  const pictures = new ThumbnailMaker();
  return {
    access,
    appPasswords: new AppPasswords(accounts, clock),
    people: new People({ accounts, passwords, announcer, clock }),
    directory: new Directory(accounts, access),
    groups: new Groups({ accounts, access, announcer, clock }),
    memberships,
    resources: new Resources({ accounts, access, memberships, clock }),
    policies: new Policies({ accounts, access, clock }),
    guests,
    invitations,
    enrollment: new Enrollment({ accounts, passwords, announcer, access, guests, invitations, limiter, clock }),
    avatars: new Avatars({ access, accounts, announcer, clock, maker: pictures }),
    customEmojis: new CustomEmojis({ accounts, clock, maker: pictures }),
    pictures,
    hostedGuests: new HostedGuests({ accounts, access, clock, guests, limiter, rooms: options.hostedRooms }),
    passwordResets: new PasswordResets({
      accounts,
      passwords,
      announcer,
      clock,
      isElsewhere: (username) => isPasswordElsewhere(accounts, username),
    }),
    recovery: new Recovery({ accounts, passwords, announcer, limiter, sender, clock, log }),
    meetings: new Meetings({
      accounts,
      announcer,
      access,
      rooms: options.rooms,
      links,
      clock,
      requireQuota: options.quotas.require,
    }),
  };
}

/** Ends the terms of guests in time, and removes what time has settled; until the app closes. */
function keepTidy(
  app: FastifyInstance,
  options: CoordinatorOptions & { readonly clock: Clock },
  nouns: PeopleServices,
): void {
  const { accounts, clock, log } = options;
  const sweep = async () => {
    await accounts.sweep(unixSeconds(clock.now()));
    await nouns.enrollment.sweep();
    await nouns.guests.sweep();
    await nouns.passwordResets.sweep();
    await nouns.recovery.sweep();
    await nouns.hostedGuests.landAll();
  };
  const timer = setInterval(() => {
    sweep().catch((error: unknown) => log.warn('sweeping the accounts failed', { error }));
  }, SWEEP_MILLIS);
  timer.unref();
  nouns.guests.watch();
  // Beside other work, so that neither the start nor the first search waits for all names.
  nouns.directory.startSearch((error) => log.warn('reading the directory for search failed', { error }));
  app.addHook('onClose', async () => {
    clearInterval(timer);
    nouns.guests.stop();
    nouns.directory.stopSearch();
    await nouns.recovery.settle();
  });
}
