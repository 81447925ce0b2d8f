/** People: listing, creating, changing, blocking, letting go, and their sessions (DIR-01). */
import type { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import type { Groups } from '#src/directory/groups.ts';
import { UnknownPerson, type People } from '#src/directory/people.ts';
import * as directory from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { permits } from '#src/identity/console/permissions.ts';
import { roleOf } from '#src/identity/console/principal.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

const missing = 'person_not_found';
const left = 'person_left';

export const usersRoutes = {
  listUsers: consoleRoute.get('/users', 'People and guests, by username.', {
    access: 'users:read',
    vendor: 'open',
    query: directory.usersQuery,
    replies: { 200: directory.usersReply },
  }),
  createUser: consoleRoute.post('/users', 'Creates a person with a password that is handed over.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.created',
    body: directory.createUser,
    replies: { 201: directory.user },
    errors: ['username_taken'],
  }),
  readUser: consoleRoute.get('/users/:username', 'One person.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: directory.user },
    errors: [missing],
  }),
  changeUser: consoleRoute.patch('/users/:username', 'Changes what is known of a person; null takes a field away.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.changed',
    body: directory.changeUser,
    replies: { 200: directory.user },
    errors: [missing, left],
  }),
  blockUser: consoleRoute.post(
    '/users/:username/block',
    'Ends all sessions of a person and keeps them from signing in.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'user.blocked',
      replies: { 200: directory.user },
      errors: [missing, left, 'last_owner_required'],
    },
  ),
  unblockUser: consoleRoute.post('/users/:username/unblock', 'Lets a blocked person sign in again.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.unblocked',
    replies: { 200: directory.user },
    errors: [missing, left],
  }),
  leaveUser: consoleRoute.post(
    '/users/:username/leave',
    'Lets a person go for good. Nobody is ever given their username.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'user.left',
      replies: { 200: directory.user },
      errors: [missing, left, 'last_owner_required'],
    },
  ),
  listUserSessions: consoleRoute.get('/users/:username/sessions', 'The sessions of a person that have not ended.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: directory.userSessionsReply },
    errors: [missing],
  }),
  endUserSession: consoleRoute.delete('/users/:username/sessions/:session', 'Ends a session and closes its socket.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'user.session_ended',
    replies: { 204: null },
    errors: [missing, 'user_session_not_found'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export interface UsersPageOptions {
  readonly people: People;
  readonly groups: Groups;
  readonly consoleRoles: Pick<ConsoleRoles, 'lastOwnerCheck'>;
}

export function makeUsersPage({ people, groups, consoleRoles }: UsersPageOptions): ConsolePage {
  const viewOf = (username: string): directory.User => ({
    ...people.read(username),
    groups: groups.of(username).map(({ id, name }) => ({ id, name })),
  });
  /** Does something to the person of the path, and answers them as they are then. */
  const doTo = async (request: Request, act: (username: string) => Promise<void>) => {
    const username = request.parameters.username;
    await known(async () => await act(username));
    return { status: 200, body: viewOf(username) };
  };
  return page(usersRoutes, {
    listUsers: ({ query }) => {
      const { items, next } = people.list(query.after ?? '', query.limit);
      return { status: 200, body: { items: items.map(({ username }) => viewOf(username)), next } };
    },
    createUser: async (request) => {
      const { username, password, ...profile } = request.body;
      await people.add(username, password, profile, request.by);
      return { status: 201, body: viewOf(username) };
    },
    readUser: async ({ parameters }) => await known(async () => ({ status: 200, body: viewOf(parameters.username) })),
    changeUser: async (request) =>
      await doTo(request, async (username) => await people.change(username, request.body, request.by)),
    blockUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayClose(request, people, username);
        await people.block(username, request.by, await consoleRoles.lastOwnerCheck(username));
      }),
    unblockUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayClose(request, people, username);
        await people.unblock(username, request.by);
      }),
    leaveUser: async (request) =>
      await doTo(request, async (username) => {
        assertMayClose(request, people, username);
        await people.leave(username, request.by, await consoleRoles.lastOwnerCheck(username));
      }),
    listUserSessions: async ({ parameters }) =>
      await known(async () => ({
        status: 200,
        body: { items: people.sessions(parameters.username), next: null },
      })),
    endUserSession: async (request) =>
      await known(async () => {
        const { username, session } = request.parameters;
        await people.endSession(username, session, request.by);
        return { status: 204 };
      }),
  });
}

type Request = Pick<ConsoleRequest<unknown, unknown, Readonly<Record<'username', string>>>, 'principal' | 'parameters'>;

/** Owners are for owners to shut out and to let in. @throws Refusal `right_missing`. */
function assertMayClose({ principal }: Request, people: People, username: string): void {
  if (people.read(username).role === 'owner' && !permits(roleOf(principal), 'access:write')) {
    throw new Refusal('right_missing');
  }
}

/** What an administrator may know: that there is no such person. @throws Refusal `person_not_found`. */
async function known<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnknownPerson) throw new Refusal('person_not_found');
    throw error;
  }
}
