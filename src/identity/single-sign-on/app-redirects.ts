/** Where signing people in may lead back to: the addresses of apps, as owners list them. */
import { isLoopbackLiteral } from './sso-settings.ts';

/** Addresses in the list. */
const REDIRECTS_MAX = 50;

/** Schemes that run or read something in the browser that is led there. */
const DANGEROUS = new Set(['javascript:', 'data:', 'blob:', 'file:', 'vbscript:', 'about:', 'ws:', 'wss:', 'ftp:']);

/** The addresses of a list that are separated by commas; undefined where one of them may not be. */
export function readRedirects(text: string): string[] | undefined {
  const list = text.split(',').map((one) => one.trim());
  return list.length <= REDIRECTS_MAX && list.every(isRedirect) ? list : undefined;
}

/**
 * https, http on this machine, or a private scheme with a dot in it, which is a domain's (RFC 8252, section 7.1). No
 * fragment, since what comes back is put behind it (RFC 6749, section 3.1.2), no user and no wildcard.
 */
function isRedirect(text: string): boolean {
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('#') || text.includes('*') || !URL.canParse(text)) return false;
  const { hostname, password, protocol, username } = new URL(text);
  if (username !== '' || password !== '' || DANGEROUS.has(protocol)) return false;
  if (protocol === 'https:') return true;
  if (protocol === 'http:') return isLoopbackLiteral(hostname) || hostname === 'localhost';
  return protocol.includes('.');
}

/** Whether an address is one of a list: letter by letter, but for the port of a loopback address (RFC 8252, section 7.3). */
export function mayLeadTo(list: readonly string[], address: string): boolean {
  return list.some((allowed) => allowed === address || withoutPort(allowed) === withoutPort(address));
}

/** A loopback address without its port, in a form that no address has; undefined is nothing's equal. */
function withoutPort(address: string): string | symbol {
  const [, host, rest] = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/[\x21\x22\x24-\x7e]*)?$/.exec(address) ?? [];
  if (host === undefined || !URL.canParse(address)) return Symbol('not on loopback');
  return `${host} ${rest ?? '/'}`;
}
