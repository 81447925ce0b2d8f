/** What a person does with their own account, on the coordinator: put together, and its routes registered. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '#src/base/clock.ts';
import type { AccessControl } from '#src/directory/access-control.ts';
import type { Avatars } from '#src/directory/avatars.ts';
import { addCustomEmojiRoutes } from '#src/emoji/custom-emoji-routes.ts';
import type { CustomEmojis } from '#src/emoji/custom-emoji.ts';
import type { ThumbnailMaker } from '#src/pictures/thumbnail-maker.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import { addAvatarRoutes } from './avatar-routes.ts';
import { isFieldElsewhere, isPasswordElsewhere } from '#src/settings/kept-elsewhere.ts';
import { OwnProfiles } from '#src/directory/own-profiles.ts';
import { PasswordChanges } from '#src/directory/password-changes.ts';
import type { PasswordResets } from '#src/directory/password-resets.ts';
import { addClientRoutes, type Authenticate, type ClientHandlers } from '#src/http/client-routes.ts';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SignInGuard } from '#src/identity/credentials/sign-in-guard.ts';
import { notificationsOf, putNotifications } from '#src/identity/notifications.ts';
import type { Notifications } from '#src/protocol/account/notifications.ts';
import { OwnSessions } from '#src/identity/own-sessions.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { ChangeOwnProfile, OwnField } from '#src/protocol/account/profile.ts';
import { readSetValues } from '#src/settings/settings.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import { ACCOUNT_ROUTES } from '#src/protocol/account/account-routes.ts';
import type { ChangePassword, UsePasswordReset } from '#src/protocol/account/passwords.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';

export interface OwnAccountOptions {
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly access: Pick<AccessControl, 'grants'>;
  readonly avatars: Avatars;
  readonly accounts: Accounts;
  readonly announcer: SessionAnnouncer;
  readonly clock: Clock;
  readonly customEmojis: CustomEmojis;
  readonly limiter: Limiter;
  readonly log: Logger;
  readonly metrics: ThreadMetrics;
  readonly passwords: Passwords;
  readonly passwordResets: PasswordResets;
  /** What opens the pictures that are sent here; closed with the app. */
  readonly pictures: ThumbnailMaker;
  /** The claims of a client's session. @throws Refusal when the token is none. */
  readonly session: (token: string | undefined) => SessionClaims;
  readonly signInGuard: SignInGuard;
}

/**
 * Adds the routes of people's own accounts to the coordinator's app; answers their profiles. Statuses that are over have
 * ended when this resolves.
 */
export async function addOwnAccount(options: OwnAccountOptions): Promise<OwnProfiles> {
  const { accounts, app, avatars, limiter, passwordResets, pictures, session, signInGuard: guard } = options;
  const mayChange = (username: string, field: OwnField) =>
    readSetValues(accounts, 'profiles')[field] !== false && !isFieldElsewhere(accounts, username, field);
  const sessions = new OwnSessions(options);
  const profiles = new OwnProfiles({ ...options, mayChange });
  options.metrics.supply(() => ({ attachments: pictures.metrics }));
  app.addHook('onClose', async () => {
    profiles.stop();
    pictures.close();
  });
  await profiles.start();
  const authenticate: Authenticate = (token) => session(token).sub;
  const changes = new PasswordChanges({
    ...options,
    guard,
    isElsewhere: (username) => isPasswordElsewhere(accounts, username),
  });
  const handlers: ClientHandlers<typeof ACCOUNT_ROUTES> = {
    readOwnProfile: ({ user }) => ({ status: 200, body: profiles.read(user) }),
    changeOwnProfile: async ({ user, body, address }) => ({
      status: 200,
      body: await profiles.change(user, body as ChangeOwnProfile, address),
    }),
    readNotifications: ({ user }) => ({ status: 200, body: notificationsOf(accounts, user) }),
    putNotifications: async ({ user, body }) => {
      const wanted = body as Notifications;
      const stored = await accounts.change((draft) => {
        // Erased while this change waited for its turn: nothing of theirs is stored any more.
        if (draft.person(user)?.state !== 'active') throw new Refusal('session_revoked');
        return putNotifications(draft, user, wanted);
      });
      return { status: 200, body: stored };
    },
    listOwnSessions: ({ token }) => ({ status: 200, body: { items: sessions.list(session(token)), next: null } }),
    endOwnSession: async ({ token, parameters, address }) => {
      await sessions.end(session(token), parameters['session'] ?? '', address);
      return { status: 204, body: undefined };
    },
    endOtherSessions: async ({ token, address }) => {
      const ended = await sessions.endOthers(session(token), address);
      return { status: 200, body: { sessions_ended: ended } };
    },
    changePassword: async ({ token, body, address }) => {
      const ended = await changes.change(session(token), body as ChangePassword, address);
      return { status: 200, body: { sessions_ended: ended } };
    },
    usePasswordReset: async ({ parameters, body, address }) => {
      await passwordResets.use(parameters['reset'] ?? '', body as UsePasswordReset, address);
      return { status: 200, body: { status: 'ok' } };
    },
  };
  await addAvatarRoutes(app, { authenticate, avatars, limiter, profiles });
  const mayMake = (user: string) => options.access.grants('emoji.create', user);
  await addCustomEmojiRoutes(app, { authenticate, customEmojis: options.customEmojis, limiter, mayMake });
  addClientRoutes(app, ACCOUNT_ROUTES, handlers, authenticate, limiter);
  return profiles;
}
