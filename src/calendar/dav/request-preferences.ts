/** Headers of a DAV request that say how the answer should look. */
import { DavRefusal } from './dav-refusal.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A header as one text; undefined where it is missing. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export type Depth = 0 | 1 | 'infinity';

/**
 * The `Depth` header.
 * @throws DavRefusal 400 for a value that WebDAV does not have.
 */
export function depthOf(headers: Headers, ifMissing: Depth): Depth {
  const value = headerOf(headers, 'depth')?.trim().toLowerCase();
  // What comes behind the number is WebDAV's `1,noroot`, which nobody here needs.
  switch (value) {
    case undefined:
    case '':
      return ifMissing;
    case '0':
      return 0;
    case '1':
      return 1;
    case 'infinity':
      return 'infinity';
    default:
      throw new DavRefusal(400, 'Depth is 0, 1 or infinity.');
  }
}

/** Whether the client asks to be spared what it can do without: RFC 7240 and 8144, and the older form of Apple. */
export function isBrief(headers: Headers): boolean {
  const prefer = headerOf(headers, 'prefer') ?? '';
  if (/(?:^|[,;\s])return\s*=\s*"?minimal|return-minimal/i.test(prefer)) return true;
  return headerOf(headers, 'brief')?.trim().toLowerCase() === 't';
}

/** Whether the client wants the stored resource in the answer to its PUT. */
export function wantsRepresentation(headers: Headers): boolean {
  return /(?:^|[,;\s])return\s*=\s*"?representation/i.test(headerOf(headers, 'prefer') ?? '');
}

/** Whether the answer may be compressed with gzip. */
export function takesGzip(headers: Headers): boolean {
  return (headerOf(headers, 'accept-encoding') ?? '').split(',').some((part) => {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

/** Whether a list of etags names this one, or is `*`. Weak ones name what strong ones name: there are no weak ones here. */
export function namesEtag(list: string, etag: string): boolean {
  if (list.trim() === '*') return true;
  return list.split(',').some((part) => {
    const text = part.trim().replace(/^W\//, '');
    return text === etag || text === `"${etag}"`;
  });
}

/**
 * Judges `If-Match` and `If-None-Match` against the etag of what is there, undefined for nothing.
 * @throws DavRefusal 412; the caller answers a matching `If-None-Match` of a read with 304 before.
 */
export function assertConditions(headers: Headers, etag: string | undefined): void {
  const match = headerOf(headers, 'if-match');
  if (match !== undefined && (etag === undefined || !namesEtag(match, etag))) {
    throw new DavRefusal(412, 'The resource is not in the state that If-Match names.');
  }
  const noneMatch = headerOf(headers, 'if-none-match');
  if (noneMatch !== undefined && etag !== undefined && namesEtag(noneMatch, etag)) {
    throw new DavRefusal(412, 'The resource is there already.');
  }
}
