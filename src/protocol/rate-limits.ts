/**
 * How often one person may do what: a table of named buckets. The defaults are what nobody meets who works, and a
 * program that goes round in circles does within seconds. Beyond one the request is refused with `rate_limited` and
 * `Retry-After`; what the person receives, and everybody else, is not touched.
 *
 * A bucket fails open: it is a number in memory that all threads share, so that nothing it needs can be away, and it is
 * full again after a restart. What guards secrets (sign-in, recovery, second factors, app passwords) and what only some
 * callers meet has policies of its own, in `src/limits`.
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
  invite: {
    perSecond: 2,
    burst: 2_000,
    say: 'People asked into rooms, over all of one person’s requests: two rooms of a thousand, and then one every half second.',
  },
  signal: { perSecond: 50, burst: 1_000, say: 'Signals. A call to ten devices sends some hundred candidates at once.' },
  search: {
    perSecond: 2,
    burst: 30,
    say: 'Searches, and asking who is there, which read much: a search with every letter typed fits the burst.',
  },
  frame: {
    perSecond: 10,
    burst: 100,
    say: 'Frames of one device. The next is dropped, and what it said of presence told a second later.',
  },
  upgrade: { perSecond: 1, burst: 60, say: 'Sockets opened, over all devices.' },
  refused: {
    perSecond: 50,
    burst: 5_000,
    say: 'Requests with a token that does not hold, by address, which thousands behind one proxy may share.',
  },
} as const satisfies Record<string, RateLimit>;
export type RateName = keyof typeof RATE_LIMITS;

export const RATE_NAMES = Object.keys(RATE_LIMITS) as RateName[];

/**
 * A form of a client counts once for each of these bytes that it begins: what it costs the others grows with them. Nearly
 * every message is shorter, and one of 48 KB counts as twelve.
 */
export const COUNTED_FORM_BYTES = 4 * 1024;

/** How often a request with so many bytes of form counts in its bucket. */
export function weightOf(formBytes: number): number {
  return Math.max(1, Math.ceil(formBytes / COUNTED_FORM_BYTES));
}

/** The bucket that a route's requests count in: the one it names, or by what it does. */
export function rateOf({ method, rate }: { readonly method: string; readonly rate?: RateName }): RateName {
  return rate ?? (method === 'get' || method === 'head' ? 'read' : 'change');
}
