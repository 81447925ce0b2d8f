/**
 * Where a request came from: the other end of the connection or, where that is a proxy that the configuration trusts, the
 * address that it was told by. Read from the right, since what is left of the first proxy that is not trusted anybody
 * may have written; the coordinator reads it the same way.
 */
import { isIP } from 'node:net';
import type { HttpResponse } from 'uWebSockets.js';
import type { TrustedProxies } from '#src/limits/trusted-proxies.ts';

export class ClientAddresses {
  readonly #proxies: TrustedProxies;

  constructor(proxies: TrustedProxies) {
    this.#proxies = proxies;
  }

  /** The library tells the other end only until the request's handler has returned. */
  of(res: HttpResponse, { forwardedFor }: { readonly forwardedFor: string }): string {
    return this.behind(Buffer.from(res.getRemoteAddressAsText()).toString('latin1'), forwardedFor);
  }

  /** The address behind the trusted proxies, by what they say: `peer` where it is none of them. */
  behind(peer: string, forwardedFor: string): string {
    if (this.#proxies.isEmpty || forwardedFor === '') return peer;
    let address = peer;
    for (const part of forwardedFor.split(',').toReversed()) {
      if (!this.#proxies.has(address)) return address;
      const before = part.trim();
      // No proxy writes what is no address; whoever did, the last proxy is all that is known.
      if (isIP(before) === 0) return address;
      address = before;
    }
    return address;
  }
}
