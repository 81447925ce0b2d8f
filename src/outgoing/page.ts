/** Reads what a web page says of itself: a few redirects, each target checked, one deadline, HTML alone, and cut. */
import type { IncomingHttpHeaders } from 'node:http';
import { summarize, type PageSummary } from './page-summary.ts';
import { RedirectRefused, sendFollowing } from './redirects.ts';
import type { sendOutgoing } from './request.ts';
import type { PrivateTargets } from './targets.ts';

/** From the first lookup to the last byte, over all redirects. [OutgoingTimeout] */
export const PAGE_MILLIS = 5_000;
/** What is read of a page, in bytes: heads of large sites have some 300 KiB. [the rest is let go] */
export const PAGE_BYTES_MAX = 512 * 1024;
/** Where a page may name its character set, in bytes (HTML, prescan). */
const CHARSET_BYTES = 1_024;

const HTML_TYPES = new Set(['text/html', 'application/xhtml+xml']);

export interface PageOptions {
  readonly allowPrivateTargets: PrivateTargets;
  readonly userAgent: string;
  readonly millis?: number;
  /** How each request is sent: checked against private targets, every one. */
  readonly send?: typeof sendOutgoing;
}

/**
 * Title, description and site of a page; undefined where there is no page of HTML with a title.
 * @throws Refusal `target_private`; OutgoingTimeout; the platform's errors for what could not be reached.
 */
export async function readPage(url: string, options: PageOptions): Promise<PageSummary | undefined> {
  const { allowPrivateTargets, userAgent, millis = PAGE_MILLIS, send } = options;
  try {
    const reply = await sendFollowing(
      {
        method: 'GET',
        url,
        // Packed answers are not asked for, and not unpacked where they come all the same: no bomb goes off.
        headers: { 'user-agent': userAgent, accept: [...HTML_TYPES].join(', '), 'accept-encoding': 'identity' },
        millis,
        bytesMax: PAGE_BYTES_MAX,
        allowPrivateTargets,
        isWanted: isPage,
      },
      { schemes: ['http:', 'https:'], ...(send === undefined ? {} : { send }) },
    );
    return isPage(reply.status, reply.headers) ? summarize(decode(reply.bytes, reply.headers)) : undefined;
  } catch (error) {
    if (error instanceof RedirectRefused) return undefined;
    throw error;
  }
}

function isPage(status: number, headers: IncomingHttpHeaders): boolean {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  const [mediaType = ''] = type.split(';');
  return status === 200 && encoding.toLowerCase() === 'identity' && HTML_TYPES.has(mediaType.trim().toLowerCase());
}

/** By the character set of the header, then of the page itself, then as UTF-8. */
function decode(bytes: Uint8Array, headers: IncomingHttpHeaders): string {
  const start = Buffer.from(bytes.subarray(0, CHARSET_BYTES)).toString('latin1');
  const named = /charset\s{0,8}=\s{0,8}["']?([\w-]{1,40})/i;
  const label = named.exec(headers['content-type'] ?? '')?.[1] ?? named.exec(start)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
