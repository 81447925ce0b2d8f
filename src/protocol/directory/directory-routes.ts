/** The HTTP forms of the directory on the coordinator, as data: see `routes.ts`. */
import * as directory from './directory.ts';
import { groupsReply } from './policies.ts';
import { route, type Route } from '../route.ts';

export const DIRECTORY_ROUTES = {
  listDirectory: route.get(
    '/v1/directory',
    'Pages through the people whom the caller may see, or through what changed of them since a rev, with 304 for `If-None-Match`; or searches among them by name; or reads those who are named.',
    {
      query: directory.directoryQuery,
      replies: { 200: directory.directoryReply, 304: null },
      errors: ['cursor_invalid'],
    },
  ),
  readDirectoryEntry: route.get(
    '/v1/directory/:username',
    'Reads a person. One answer for a person who is not there and one whom the caller may not see.',
    { replies: { 200: directory.directoryEntry }, errors: ['person_forbidden'] },
  ),
  listOwnGroups: route.get('/v1/me/groups', 'The groups that the caller is a member of.', {
    replies: { 200: groupsReply },
  }),
} as const satisfies Record<string, Route>;
