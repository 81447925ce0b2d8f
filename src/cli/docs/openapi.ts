/** The OpenAPI 3.1 document of the HTTP forms, generated from the route tables that the servers register from. */
import { z } from 'zod';
import { AVATAR_ROUTES } from '#src/protocol/account/avatar-routes.ts';
import { CUSTOM_EMOJI_ROUTES } from '#src/protocol/conversations/custom-emoji-routes.ts';
import { OWN_DATA_ROUTES } from '#src/protocol/account/own-data-routes.ts';
import { ACCOUNT_MAIL_ROUTES } from '#src/protocol/account/account-mail.ts';
import { SECURITY_NOTICE_ROUTES } from '#src/protocol/account/security-notices.ts';
import { ACCOUNT_ROUTES } from '#src/protocol/account/account-routes.ts';
import { APP_PASSWORD_ROUTES } from '#src/protocol/sessions/app-password-routes.ts';
import { CALENDAR_FILE_ROUTES } from '#src/protocol/calendars/calendar-file-routes.ts';
import { CALENDAR_MAIL_ROUTES } from '#src/protocol/calendars/calendar-mail-routes.ts';
import { CALENDAR_ROUTES } from '#src/protocol/calendars/calendar-routes.ts';
import { CLIENT_RELEASE_ROUTES } from '#src/protocol/hosts/client-releases.ts';
import { DIRECTORY_ROUTES } from '#src/protocol/directory/directory-routes.ts';
import { GUEST_ROUTES } from '#src/protocol/directory/guest-routes.ts';
import { ROOM_AVATAR_ROUTES } from '#src/protocol/conversations/room-avatar-routes.ts';
import { ATTACHMENT_ROUTES } from '#src/protocol/attachments/attachment-routes.ts';
import { attachmentId } from '#src/protocol/attachments/attachments.ts';
import { type ErrorCode, ERRORS } from '#src/protocol/errors.ts';
import { BODY_BYTES_MAX } from '#src/protocol/limits.ts';
import { INTERNAL_ROUTES } from '#src/protocol/services/internal-routes.ts';
import { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import { conversationId, seq, username } from '#src/protocol/names.ts';
import { QUOTA_ROUTES } from '#src/protocol/quota-routes.ts';
import { FACTOR_SIGN_IN_ROUTES, OWN_FACTOR_ROUTES } from '#src/protocol/sessions/second-factor-routes.ts';
import { SSO_ROUTES } from '#src/protocol/sessions/sso-routes.ts';
import { RECOVERY_ROUTES } from '#src/protocol/directory/recovery-routes.ts';
import { NODE_ROUTES, type NodeRouteForm } from '#src/protocol/hosts/node-routes.ts';
import { COMMON_ERRORS, MESSAGING_ROUTES, SESSION_ROUTES } from '#src/protocol/routes.ts';
import { type Route } from '#src/protocol/route.ts';
import { PROTOCOL_MIN, PROTOCOL_VERSION } from '#src/protocol/version.ts';
import { CONSOLE_PREFIX, consoleRoutes } from '#src/console/route-table.ts';
import {
  consoleForm,
  consolePathParameters,
  CONSOLE_SECURITY_SCHEMES,
  consoleStatements,
} from './console-operations.ts';
import { SCIM_SECURITY_SCHEME, scimPaths } from './scim-operations.ts';
import { danglingReferences, type JsonObject, SchemaCollector } from './schemas.ts';

/** What the parameters in paths are. A route with a parameter that is not here stops the generation. */
const PATH_PARAMETERS: Readonly<Record<string, { schema: z.ZodType; say: string }>> = {
  id: { schema: conversationId, say: 'The conversation.' },
  seq: { schema: seq, say: 'The seq of the message.' },
  username: { schema: username, say: 'The person.' },
  attachment: { schema: attachmentId, say: 'The attachment.' },
  emoji: {
    schema: z.string().min(1).max(40),
    say: 'One emoji, or `:name:` of one of the installation’s own; percent-encoded.',
  },
  name: { schema: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/), say: 'What the emoji is called.' },
  picture: { schema: z.string(), say: 'The picture, as the list of emoji says it.' },
  calendar: { schema: z.string(), say: 'The calendar.' },
  group: { schema: z.string(), say: 'The group.' },
  feed: { schema: z.string(), say: 'The id of the feed.' },
  file: { schema: z.string(), say: 'The last segment of the URL that publishing answered.' },
  entry: { schema: z.string(), say: 'The entry.' },
  proposal: { schema: z.string(), say: 'The proposal.' },
  password: { schema: z.string(), say: 'The id of the app password.' },
  factor: { schema: z.string(), say: '`totp`, or the id of a passkey.' },
  passkey: { schema: z.string(), say: 'The id of the passkey.' },
  webhook: { schema: z.string(), say: 'The id of the webhook.' },
  provider: { schema: z.string(), say: 'The provider, by the id that an owner gave it.' },
  rsvp: { schema: z.string(), say: 'What stands behind `/rsvp/` in the link of an invitation by mail.' },
  token: { schema: z.string(), say: 'The secret of the webhook, as it stands in its URL.' },
  subscription: { schema: z.string(), say: 'The id of the subscription.' },
  meeting: { schema: z.string(), say: 'The meeting.' },
  link: { schema: z.string(), say: 'The link of the meeting.' },
  avatar: { schema: z.string(), say: 'The number of the picture, as the directory says it.' },
  reset: { schema: z.string().min(1), say: 'What stands at the end of the link that sets a password.' },
  session: { schema: z.string(), say: 'The id of the session.' },
  invited: { schema: z.string(), say: 'The invitation, by the id that inviting answered.' },
  invitation: { schema: z.string().min(1), say: 'The invitation, as it stands in the link.' },
};

