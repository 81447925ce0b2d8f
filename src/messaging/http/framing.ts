/**
 * What the socket library lets through and two readers may read as two different requests: whoever stands in front ends
 * the body elsewhere, and the rest is a request that nobody sent.
 */
import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { readHead, type RequestHead } from './request-head.ts';

const METHODS = ['any', 'del', 'get', 'head', 'options', 'patch', 'post', 'put'] as const;
type Method = (typeof METHODS)[number];

/** Takes a request whose head is read. */
type RouteHandler = (res: HttpResponse, req: HttpRequest, head: RequestHead) => void;

/** As much of the library's app as routes are registered with. */
export type RouteApp = Readonly<Record<Method, (pattern: string, handler: RouteHandler) => void>>;

/** The app with every route behind `refuse` for requests that are ambiguous. */
export function unambiguous(app: TemplatedApp, refuse: (res: HttpResponse, head: RequestHead) => void): RouteApp {
  const guarded =
    (method: Method): RouteApp[Method] =>
    (pattern, handler) => {
      app[method](pattern, (res, req) => {
        const head = readHead(req);
        if (head.isAmbiguous) refuse(res, head);
        else handler(res, req, head);
      });
    };
  return Object.fromEntries(METHODS.map((method) => [method, guarded(method)])) as unknown as RouteApp;
}
