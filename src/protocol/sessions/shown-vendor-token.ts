/**
 * A vendor token where none is taken (VND-06, VND-13): on `/v1`, on the doors of nodes, on messaging and on the calendar.
 * The request is refused like any other with a credential that is no credential there; that the token was tried is told
 * to the audit trail.
 */

/** A vendor token in a header or in the query of a handshake, whatever stands around it. */
const SHAPE = /(?<![0-9A-Za-z_])svc_vst_[0-9a-z]{22}_[\w-]{43}(?![\w-])/;

/** Longer texts carry no credential. */
const TEXT_LENGTH_MAX = 4_096;

/** Characters of a path in the audit trail. */
const PATH_LENGTH_MAX = 512;

/** A refused request that showed a vendor token. */
export interface ShownVendorToken {
  readonly token: string;
  /** Without its query. */
  readonly path: string;
  readonly address: string;
}

/** The vendor token that a refused request showed in one of these texts; undefined where there is none. */
export function shownVendorToken(
  texts: readonly (string | undefined)[],
  url: string,
  address: string,
): ShownVendorToken | undefined {
  for (const text of texts) {
    // Nearly every request ends here.
    if (text === undefined || text.length > TEXT_LENGTH_MAX || !text.includes('svc_vst_')) continue;
    const token = SHAPE.exec(text)?.[0];
    if (token === undefined) continue;
    return { token, path: (url.split('?', 1)[0] as string).slice(0, PATH_LENGTH_MAX), address };
  }
  return undefined;
}
