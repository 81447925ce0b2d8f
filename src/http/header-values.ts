/** Headers of a request as they came, over HTTP/1.1 and HTTP/2 alike. */
import type { FastifyRequest } from 'fastify';

/**
 * Every value that a header came with, also those that Node leaves out of `headers`; `name` in lower case. Node's own
 * `headersDistinct` is there for HTTP/1.1 alone.
 */
export function headerValues({ raw: { rawHeaders } }: Pick<FastifyRequest, 'raw'>, name: string): string[] {
  return rawHeaders.filter((_text, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}
