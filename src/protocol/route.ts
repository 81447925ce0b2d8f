/** What a route of a table states: all that a server needs to judge a request, and the documents to describe it. */
import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { RateName } from './rate-limits.ts';

export interface Route {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** With `:name` for a path parameter. */
  readonly path: string;
  /** One sentence for the API document. */
  readonly summary: string;
  /**
   * `session` wants `Authorization: Bearer`; `renewable` also takes one that has expired; `service` wants a service
   * token there instead; `none` wants nothing.
   */
  readonly auth: 'session' | 'renewable' | 'service' | 'none';
  readonly body?: z.ZodType;
  readonly bodyBytesMax?: number;
  /** Its body is a form of `application/x-www-form-urlencoded`, and no JSON; each parameter once. */
  readonly isForm?: true;
  /** Its JSON may also come as the field of that name in a form of `application/x-www-form-urlencoded`. */
  readonly formField?: string;
  readonly formBytesMax?: number;
  /** The bucket that its requests count in, if it is not `read` for a GET and `change` for anything else. */
  readonly rate?: RateName;
  /** Answers whatever version a client speaks, also one below the oldest served (VER-03). */
  readonly anyVersion?: true;
  readonly query?: z.ZodType;
  /** Status of success → shape of the answer; null where there is no body. */
  readonly replies: Readonly<Record<number, z.ZodType | null>>;
  /** Codes of this route beyond those that every route may answer. */
  readonly errors: readonly ErrorCode[];
}

/** What a route states behind its method, path and summary. It wants a session, and has no codes of its own, unless it says so. */
type RouteForm = Omit<Route, 'method' | 'path' | 'summary' | 'auth' | 'errors'> &
  Partial<Pick<Route, 'auth' | 'errors'>>;

/** A form with nothing in it that a route does not have: a name that is written wrong is no statement. */
export type Exactly<Form, Known> = Form & { readonly [Name in Exclude<keyof Form, keyof Known>]: never };

/** A form, and what holds where it says nothing. */
export type WithDefaults<Form, Defaults> = Form & Omit<Defaults, keyof Form>;

function maker<const Method extends Route['method'] | 'head'>(method: Method) {
  return <const Path extends string, const Form extends RouteForm>(
    path: Path,
    summary: string,
    form: Exactly<Form, RouteForm>,
  ) => {
    const head = { method, path, summary, auth: 'session', errors: [] } as const;
    return { ...head, ...form } as WithDefaults<Form, typeof head>;
  };
}

/** Makes the routes of a table: `route.get(path, summary, form)`. */
export const route = {
  get: maker('get'),
  head: maker('head'),
  post: maker('post'),
  put: maker('put'),
  patch: maker('patch'),
  delete: maker('delete'),
} as const;