const SOCKET_ERRORS: readonly ErrorCode[] = [
  'client_too_old',
  'device_forbidden',
  'device_required',
  'origin_forbidden',
  'query_invalid',
  'session_revoked',
  'socket_upgrade_required',
  'token_expired',
  'token_invalid',
  'token_missing',
  'unavailable',
];

const VERSION_REPLY_HEADERS = {
  'X-Service-Protocol': { $ref: '#/components/headers/ServiceProtocol' },
  'X-Service-Protocol-Min': { $ref: '#/components/headers/ServiceProtocolMin' },
};

/** The routes that clients, hosts and services are served, by what they are about and the listener that serves them. */
export const ROUTE_TABLES = [
  ['sessions', 'coordinator', SESSION_ROUTES],
  ['sessions', 'coordinator', SSO_ROUTES],
  ['sessions', 'coordinator', FACTOR_SIGN_IN_ROUTES],
  ['account', 'coordinator', OWN_FACTOR_ROUTES],
  ['sessions', 'coordinator', RECOVERY_ROUTES],
  ['sessions', 'coordinator', APP_PASSWORD_ROUTES],
  ['account', 'coordinator', ACCOUNT_ROUTES],
  ['account', 'coordinator', ACCOUNT_MAIL_ROUTES],
  ['account', 'coordinator', SECURITY_NOTICE_ROUTES],
  ['account', 'coordinator', AVATAR_ROUTES],
  ['emoji', 'coordinator', CUSTOM_EMOJI_ROUTES],
  ['account', 'coordinator', OWN_DATA_ROUTES],
  ['directory', 'coordinator', DIRECTORY_ROUTES],
  ['directory', 'coordinator', GUEST_ROUTES],
  ['sessions', 'coordinator', QUOTA_ROUTES],
  ['meetings', 'coordinator', MEETING_ROUTES],
  ['clients', 'coordinator', CLIENT_RELEASE_ROUTES],
  ['internal', 'coordinator', INTERNAL_ROUTES],
  ['nodes', 'coordinator', NODE_ROUTES],
  ['messaging', 'messaging', MESSAGING_ROUTES],
  ['attachments', 'messaging', ATTACHMENT_ROUTES],
  ['messaging', 'messaging', ROOM_AVATAR_ROUTES],
  ['calendar', 'calendar', CALENDAR_ROUTES],
  ['calendar', 'calendar', CALENDAR_FILE_ROUTES],
  ['calendar', 'calendar', CALENDAR_MAIL_ROUTES],
] as const;

