/** A request that goes where it is sent on to: a few times, each target judged like the first, one deadline over all. */
import { OutgoingTimeout, sendOutgoing, type OutgoingReply, type OutgoingRequest } from './request.ts';
import { isTargetUrl } from './targets.ts';

/** Redirects followed: to https, to www, to the language. [RedirectRefused] */
export const REDIRECTS_MAX = 3;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** It was sent on once more than is followed, or to what is no target. */
export class RedirectRefused extends Error {
  override readonly name = 'RedirectRefused';
}

export interface Following {
  /** Where it may be sent on to, each with its colon. */
  readonly schemes: readonly string[];
  /** How each request is sent: checked against private targets, every one. */
  readonly send?: typeof sendOutgoing;
}

/**
 * Sends it, and again wherever it is sent on to; answers the first reply that is no redirect.
 * @throws RedirectRefused; and as `sendOutgoing` does.
 */
export async function sendFollowing(
  outgoing: OutgoingRequest & { readonly method: 'GET' },
  { schemes, send = sendOutgoing }: Following,
): Promise<OutgoingReply> {
  const due = performance.now() + outgoing.millis;
  let { url } = outgoing;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const left = Math.ceil(due - performance.now());
    if (left <= 0) throw new OutgoingTimeout(`No answer within ${outgoing.millis} ms.`);
    const reply = await send({ ...outgoing, url, millis: left });
    if (!REDIRECTS.has(reply.status)) return reply;
    const { location } = reply.headers;
    if (location === undefined || !URL.canParse(location, url)) throw new RedirectRefused('It is sent on to nowhere.');
    url = new URL(location, url).href;
    if (!isTargetUrl(url, schemes)) throw new RedirectRefused('It is sent on to what is no target.');
  }
  throw new RedirectRefused(`It is sent on more than ${REDIRECTS_MAX} times.`);
}
