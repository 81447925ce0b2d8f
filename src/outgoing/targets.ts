/**
 * Where the server may connect to on somebody's word. An address that an administrator types becomes a request of this
 * machine, from inside its network: private, local and special ranges are refused unless the operator allows them, so
 * that the console is no way to the services beside it (SSRF).
 *
 * A name is judged by what it resolves to, in the lookup of the connection itself: a name that answers differently the
 * second time gains nothing.
 */
import { lookup as resolve, type LookupAddress, type LookupOptions } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Refusal } from '#src/protocol/errors.ts';

/** Where private addresses may be connected to: nowhere, everywhere, or at these hosts, separated by commas. */
export type PrivateTargets = boolean | string;

/** Ranges that no service of the public internet has (IANA special-purpose registries). */
const PRIVATE_RANGES: readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
];
/** Of IPv6 only what is given out at all is public, without the ranges in it that lead to an IPv4 or to nobody. */
const PUBLIC_IPV6: readonly [network: string, prefix: number] = ['2000::', 3];
const PRIVATE_IN_PUBLIC_IPV6: readonly [network: string, prefix: number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const privateIpv4 = new BlockList();
for (const range of PRIVATE_RANGES) privateIpv4.addSubnet(...range);
const publicIpv6 = new BlockList();
publicIpv6.addSubnet(...PUBLIC_IPV6, 'ipv6');
const privateIpv6 = new BlockList();
for (const range of PRIVATE_IN_PUBLIC_IPV6) privateIpv6.addSubnet(...range, 'ipv6');

/** Whether an IP address is not one of the public internet. What is no address counts as private. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return privateIpv4.check(address, 'ipv4');
  // A scope leads to a link of this machine.
  if (family !== 6 || address.includes('%')) return true;
  return !publicIpv6.check(address, 'ipv6') || privateIpv6.check(address, 'ipv6');
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
