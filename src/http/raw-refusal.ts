/** Refusals of what never became a request: broken HTTP, too many headers, a request that does not come to an end. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorBody, statusOf } from '#src/protocol/errors.ts';
import type { HttpTelemetry } from './http-telemetry.ts';

/**
 * How long a refused connection may go on sending before it is cut. Closing at once would answer what is still on
 * its way with a reset, and the reset can overtake the refusal.
 */
const LINGER_MILLIS = 500;

type Headers = Readonly<Record<string, string>>;

const BODY = JSON.stringify(errorBody('request_malformed'));
const STATUS = statusOf('request_malformed');

/**
 * Answers on the bare connection and closes it; nothing is written behind an answer that is already under way. A connection
 * that never said anything is closed without a word: browsers open some ahead of need, and one that sends its first request
 * just when the deadline passes would take a refusal for the answer to it. Closed, it sends the request again by itself.
 */
export function refuseOnSocket(
  socket: Socket | Duplex,
  error: NodeJS.ErrnoException | undefined,
  headers: Headers,
  telemetry: HttpTelemetry | undefined,
): void {
  // Node keeps the answer of the moment here; its own handler looks at the same place.
  const answer = Reflect.get(socket, '_httpMessage') as ServerResponse | null | undefined;
  const isSilent = error?.code === 'ERR_HTTP_REQUEST_TIMEOUT' && 'bytesRead' in socket && socket.bytesRead === 0;
  if (isSilent || error?.code === 'ECONNRESET' || !socket.writable || answer?.headersSent === true) {
    socket.destroy();
    return;
  }
  telemetry?.refused('request_malformed');
  const lines = Object.entries({ ...fields(), ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${STATUS} Bad Request\r\n${lines.join('')}\r\n${BODY}`);
  socket.on('error', () => socket.destroy());
  setTimeout(() => socket.destroy(), LINGER_MILLIS).unref();
}

/** Refuses a request whose `Expect` nobody can meet; Node would answer 417. */
export function refuseResponse(response: ServerResponse, headers: Headers, telemetry: HttpTelemetry | undefined): void {
  telemetry?.refused('request_malformed');
  response.writeHead(STATUS, { ...fields(), ...headers }).end(BODY);
}

function fields(): Headers {
  return {
    date: new Date().toUTCString(),
    connection: 'close',
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(BODY)),
  };
}
