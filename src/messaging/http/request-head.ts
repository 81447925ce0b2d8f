/** What is read of a request's head: all headers in one walk, since each that is asked for by its name is a walk of its own. */
import type { HttpRequest } from 'uWebSockets.js';

/** What a handler needs of a request, copied out before the request object goes. A header that comes twice counts once, the first. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly authorization: string;
  readonly contentType: string;
  readonly contentLength: string;
  readonly clientVersion: string;
  readonly accept: string;
  readonly origin: string;
  readonly forwardedFor: string;
  /** No credential here; looked at for a vendor token that is tried. */
  readonly adminToken: string;
  /**
   * Whether two readers may read two requests here: a header comes twice that says whose it is or where it ends, or the latter
   * is said in two ways (RFC 9112, section 6.3; RFC 9110, section 7.2).
   */
  readonly isAmbiguous: boolean;
}

export function readHead(req: HttpRequest): RequestHead {
  const found = new FoundHeaders();
  req.forEach((name, value) => found.take(name, value));
  return {
    method: req.getMethod(),
    path: req.getUrl(),
    query: req.getQuery(),
    authorization: found.authorization ?? '',
    contentType: found.contentType ?? '',
    contentLength: found.contentLength ?? '',
    clientVersion: found.clientVersion ?? '',
    accept: found.accept ?? '',
    origin: found.origin ?? '',
    forwardedFor: found.forwardedFor ?? '',
    adminToken: found.adminToken ?? '',
    isAmbiguous: found.isAmbiguous,
  };
}

/** The headers of one request, as the library hands them over: names in lower case. */
class FoundHeaders {
  authorization: string | undefined;
  contentType: string | undefined;
  contentLength: string | undefined;
  clientVersion: string | undefined;
  accept: string | undefined;
  origin: string | undefined;
  forwardedFor: string | undefined;
  adminToken: string | undefined;
  #hosts = 0;
  #lengths = 0;
  #codings = 0;
  #coding = 'chunked';

  take(name: string, value: string): void {
    switch (name) {
      case 'host':
        this.#hosts += 1;
        break;
      case 'authorization':
        this.authorization ??= value;
        break;
      case 'content-type':
        this.contentType ??= value;
        break;
      case 'content-length':
        this.#lengths += 1;
        this.contentLength ??= value;
        break;
      case 'transfer-encoding':
        this.#codings += 1;
        this.#coding = value.trim().toLowerCase();
        break;
      case 'x-service-client-protocol':
        this.clientVersion ??= value;
        break;
      case 'accept':
        this.accept ??= value;
        break;
      case 'origin':
        this.origin ??= value;
        break;
      case 'x-forwarded-for':
        this.forwardedFor ??= value;
        break;
      case 'x-admin-token':
        this.adminToken ??= value;
        break;
    }
  }

  get isAmbiguous(): boolean {
    return this.#hosts > 1 || this.#lengths + this.#codings > 1 || this.#coding !== 'chunked';
  }
}