/** The whole document. */
export function openApiDocument(): JsonObject {
  const schemas = new SchemaCollector();
  const paths: Record<string, JsonObject> = {};
  for (const [tag, listener, routes] of ROUTE_TABLES) {
    for (const [name, route] of Object.entries(routes) as [string, Route][]) {
      const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
      paths[path] ??= { servers: [SERVERS[listener]], parameters: pathParameters(route.path, schemas) };
      paths[path][route.method] = operation(name, tag, route, schemas);
    }
  }
  for (const { page, name, route } of consoleRoutes()) {
    const path = `${CONSOLE_PREFIX}${route.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    const parameters = [...consolePathParameters(route), { $ref: '#/components/parameters/ClientProtocol' }];
    paths[path] ??= { servers: [SERVERS.coordinator], parameters };
    const described = operation(`${page}.${name}`, 'console', consoleForm(route), schemas);
    paths[path][route.method] = { ...described, ...consoleStatements(route) };
  }
  Object.assign(paths, scimPaths(SERVERS.coordinator));
  paths['/v1/ws'] = socketPath();
  paths['/healthz'] = healthPath();
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: String(PROTOCOL_VERSION),
      summary: 'The HTTP forms of sign-in, messaging and the console.',
      description:
        'Generated from the route tables by `npm run docs`; the rules behind the forms are in `docs/protocol.md`. ' +
        'Every error body is `{code, error}`, sometimes with the `field` that is to blame. Branch on `code`.',
      license: { name: 'AGPL-3.0-or-later', identifier: 'AGPL-3.0-or-later' },
    },
    tags: [
      { name: 'sessions', description: 'Sign-in, on the coordinator.' },
      { name: 'directory', description: 'People as others may see them, on the coordinator.' },
      { name: 'meetings', description: 'Rooms with a link and a lobby, on the coordinator.' },
      { name: 'internal', description: 'What services of the installation ask the coordinator.' },
      { name: 'clients', description: 'Releases of the clients, on the coordinator.' },
      { name: 'provisioning', description: 'People and groups by SCIM 2.0, on the coordinator.' },
      { name: 'nodes', description: 'The doors of hosts, on the coordinator.' },
      { name: 'messaging', description: 'Conversations, messages and signalling, on the messaging service.' },
      { name: 'attachments', description: 'Files, on the messaging service: uploads by tus 1.0.0, reads with ranges.' },
      { name: 'calendar', description: 'Calendars, entries and invitations, on the calendar service.' },
      { name: 'console', description: 'The management plane, on the coordinator.' },
      { name: 'operations', description: 'Health, on every listener.' },
    ],
    servers: [SERVERS.coordinator, SERVERS.messaging, SERVERS.calendar],
    paths,
    components: { ...components(), schemas: { ...schemas.components(), ...commonCodes(), Error: ERROR_SCHEMA } },
  };
  const dangling = danglingReferences(document);
  if (dangling.length > 0) throw new Error(`References that lead nowhere: ${dangling.join(', ')}`);
  return document;
}

/** How a caller proves who it is, by what a route asks for. */
const SECURITY: Readonly<Record<Route['auth'] | NodeRouteForm['auth'], JsonObject[]>> = {
  none: [],
  node: [{ node: [] }],
  renewable: [{ session: [] }],
  service: [{ service: [] }],
  session: [{ session: [] }],
};

const SERVERS = {
  coordinator: { url: 'http://127.0.0.1:8080', description: 'Coordinator, at its default address.' },
  calendar: { url: 'http://127.0.0.1:8082', description: 'Calendar, at its default address.' },
  messaging: { url: 'http://127.0.0.1:8081', description: 'Messaging service, at its default address.' },
} as const;

const ERROR_SCHEMA = {
  type: 'object',
  description: 'What every refusal reads like.',
  properties: {
    code: { type: 'string', description: 'An identifier: never renamed, never reused.' },
    error: { type: 'string', description: 'The fixed English sentence of the code.' },
    field: { type: 'string', description: 'The field of the request that is to blame, where there is one.' },
  },
  required: ['code', 'error'],
};

function components(): JsonObject {
  return {
    securitySchemes: {
      session: { type: 'http', scheme: 'bearer', description: 'The session token of `POST /v1/auth/login`.' },
      service: { type: 'http', scheme: 'bearer', description: 'A service token of the setting `serviceTokens`.' },
      node: { type: 'apiKey', in: 'header', name: 'X-Node-Token', description: 'The token that joining answered.' },
      ...CONSOLE_SECURITY_SCHEMES,
      ...SCIM_SECURITY_SCHEME,
    },
    headers: {
      ServiceProtocol: {
        description: 'The protocol version that the service speaks. On every answer.',
        schema: { type: 'integer', const: PROTOCOL_VERSION },
      },
      ServiceProtocolMin: {
        description: 'The oldest client version still served. On every answer; the operator may raise it.',
        schema: { type: 'integer', minimum: PROTOCOL_MIN, maximum: PROTOCOL_VERSION },
      },
      RetryAfter: { description: 'Whole seconds to wait before a retry makes sense.', schema: { type: 'integer' } },
    },
    responses: Object.fromEntries(
      [...COMMON_BY_STATUS].map(([status, codes]) => [`Common${status}`, refusal(status, codes, false)]),
    ),
    parameters: {
      ClientProtocol: {
        name: 'X-Service-Client-Protocol',
        in: 'header',
        description: 'The protocol version that the client speaks. Absent, or not a whole number, reads as 0.',
        required: false,
        schema: { type: 'integer', minimum: 0 },
      },
    },
  };
}

function commonCodes(): JsonObject {
  return Object.fromEntries(
    [...COMMON_BY_STATUS].map(([status, codes]) => [
      `CommonCode${status}`,
      { type: 'string', description: `Codes with status ${status} that any form may answer.`, enum: codes },
    ]),
  );
}

function pathParameters(path: string, schemas: SchemaCollector): JsonObject[] {
  const named = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => {
    const parameter = PATH_PARAMETERS[name];
    if (parameter === undefined) throw new Error(`The path parameter ${name} of ${path} is not described.`);
    const schema = schemas.convert(parameter.schema, 'in');
    return { name, in: 'path', required: true, description: parameter.say, schema };
  });
  return [...named, { $ref: '#/components/parameters/ClientProtocol' }];
}

function operation(name: string, tag: string, route: Route, schemas: SchemaCollector): JsonObject {
  const described: JsonObject = { operationId: name, tags: [tag], summary: route.summary };
  if (route.auth === 'renewable') described['description'] = 'Also takes a token that has expired, until its `rnw`.';
  described['security'] = SECURITY[route.auth];
  if (route.query !== undefined) described['parameters'] = queryParameters(route.query, schemas);
  if (route.body !== undefined) {
    described['requestBody'] = {
      required: true,
      description: `At most ${route.bodyBytesMax ?? BODY_BYTES_MAX} bytes.`,
      content: contentOf(route, schemas.convert(route.body, 'in')),
    };
  }
  described['responses'] = { ...successes(route, schemas), ...commonRefusals(route), ...refusals(route.errors) };
  return described;
}

/** A body as JSON, and in a form where the route takes that. */
function contentOf({ formField, isForm }: Route, schema: JsonObject): JsonObject {
  if (isForm === true) return { 'application/x-www-form-urlencoded': { schema } };
  const json = { 'application/json': { schema } };
  if (formField === undefined) return json;
  const form = {
    type: 'object',
    properties: { [formField]: { type: 'string', description: 'The same as JSON.' } },
    required: [formField],
    additionalProperties: false,
  };
  return { ...json, 'application/x-www-form-urlencoded': { schema: form } };
}

function queryParameters(query: z.ZodType, schemas: SchemaCollector): JsonObject[] {
  // The parsed form says what the parameters mean; the form on the wire would only say that each is text.
  const parsed = schemas.convert(query, 'out');
  const { required = [] } = schemas.convert(query, 'in') as { required?: string[] };
  return Object.entries(parsed['properties'] as Record<string, JsonObject>).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: schema['type'] === 'number' ? { ...schema, type: 'integer' } : schema,
  }));
}

const SUCCESSES: Readonly<Record<string, string>> = {
  200: 'Done.',
  201: 'Made.',
  202: 'Taken for delivery to those connected now.',
  204: 'Done; there is nothing to read.',
  302: 'The browser goes on where `Location` says.',
};

function successes(route: Route, schemas: SchemaCollector): JsonObject {
  return Object.fromEntries(
    Object.entries(route.replies).map(([status, shape]) => {
      const reply: JsonObject = { description: SUCCESSES[status] ?? 'Done.', headers: VERSION_REPLY_HEADERS };
      if (shape !== null) reply['content'] = { 'application/json': { schema: schemas.convert(shape, 'out') } };
      return [status, reply];
    }),
  );
}

const byStatus = (codes: readonly ErrorCode[]) =>
  Map.groupBy([...new Set(codes)].toSorted(), (code) => ERRORS[code].status);
const COMMON_BY_STATUS = byStatus(COMMON_ERRORS);

/** The answers that every route shares, by reference. */
function commonRefusals(route: Route): JsonObject {
  const statuses = [...COMMON_BY_STATUS.keys()].filter((status) => status !== 401 || route.auth !== 'none');
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Common${status}` }]));
}

