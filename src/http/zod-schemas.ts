/** Requests and answers against the zod modules of the protocol: what does not fit is refused with its field named. */
import type { FastifySchemaCompiler } from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { Refusal } from '#src/protocol/errors.ts';

/** Answers are held to their schema too: an answer that leaves the contract is a fault of the server. */
export const zodSerializer = serializerCompiler;

/** Checks one part of a request; Fastify throws the refusal it returns. */
export const zodValidator: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (data: unknown) => {
    // Fastify says null of a body that there is not; one that is null was refused before.
    const parsed = schema.safeParse(httpPart === 'body' && data === null ? undefined : data);
    return parsed.success ? { value: parsed.data } : { error: refusalOf(parsed.error, httpPart) };
  };

/**
 * The refusal of a form. A field that the form does not have comes first (GOV-03), since whoever claims to be
 * somebody should read that this is what was refused.
 */
function refusalOf(error: z.ZodError, httpPart: string | undefined): Refusal {
  const unknown = error.issues.find((issue) => issue.code === 'unrecognized_keys');
  const first = error.issues[0];
  const path = unknown === undefined ? first?.path : [...unknown.path, unknown.keys[0] as string];
  const field = path === undefined || path.length === 0 ? undefined : path.map(String).join('.');
  if (httpPart === 'querystring') return new Refusal('query_invalid', { field });
  return new Refusal(unknown === undefined ? 'field_invalid' : 'field_unknown', { field });
}
