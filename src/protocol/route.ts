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
  /** Its JSON may also come as the field of that name in a form of `application/x-www-form-urlencoded`. */
  readonly formField?: string;
  readonly formBytesMax?: number;
  /** The bucket that its requests count in, if it is not `read` for a GET and `change` for anything else. */
  readonly rate?: RateName;
  readonly query?: z.ZodType;
  /** Status of success → shape of the answer; null where there is no body. */
  readonly replies: Readonly<Record<number, z.ZodType | null>>;
  /** Codes of this route beyond those that every route may answer. */
  readonly errors: readonly ErrorCode[];
}
