/** The pages about people: who they are, what they may, how they come in, where they meet. */
import type { PeoplePlane } from '#src/coordinator/coordinator.ts';
import type { ConsoleRoles } from '#src/coordinator/console-roles.ts';
import { makeEnrollPage } from './pages/enroll.ts';
import { makeGroupsPage } from './pages/groups.ts';
import { makeGuestsPage } from './pages/guests.ts';
import { makeMeetingsPage } from './pages/meetings.ts';
import { makePoliciesPage } from './pages/policies.ts';
import { makeRecoveryPage } from './pages/recovery.ts';
import { makeUsersPage } from './pages/users.ts';

/** `coordinatorUrl` is where clients reach the coordinator, without a slash at the end. */
export function makePeoplePages(plane: PeoplePlane, consoleRoles: ConsoleRoles, coordinatorUrl: () => string) {
  return {
    enroll: makeEnrollPage({ enrollment: plane.enrollment, coordinatorUrl }),
    groups: makeGroupsPage(plane),
    guests: makeGuestsPage(plane),
    meetings: makeMeetingsPage(plane),
    policies: makePoliciesPage(plane),
    recovery: makeRecoveryPage(plane),
    users: makeUsersPage({ people: plane.people, groups: plane.groups, consoleRoles }),
  };
}
