/**
 * Where a request came from: the other end of the connection or, where that is a proxy that the configuration trusts, the
 * address that it was told by. Read from the right, since what is left of the first proxy that is not trusted anybody
 * may have written; the coordinator reads it the same way.
 */
import { BlockList, isIP } from 'node:net';
import type { HttpResponse } from 'uWebSockets.js';

export class ClientAddresses {
  readonly #trusted = new BlockList();
  readonly #trustsAny: boolean;

  /** `proxies` are addresses and networks, separated by commas. */
  constructor(proxies: string) {
    const parts = proxies.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
    this.#trustsAny = parts.length > 0;
    for (const part of parts) {
      const [address = '', prefix] = part.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (prefix === undefined) this.#trusted.addAddress(address, family);
      else this.#trusted.addSubnet(address, Number(prefix), family);
    }
  }

  /** The library tells the other end only until the request's handler has returned. */
  of(res: HttpResponse, { forwardedFor }: { readonly forwardedFor: string }): string {
    return this.behind(Buffer.from(res.getRemoteAddressAsText()).toString('latin1'), forwardedFor);
  }

  /** The address behind the trusted proxies, by what they say: `peer` where it is none of them. */
  behind(peer: string, forwardedFor: string): string {
    if (!this.#trustsAny || forwardedFor === '') return peer;
    let address = peer;
    for (const part of forwardedFor.split(',').toReversed()) {
      if (!this.#isTrusted(address)) return address;
      const before = part.trim();
      // No proxy writes what is no address; whoever did, the last proxy is all that is known.
      if (isIP(before) === 0) return address;
      address = before;
    }
    return address;
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}
