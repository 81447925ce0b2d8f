/** A bare connection to a target that somebody named, to see whether it is there. See `targets.ts` for where it may go. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { OutgoingTimeout } from './request.ts';
import { checkedHost, makeLookup, type PrivateTargets } from './targets.ts';

export interface Target {
  readonly url: URL;
  /** Where the URL names none. */
  readonly port: number;
  readonly isTls: boolean;
  readonly allowPrivateTargets: PrivateTargets;
  /** How long it may take. */
  readonly millis: number;
}

/**
 * Connects and lets go; answers when the certificate of the other side ends, in milliseconds, null without TLS.
 * @throws Refusal `target_private`; OutgoingTimeout; the platform's errors for what could not be reached.
 */
export async function tryConnection(target: Target): Promise<number | null> {
  const { allowPrivateTargets, isTls, millis, url } = target;
  const host = checkedHost(url, allowPrivateTargets);
  const port = url.port === '' ? target.port : Number(url.port);
  const options = { host, port, lookup: makeLookup(allowPrivateTargets) };
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const socket: Socket = isTls
    ? connectTls({ ...options, ...(isIP(host) === 0 ? { servername: host } : {}) }, () => {
        const { valid_to: end } = (socket as TLSSocket).getPeerCertificate();
        resolve(Date.parse(end));
      })
    : connectTcp(options, () => resolve(null));
  socket.once('error', reject);
  const timer = setTimeout(() => socket.destroy(new OutgoingTimeout(`No connection within ${millis} ms.`)), millis);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
