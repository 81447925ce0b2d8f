/** The platform's `fetch` for a library that wants one: the same guard, deadline and bound as every other request. */
import { sendOutgoing, type OutgoingRequest } from './request.ts';

export type FetchBounds = Pick<OutgoingRequest, 'allowPrivateTargets' | 'bytesMax' | 'millis'>;

const METHODS = new Set(['GET', 'POST', 'HEAD']);
/** Statuses whose answers have no body (Fetch, section 2.2.3). */
const BODILESS = new Set([204, 205, 304]);

/**
 * A `fetch` that follows no redirect and reads no more than its bounds let it.
 * What could not be reached is a TypeError with its cause, as the platform has it; a signal's reason goes through.
 */
export function makeFetch(bounds: FetchBounds): (url: string, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const request = new Request(url, init);
    const method = request.method as OutgoingRequest['method'];
    if (!METHODS.has(method)) throw new TypeError(`${method} is not sent from here.`);
    const body = method === 'POST' ? { body: Buffer.from(await request.arrayBuffer()) } : {};
    const signal = init.signal ?? undefined;
    try {
      const { bytes, headers, status } = await sendOutgoing({
        ...bounds,
        ...body,
        method,
        url,
        headers: Object.fromEntries(request.headers),
        ...(signal === undefined ? {} : { signal }),
      });
      const answered = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        [value ?? []].flat().map((each) => [name, each]),
      );
      return new Response(BODILESS.has(status) ? null : new Uint8Array(bytes), { status, headers: answered });
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      throw new TypeError('fetch failed', { cause });
    }
  };
}
