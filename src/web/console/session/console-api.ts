/**
 * Requests to the console's API, typed by its route table: a path that the table does not have does not compile. The
 * table is imported as a type, so nothing of the server is loaded.
 */
import type { z } from 'zod';
import { clientError, ParleyError } from '#src/client/parley-error.ts';
import type { CONSOLE_PAGES } from '#src/console/route-table.ts';
import type { SettingScreenName } from '#src/settings/setting-screens.ts';

/** The pages whose routes are known one by one; those of the settings are made from a table, and have calls of their own. */
type Pages = Omit<typeof CONSOLE_PAGES, 'settings'>;
type AnyRoute = { [Page in keyof Pages]: Pages[Page][keyof Pages[Page]] }[keyof Pages];
type NameOf<R> = R extends { readonly method: infer M extends string; readonly path: infer P extends string }
  ? `${M} ${P}`
  : never;

/** A route by method and path, such as `get /users/:username`. */
export type RouteName = NameOf<AnyRoute>;
type RouteAt<N extends RouteName> = AnyRoute extends infer R ? (R extends AnyRoute ? Named<R, N> : never) : never;
type Named<R, N> = NameOf<R> extends N ? R : never;

type ParameterOf<P> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer More}`
    ? Name | ParameterOf<`/${More}`>
    : Rest
  : never;
type QueryOf<R> = R extends { readonly query: infer Q extends z.ZodType } ? keyof z.input<Q> & string : never;
type BodyOf<R> = R extends { readonly body: infer B extends z.ZodType } ? z.input<B> : never;

/** What a request brings: values of the path's parameters, of the query, and a body. */
export type Input<N extends RouteName> = ([ParameterOf<N>] extends [never]
  ? { readonly parameters?: undefined }
  : { readonly parameters: Readonly<Record<ParameterOf<N>, string>> }) &
  ([QueryOf<RouteAt<N>>] extends [never]
    ? { readonly query?: undefined }
    : { readonly query?: Readonly<Partial<Record<QueryOf<RouteAt<N>>, string | number | undefined>>> }) &
  ([BodyOf<RouteAt<N>>] extends [never] ? { readonly body?: undefined } : { readonly body: BodyOf<RouteAt<N>> });

type Shapes<R> = R extends { readonly replies: infer S } ? S[keyof S] : never;
/** What a route answers when it succeeds; undefined where its answer has no body. */
export type ReplyOf<N extends RouteName> =
  Shapes<RouteAt<N>> extends infer S ? (S extends z.ZodType ? z.infer<S> : undefined) : never;

/** The items of a route that answers a list. */
export type ItemOf<N extends RouteName> = ReplyOf<N> extends { items: (infer T)[] } ? T : never;

/** What a screen of settings answers: a secret among its values as set or not set, an empty value as null. */
export interface SettingsView {
  readonly say: string;
  /** What of the server goes by it. */
  readonly read_by: string;
  readonly effect: string;
  readonly is_complete: boolean;
  readonly values: Readonly<Record<string, unknown>>;
  readonly changed_at: string | null;
  readonly changed_by: string | null;
  /** Secrets that the change took away, since where they go is another place now. */
  readonly dropped: readonly string[];
}

/** What to change: what is left out stays, null takes a value away. */
export type SettingChanges = Readonly<Record<string, unknown>>;

export interface SettingsTest {
  readonly ok: boolean;
  readonly detail: string;
  readonly expires_at: string | null;
}

interface RawInput {
  readonly parameters?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
}

/** After how long without an answer a request has failed: above what the server itself allows one. */
const ANSWER_MILLIS = 60_000;

/** Codes that say that the credential opens nothing any more: sign in again. */
const CREDENTIAL_CODES: ReadonlySet<string> = new Set([
  'session_over',
  'session_revoked',
  'token_expired',
  'token_invalid',
  'token_missing',
  'vendor_token_expired',
  'vendor_token_invalid',
  'vendor_token_revoked',
]);

export interface ConsoleApiOptions {
  /** Where the API's paths begin. */
  readonly prefix: string;
  /** The protocol version that this console was served with. */
  readonly protocol: string;
  readonly token: () => string | undefined;
  /** The server answered a request of this credential: it was used. */
  readonly used: () => void;
  /** The credential opens nothing any more. */
  readonly ended: (error: ParleyError) => void;
  /** The session opens the set-up of a second factor and nothing else. */
  readonly enrollmentRequired: () => void;
  /** Asks for the second factor again; whether it was given. */
  readonly stepUp: () => Promise<boolean>;
  readonly fetch?: typeof fetch;
}

export class ConsoleApi {
  readonly #options: ConsoleApiOptions;
  /** The question for the second factor that is open: requests that need it meanwhile wait for the same answer. */
  #steppingUp: Promise<boolean> | undefined;

  constructor(options: ConsoleApiOptions) {
    this.#options = options;
  }

  /**
   * One request. Cancelled by `signal`, it never settles: whoever asked is gone.
   * @throws ParleyError with the server's code, or `network_failed`, `deadline_exceeded`, `answer_unreadable`.
   */
  async call<N extends RouteName>(name: N, input: Input<N>, signal?: AbortSignal): Promise<ReplyOf<N>> {
    return (await this.#judged(name, input, signal, readJson)) as ReplyOf<N>;
  }

  /** As `call`, for an answer that is a file. */
  async download<N extends RouteName>(name: N, input: Input<N>, signal?: AbortSignal): Promise<Blob> {
    return await this.#judged(name, input, signal, async (response) => {
      if (!response.ok) await readJson(response);
      return await response.blob();
    });
  }

  /** A screen of settings: read, changed where there are changes, or tried. */
  async settings(name: SettingScreenName, changes?: SettingChanges, signal?: AbortSignal): Promise<SettingsView> {
    const method = changes === undefined ? 'get' : 'put';
    return (await this.#judged(`${method} /settings/${name}`, { body: changes }, signal, readJson)) as SettingsView;
  }

  async testSettings(name: SettingScreenName, signal?: AbortSignal): Promise<SettingsTest> {
    return (await this.#judged(`post /settings/${name}/test`, {}, signal, readJson)) as SettingsTest;
  }

  /** A request, repeated once the second factor was given where the server asks for it. */
  async #judged<T>(
    name: string,
    input: RawInput,
    signal: AbortSignal | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#once(name, input, signal, read);
    } catch (error) {
      if (!(error instanceof ParleyError && error.code === 'step_up_required')) throw error;
      this.#steppingUp ??= this.#options.stepUp().finally(() => (this.#steppingUp = undefined));
      if (!(await this.#steppingUp)) throw error;
      return await this.#once(name, input, signal, read);
    }
  }

  /** A request, and what its answer says of the credential. */
  async #once<T>(
    name: string,
    input: RawInput,
    signal: AbortSignal | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { ended, enrollmentRequired, used } = this.#options;
    const token = this.#options.token();
    try {
      const reply = await this.#send(name, input, token, signal, read);
      if (token !== undefined) used();
      return reply;
    } catch (error) {
      if (signal?.aborted === true) return await new Promise<never>(() => undefined);
      if (error instanceof ParleyError) {
        // A request of a credential that was replaced in the meantime says nothing about the new one.
        const isCurrent = token !== undefined && token === this.#options.token();
        if (isCurrent && CREDENTIAL_CODES.has(error.code)) ended(error);
        if (isCurrent && error.code === 'two_factor_enrollment_required') enrollmentRequired();
      }
      throw error;
    }
  }

  async #send<T>(
    name: string,
    input: RawInput,
    token: string | undefined,
    signal: AbortSignal | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { prefix, protocol } = this.#options;
    const [method = '', path = ''] = name.split(' ');
    const headers: Record<string, string> = { 'x-service-client-protocol': protocol };
    if (token !== undefined) headers['x-admin-token'] = token;
    if (input.body !== undefined) headers['content-type'] = 'application/json';
    const deadline = AbortSignal.timeout(ANSWER_MILLIS);
    const send = this.#options.fetch ?? fetch;
    try {
      const response = await send(`${prefix}${addressOf(path, input.parameters, input.query)}`, {
        method: method.toUpperCase(),
        headers,
        cache: 'no-store',
        credentials: 'omit',
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
        ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
      });
      return await read(response);
    } catch (cause) {
      if (cause instanceof ParleyError) throw cause;
      throw clientError(deadline.aborted ? 'deadline_exceeded' : 'network_failed', { cause });
    }
  }
}

/** The path with its parameters and query in their places, escaped. */
export function addressOf(path: string, parameters: object | undefined, query: object | undefined): string {
  const values = parameters as Readonly<Record<string, string>> | undefined;
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values?.[name] ?? ''));
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
  return search.size === 0 ? filled : `${filled}?${search.toString()}`;
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch (cause) {
    throw clientError('answer_unreadable', { status: response.status, cause });
  }
  if (response.ok) return body;
  const { code, error, field } = (body ?? {}) as { code?: unknown; error?: unknown; field?: unknown };
  if (typeof code !== 'string' || typeof error !== 'string') {
    throw clientError('answer_unreadable', { status: response.status });
  }
  throw new ParleyError(code, error, {
    status: response.status,
    field: typeof field === 'string' ? field : undefined,
    retryAfter: Number(response.headers.get('retry-after')) || undefined,
  });
}
