/**
 * What of a request's head goes on to the host that leads. Where the request ends is said anew, by what was read here: the leader's
 * connections are shared by all clients, and what it reads behind that end would be a request without this host's own headers.
 */
import type { IncomingMessage } from 'node:http';

/** Headers that are one connection's own (RFC 9110, section 7.6.1), or were answered here (`expect`). */
const HOP_HEADERS = [
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Where a request ends, and where it came from: never the client's to take away or to say alone. */
const OWN_HEADERS = ['content-length', 'x-forwarded-for'];

/** Headers as they came, name and value in turn. */
type RawHeaders = readonly string[];

/**
 * Whether two readers may read two requests here: it has two hosts, or none, or says in two ways where it ends, or by a coding
 * that another reader may not know (RFC 9112, section 6.3; RFC 9110, section 7.2). The host that leads refuses the same.
 */
export function isAmbiguous({ headers, rawHeaders }: IncomingMessage): boolean {
  const names = pairs(rawHeaders).map(([name]) => name.toLowerCase());
  const count = (name: string) => names.filter((one) => one === name).length;
  const ends = count('content-length') + count('transfer-encoding');
  const coding = headers['transfer-encoding']?.trim().toLowerCase() ?? 'chunked';
  return count('host') !== 1 || ends > 1 || coding !== 'chunked';
}

/** Whether a request asks for a socket, which has no body. Any other upgrade is left out, as a server may (RFC 9110, section 7.8). */
export function asksForSocket({ headers, method }: IncomingMessage): boolean {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !hasBody;
}

/** The headers of a request on its way on, name and value in turn. */
export function headersOnward(request: IncomingMessage): string[] {
  const { headers, rawHeaders, socket } = request;
  const peer = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  const before = String(headers['x-forwarded-for'] ?? '');
  return [
    ...withoutHops(rawHeaders, OWN_HEADERS),
    ...['x-forwarded-for', before === '' ? peer : `${before}, ${peer}`],
    ...(headers['transfer-encoding'] === undefined ? [] : ['transfer-encoding', 'chunked']),
    ...(headers['content-length'] === undefined ? [] : ['content-length', headers['content-length']]),
  ];
}

/** Headers without those of one connection, which `connection` itself may name, and without `others`. */
export function withoutHops(raw: RawHeaders, others: readonly string[] = []): string[] {
  const named = pairs(raw).flatMap(([name, value]) =>
    name.toLowerCase() === 'connection' ? value.split(',').map((part) => part.trim().toLowerCase()) : [],
  );
  const left = new Set([...HOP_HEADERS, ...others, ...named]);
  return pairs(raw).flatMap(([name, value]) => (left.has(name.toLowerCase()) ? [] : [name, value]));
}

/** Headers as lines of a head. */
export function headerLines(raw: RawHeaders): string[] {
  return pairs(raw).map(([name, value]) => `${name}: ${value}`);
}

function pairs(raw: RawHeaders): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at] as string, raw[2 * at + 1] as string]);
}
