/** A directory server that an owner names: how it is connected to, and in what words its failures are told. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { Client, ResultCodeError, type ClientOptions } from 'ldapts';
import { Refusal } from '#src/protocol/errors.ts';
import { OutgoingTimeout } from './request.ts';
import { checkedHost, makeLookup, type PrivateTargets } from './targets.ts';

export interface LdapTarget {
  /** `ldaps://host:port`, or `ldap://host:port`. */
  readonly url: string;
  /** Whether `ldap:` is turned to TLS before anything is said (RFC 4511, section 4.14). */
  readonly startTls: boolean;
  /** A certificate in PEM that vouches for the server, beside those of the machine. */
  readonly authority: string | undefined;
}

export interface LdapBounds {
  readonly allowPrivateTargets: PrivateTargets;
  /** How long connecting, and each answer, may take. */
  readonly millis: number;
}

/**
 * Connects, by TLS whose certificate is checked unless the target says otherwise, and does something with the server.
 * The connection is one: the library would open another, unsecured, after one that broke, and send a password over it.
 * @throws Refusal `target_private`; the library's and the platform's errors.
 */
export async function withLdap<T>(
  target: LdapTarget,
  bounds: LdapBounds,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const url = new URL(target.url);
  const host = checkedHost(url, bounds.allowPrivateTargets);
  const address = { host, lookup: makeLookup(bounds.allowPrivateTargets) };
  const ca = target.authority === undefined ? {} : { ca: target.authority };
  const secure: ConnectionOptions = { ...ca, host, ...(isIP(host) === 0 ? { servername: host } : {}) };
  let connections = 0;
  const once = <S extends Socket>(open: () => S): S => {
    connections += 1;
    if (connections > 1) throw new Error('The directory server closed the connection.');
    return open();
  };
  const client = new Client({
    url: target.url,
    timeout: bounds.millis,
    connectTimeout: bounds.millis,
    createConnection: ((port: number) => once(() => connectTcp({ ...address, port }))) as NonNullable<
      ClientOptions['createConnection']
    >,
    createSecureConnection: (start: number | ConnectionOptions): TLSSocket =>
      typeof start === 'number'
        ? once(() => connectTls({ ...secure, ...address, port: start }))
        : inTime(connectTls({ ...start, ...secure }), bounds.millis),
  });
  try {
    if (url.protocol === 'ldap:' && target.startTls) await client.startTLS({});
    return await work(client);
  } finally {
    await client.unbind().catch(() => undefined);
  }
}

/** The library waits for ever for TLS to begin on a connection that there is. */
function inTime(socket: TLSSocket, millis: number): TLSSocket {
  socket.setTimeout(millis, () => socket.destroy(new OutgoingTimeout(`No TLS within ${millis} ms.`)));
  return socket.once('secureConnect', () => void socket.setTimeout(0));
}

/** Why a directory server failed, in a word; the server's own sentences may hold names and are left out. */
export function ldapWordOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  if (error instanceof ResultCodeError) return error.name;
  if (error instanceof OutgoingTimeout) return 'timeout';
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return code.toLowerCase();
  return typeof message === 'string' && /timeout|timed out/i.test(message) ? 'timeout' : 'failed';
}
