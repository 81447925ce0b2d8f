/**
 * Requests to every route of SCIM, drawn from the tables that the service goes by: its routes and the attributes that it keeps.
 * A new route or attribute is among them without a word.
 */
import type { Json } from '#src/base/json.ts';
import { ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { COMMON_ERRORS } from '#src/protocol/routes.ts';
import { SCIM_MEDIA_TYPE, scimError } from '#src/scim/answers.ts';
import { GROUP_TYPE, USER_TYPE, type Attribute, type ResourceType } from '#src/scim/attributes.ts';
import { PATCH_SCHEMA } from '#src/scim/patch.ts';
import { SCIM_PREFIX, SCIM_ROUTES, type ScimRoute, type ScimRouteName } from '#src/scim/scim-routes.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { TestServer } from '#test/support/server.ts';
import { mutate, strangeText } from './mutation.ts';

export const SCIM_ROUTE_NAMES = Object.keys(SCIM_ROUTES) as ScimRouteName[];

/** Longer than any answer takes beside a busy machine: what a filter may cost is bounded. */
const ANSWER_MILLIS = 30_000;
const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';
const OPERATORS = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le', 'EQ', 'pr', 'zz'];
const TEXTS = ['x', 'Anna', 'anna@example.org', '+49 30 1234', 'work', 'true', '2026-11-23T00:00:00Z', 'ÄÖ'];
/** What is no value of a filter, and what only some clients write as one. */
const STRANGE = ['True', 'nothing', '{}', '[1]', '"x', '1e999', '-', '"\\ud800"'];
/** Ids that are kept of each kind: of those that answers had last. */
const KEPT_MAX = 30;

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export class ScimFuzzer {
  /** Statuses that each route answered. */
  readonly answered = new Map<ScimRouteName, Set<number>>();
  readonly #coordinator: string;
  readonly #tokens: readonly string[];
  readonly #ids = new Map<ResourceType, string[]>();

  /** With the tokens of some clients, since each has a rate of its own. */
  constructor({ coordinator }: Pick<TestServer, 'coordinator'>, tokens: readonly string[]) {
    this.#coordinator = coordinator;
    this.#tokens = tokens;
  }

  /** One request; what was wrong with its answer, in words, or undefined. */
  async shoot(name: ScimRouteName, random: SeededRandom): Promise<string | undefined> {
    const route: ScimRoute = SCIM_ROUTES[name];
    const type = route.path.startsWith('/Groups') ? GROUP_TYPE : USER_TYPE;
    const path = route.path.replace(':id', () => encodeURIComponent(this.#idOf(type, random)));
    const target = `${path}${queryOf(route, type, random)}`;
    const body = this.#bodyOf(name, route, type, random);
    const reply = await this.#send(route.method.toUpperCase(), target, body, random);
    this.answered.set(name, (this.answered.get(name) ?? new Set()).add(reply.status));
    const fault = faultOf(reply, route);
    if (fault !== undefined) return `${route.method} ${target} ${body?.slice(0, 500)} (${name}) answered ${fault}`;
    if (reply.status === 201) this.#keep(type, reply.text);
    return undefined;
  }

  async #send(method: string, target: string, body: string | undefined, random: SeededRandom): Promise<Reply> {
    const headers = {
      authorization: `Bearer ${random.pick(this.#tokens)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
      ...(random.chance(0.1) ? { 'if-match': random.pick(['W/"1"', '*', '"x"', 'W/']) } : {}),
    };
    const sent = body === undefined ? {} : { body };
    const signal = AbortSignal.timeout(ANSWER_MILLIS);
    const reply = await fetch(`${this.#coordinator}${SCIM_PREFIX}${target}`, { method, headers, signal, ...sent });
    return { status: reply.status, type: reply.headers.get('content-type') ?? '', text: await reply.text() };
  }

  #keep(type: ResourceType, text: string): void {
    const { id } = JSON.parse(text) as { id: string };
    this.#ids.set(type, [...(this.#ids.get(type) ?? []), id].slice(-KEPT_MAX));
  }

  #idOf(type: ResourceType, random: SeededRandom): string {
    const known = this.#ids.get(type) ?? [];
    if (known.length > 0 && random.chance(0.85)) return random.pick(known);
    const strange = strangeText(random).toWellFormed();
    return random.pick([type.name, type.schema, 'nobody', strange === '' ? '-' : strange]);
  }

  #bodyOf(name: ScimRouteName, { hasBody, method }: ScimRoute, type: ResourceType, random: SeededRandom) {
    if (hasBody !== true) return undefined;
    const drawn: Json =
      name === 'searchUsers' || name === 'searchGroups'
        ? { schemas: [SEARCH_SCHEMA], ...listing(type, random) }
        : method === 'patch'
          ? { schemas: [PATCH_SCHEMA], Operations: this.#operations(type, random) }
          : this.#resource(type, random);
    return JSON.stringify(random.chance(0.3) ? mutate(drawn, random) : drawn);
  }

  #resource(type: ResourceType, random: SeededRandom): Json {
    const kept = type.attributes.filter(({ isRequired }) => isRequired === true || random.chance(0.5));
    const drawn = kept.map((attribute): [string, Json] => [attribute.name, this.#value(type, attribute, random)]);
    return { schemas: [type.schema], externalId: `ext-${random.whole(0, 40)}`, ...Object.fromEntries(drawn) };
  }

  #operations(type: ResourceType, random: SeededRandom): Json {
    return Array.from({ length: random.whole(1, 4) }, () => {
      const attribute = random.pick(type.attributes);
      const isWhole = random.chance(0.2);
      const op = random.pick(['add', 'Replace', 'remove']);
      const value = isWhole ? this.#resource(type, random) : this.#value(type, attribute, random);
      return { op, ...(isWhole ? {} : { path: pathOf(type, attribute, random) }), value };
    });
  }

  #value(type: ResourceType, attribute: Attribute, random: SeededRandom): Json {
    if (attribute.type === 'boolean') return random.chance(0.5);
    if (attribute.type !== 'complex') return `${random.pick(TEXTS)} ${random.whole(0, 1_000)}`;
    const element = () => {
      const parts = (attribute.parts ?? []).map((part): [string, Json] => [part.name, this.#value(type, part, random)]);
      const value = attribute.name === 'members' ? { value: this.#idOf(USER_TYPE, random) } : {};
      return { ...Object.fromEntries(parts), ...value };
    };
    return attribute.isMulti === true ? Array.from({ length: random.whole(0, 3) }, element) : element();
  }
}

/** What makes the head of a request longer than 16 KiB is refused by Node itself, with 431 in no form of SCIM. */
const QUERY_LENGTH_MAX = 12_000;

function queryOf({ method, path }: ScimRoute, type: ResourceType, random: SeededRandom): string {
  const isList = method === 'get' && (path === '/Users' || path === '/Groups');
  const attributes = random.chance(0.2) ? { attributes: random.pick(type.attributes).name } : {};
  const given: Readonly<Record<string, Json>> = { ...(isList ? listing(type, random) : {}), ...attributes };
  const textOf = (value: Json) => (typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value));
  const query = new URLSearchParams(Object.entries(given).map(([key, value]) => [key, textOf(value)])).toString();
  return query === '' || query.length > QUERY_LENGTH_MAX ? '' : `?${query}`;
}

function listing(type: ResourceType, random: SeededRandom): Record<string, Json> {
  const attribute = () => random.pick(type.attributes).name;
  return {
    ...(random.chance(0.8)
      ? { filter: random.chance(0.3) ? hostileFilter(type, random) : filterOf(type, random) }
      : {}),
    ...(random.chance(0.3) ? { sortBy: random.chance(0.8) ? attribute() : strangeText(random).toWellFormed() } : {}),
    ...(random.chance(0.2) ? { sortOrder: random.pick(['ascending', 'descending', 'sideways']) } : {}),
    ...(random.chance(0.3) ? { startIndex: random.pick([1, 0, -1, 2 ** 53, 1.5]) } : {}),
    ...(random.chance(0.3) ? { count: random.pick([0, 1, 200, 100_000, -5]) } : {}),
  };
}

function filterOf(type: ResourceType, random: SeededRandom, depth = 0): string {
  const attribute = random.pick(type.attributes);
  if (depth < 4 && random.chance(0.4)) {
    const [one, other] = [filterOf(type, random, depth + 1), filterOf(type, random, depth + 1)];
    return random.pick([`(${one}) and ${other}`, `${one} or ${other}`, `not (${one})`]);
  }
  return `${pathOf(type, attribute, random)} ${comparison(random)}`;
}

function pathOf({ schema }: ResourceType, { isMulti, name, parts }: Attribute, random: SeededRandom): string {
  const whole = random.chance(0.1) ? `${schema}:${name}` : name;
  if (parts === undefined || random.chance(0.2)) return whole;
  const part = random.pick(parts).name;
  return isMulti === true && random.chance(0.6) ? `${whole}[${part} ${comparison(random)}]` : `${whole}.${part}`;
}

function comparison(random: SeededRandom): string {
  const operator = random.pick(OPERATORS);
  if (operator === 'pr') return operator;
  const value = random.chance(0.2) ? random.pick(STRANGE) : JSON.stringify(random.pick([...TEXTS, 1, true, null]));
  return `${operator} ${value}`;
}

/** What costs a careless reader most: depth, length, many terms, quotes that do not end, a character too many or too few. */
function hostileFilter(type: ResourceType, random: SeededRandom): string {
  const sound = filterOf(type, random);
  const at = random.whole(0, sound.length);
  const times = random.whole(1, 400);
  return random.pick([
    `${'('.repeat(times)}${sound}${')'.repeat(times)}`,
    'not ('.repeat(times),
    Array.from({ length: times }, () => sound).join(random.pick([' and ', ' or '])),
    `${random.pick(type.attributes).name} co "${'\\'.repeat(times)}`,
    `${random.pick(type.attributes).name} co "${'a'.repeat(times * 5)}"`,
    `${sound.slice(0, at)}${strangeText(random)}${sound.slice(at)}`,
    sound.slice(0, at),
    `${random.pick(type.attributes).name}[`.repeat(times),
  ]);
}

/** What is wrong with an answer, or undefined: a success is of the route's status, a refusal in the form of SCIM and listed. */
export function faultOf({ status, text, type }: Reply, route: ScimRoute): string | undefined {
  if (status === 204) return text === '' ? undefined : `a body with 204: ${text.slice(0, 200)}`;
  if (type !== SCIM_MEDIA_TYPE) return `${status} as ${type}: ${text.slice(0, 200)}`;
  const body = JSON.parse(text) as Record<string, Json>;
  // A change of a group is answered with it where attributes were asked for.
  if (status < 300) return status === route.status || status === 200 ? undefined : `the status ${status}`;
  const { code, error, field } = body as { code: ErrorCode; error: string; field?: string };
  const entry = Object.hasOwn(ERRORS, code) ? ERRORS[code] : undefined;
  if (entry === undefined || code === 'internal') return `the code ${code} with ${status}`;
  const wanted = scimError({ code, error: entry.error, ...(field === undefined ? {} : { field }) }, entry.status);
  if (error !== entry.error || status !== wanted.status) return `${code} with ${status}: ${error}`;
  for (const [key, value] of Object.entries(wanted.body)) {
    if (JSON.stringify(body[key]) !== JSON.stringify(value))
      return `${code} with another ${key}: ${text.slice(0, 300)}`;
  }
  const listed: readonly string[] = [...COMMON_ERRORS, ...route.errors];
  return listed.includes(code) ? undefined : `${code}, which the route does not list`;
}
