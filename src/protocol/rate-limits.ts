/**
 * How often one person may do what: a table of named buckets. The defaults are what nobody meets who works, and a
 * program that goes round in circles does within seconds. Beyond one the request is refused with `rate_limited` and
 * `Retry-After`; what the person receives, and everybody else, is not touched.
 *
 * A bucket fails open: it is a number in memory that all messaging threads share, so that nothing it needs can be away,
 * and it is full again after a restart. The doors that guard secrets (sign-in, recovery, second factors, app passwords)
 * count failures by address and name and are not in this table.
 */

interface RateLimit {
  /** Requests a second that go on for ever. */
  readonly perSecond: number;
  /** Requests at once, after some quiet. */
  readonly burst: number;
  /** What counts, and why so much, for the table in the documents. */
  readonly say: string;
}

export const RATE_LIMITS = {
  read: {
    perSecond: 50,
    burst: 2_000,
    say: 'Reads. A client that was away asks once for each conversation that changed.',
  },
  post: {
    perSecond: 10,
    burst: 200,
    say: 'Messages posted. An album, or an outbox filled on a flight, fits the burst.',
  },
  change: {
    perSecond: 20,
    burst: 400,
    say: 'All other changes: edits, receipts, reactions, drafts, participants, parts of uploads.',
  },
  create: { perSecond: 1, burst: 100, say: 'Conversations and uploads begun, webhooks made.' },
  signal: { perSecond: 50, burst: 1_000, say: 'Signals. A call to ten devices sends some hundred candidates at once.' },
  search: {
    perSecond: 2,
    burst: 30,
    say: 'Searches, and asking who is there, which read much: a search with every letter typed fits the burst.',
  },
  frame: { perSecond: 10, burst: 100, say: 'Frames, over all sockets of the person. The next is a refused frame.' },
  upgrade: { perSecond: 1, burst: 60, say: 'Sockets opened, over all devices.' },
  refused: {
    perSecond: 50,
    burst: 5_000,
    say: 'Requests with a token that does not hold, by address, which thousands behind one proxy may share.',
  },
} as const satisfies Record<string, RateLimit>;
export type RateName = keyof typeof RATE_LIMITS;

export const RATE_NAMES = Object.keys(RATE_LIMITS) as RateName[];

/** Places in each bucket. People whose names fall on one place share what it allows: two of a thousand in 65,536. */
export const RATE_PLACES = 65_536;

/** Memory in which all threads count together: half a megabyte a bucket. */
export function makeRateMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(RATE_NAMES.length * RATE_PLACES * BigInt64Array.BYTES_PER_ELEMENT);
}
