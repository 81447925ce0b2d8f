/**
 * What passkeys are bound to (WebAuthn, section 5.1.3): the host name of the coordinator, under which browsers keep them,
 * and the origins of the pages that may ask for them. Both follow from the configured public URLs.
 */
import { isIP } from 'node:net';
import type { Config } from '#src/config.ts';

export interface RelyingParty {
  /** A host name: a passkey of another one is not this installation's. */
  readonly id: string;
  readonly origins: readonly string[];
}

/** Where browsers take a page for secure without TLS (W3C Secure Contexts, section 3.1). */
const LOCAL = 'localhost';

/**
 * The relying party of an installation; undefined where it has no host name, or no secure origin under it: an IP
 * address is none, and plain HTTP is secure on `localhost` alone. `origins` are those whose pages may call it.
 */
export function relyingPartyOf(
  { acmeNames, coordinatorUrl }: Pick<Config, 'acmeNames' | 'coordinatorUrl'>,
  origins: Iterable<string>,
): RelyingParty | undefined {
  const named = coordinatorUrl === undefined ? acmeNames.split(',')[0]?.trim() : new URL(coordinatorUrl).hostname;
  const id = named === undefined || named === '' ? hostIn(origins) : named;
  if (id === undefined || isAddress(id)) return undefined;
  const own = [...origins].filter((origin) => isOf(new URL(origin), id));
  return own.length === 0 ? undefined : { id, origins: own };
}

/** The one host name among the server's own origins: that of its listener, or `localhost` on loopback. */
function hostIn(origins: Iterable<string>): string | undefined {
  const names = [...new Set([...origins].map((origin) => new URL(origin).hostname))].filter((name) => !isAddress(name));
  return names.length === 1 ? names[0] : names.find((name) => name === LOCAL);
}

/** A page of the name itself or below it, in a secure context. */
function isOf({ hostname, protocol }: URL, id: string): boolean {
  const isBelow = hostname === id || hostname.endsWith(`.${id}`);
  return isBelow && (protocol === 'https:' || (protocol === 'http:' && hostname === LOCAL));
}

function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0;
}
