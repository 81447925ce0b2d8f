/**
 * Whose word on where a request came from is believed: the proxies that the operator named and, in a cluster, the other hosts, which
 * hand on what came to them.
 */
import { BlockList, isIP } from 'node:net';

export class TrustedProxies {
  readonly #named = new BlockList();
  #hosts: ReadonlySet<string>;
  readonly #namesAny: boolean;

  /** `named` are addresses and networks, separated by commas; `hosts` the addresses of the other hosts. */
  constructor(named: string, hosts: readonly string[] = []) {
    const parts = named.split(',').flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
    this.#namesAny = parts.length > 0;
    this.#hosts = new Set(hosts);
    for (const part of parts) {
      const [address = '', prefix] = part.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (prefix === undefined) this.#named.addAddress(address, family);
      else this.#named.addSubnet(address, Number(prefix), family);
    }
  }

  /** Whether anybody is believed at all. */
  get isEmpty(): boolean {
    return !this.#namesAny && this.#hosts.size === 0;
  }

  get hosts(): readonly string[] {
    return [...this.#hosts];
  }

  /** The other hosts are these from now on. */
  setHosts(hosts: readonly string[]): void {
    this.#hosts = new Set(hosts);
  }

  has(address: string): boolean {
    if (this.#hosts.has(address.replace(/^::ffff:/, ''))) return true;
    const family = isIP(address);
    return family !== 0 && this.#namesAny && this.#named.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}
