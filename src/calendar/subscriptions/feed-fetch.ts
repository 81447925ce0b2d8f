/** Fetches a feed from wherever somebody says it is: conditionally, cut, unpacked within bounds, in one deadline. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { FeedFailure } from '#src/protocol/calendars/calendar-subscriptions.ts';
import { CALENDAR_FEED_BYTES_MAX } from '#src/protocol/limits.ts';
import { RedirectRefused, sendFollowing } from '#src/outgoing/redirects.ts';
import { OutgoingTimeout, type OutgoingReply, type sendOutgoing } from '#src/outgoing/request.ts';
import { FEED_SCHEMES } from './feed-urls.ts';

/** From the first lookup to the last byte, over all redirects: the largest feed over a line of 3 Mbit/s. [timeout] */
export const FEED_MILLIS = 30_000;
/** Characters of a validator that are kept. Servers with longer ones are asked without it. */
const VALIDATOR_LENGTH_MAX = 1_000;

const unpack = promisify(gunzip);

/** What the server called the feed when it was last taken in. */
export interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

export interface FetchOptions {
  readonly allowPrivateTargets: PrivateTargets;
  readonly userAgent: string;
  readonly signal?: AbortSignal;
  readonly millis?: number;
  /** How each request is sent: checked against private targets, every one. */
  readonly send?: typeof sendOutgoing;
}

/** A fetch that brought nothing, and how long the server asks to be left alone. */
export class FeedFailed extends Error {
  override readonly name = 'FeedFailed';
  readonly outcome: FeedFailure;
  readonly line: number | null;
  readonly retrySeconds: number | null;

  constructor(
    outcome: FeedFailure,
    { line = null, retrySeconds = null }: Partial<Pick<FeedFailed, 'line' | 'retrySeconds'>> = {},
  ) {
    super(outcome);
    this.outcome = outcome;
    this.line = line;
    this.retrySeconds = retrySeconds;
  }
}

export interface Fetched extends Validators {
  readonly bytes: Uint8Array;
}

/** The feed, or undefined where it is what it was. @throws FeedFailed. */
export async function fetchFeed(url: string, known: Validators, options: FetchOptions): Promise<Fetched | undefined> {
  const { allowPrivateTargets, millis = FEED_MILLIS, send, signal, userAgent } = options;
  const isConditional = known.etag !== null || known.lastModified !== null;
  try {
    const reply = await sendFollowing(
      {
        method: 'GET',
        url,
        headers: {
          'user-agent': userAgent,
          accept: 'text/calendar, */*;q=0.1',
          'accept-encoding': 'gzip',
          ...(known.etag === null ? {} : { 'if-none-match': known.etag }),
          ...(known.lastModified === null ? {} : { 'if-modified-since': known.lastModified }),
        },
        millis,
        bytesMax: CALENDAR_FEED_BYTES_MAX + 1,
        allowPrivateTargets,
        isWanted: (status) => status === 200,
        ...(signal === undefined ? {} : { signal }),
      },
      { schemes: FEED_SCHEMES, ...(send === undefined ? {} : { send }) },
    );
    if (reply.status === 304 && isConditional) return undefined;
    if (reply.status !== 200) throw failureOf(reply);
    const { etag = null, 'last-modified': lastModified = null } = reply.headers;
    return { bytes: await unpacked(reply), etag: kept(etag), lastModified: kept(lastModified) };
  } catch (error) {
    if (error instanceof FeedFailed) throw error;
    throw new FeedFailed(outcomeOf(error));
  }
}

async function unpacked({ bytes, headers }: OutgoingReply): Promise<Uint8Array> {
  if (bytes.length > CALENDAR_FEED_BYTES_MAX) throw new FeedFailed('too_large');
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return bytes;
  if (!['gzip', 'x-gzip'].includes(encoding)) throw new FeedFailed('not_calendar', { line: 1 });
  try {
    return await unpack(bytes, { maxOutputLength: CALENDAR_FEED_BYTES_MAX });
  } catch (error) {
    const isBomb = (error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE';
    throw new FeedFailed(isBomb ? 'too_large' : 'truncated');
  }
}

function kept(validator: string | null): string | null {
  return validator !== null && validator.length <= VALIDATOR_LENGTH_MAX ? validator : null;
}

function failureOf({ headers, status }: OutgoingReply): FeedFailed {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  const wait = { retrySeconds: Number.isFinite(seconds) && seconds >= 0 ? seconds : null };
  if (status === 404) return new FeedFailed('not_found');
  if (status === 410) return new FeedFailed('gone');
  if (status === 401 || status === 403) return new FeedFailed('access_refused');
  if (status === 429) return new FeedFailed('rate_limited', wait);
  return new FeedFailed(status >= 500 ? 'server_error' : 'status_unexpected', wait);
}

/** A word that says nothing of where it was asked for. */
function outcomeOf(error: unknown): FeedFailure {
  if (error instanceof OutgoingTimeout) return 'timeout';
  if (error instanceof RedirectRefused) return 'redirect_refused';
  return error instanceof Refusal && error.code === 'target_private' ? 'target_private' : 'unreachable';
}
