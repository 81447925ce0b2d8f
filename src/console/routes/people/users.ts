/** People: listing, creating, changing, blocking, letting go, and their sessions (DIR-01). */
import type { z } from 'zod';
import type { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import type { Directory } from '#src/directory/directory.ts';
import type { Groups } from '#src/directory/groups/groups.ts';
import { UnknownPerson, type People } from '#src/directory/people.ts';
import type { Avatars } from '#src/directory/avatars.ts';
import type { FactorRemovals } from '#src/directory/factor-removals.ts';
import type { PasswordResets } from '#src/directory/password-resets.ts';
import { passwordResetLink } from '#src/protocol/account/passwords.ts';
import * as directory from '#src/protocol/directory/directory.ts';
import { isBotUser } from '#src/protocol/bots/bots.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { PASSWORD_POLICY_ERRORS } from '#src/protocol/sessions/sessions.ts';
import { actorOf } from '#src/identity/console/principal.ts';
import { assertOwner, page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

const missing = 'person_not_found';
const left = 'person_left';

export const usersRoutes = {
  listUsers: {
    method: 'get',
    path: '/users',
    summary: 'People and guests, by username, or those who are called so, in the order that is asked for.',
    access: 'users:read',
    vendor: 'open',
    audit: null,
    query: directory.usersQuery,
    replies: { 200: directory.usersReply },
    errors: ['cursor_invalid'],
  },
  createUser: {
    method: 'post',
    path: '/users',
    summary: 'Creates a person with a password that is handed over.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.created',
    body: directory.createUser,
    replies: { 201: directory.user },
    errors: [...PASSWORD_POLICY_ERRORS, 'username_taken'],
  },
  readUser: {
    method: 'get',
    path: '/users/:username',
    summary: 'One person.',
    access: 'users:read',
    vendor: 'open',
    audit: null,
    replies: { 200: directory.user },
    errors: [missing],
  },
  changeUser: {
    method: 'patch',
    path: '/users/:username',
    summary: 'Changes what is known of a person; null takes a field away.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.changed',
    body: directory.changeUser,
    replies: { 200: directory.user },
    errors: [missing, left],
  },
  blockUser: {
    method: 'post',
    path: '/users/:username/block',
    summary: 'Ends all sessions of a person and keeps them from signing in.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.blocked',
    replies: { 200: directory.user },
    errors: [missing, left, 'last_owner_required'],
  },
  unblockUser: {
    method: 'post',
    path: '/users/:username/unblock',
    summary: 'Lets a blocked person sign in again.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.unblocked',
    replies: { 200: directory.user },
    errors: [missing, left],
  },
  leaveUser: {
    method: 'post',
    path: '/users/:username/leave',
    summary: 'Lets a person go for good. Nobody is ever given their username.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.left',
    replies: { 200: directory.user },
    errors: [missing, left, 'last_owner_required'],
  },
  resetPassword: {
    method: 'post',
    path: '/users/:username/password-reset',
    summary: 'Makes a link that sets the password of a person, once, within a day. It is in this answer only.',
    access: 'users:write',
    vendor: 'closed',
    stepUp: true,
    audit: 'user.password_reset_made',
    replies: { 201: passwordResetLink },
    errors: [missing, left, 'owner_reset_on_host', 'password_at_provider'],
  },
  removeUserFactors: {
    method: 'delete',
    path: '/users/:username/second-factors',
    summary: 'Takes all second factors of a person away who lost theirs, and ends their sessions.',
    access: 'users:write',
    vendor: 'closed',
    stepUp: true,
    audit: 'second_factor.removed',
    replies: { 204: null },
    errors: [missing, left, 'owner_reset_on_host', 'second_factor_not_found'],
  },
  removeUserAvatar: {
    method: 'delete',
    path: '/users/:username/avatar',
    summary: 'Takes the picture of a person away.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.avatar_removed',
    replies: { 204: null },
    errors: [missing],
  },
  listUserSessions: {
    method: 'get',
    path: '/users/:username/sessions',
    summary: 'The sessions of a person that have not ended.',
    access: 'users:read',
    vendor: 'open',
    audit: null,
    replies: { 200: directory.userSessionsReply },
    errors: [missing],
  },
  endUserSession: {
    method: 'delete',
    path: '/users/:username/sessions/:session',
    summary: 'Ends a session and closes its socket.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.session_ended',
    replies: { 204: null },
    errors: [missing, 'user_session_not_found'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface UsersPageOptions {
  readonly people: People;
  readonly groups: Groups;
  readonly directory: Pick<Directory, 'find'>;
  readonly avatars: Avatars;
  readonly passwordResets: PasswordResets;
  readonly factorRemovals: FactorRemovals;
  /** Where clients reach the coordinator, without a slash at the end. */
  readonly coordinatorUrl: () => string;
  readonly consoleRoles: Pick<ConsoleRoles, 'isHeldBy' | 'lastOwnerCheck'>;
}

export function makeUsersPage(options: UsersPageOptions): ConsolePage {
  const { avatars, people, groups, directory: names, consoleRoles } = options;
  const viewOf = (username: string): directory.User => ({
    ...people.read(username),
    groups: groups.of(username).map(({ id, name }) => ({ id, name })),
  });
  /** Does something to the person of the path, and answers them as they are then. */
  const doTo = async (request: Request, act: (username: string) => Promise<void>) => {
    const username = request.parameters['username'] ?? '';
    await known(async () => await act(username));
    return { status: 200, body: viewOf(username) };
  };
  return page(usersRoutes, {
    listUsers: async ({ query }) => {
      const { users, next } = await pageOf(query, people, names);
      return { status: 200, body: { items: users.map(viewOf), next } };
    },
    createUser: async (request) => {
      const { username, password, ...profile } = request.body;
      await people.add(username, password, profile, doerOf(request));
      return { status: 201, body: viewOf(username) };
    },
    readUser: async ({ parameters }) =>
      await known(async () => ({ status: 200, body: viewOf(parameters['username'] ?? '') })),
    changeUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayTouch(request, people, username);
        if (request.body.email !== undefined) assertMayGiveWayIn(request, consoleRoles, username);
        await people.change(username, request.body, doerOf(request));
      }),
    blockUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayTouch(request, people, username);
        await people.block(username, doerOf(request), await consoleRoles.lastOwnerCheck(username));
      }),
    unblockUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayTouch(request, people, username);
        await people.unblock(username, doerOf(request));
      }),
    leaveUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayTouch(request, people, username);
        await people.leave(username, doerOf(request), await consoleRoles.lastOwnerCheck(username));
      }),
    resetPassword: async (request) => await known(async () => await resetOf(request, options)),
    removeUserFactors: async (request) => await known(async () => await removeFactorsOf(request, options)),
    removeUserAvatar: async (request) =>
      await known(async () => {
        const { username } = request.parameters;
        assertMayTouch(request, people, username);
        await avatars.remove(username, request.by);
        return { status: 204 };
      }),
    listUserSessions: async ({ parameters }) =>
      await known(async () => ({
        status: 200,
        body: { items: people.sessions(parameters['username'] ?? ''), next: null },
      })),
    endUserSession: async (request) =>
      await known(async () => {
        const { username, session } = request.parameters;
        assertMayTouch(request, people, username);
        await people.endSession(username, session, doerOf(request));
        return { status: 204 };
      }),
  });
}

