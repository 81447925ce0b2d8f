/**
 * One HTTP request of the server to a target that somebody named: no redirects, one deadline over all of it, and an
 * answer that is cut. See `targets.ts` for where it may go.
 */
import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import { Agent, request as requestHttps } from 'node:https';
import { checkedHost, makeLookup, type PrivateTargets } from './targets.ts';

// An import would read every export of the module, `WebSocket` among them, and with that load Node's own fetch: 20 ms of CPU in
// each thread that starts.
const { request: requestHttp } = process.getBuiltinModule('node:http');

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'HEAD';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** From the lookup to the answer's last byte that is read. */
  readonly millis: number;
  /** What is read of the answer; the rest is let go. */
  readonly bytesMax: number;
  readonly allowPrivateTargets: PrivateTargets;
  /** Whether the answer is to be read; without it every one is. What is not read is empty. */
  readonly isWanted?: (status: number, headers: IncomingHttpHeaders) => boolean;
  /** Ends it before its time. */
  readonly signal?: AbortSignal;
  /** Connections to go on with, made by `makeAgent`; without them it makes one for itself alone. */
  readonly agent?: Agent;
}

export interface OutgoingReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Cut. */
  readonly bytes: Buffer;
  /** As UTF-8, cut. */
  readonly text: string;
}

/** The deadline passed. */
export class OutgoingTimeout extends Error {
  override readonly name = 'OutgoingTimeout';
}

/** Connections that are kept for more requests to the same hosts, `socketsMax` at once to one. Destroying it is the caller's. */
export function makeAgent(allowPrivateTargets: PrivateTargets, socketsMax: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: socketsMax, lookup: makeLookup(allowPrivateTargets) });
}

/**
 * Sends it and reads the answer.
 * @throws Refusal `target_private`; OutgoingTimeout; the platform's errors for what could not be reached.
 */
export async function sendOutgoing(outgoing: OutgoingRequest): Promise<OutgoingReply> {
  const { agent, allowPrivateTargets, body, bytesMax, headers, isWanted, method, millis } = outgoing;
  const url = new URL(outgoing.url);
  checkedHost(url, allowPrivateTargets);
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...length, ...(agent === undefined ? { connection: 'close' } : {}) },
    agent: agent ?? false,
    ...(outgoing.signal === undefined ? {} : { signal: outgoing.signal }),
    lookup: makeLookup(allowPrivateTargets),
  };
  const { promise, resolve, reject } = Promise.withResolvers<OutgoingReply>();
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const request = send(url, options, (response) => {
    const { headers: answered, statusCode: status = 0 } = response;
    const isRead = isWanted?.(status, answered) ?? true;
    const read = isRead ? readCut(response, bytesMax) : Promise.resolve(Buffer.alloc(0));
    const replyOf = (bytes: Buffer): OutgoingReply => ({
      status,
      headers: answered,
      bytes,
      // Made when it is asked for: of ten megabytes it takes a while.
      get text() {
        return bytes.toString('utf8');
      },
    });
    read.then((bytes) => resolve(replyOf(bytes)), reject);
  });
  request.once('error', reject);
  const timer = setTimeout(() => request.destroy(new OutgoingTimeout(`No answer within ${millis} ms.`)), millis);
  request.end(body);
  let isRead = false;
  try {
    const reply = await promise;
    isRead = isWanted === undefined;
    return reply;
  } finally {
    clearTimeout(timer);
    // One that was read to its end goes back to its agent.
    if (agent === undefined || !isRead) request.destroy();
  }
}

async function readCut(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= bytesMax) break;
  }
  return Buffer.concat(chunks).subarray(0, bytesMax);
}

/** Why a request failed, in a word that says nothing of what was sent. */
export function reasonOf(error: unknown): string {
  if (error instanceof OutgoingTimeout) return 'timeout';
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code.toLowerCase() : 'failed';
}
