/** Where a listener is reached. */
import type { AddressInfo } from 'node:net';
import type { Config } from '#src/config.ts';

/** The port that a listener has. @throws Error while it has none. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('The listener has no port.');
  return address.port;
}

/** The base URL under which a client on this machine reaches a port. */
export function urlOf(config: Pick<Config, 'host'>, port: number): string {
  return `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`;
}