/** A link that sets a password. @throws UnknownPerson, and the codes of the route. */
async function resetOf(
  request: ConsoleRequest,
  { consoleRoles, coordinatorUrl, passwordResets, people }: UsersPageOptions,
) {
  const username = request.parameters['username'] ?? '';
  // An owner's is refused by what makes links, to everybody.
  if (people.read(username).role !== 'owner') assertMayGiveWayIn(request, consoleRoles, username);
  const { expiresAt, path } = await passwordResets.make(username, request.by);
  return { status: 201 as const, body: { url: `${coordinatorUrl()}${path}`, expires_at: expiresAt } };
}

/** Takes second factors away. @throws UnknownPerson, and the codes of the route. */
async function removeFactorsOf(request: ConsoleRequest, { consoleRoles, factorRemovals, people }: UsersPageOptions) {
  const username = request.parameters['username'] ?? '';
  // An owner's are refused by what removes them, to everybody.
  if (people.read(username).role !== 'owner') assertMayGiveWayIn(request, consoleRoles, username);
  await factorRemovals.remove(username, request.by);
  return { status: 204 as const };
}

/** A page of usernames: of those who are found, in the order that was asked for, or of all by name. */
async function pageOf(
  { after, limit, q: query, sort }: z.infer<typeof directory.usersQuery>,
  people: People,
  names: UsersPageOptions['directory'],
): Promise<{ readonly users: readonly string[]; readonly next: string | null }> {
  if (query === undefined && sort === undefined) {
    const { items, next } = people.list(after ?? '', limit);
    return { users: items.map(({ username }) => username), next };
  }
  const isShown = ({ user }: { readonly user: string }) => !isBotUser(user);
  return await names.find({ query, order: sort ?? 'fit', after, limit, isShown });
}

type Request = Pick<ConsoleRequest, 'principal' | 'hasSteppedUp' | 'address' | 'parameters'>;

function doerOf({ principal, address }: Request) {
  return { actor: actorOf(principal), address };
}

/**
 * Owners are for owners to shut out and to let in, and so is what is known of them: an address says whose mail and
 * whose account at the identity provider is theirs. @throws Refusal `right_missing`, `step_up_required`.
 */
function assertMayTouch(request: Request, people: People, username: string): void {
  if (people.read(username).role === 'owner') assertOwner(request);
}

/**
 * Whoever has a role in the console is given another way in by owners alone: a password opens the console before a second
 * factor is set up, and an address may bind an account of the provider. @throws Refusal `right_missing`, `step_up_required`.
 */
function assertMayGiveWayIn(
  request: Pick<ConsoleRequest, 'hasSteppedUp' | 'principal'>,
  roles: Pick<ConsoleRoles, 'isHeldBy'>,
  username: string,
): void {
  if (roles.isHeldBy(username)) assertOwner(request);
}

/** What an administrator may know: that there is no such person. @throws Refusal `person_not_found`. */
export async function known<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnknownPerson) throw new Refusal('person_not_found');
    throw error;
  }
}
