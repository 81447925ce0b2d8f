/**
 * What the socket library lets through and two readers may read as two different requests (RFC 9112, section 6.3;
 * RFC 9110, section 7.2): whoever stands in front ends the body elsewhere, and the rest is a request that nobody sent.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';

const METHODS = ['any', 'del', 'get', 'head', 'options', 'patch', 'post', 'put'] as const;
type Method = (typeof METHODS)[number];

/** As much of the library's app as routes are registered with. */
export type RouteApp = Pick<TemplatedApp, Method>;

/** Whether a request has a header twice that says whose it is or where it ends, or says the latter in two ways. */
export function isAmbiguous(req: HttpRequest): boolean {
  let [hosts, lengths, codings] = [0, 0, 0];
  let coding = 'chunked';
  req.forEach((name, value) => {
    if (name === 'host') hosts += 1;
    else if (name === 'content-length') lengths += 1;
    else if (name === 'transfer-encoding') {
      codings += 1;
      coding = value.trim().toLowerCase();
    }
  });
  return hosts > 1 || lengths + codings > 1 || coding !== 'chunked';
}

/** The app with every route behind `refuse` for requests that are ambiguous. */
export function unambiguous(app: RouteApp, refuse: (res: HttpResponse, req: HttpRequest) => void): RouteApp {
  const guarded =
    (method: Method): TemplatedApp[Method] =>
    (pattern, handler) =>
      app[method](pattern, (res, req) => (isAmbiguous(req) ? refuse(res, req) : handler(res, req)));
  return Object.fromEntries(METHODS.map((method) => [method, guarded(method)])) as unknown as RouteApp;
}
