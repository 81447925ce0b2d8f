/**
 * What a console route states of itself. Each page's module declares its routes in this form and its handlers by the
 * same names; `route-table.ts` gathers them, and the router is built from that table and from nothing else.
 */
import type { z } from 'zod';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import type { Exactly, WithDefaults } from '#src/protocol/route.ts';
import type { AuditEvent } from '#src/audit/audit-events.ts';
import { permits, type Permission } from '#src/identity/console/permissions.ts';
import { roleOf, type Principal } from '#src/identity/console/principal.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';

/**
 * How a vendor token meets a route (VND-15): served as it is, served de-personalised, or refused before its handler.
 * There is no default, so that a route without the statement does not compile.
 */
export type VendorExposure = 'open' | 'depersonalised' | 'closed';

/**
 * Who may call: anybody (sign-in), a session that is still to prove its second factor, any full principal, or those
 * with a permission.
 */
export type Access = 'public' | 'second_factor_setup' | 'signed_in' | Permission;

export interface ConsoleRoute {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below `/admin/api`, with `:name` for a path parameter. */
  readonly path: `/${string}`;
  /** One sentence for the API document. */
  readonly summary: string;
  readonly access: Access;
  readonly vendor: VendorExposure;
  /**
   * Whether the second factor is asked again for it (VND-17). Without the statement it is where access is managed and
   * the trail says so, which is every write of owners and every read that takes keys or clear data out.
   */
  readonly stepUp?: boolean;
  /** What it writes into the audit trail; null for a read that is not audited. Every write has one. */
  readonly audit: AuditEvent | null;
  readonly body?: z.ZodType;
  readonly bodyBytesMax?: number;
  readonly query?: z.ZodType;
  /** The answer is lines of JSON that come as they are read; for closed routes only. */
  readonly isStream?: true;
  /** Status of success → shape of the answer; null where there is no body. */
  readonly replies: Readonly<Record<number, z.ZodType | null>>;
  /** Codes of this route beyond those that every console route may answer. */
  readonly errors: readonly ErrorCode[];
}

/** What a route states behind its method, path and summary. It has no codes of its own unless it says so. */
type WriteForm = Omit<ConsoleRoute, 'method' | 'path' | 'summary' | 'errors'> & Partial<Pick<ConsoleRoute, 'errors'>>;
/** A read is not audited unless it says so; a write has to say. */
type ReadForm = Omit<WriteForm, 'audit'> & Partial<Pick<WriteForm, 'audit'>>;

function writer<const Method extends ConsoleRoute['method']>(method: Method) {
  return <const Path extends `/${string}`, const Form extends WriteForm>(
    path: Path,
    summary: string,
    form: Exactly<Form, WriteForm>,
  ) => {
    const head = { method, path, summary, errors: [] } as const;
    return { ...head, ...form } as WithDefaults<Form, typeof head>;
  };
}

/** Makes the routes of a page: `consoleRoute.get(path, summary, form)`. */
export const consoleRoute = {
  get: <const Path extends `/${string}`, const Form extends ReadForm>(
    path: Path,
    summary: string,
    form: Exactly<Form, ReadForm>,
  ) => {
    const head = { method: 'get', path, summary, audit: null, errors: [] } as const;
    return { ...head, ...form } as WithDefaults<Form, typeof head>;
  },
  post: writer('post'),
  put: writer('put'),
  patch: writer('patch'),
  delete: writer('delete'),
} as const;

/** A request as a handler gets it: checked by its schemas, its caller known and permitted. */
export interface ConsoleRequest<
  Body = unknown,
  Query = unknown,
  Parameters extends Readonly<Record<string, string>> = Readonly<Record<string, string>>,
> {
  readonly principal: Principal;
  /** Whether the caller's second factor was asked again, and not too long ago. */
  readonly hasSteppedUp: boolean;
  /** The caller's address. */
  readonly address: string;
  /** Who acts, and from where, as the audit trail has it. */
  readonly by: AuditActor;
  readonly parameters: Parameters;
  readonly body: Body;
  readonly query: Query;
  /**
   * Of a vendor's request: rows of `items` as a de-personalised answer shows them. A filter, an order and a count are
   * held against these and against nothing else (VND-16). Undefined for everybody who reads raw data.
   * @throws Refusal `redaction_unavailable`, `busy`.
   */
  readonly shown?: (<Row>(rows: readonly Row[]) => Promise<Row[]>) | undefined;
}

export interface ConsoleReply {
  readonly status: number;
  /** Undefined where the answer has no body. */
  readonly body?: unknown;
  /** The lines of a route that states `isStream`. */
  readonly stream?: AsyncIterableIterator<string>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The names of a path's parameters. */
type ParametersIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersIn<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Read<T> = T extends z.ZodType ? z.infer<T> : undefined;

/** A handler for each route of a page, typed by the route's schemas. Thrown Refusals are its answers. */
export type ConsoleHandlers<Routes extends Readonly<Record<string, ConsoleRoute>>> = {
  readonly [Name in keyof Routes]: (
    request: ConsoleRequest<
      Read<Routes[Name] extends { body: infer Body } ? Body : undefined>,
      Read<Routes[Name] extends { query: infer Query } ? Query : undefined>,
      Readonly<Record<ParametersIn<Routes[Name]['path']>, string>>
    >,
  ) => Promise<ConsoleReply> | ConsoleReply;
};

/** Whether a route takes a session whose second factor was asked again (VND-17). */
export function asksStepUp({ access, audit, stepUp }: ConsoleRoute): boolean {
  return stepUp ?? (access === 'access:write' && audit !== null);
}

/** @throws Refusal `right_missing`, `step_up_required` for who may not do what is an owner's within a route of others. */
export function assertOwner({ hasSteppedUp, principal }: Pick<ConsoleRequest, 'hasSteppedUp' | 'principal'>): void {
  if (!permits(roleOf(principal), 'access:write')) throw new Refusal('right_missing');
  if (!hasSteppedUp) throw new Refusal('step_up_required');
}

/** The routes and handlers of one page. */
export interface ConsolePage {
  readonly routes: Readonly<Record<string, ConsoleRoute>>;
  readonly handlers: Readonly<Record<string, (request: ConsoleRequest) => Promise<ConsoleReply> | ConsoleReply>>;
}

/** Ties a page's handlers to its routes. */
export function page<const Routes extends Readonly<Record<string, ConsoleRoute>>>(
  routes: Routes,
  handlers: ConsoleHandlers<Routes>,
): ConsolePage {
  return { routes, handlers: handlers as ConsolePage['handlers'] };
}
