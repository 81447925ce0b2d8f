/** What the API document says of SCIM: its routes from their table, with the errors in its own form. */
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { COMMON_ERRORS } from '#src/protocol/routes.ts';
import { scimError } from '#src/scim/answers.ts';
import { SCIM_PREFIX, SCIM_ROUTES, type ScimRoute } from '#src/scim/scim-routes.ts';
import type { JsonObject } from './schemas.ts';

const MEDIA_TYPE = 'application/scim+json';

/** How a client that provisions people proves who it is. */
export const SCIM_SECURITY_SCHEME = {
  provisioning: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of a client that an owner made in the console.',
  },
} as const;

const SCIM_ERROR = {
  type: 'object',
  description: 'An error as RFC 7644 has it (section 3.12), with the code and the sentence of this server.',
  properties: {
    schemas: { type: 'array', items: { type: 'string' } },
    status: { type: 'string' },
    scimType: { type: 'string' },
    detail: { type: 'string' },
    code: { type: 'string' },
    error: { type: 'string' },
  },
  required: ['schemas', 'status', 'detail', 'code', 'error'],
} as const;

/** Path → its methods. */
export function scimPaths(server: JsonObject): Record<string, JsonObject> {
  const paths: Record<string, JsonObject> = {};
  for (const [name, route] of Object.entries<ScimRoute>(SCIM_ROUTES)) {
    const path = `${SCIM_PREFIX}${route.path.replaceAll(':id', '{id}')}`;
    const id = { name: 'id', in: 'path', required: true, description: 'As `id` says it.', schema: { type: 'string' } };
    paths[path] ??= { servers: [server], parameters: route.path.includes(':id') ? [id] : [] };
    paths[path][route.method] = {
      operationId: `scim.${name}`,
      tags: ['provisioning'],
      summary: route.summary,
      security: [{ provisioning: [] }],
      ...(route.hasBody === true ? { requestBody: { required: true, content: contentOf({ type: 'object' }) } } : {}),
      responses: { [route.status]: successOf(route), ...refusalsOf(route.errors) },
    };
  }
  return paths;
}

function contentOf(schema: JsonObject): JsonObject {
  return { [MEDIA_TYPE]: { schema } };
}

function successOf({ status }: ScimRoute): JsonObject {
  if (status === 204) return { description: 'Done.' };
  return { description: 'A resource of RFC 7643, or a list of such.', content: contentOf({ type: 'object' }) };
}

/** By the status that SCIM has for them. */
function refusalsOf(own: readonly ErrorCode[]): JsonObject {
  const codes = [...new Set([...COMMON_ERRORS, ...own])].toSorted();
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = scimError({ code, error: ERRORS[code].error }, ERRORS[code].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const described = [...byStatus].map(([status, found]): [string, JsonObject] => {
    const schema = { ...SCIM_ERROR, properties: { ...SCIM_ERROR.properties, code: { type: 'string', enum: found } } };
    return [String(status), { description: found.join(', '), content: contentOf(schema) }];
  });
  return Object.fromEntries(described);
}
