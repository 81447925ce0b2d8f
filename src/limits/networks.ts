/** What counts as one caller among addresses, and as one network. */
import ipaddr from 'ipaddr.js';

/** Whoever has one IPv6 address has its whole /64, so that is what counts as one address. */
export function hostOf(address: string): string {
  return prefixOf(address, 32, 64);
}

/** The network that an address is one of: a /24 of IPv4, a /48 of IPv6, which is what one customer is given. */
export function networkOf(address: string): string {
  return prefixOf(address, 24, 48);
}

/** The address without the bits behind the prefix of its family; what is no address stands for itself. */
function prefixOf(address: string, bits4: number, bits6: number): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  const bytes = parsed.toByteArray();
  const kept = (parsed.kind() === 'ipv4' ? bits4 : bits6) / 8;
  return ipaddr.fromByteArray([...bytes.slice(0, kept), ...bytes.slice(kept).fill(0)]).toString();
}
