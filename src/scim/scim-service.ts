/**
 * SCIM 2.0 (RFC 7643, RFC 7644) on the coordinator, below `/scim/v2`: people and groups provisioned by a client that an
 * owner made.
 *
 *     token ─► rate ─► body ─► person or group of this client ─► change, on disk ─► sessions ended ─► answer
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Json } from '#src/base/json.ts';
import type { ChangeLog } from '#src/directory/change-reader.ts';
import { bearerOf, matchesTag } from '#src/http/client-routes.ts';
import { parseJsonBody } from '#src/http/http-surface.ts';
import type { ScimClient, ScimClients } from '#src/identity/scim-clients.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { hostOf } from '#src/limits/networks.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { project, readProjection, SCIM_MEDIA_TYPE, scimError, type Projection } from './answers.ts';
import { NOWHERE, type AttributeFinder } from './attributes.ts';
import { ClientPeople } from './client-people.ts';
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts';
import { equalsOf, isObject, type Filter, type Resource } from './filter.ts';
import { Listing, LIST_SCHEMA, readListQuery, type ListReply, type ListSource } from './listing.ts';
import { readOperations } from './patch.ts';
import { GROUPS, type ScimGroups } from './scim-groups.ts';
import type { Caller, ScimPeople, VersionCheck } from './scim-people.ts';
import { SCIM_PREFIX, SCIM_ROUTES, UNSUPPORTED_PATHS, type ScimRouteName } from './scim-routes.ts';
import { USERS } from './user-resource.ts';

/** One body: a group of some ten thousand members. [body_too_large] */
export const SCIM_BODY_BYTES_MAX = 1024 ** 2;

/** Members in one page of groups; the page ends with the group that reaches it. */
const MEMBERS_PER_PAGE = 20_000;

const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';

export interface ScimServiceOptions {
  /** The coordinator's app, which does not listen yet. */
  readonly app: FastifyInstance;
  readonly baseUrl: () => string;
  readonly clients: ScimClients;
  readonly directory: ChangeLog<string>;
  /** Usernames of people with an e-mail address, given in lower case. */
  readonly holdersOf: (email: string) => readonly string[];
  readonly groups: ScimGroups;
  readonly limiter: Limiter;
  readonly people: ScimPeople;
}

type Query = { readonly [name: string]: Json };

export async function addScimService(options: ScimServiceOptions): Promise<void> {
  const service = new ScimService(options);
  await options.app.register(async (scope) => service.register(scope), { prefix: SCIM_PREFIX });
}

class ScimService {
  readonly #options: ScimServiceOptions;
  readonly #callers = new WeakMap<FastifyRequest, Caller>();
  readonly #people: ClientPeople;
  readonly #listing = new Listing();

  constructor(options: ScimServiceOptions) {
    this.#options = options;
    this.#people = new ClientPeople(options.directory, (username) => options.people.clientOf(username));
  }

  register(scope: FastifyInstance): void {
    scope.addContentTypeParser('application/scim+json', { parseAs: 'buffer' }, parseJsonBody);
    scope.addHook('onRequest', async (request) => this.#admit(request));
    scope.addHook('preSerialization', async (_request, reply, payload: unknown) => answered(reply, payload));
    scope.setNotFoundHandler(() => {
      throw new Refusal('path_not_found');
    });
    this.#addDiscovery(scope);
    this.#addUsers(scope);
    this.#addGroups(scope);
    for (const path of UNSUPPORTED_PATHS) {
      add(scope, ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], path, () => {
        throw new Refusal('scim_not_supported');
      });
    }
  }

