/** The HTTP forms of the directory on the coordinator, as data: see `routes.ts`. */
import * as directory from './directory.ts';
import { groupsReply } from './policies.ts';
import type { Route } from '../route.ts';

export const DIRECTORY_ROUTES = {
  listDirectory: {
    method: 'get',
    path: '/v1/directory',
    summary: 'Pages through the people whom the caller may see, or through what changed of them since a rev.',
    auth: 'session',
    query: directory.directoryQuery,
    replies: { 200: directory.directoryReply },
    errors: [],
  },
  readDirectoryEntry: {
    method: 'get',
    path: '/v1/directory/:username',
    summary: 'Reads a person. One answer for a person who is not there and one whom the caller may not see.',
    auth: 'session',
    replies: { 200: directory.directoryEntry },
    errors: ['person_forbidden'],
  },
  listOwnGroups: {
    method: 'get',
    path: '/v1/me/groups',
    summary: 'The groups that the caller is a member of.',
    auth: 'session',
    replies: { 200: groupsReply },
    errors: [],
  },
} as const satisfies Record<string, Route>;
