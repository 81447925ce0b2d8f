/**
 * Every route of SCIM as one table: the service registers from it and from nothing else, the API document lists it, and each
 * kind of caller is tried against it.
 */
import type { ErrorCode } from '#src/protocol/errors.ts';

export const SCIM_PREFIX = '/scim/v2';

export interface ScimRoute {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below the prefix, with `:id` for a person or a group. */
  readonly path: `/${string}`;
  /** One sentence for the API document. */
  readonly summary: string;
  /** The status of success; 204 has no body. */
  readonly status: 200 | 201 | 204;
  /** Whether it takes a resource, or operations on one. */
  readonly hasBody?: true;
  /** Codes of this route beyond those that every route may answer. */
  readonly errors: readonly ErrorCode[];
}

const LISTING = ['busy', 'query_invalid', 'scim_filter_invalid', 'scim_too_many'] as const;
const CHANGING = ['field_invalid', 'scim_version_mismatch'] as const;
const PATCHING = ['scim_no_target', 'scim_path_invalid', 'scim_read_only'] as const;

export const SCIM_ROUTES = {
  readProvider: get('/ServiceProviderConfig', 'What of SCIM is supported.'),
  listResourceTypes: get('/ResourceTypes', 'The kinds of resources: people and groups.'),
  readResourceType: get('/ResourceTypes/:id', 'One kind of resources.', 'path_not_found'),
  listSchemas: get('/Schemas', 'The attributes that are kept.'),
  readSchema: get('/Schemas/:id', 'The attributes of one kind.', 'path_not_found'),
  listUsers: get('/Users', "The client's people, filtered, ordered and by pages.", ...LISTING),
  searchUsers: search('/Users/.search', 'As the list of people, with the query in the body.'),
  readUser: get('/Users/:id', 'A person of the client.', 'person_not_found'),
  createUser: {
    method: 'post',
    path: '/Users',
    summary: 'Makes a person, or brings back the one of that `externalId` whom the client deleted.',
    status: 201,
    hasBody: true,
    errors: ['field_invalid', 'scim_people_full', 'username_taken'],
  },
  replaceUser: write('put', '/Users/:id', 'Replaces what is kept of a person.', 'person_not_found', 'username_taken'),
  changeUser: write(
    'patch',
    '/Users/:id',
    'Changes a person by operations.',
    ...PATCHING,
    ...(['person_not_found', 'username_taken'] as const),
  ),
  removeUser: remove('/Users/:id', 'Blocks a person and forgets them for the client.', 'person_not_found'),
  listGroups: get('/Groups', "The client's groups, filtered, ordered and by pages.", ...LISTING),
  searchGroups: search('/Groups/.search', 'As the list of groups, with the query in the body.'),
  readGroup: get('/Groups/:id', 'A group of the client.', 'group_not_found'),
  createGroup: {
    method: 'post',
    path: '/Groups',
    summary: 'Makes a group.',
    status: 201,
    hasBody: true,
    errors: ['field_invalid', 'group_full', 'group_name_taken', 'groups_full'],
  },
  replaceGroup: write(
    'put',
    '/Groups/:id',
    'Replaces name and members of a group.',
    ...(['group_full', 'group_name_taken', 'group_not_found'] as const),
  ),
  changeGroup: {
    ...write(
      'patch',
      '/Groups/:id',
      'Changes a group by operations; with `attributes` it is answered, 200.',
      ...PATCHING,
      ...(['group_full', 'group_name_taken', 'group_not_found'] as const),
    ),
    status: 204,
  },
  removeGroup: remove('/Groups/:id', 'Removes a group.', 'group_in_use', 'group_not_found'),
} as const satisfies Record<string, ScimRoute>;

export type ScimRouteName = keyof typeof SCIM_ROUTES;

/** Parts of the standard that are not here; whatever the method, they say so. */
export const UNSUPPORTED_PATHS = ['/Bulk', '/Me', '/.search'] as const;

function get(path: ScimRoute['path'], summary: string, ...errors: ErrorCode[]): ScimRoute {
  return { method: 'get', path, summary, status: 200, errors };
}

function search(path: ScimRoute['path'], summary: string): ScimRoute {
  return { method: 'post', path, summary, status: 200, hasBody: true, errors: ['field_invalid', ...LISTING] };
}

function write(method: 'put' | 'patch', path: ScimRoute['path'], summary: string, ...errors: ErrorCode[]): ScimRoute {
  return { method, path, summary, status: 200, hasBody: true, errors: ['right_missing', ...CHANGING, ...errors] };
}

function remove(path: ScimRoute['path'], summary: string, ...errors: ErrorCode[]): ScimRoute {
  return { method: 'delete', path, summary, status: 204, errors: ['scim_version_mismatch', ...errors] };
}
