/**
 * Where the server may connect to on somebody's word. An address that an administrator types becomes a request of this
 * machine, from inside its network: private, local and special ranges are refused unless the operator allows them, so
 * that the console is no way to the services beside it (SSRF).
 *
 * A name is judged by what it resolves to, in the lookup of the connection itself: a name that answers differently the
 * second time gains nothing.
 */
import { lookup as resolve, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { Refusal } from '#src/protocol/errors.ts';

/** Where private addresses may be connected to: nowhere, everywhere, or at these hosts, separated by commas. */
export type PrivateTargets = boolean | string;

/** Of IPv6 only what is given out at all is public: the rest may lead anywhere one day. */
const GIVEN_OUT_IPV6 = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an IP address is not one of the public internet: in a range of the IANA special-purpose registries, or given
 * to nobody. What is no address counts as private, and so does one with a scope, which leads to a link of this machine.
 */
export function isPrivateAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return true;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return true;
  return parsed.kind() === 'ipv6' && !parsed.match(GIVEN_OUT_IPV6);
}

/**
 * The host of a URL, refused where it is an address that may not be connected to; a name is judged when it is looked
 * up. Brackets of an IPv6 address are taken off.
 * @throws Refusal `target_private`.
 */
export function checkedHost(url: URL, allowPrivateTargets: PrivateTargets, field?: string): string {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isLocalName = /(?:^|\.)localhost\.?$/i.test(host);
  const isPrivate = isLocalName || (isIP(host) !== 0 && isPrivateAddress(host));
  if (isPrivate && !mayBePrivate(host, allowPrivateTargets)) {
    throw new Refusal('target_private', { field });
  }
  return host;
}

/** Whether the operator lets this host be at a private address. Names are compared as they are written, not by where they lead. */
function mayBePrivate(host: string, allowed: PrivateTargets): boolean {
  if (typeof allowed === 'boolean') return allowed;
  const plain = (name: string) => name.trim().toLowerCase().replace(/\.$/, '');
  return allowed.split(',').some((one) => plain(one) === plain(host));
}

/** A lookup for a connection: it fails with `target_private` when any address of the name is one to refuse. */
export function makeLookup(allowPrivateTargets: PrivateTargets): LookupFunction {
  return (name, options: LookupOptions, answer) => {
    resolve(name, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error !== null) return answer(error, []);
      const isPrivate = addresses.some(({ address }) => isPrivateAddress(address));
      if (isPrivate && !mayBePrivate(name, allowPrivateTargets)) return answer(new Refusal('target_private'), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) return answer(null, addresses);
      return answer(null, first.address, first.family);
    });
  };
}

/** Whether a text is a URL of one of the schemes (with their colon), without a user or a password in it. */
export function isTargetUrl(text: string, schemes: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return schemes.includes(url.protocol) && url.hostname !== '' && url.username === '' && url.password === '';
}