/** One answer per status, with the codes of the route, and those that any route may answer, under it. */
function refusals(codes: readonly ErrorCode[]): JsonObject {
  return Object.fromEntries(
    [...byStatus(codes)].map(([status, own]) => [status, refusal(status, own, COMMON_BY_STATUS.has(status))]),
  );
}

function refusal(status: number, codes: readonly ErrorCode[], andCommon: boolean): JsonObject {
  const waits = status === 429 || status === 503;
  const headers = waits
    ? { ...VERSION_REPLY_HEADERS, 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
    : VERSION_REPLY_HEADERS;
  const own = { enum: codes };
  const code = andCommon ? { anyOf: [own, { $ref: `#/components/schemas/CommonCode${status}` }] } : own;
  const schema = { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code } }] };
  const sentences = codes.map((one) => `\`${one}\`: ${ERRORS[one].error}`);
  const description = [...sentences, ...(andCommon ? ['Or a code that any form may answer.'] : [])].join('\n\n');
  return { description, headers, content: { 'application/json': { schema } } };
}

function socketPath(): JsonObject {
  return {
    servers: [SERVERS.messaging],
    get: {
      operationId: 'openSocket',
      tags: ['messaging'],
      summary: 'Upgrades to the WebSocket of a device; `docs/asyncapi.json` says what goes over it.',
      security: [{ session: [] }, {}],
      parameters: [
        { $ref: '#/components/parameters/ClientProtocol' },
        {
          name: 'token',
          in: 'query',
          required: false,
          description: 'The session token, for browsers, which cannot set headers here. Never logged.',
          schema: { type: 'string' },
        },
        {
          name: 'device',
          in: 'query',
          required: true,
          description: 'The device id that sign-in answered.',
          schema: { type: 'string' },
        },
      ],
      responses: {
        101: { description: 'The socket is open.', headers: VERSION_REPLY_HEADERS },
        ...refusals(SOCKET_ERRORS),
      },
    },
  };
}

function healthPath(): JsonObject {
  return {
    servers: [SERVERS.coordinator, SERVERS.messaging, SERVERS.calendar],
    get: {
      operationId: 'readHealth',
      tags: ['operations'],
      summary: 'Health, population by version and platform, and refusals by code; as metrics when asked for as text.',
      security: [],
      responses: {
        200: {
          description: 'The state of all threads together.',
          headers: VERSION_REPLY_HEADERS,
          content: {
            'application/json': { schema: { type: 'object' } },
            'text/plain': { schema: { type: 'string' } },
            'application/openmetrics-text': { schema: { type: 'string' } },
          },
        },
      },
    },
  };
}
