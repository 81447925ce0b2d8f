/** Requests that are HTTP, and whose content is damaged. */
import { Agent, request } from 'node:http';
import type { Json } from '#src/base/json.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { type Answer, faultOf } from './answers.ts';
import { isSessionRoute, ROUTE_NAMES, ROUTES, validBody, validPath, validQuery, type World } from './forms.ts';
import { damageText, mutate, strangeText } from './mutation.ts';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];
const TYPES = ['text/plain', 'application/json; charset=latin1', 'application/jsonp', '', 'APPLICATION/JSON'];
const TOKENS = ['', 'Bearer', 'Bearer x', 'Bearer a.b.c', 'Basic eDp5', `Bearer ${'x'.repeat(3_000)}`];
const ANSWER_MILLIS = 15_000;

export interface Fuzzers {
  readonly all: readonly Person[];
  readonly expendable: Person;
}

interface Shot {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | undefined;
}

export class HttpFuzzer {
  readonly #server: TestServer;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 });

  constructor(server: TestServer) {
    this.#server = server;
  }

  /**
   * One request, those to the routes of sessions by somebody whose session may end. Answers what was wrong with its
   * answer, in words, or undefined.
   */
  async shoot(people: Fuzzers, world: World, random: SeededRandom): Promise<string | undefined> {
    const name = random.pick(ROUTE_NAMES);
    const who = isSessionRoute(name) ? people.expendable : random.pick(people.all);
    const route = ROUTES[name];
    const base = isSessionRoute(name) ? this.#server.coordinator : this.#server.messaging;
    const isPathDamaged = random.chance(0.15);
    const path = validPath(name, world, random);
    const isMethodDamaged = random.chance(0.05);
    const shot: Shot = {
      method: isMethodDamaged ? random.pick(METHODS) : route.method.toUpperCase(),
      path: (isPathDamaged ? damagePath(path, random) : path) + queryOf(validQuery(name, world, random), random),
      headers: headersOf(who, random),
      body: bodyOf(validBody(name, world, random), random),
    };
    const answer = await this.#send(base, shot);
    const isHead = shot.method === 'HEAD';
    const isReached = !isPathDamaged && !isMethodDamaged;
    const fault = isHead || answer === undefined ? undefined : faultOf(answer, isReached ? route : undefined);
    if (fault === undefined) return undefined;
    return `${shot.method} ${shot.path} ${JSON.stringify(shot.headers)} ${String(shot.body).slice(0, 500)} answered ${fault}`;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(base: string, { method, path, headers, body }: Shot): Promise<Answer | undefined> {
    const { hostname, port } = new URL(base);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const length = body === undefined ? {} : { 'content-length': String(body.length) };
    const options = { hostname, port, method, path, agent: this.#agent, timeout: ANSWER_MILLIS };
    const sent = request({ ...options, headers: { ...headers, ...length } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
      });
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`No answer to ${method} ${path}.`)));
    sent.on('error', reject);
    sent.end(body);
    try {
      return await promise;
    } catch (error) {
      // A body that is refused unread closes its connection, and the reset may overtake the refusal.
      const { code } = error as NodeJS.ErrnoException;
      if (body !== undefined && (code === 'ECONNRESET' || code === 'EPIPE')) return undefined;
      throw new Error(`${method} ${path} on a ${sent.reusedSocket ? 'kept' : 'new'} connection failed`, {
        cause: error,
      });
    }
  }
}

function bodyOf(valid: Json | undefined, random: SeededRandom): Buffer | undefined {
  if (valid === undefined) return random.chance(0.1) ? Buffer.from('{"x":1}') : undefined;
  let value = valid;
  for (let changes = random.whole(0, 2); changes > 0; changes -= 1) value = mutate(value, random);
  const text = JSON.stringify(value);
  if (random.chance(0.1)) return damageText(text, random);
  return random.chance(0.01) ? Buffer.from(`"${'y'.repeat(200_000)}"`) : Buffer.from(text);
}

function headersOf(who: Person, random: SeededRandom): Record<string, string> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${who.session.token}`,
    'content-type': 'application/json',
  };
  if (random.chance(0.05)) headers['authorization'] = random.pick(TOKENS);
  if (random.chance(0.05)) headers['content-type'] = random.pick(TYPES);
  if (random.chance(0.1))
    headers['x-service-client-protocol'] = random.pick(['1', '0', '-1', '99999999999', 'x', '1.5']);
  if (random.chance(0.05)) headers['origin'] = random.pick(['http://evil.example', 'null', 'x']);
  if (random.chance(0.05)) headers['accept'] = random.pick(['text/html', '*/*;q=', 'x'.repeat(1_000)]);
  return headers;
}

function damagePath(path: string, random: SeededRandom): string {
  const parts = path.split('/');
  const at = random.whole(1, parts.length - 1);
  const damaged = [
    encodeURIComponent(strangeText(random).toWellFormed()),
    '%',
    '%ff',
    '..',
    '',
    'x'.repeat(600),
    '%2f',
  ];
  return parts.map((part, index) => (index === at ? random.pick(damaged) : part)).join('/') || '/';
}

function queryOf(valid: Record<string, string>, random: SeededRandom): string {
  const entries = Object.entries(valid).map(([name, value]) => {
    const text = random.chance(0.2) ? strangeText(random).toWellFormed() : value;
    return `${name}=${encodeURIComponent(text)}`;
  });
  if (random.chance(0.05))
    entries.push(random.pick(['x=1', 'limit=1', 'after=%', 'limit', '&', 'after=bnVsbA', 'after=W10']));
  return entries.length === 0 ? '' : `?${entries.join('&')}`;
}