  /** Before the body is read. @throws Refusal `token_missing`, `token_invalid`, `rate_limited`. */
  #admit(request: FastifyRequest): void {
    const { baseUrl, clients, limiter } = this.#options;
    const address = request.ip;
    let client: ScimClient;
    try {
      client = clients.authenticate(bearerOf(request), address);
    } catch (error) {
      limiter.take('scim_refused', hostOf(address));
      throw error;
    }
    limiter.take(request.method === 'GET' ? 'scim_read' : 'scim_write', client.id);
    const base = `${baseUrl().replace(/\/$/, '')}${SCIM_PREFIX}`;
    this.#callers.set(request, { client, base, by: { actor: `scim:${client.id}`, address } });
  }

  #addDiscovery(scope: FastifyInstance): void {
    const baseOf = (request: FastifyRequest) => this.#callerOf(request).base;
    on(scope, 'readProvider', (request) => serviceProviderConfig(baseOf(request)));
    for (const [list, read, all] of [
      ['listResourceTypes', 'readResourceType', resourceTypes],
      ['listSchemas', 'readSchema', schemas],
    ] as const) {
      on(scope, list, (request) => {
        const found = all(baseOf(request));
        const { length } = found;
        return { schemas: [LIST_SCHEMA], totalResults: length, startIndex: 1, itemsPerPage: length, Resources: found };
      });
      on(scope, read, (request) => {
        const found = all(baseOf(request)).find(({ id }) => id === idOf(request));
        if (found === undefined) throw new Refusal('path_not_found');
        return found;
      });
    }
  }

  #addUsers(scope: FastifyInstance): void {
    const { people } = this.#options;
    const list = async (request: FastifyRequest, query: Query) => {
      const caller = this.#callerOf(request);
      const source = this.#peopleSource(caller);
      return shownList(await this.#listing.list(readListQuery(query, USERS), source), readProjection(query, USERS));
    };
    on(scope, 'listUsers', async (request) => await list(request, request.query as Query));
    on(scope, 'searchUsers', async (request) => await list(request, searchIn(request.body)));
    on(scope, 'readUser', (request, reply) =>
      sent(request, reply, people.read(this.#callerOf(request), idOf(request)), projectionOf(request, USERS)),
    );
    on(scope, 'createUser', async (request, reply) => {
      const made = await people.create(this.#callerOf(request), request.body as Json);
      return sent(request, reply.code(201), made, projectionOf(request, USERS));
    });
    on(scope, 'replaceUser', async (request, reply) => {
      const check = checkOf(request);
      const changed = await people.replace(this.#callerOf(request), idOf(request), request.body as Json, check);
      return sent(request, reply, changed, projectionOf(request, USERS));
    });
    on(scope, 'changeUser', async (request, reply) => {
      const operations = await readOperations(request.body as Json, USERS);
      const changed = await people.patch(this.#callerOf(request), idOf(request), operations, checkOf(request));
      return sent(request, reply, changed, projectionOf(request, USERS));
    });
    on(scope, 'removeUser', async (request, reply) => {
      await people.remove(this.#callerOf(request), idOf(request), checkOf(request));
      return reply.code(204).send();
    });
  }

  #addGroups(scope: FastifyInstance): void {
    const { groups } = this.#options;
    const list = async (request: FastifyRequest, query: Query) => {
      const caller = this.#callerOf(request);
      const asked = readListQuery(query, GROUPS);
      const projection = readProjection(query, GROUPS);
      const own = await this.#people.of(caller.client);
      const found = await this.#listing.list(asked, this.#groupsSource(caller, asked.filter, own));
      return shownList(this.#withMembers(caller, found, projection, own), projection);
    };
    const read = async (request: FastifyRequest, id: string) => {
      const caller = this.#callerOf(request);
      const isWanted = projectionOf(request, GROUPS).isWanted('members');
      return groups.read(caller, id, isWanted ? await this.#people.of(caller.client) : undefined);
    };
    on(scope, 'listGroups', async (request) => await list(request, request.query as Query));
    on(scope, 'searchGroups', async (request) => await list(request, searchIn(request.body)));
    on(scope, 'readGroup', async (request, reply) =>
      sent(request, reply, await read(request, idOf(request)), projectionOf(request, GROUPS)),
    );
    on(scope, 'createGroup', async (request, reply) => {
      const id = await groups.create(this.#callerOf(request), request.body as Json);
      return sent(request, reply.code(201), await read(request, id), projectionOf(request, GROUPS));
    });
    on(scope, 'replaceGroup', async (request, reply) => {
      await groups.replace(this.#callerOf(request), idOf(request), request.body as Json, checkOf(request));
      return sent(request, reply, await read(request, idOf(request)), projectionOf(request, GROUPS));
    });
    on(scope, 'changeGroup', async (request, reply) => {
      const operations = await readOperations(request.body as Json, GROUPS);
      await groups.patch(this.#callerOf(request), idOf(request), operations, checkOf(request));
      const projection = projectionOf(request, GROUPS);
      // A large group is not sent back for one who came or went (RFC 7644, section 3.5.2).
      if (!projection.isNamed) return reply.code(204).send();
      return sent(request, reply, await read(request, idOf(request)), projection);
    });
    on(scope, 'removeGroup', async (request, reply) => {
      await groups.remove(this.#callerOf(request), idOf(request), checkOf(request));
      return reply.code(204).send();
    });
  }

  /** Members are read for what is answered alone, and a page ends early before it would hold too many. */
  #withMembers(caller: Caller, found: ListReply, { isWanted }: Projection, own: ReadonlySet<string>): ListReply {
    if (!isWanted('members')) return found;
    const whole: Resource[] = [];
    let members = 0;
    for (const { id } of found.Resources) {
      if (members >= MEMBERS_PER_PAGE) break;
      const group = this.#options.groups.find(caller, id as string, own);
      if (group === undefined) continue;
      whole.push(group);
      members += Array.isArray(group['members']) ? group['members'].length : 0;
    }
    return { ...found, itemsPerPage: whole.length, Resources: whole };
  }

  #peopleSource(caller: Caller): ListSource {
    const { holdersOf, people } = this.#options;
    const byName = (kind: 'userName' | 'externalId') => (name: string) => people.named(caller.client, kind, name) ?? [];
    return {
      all: async () => await this.#people.of(caller.client),
      candidates: (filter) => {
        const found =
          equalsOf(filter, 'id') ??
          equalsOf(filter, 'userName')?.flatMap(byName('userName')) ??
          equalsOf(filter, 'externalId')?.flatMap(byName('externalId')) ??
          equalsOf(filter, 'emails', 'value')?.flatMap((email) => holdersOf(email.toLowerCase()));
        return found === undefined ? undefined : [...new Set(found)];
      },
      read: (username) => people.find(caller, username),
    };
  }

  #groupsSource(caller: Caller, filter: Filter | undefined, own: ReadonlySet<string>): ListSource {
    const { groups } = this.#options;
    const needsMembers = filter !== undefined && mentions(filter, 'members');
    return {
      all: async () => new Set(groups.ids(caller.client)),
      candidates: (asked) => {
        const found =
          equalsOf(asked, 'id') ?? equalsOf(asked, 'displayName')?.flatMap((name) => groups.named(caller.client, name));
        return found === undefined ? undefined : [...new Set(found)];
      },
      read: (id) => groups.find(caller, id, needsMembers ? own : undefined),
    };
  }

  #callerOf(request: FastifyRequest): Caller {
    const caller = this.#callers.get(request);
    if (caller === undefined) throw new Refusal('token_missing');
    return caller;
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** A route of the table: there is no other way to have one. */
function on(scope: FastifyInstance, name: ScimRouteName, handle: Handler): void {
  const { method, path } = SCIM_ROUTES[name];
  add(scope, method.toUpperCase(), path, handle);
}

function add(scope: FastifyInstance, method: string | string[], url: string, handle: Handler): void {
  scope.route({
    method,
    url,
    bodyLimit: SCIM_BODY_BYTES_MAX,
    // Programs of others: none of them says which version of Parley's protocol it speaks.
    config: { anyVersion: true },
    handler: async (request, reply) => await handle(request, reply),
  });
}

/** Errors get their form here, wherever they came from; everything gets its type. */
function answered(reply: FastifyReply, payload: unknown): unknown {
  void reply.type(SCIM_MEDIA_TYPE);
  if (reply.statusCode < 400) return payload;
  const { body, status } = scimError(payload as { code: ErrorCode; error: string }, reply.statusCode);
  void reply.code(status);
  return body;
}

/** Sends a resource under its tag; a caller that has it as it is gets 304 instead. */
function sent(request: FastifyRequest, reply: FastifyReply, resource: Resource, projection: Projection): unknown {
  const { location, version } = resource['meta'] as { location: string; version: string };
  void reply.header('etag', version);
  if (reply.statusCode === 201) void reply.header('location', location);
  const known = request.headers['if-none-match'];
  if (request.method === 'GET' && matchesTag(known, opaqueOf(version))) return reply.code(304).send();
  return project(resource, projection);
}

/** Whether `If-Match`, where there is one, names the version there is. Tags are compared weakly, since all of them are weak. */
function checkOf(request: FastifyRequest): VersionCheck {
  const { 'if-match': wanted } = request.headers;
  return (version) => {
    if (wanted !== undefined && !matchesTag(wanted, opaqueOf(version))) throw new Refusal('scim_version_mismatch');
  };
}

function opaqueOf(version: string): string {
  return version.replace(/^W\//, '');
}

function shownList(list: ListReply, projection: Projection): unknown {
  return { ...list, Resources: list.Resources.map((resource) => project(resource, projection)) };
}

/** The query of a search whose parameters stand in its body (RFC 7644, section 3.4.3). */
function searchIn(body: unknown): Query {
  const search = body as Json | undefined;
  if (!isObject(search)) throw new Refusal('field_invalid');
  if (!Array.isArray(search['schemas']) || !search['schemas'].includes(SEARCH_SCHEMA)) {
    throw new Refusal('field_invalid', { field: 'schemas' });
  }
  return search;
}

function projectionOf(request: FastifyRequest, finder: AttributeFinder): Projection {
  return readProjection(request.query as Query, finder);
}

function idOf(request: FastifyRequest): string {
  return (request.params as { readonly id?: string }).id ?? '';
}

function mentions(filter: Filter, attribute: string): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.some((term) => mentions(term, attribute));
    case 'not':
      return mentions(filter.term, attribute);
    case 'some':
      return filter.attribute.name === attribute;
    default:
      return filter.path !== NOWHERE && filter.path.attribute.name === attribute;
  }
}
