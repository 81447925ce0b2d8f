/** What a server of SCIM says of itself (RFC 7643, sections 5 to 7). */
import {
  describeAttribute,
  GROUP_SCHEMA,
  GROUP_TYPE,
  USER_SCHEMA,
  USER_TYPE,
  type ResourceType,
} from './attributes.ts';
import { SCIM_PAGE_MAX } from './listing.ts';

type Shown = Record<string, unknown>;

/** What it can do; what it cannot is said as plainly. */
export function serviceProviderConfig(base: string): Shown {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: SCIM_PAGE_MAX },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The token that an owner made for this client in the console.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

export function resourceTypes(base: string): Shown[] {
  return [USER_TYPE, GROUP_TYPE].map(({ description, endpoint, name, schema }) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: name,
    ...{ name, endpoint, description, schema },
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  }));
}

export function schemas(base: string): Shown[] {
  const types: readonly (readonly [id: string, type: ResourceType])[] = [
    [USER_SCHEMA, USER_TYPE],
    [GROUP_SCHEMA, GROUP_TYPE],
  ];
  return types.map(([id, { attributes, description, name }]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    ...{ id, name, description },
    attributes: attributes.map(describeAttribute),
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  }));
}
