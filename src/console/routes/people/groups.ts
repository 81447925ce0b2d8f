/** Groups of people, for the access policies to speak of (POL-01). */
import type { Groups } from '#src/directory/groups/groups.ts';
import * as policies from '#src/protocol/directory/policies.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const missing = 'group_not_found';

export const groupsRoutes = {
  listGroups: consoleRoute.get('/groups', 'All groups, without their members.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: policies.groupsReply },
  }),
  createGroup: consoleRoute.post('/groups', 'Creates a group.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'group.created',
    body: policies.createGroup,
    replies: { 201: policies.groupWithMembers },
    errors: ['group_name_taken', 'groups_full'],
  }),
  readGroup: consoleRoute.get('/groups/:group', 'A group and its members.', {
    access: 'users:read',
    vendor: 'open',
    replies: { 200: policies.groupWithMembers },
    errors: [missing],
  }),
  changeGroup: consoleRoute.patch('/groups/:group', 'Renames a group, takes people in and lets people go.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'group.changed',
    body: policies.changeGroup,
    replies: { 200: policies.groupWithMembers },
    errors: [missing, 'group_name_taken', 'group_full'],
  }),
  deleteGroup: consoleRoute.delete('/groups/:group', 'Deletes a group that no policy names.', {
    access: 'users:write',
    vendor: 'closed',
    audit: 'group.deleted',
    replies: { 204: null },
    errors: [missing, 'group_in_use'],
  }),
} as const satisfies Record<string, ConsoleRoute>;

export function makeGroupsPage({ groups }: { readonly groups: Groups }): ConsolePage {
  return page(groupsRoutes, {
    listGroups: () => ({ status: 200, body: { items: groups.list(), next: null } }),
    createGroup: async ({ by, body }) => ({
      status: 201,
      body: await groups.create(body, by),
    }),
    readGroup: ({ parameters }) => ({ status: 200, body: groups.read(parameters.group) }),
    changeGroup: async ({ by, body, parameters }) => ({
      status: 200,
      body: await groups.change(parameters.group, body, by),
    }),
    deleteGroup: async ({ by, parameters }) => {
      await groups.remove(parameters.group, by);
      return { status: 204 };
    },
  });
}
