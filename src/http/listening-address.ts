/** Where a listener is reached. */
import type { AddressInfo } from 'node:net';
import { speaksTls, type Config, type TlsConfig } from '#src/config.ts';

/** The port that a listener has. @throws Error while it has none. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('The listener has no port.');
  return address.port;
}

/** Addresses to listen at, of which none can be called. */
const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

/** The host under which a client on this machine reaches a listener, as it stands in a URL. */
export function reachableHost({ host }: Pick<Config, 'host'>): string {
  if (WILDCARDS.includes(host)) return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** What the listeners speak. */
export function schemeOf(config: TlsConfig): 'http' | 'https' {
  return speaksTls(config) ? 'https' : 'http';
}

/** The base URL under which a client on this machine reaches a port. */
export function urlOf(config: Pick<Config, 'host'> & TlsConfig, port: number): string {
  return `${schemeOf(config)}://${reachableHost(config)}:${port}`;
}
