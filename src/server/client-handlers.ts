/** The handlers of the client's routes on the coordinator beside sign-in: app passwords, directory, recovery, meetings. */
import type { z } from 'zod';
import { isId } from '#src/base/ids.ts';
import type { createAppPassword } from '#src/protocol/sessions/app-passwords.ts';
import type { APP_PASSWORD_ROUTES } from '#src/protocol/sessions/app-password-routes.ts';
import type { DirectoryQuery } from '#src/protocol/directory/directory.ts';
import type { DIRECTORY_ROUTES } from '#src/protocol/directory/directory-routes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { GUEST_ROUTES } from '#src/protocol/directory/guest-routes.ts';
import type { ConfirmRecovery, InviteGuest, recover } from '#src/protocol/directory/guests.ts';
import type { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import type { ChangeMeeting, CreateMeeting, handOverMeeting, meetingsQuery } from '#src/protocol/meetings/meetings.ts';
import type { RECOVERY_ROUTES } from '#src/protocol/directory/recovery-routes.ts';
import type { AppPasswords } from '#src/identity/app-passwords.ts';
import type { ClientHandlers, ClientRequest } from '#src/http/client-routes.ts';
import type { Directory } from '#src/directory/directory.ts';
import type { HostedGuests } from '#src/hosting/hosted-guests.ts';
import type { Groups } from '#src/directory/groups/groups.ts';
import type { Meetings } from '#src/meetings/meetings.ts';
import type { Recovery } from '#src/directory/recovery.ts';

export function makeAppPasswordHandlers(passwords: AppPasswords): ClientHandlers<typeof APP_PASSWORD_ROUTES> {
  return {
    createAppPassword: async ({ user, body, address }) => {
      const { name } = body as z.infer<typeof createAppPassword>;
      return { status: 201, body: { ...(await passwords.create(user, name, address)), username: user } };
    },
    listAppPasswords: ({ user }) => ({ status: 200, body: { items: passwords.list(user), next: null } }),
    revokeAppPassword: async ({ user, parameters, address }) => {
      await passwords.revoke(user, parameters['password'] ?? '', address);
      return { status: 204, body: undefined };
    },
  };
}

export function makeDirectoryHandlers(directory: Directory, groups: Groups): ClientHandlers<typeof DIRECTORY_ROUTES> {
  return {
    listDirectory: async ({ user, query }) => {
      const { q, users, after, after_rev: afterRev, limit } = query as DirectoryQuery;
      if (users !== undefined) return { status: 200, body: directory.named(user, users.split(',')) };
      if (q !== undefined) return { status: 200, body: await directory.search(user, q, after, limit) };
      return afterRev === undefined
        ? directory.list(user, after ?? '', limit)
        : directory.changes(user, afterRev, limit);
    },
    readDirectoryEntry: ({ user, parameters }) => ({
      status: 200,
      body: directory.read(user, parameters['username'] ?? ''),
    }),
    listOwnGroups: ({ user }) => ({ status: 200, body: { items: groups.of(user), next: null } }),
  };
}

/** `baseUrl` is where the coordinator is reached, without a slash at the end. */
export function makeGuestHandlers(guests: HostedGuests, baseUrl: () => string): ClientHandlers<typeof GUEST_ROUTES> {
  const byOf = ({ address, user }: ClientRequest) => ({ actor: `user:${user}`, address });
  return {
    inviteGuest: async (request) => {
      const { expiresAt, id, path } = await guests.invite(request.user, request.body as InviteGuest, byOf(request));
      return { status: 201, body: { id, url: `${baseUrl()}${path}`, expires_at: expiresAt } };
    },
    listHostedGuests: ({ user }) => ({ status: 200, body: { items: guests.list(user), next: null } }),
    withdrawGuest: async (request) => {
      await guests.withdraw(request.user, request.parameters['invited'] ?? '', byOf(request));
      return { status: 204, body: undefined };
    },
    endHostedGuest: async (request) => {
      await guests.end(request.user, request.parameters['username'] ?? '', byOf(request));
      return { status: 204, body: undefined };
    },
  };
}

export function makeRecoveryHandlers(recovery: Recovery): ClientHandlers<typeof RECOVERY_ROUTES> {
  return {
    recover: ({ body, address }) => {
      recovery.request((body as z.infer<typeof recover>).phone, address);
      return { status: 200, body: { status: 'ok' } };
    },
    confirmRecovery: async ({ body, address }) => {
      await recovery.confirm(body as ConfirmRecovery, address);
      return { status: 200, body: { status: 'ok' } };
    },
  };
}

export function makeMeetingHandlers(meetings: Meetings): ClientHandlers<typeof MEETING_ROUTES> {
  const nameOf = ({ parameters }: ClientRequest) => parameters['username'] ?? '';
  return {
    createMeeting: async ({ user, body }) => ({
      status: 201,
      body: await meetings.create(user, body as CreateMeeting),
    }),
    listMeetings: ({ user, query }) => {
      const { after, conversation, limit, waiting } = query as z.infer<typeof meetingsQuery>;
      if (after !== undefined && !isId('mtg', after)) throw new Refusal('cursor_invalid', { field: 'after' });
      return {
        status: 200,
        body: meetings.list(user, after, limit, { conversation, isWaitedFor: waiting === 'true' }),
      };
    },
    readMeeting: (request) => ({ status: 200, body: meetings.read(request.user, meetingOf(request)) }),
    changeMeeting: async (request) => ({
      status: 200,
      body: await meetings.change(request.user, meetingOf(request), request.body as ChangeMeeting),
    }),
    cancelMeeting: async (request) => ({
      status: 200,
      body: await meetings.cancel(request.user, meetingOf(request)),
    }),
    handOverMeeting: async (request) => ({
      status: 200,
      body: await meetings.handOver(
        request.user,
        meetingOf(request),
        (request.body as z.infer<typeof handOverMeeting>).user,
      ),
    }),
    renewMeetingLink: async (request) => ({
      status: 200,
      body: await meetings.renewLink(request.user, meetingOf(request)),
    }),
    joinMeeting: async ({ user, parameters }) => ({
      status: 200,
      body: await meetings.join(user, parameters['link'] ?? ''),
    }),
    admitToMeeting: async (request) => ({
      status: 200,
      body: await meetings.admit(request.user, meetingOf(request), nameOf(request)),
    }),
    denyMeeting: async (request) => ({
      status: 200,
      body: await meetings.deny(request.user, meetingOf(request), nameOf(request)),
    }),
  };
}

/** @throws Refusal `meeting_not_found` for what no meeting could be called. */
function meetingOf({ parameters: { meeting = '' } }: ClientRequest): string {
  if (!isId('mtg', meeting)) throw new Refusal('meeting_not_found');
  return meeting;
}
