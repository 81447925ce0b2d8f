/** Rooms and other things that are booked by inviting them: made and changed by administrators. */
import type { Resources } from '#src/directory/bookable/resources.ts';
import * as resources from '#src/protocol/directory/resources.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const missing = 'resource_not_found';

export const resourcesRoutes = {
  listResources: consoleRoute.get('/resources', 'All rooms and resources, with their rules.', {
    access: 'users:read',
    vendor: 'closed',
    replies: { 200: resources.managedResourcesReply },
  }),
  createResource: consoleRoute.post(
    '/resources',
    'Creates a room or resource. It has a calendar of its own, and answers invitations by its rules.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'resource.created',
      body: resources.createResource,
      replies: { 201: resources.managedResource },
      errors: ['resources_full'],
    },
  ),
  readResource: consoleRoute.get('/resources/:resource', 'A room or resource with its rules.', {
    access: 'users:read',
    vendor: 'closed',
    replies: { 200: resources.managedResource },
    errors: [missing],
  }),
  changeResource: consoleRoute.patch(
    '/resources/:resource',
    'Changes a room or resource. Bookings that it accepted stay; those that are changed later are held to the new rules.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'resource.changed',
      body: resources.changeResource,
      replies: { 200: resources.managedResource },
      errors: [missing],
    },
  ),
  deleteResource: consoleRoute.delete(
    '/resources/:resource',
    'Removes a room or resource with its calendar. Who booked it is not told, and keeps it in their entries.',
    { access: 'users:write', vendor: 'closed', audit: 'resource.removed', replies: { 204: null }, errors: [missing] },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeResourcesPage({ resources: all }: { readonly resources: Resources }): ConsolePage {
  return page(resourcesRoutes, {
    listResources: () => ({ status: 200, body: { items: [...all.all()], next: null } }),
    createResource: async ({ body, by }) => ({ status: 201, body: await all.create(body, by) }),
    readResource: ({ parameters: { resource } }) => ({ status: 200, body: all.read(resource) }),
    changeResource: async ({ body, by, parameters: { resource } }) => ({
      status: 200,
      body: await all.change(resource, body, by),
    }),
    deleteResource: async ({ by, parameters: { resource } }) => {
      await all.remove(resource, by);
      return { status: 204 };
    },
  });
}
