/** Requests to every route that there is, drawn from what the route states of itself, by a caller whom it is for. */
import { CONSOLE_PREFIX, consoleRoutes } from '#src/console/route-table.ts';
import { consoleForm } from '#src/cli/docs/console-operations.ts';
import { ROUTE_TABLES } from '#src/cli/docs/openapi.ts';
import type { Route } from '#src/protocol/route.ts';
import type { Json } from '#src/base/json.ts';
import type { CallerName } from '#test/console/callers.ts';
import type { ConsoleServer } from '#test/console/console-server.ts';
import type { SeededRandom } from '#test/support/random.ts';
import { faultOf } from './answers.ts';
import { mutate } from './mutation.ts';
import { drawFrom, Harvest } from './schema-values.ts';

export interface FuzzedRoute {
  readonly name: string;
  readonly listener: 'coordinator' | 'messaging' | 'calendar';
  readonly path: string;
  readonly route: Route;
  readonly caller: CallerName;
}

/** Why a route is left to its own tests: what it does to whoever asks, or how its answer comes. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'sessions.logout': 'ends the session of all that follows',
  'signIn.logout': 'ends the session of all that follows',
  'nodes.readAsks': 'waits for 25 seconds',
  'encryption.lockEncryption': 'the server refuses most of what follows',
};

const AS: Readonly<Record<string, CallerName>> = {
  session: 'messaging_session',
  renewable: 'messaging_session',
  service: 'service',
  node: 'node',
  none: 'nobody',
};

/** Every route of the tables that the documents are made from, and of the console. */
export function everyRoute(): FuzzedRoute[] {
  const tables = ROUTE_TABLES.flatMap(([tag, listener, routes]) =>
    Object.entries(routes as Readonly<Record<string, Route>>).map(([name, route]): FuzzedRoute => {
      const caller = AS[route.auth] ?? 'nobody';
      return { name: `${tag}.${name}`, listener, path: route.path, route, caller };
    }),
  );
  const console = consoleRoutes().map(({ page, name, route }): FuzzedRoute => {
    const form = consoleForm(route);
    const path = `${CONSOLE_PREFIX}${route.path}`;
    return { name: `${page}.${name}`, listener: 'coordinator', path, route: form, caller: 'owner' };
  });
  return [...tables, ...console].filter(({ name }) => LEFT_OUT[name] === undefined);
}

const JSON_CONTENT = { 'content-type': 'application/json' };

export class RouteFuzzer {
  /** How many requests to each route succeeded. */
  readonly succeeded = new Map<string, number>();
  readonly #server: ConsoleServer;
  readonly #harvest = new Harvest();

  constructor(server: ConsoleServer) {
    this.#server = server;
  }

  /** One request; what was wrong with its answer, in words, or undefined. */
  async shoot({ caller, listener, name, path, route }: FuzzedRoute, random: SeededRandom): Promise<string | undefined> {
    const body = this.#bodyOf(route, random);
    const target = this.#pathOf(path, random) + this.#queryOf(route, random);
    const method = route.method.toUpperCase();
    const headers = { ...this.#server.callers[caller], ...(body === undefined ? {} : JSON_CONTENT) };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const reply = await fetch(this.#server.server[listener] + target, { method, headers, ...sent });
    const text = await reply.text();
    // What is asked with HEAD has no body to be judged; pages, files and streams of lines have no shape.
    const isJson = reply.headers.get('content-type')?.startsWith('application/json') ?? true;
    const isJudged = method !== 'HEAD' && isJson;
    if (reply.ok) this.#keep(name, isJudged ? text : '');
    const fault = isJudged ? faultOf({ status: reply.status, text }, route) : undefined;
    return fault === undefined ? undefined : `${method} ${target} ${JSON.stringify(body)} (${name}) answered ${fault}`;
  }

  #keep(name: string, text: string): void {
    this.succeeded.set(name, (this.succeeded.get(name) ?? 0) + 1);
    if (text.startsWith('{')) this.#harvest.take(JSON.parse(text));
  }

  #bodyOf({ body }: Route, random: SeededRandom): Json | undefined {
    if (body === undefined) return undefined;
    const drawn = drawFrom(body, this.#harvest, random);
    return random.chance(0.3) ? mutate(drawn, random) : drawn;
  }

  #pathOf(path: string, random: SeededRandom): string {
    return path.replaceAll(/:(\w+)/g, (_all, name: string) =>
      encodeURIComponent(this.#harvest.draw(name, random) ?? '1'),
    );
  }

  #queryOf({ query }: Route, random: SeededRandom): string {
    if (query === undefined) return '';
    const drawn = drawFrom(query, this.#harvest, random);
    const entries = Object.entries(typeof drawn === 'object' && drawn !== null ? drawn : {});
    const text = new URLSearchParams(
      entries.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
    ).toString();
    return text === '' ? '' : `?${text}`;
  }
}
