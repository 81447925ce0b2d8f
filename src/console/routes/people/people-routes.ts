/** The pages about people: who they are, what they may, how they come in, where they meet. */
import type { PeopleServices } from '#src/server/coordinator.ts';
import type { ConsoleRoles } from '#src/identity/console/console-roles.ts';
import { makeCustomEmojiPage } from './custom-emoji.ts';
import { makeEnrollPage } from './enroll.ts';
import { makeGroupsPage } from './groups.ts';
import { makeGuestsPage } from './guests.ts';
import { makeMeetingsPage } from './meetings.ts';
import { makePoliciesPage } from './policies.ts';
import { makeRecoveryPage } from './recovery.ts';
import { makeResourcesPage } from './resources.ts';
import { makeUsersPage, type UsersPageOptions } from './users.ts';

/** `coordinatorUrl` is where clients reach the coordinator, without a slash at the end. */
export function makePeoplePages(
  plane: PeopleServices &
    Pick<UsersPageOptions, 'coordinatorUrl' | 'factorRemovals'> & { readonly consoleRoles: ConsoleRoles },
) {
  return {
    customEmoji: makeCustomEmojiPage(plane),
    enroll: makeEnrollPage(plane),
    groups: makeGroupsPage(plane),
    guests: makeGuestsPage(plane),
    meetings: makeMeetingsPage(plane),
    policies: makePoliciesPage(plane),
    recovery: makeRecoveryPage(plane),
    resources: makeResourcesPage(plane),
    users: makeUsersPage(plane),
  };
}
