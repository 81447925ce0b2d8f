/**
 * A Fastify listener over TLS: HTTP/2 and HTTP/1.1 on one port, as the client asks (ALPN, RFC 7301), with the bounds that
 * the plain listener has.
 */
import type { Server } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Certificate } from '#src/tls/certificate.ts';

/** Requests that one HTTP/2 connection may have open at once: what RFC 9113, section 6.5.2, advises as the least. [refused by the protocol] */
export const HTTP2_STREAMS_MAX = 100;

/** A connection without a byte for this long is told to go: Fastify's own figure for HTTP/1.1 between requests. */
const IDLE_MILLIS = 72_000;

export interface TlsServerOptions {
  readonly certificate: Certificate;
  /** Headers of one request together, in bytes. */
  readonly headerBytesMax: number;
  /** Deadline of a handshake, and of a request until it has arrived. */
  readonly requestMillis: number;
  readonly checkMillis: number;
}

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** What Fastify's own servers have, and the one of HTTP/2 lacks. */
type Closing = Pick<Server, 'closeAllConnections' | 'closeIdleConnections'>;

/** What Node reads of a server that speaks HTTP/1.1, and takes no options for where it speaks HTTP/2 as well. */
interface Http1Bounds {
  headersTimeout: number;
  keepAliveTimeout: number;
  requestTimeout: number;
  connectionsCheckingInterval: number;
  maxHeaderSize: number;
}

/** Makes the server for Fastify; not listening yet. */
export function makeTlsServer(handler: Handler, options: TlsServerOptions): Http2SecureServer & Closing {
  const { checkMillis, headerBytesMax, requestMillis } = options;
  const server = createSecureServer(
    {
      ...contextOf(options.certificate),
      allowHTTP1: true,
      handshakeTimeout: requestMillis,
      settings: { maxConcurrentStreams: HTTP2_STREAMS_MAX, maxHeaderListSize: headerBytesMax },
    },
    handler,
  );
  const bounds: Http1Bounds = {
    headersTimeout: requestMillis,
    keepAliveTimeout: IDLE_MILLIS,
    requestTimeout: requestMillis,
    connectionsCheckingInterval: checkMillis,
    maxHeaderSize: headerBytesMax,
  };
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<TLSSocket>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.setTimeout(IDLE_MILLIS, () => session.close());
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const closeIdle = (server as unknown as Closing).closeIdleConnections.bind(server);
  return Object.assign(server, bounds, {
    // Requests that are under way are finished; the connection takes no further one.
    closeIdleConnections: () => {
      closeIdle();
      for (const session of sessions) session.close();
    },
    closeAllConnections: () => {
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
    },
  });
}

/** Has new connections to a listener see another certificate; those that are open stay as they are. */
export function renewCertificate(app: FastifyInstance, certificate: Certificate): void {
  (app.server as unknown as TlsServer).setSecureContext(contextOf(certificate));
}

/** What a TLS server of Node shows: no version before 1.2 (RFC 8996). */
function contextOf({ chain, key }: Certificate): { cert: string; key: string; minVersion: 'TLSv1.2' } {
  return { cert: chain, key, minVersion: 'TLSv1.2' };
}
