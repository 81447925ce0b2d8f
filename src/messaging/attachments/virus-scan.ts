/** Asks clamd whether a content is clean, by its INSTREAM command. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { Refusal } from '#src/protocol/errors.ts';

/** clamd may take this long to say something once it was asked. Beyond it the upload is refused, to be tried again. */
const SCAN_MILLIS_MAX = 120_000;
/** An answer is one line; more than this is no answer of clamd. */
const ANSWER_BYTES_MAX = 4_096;

/**
 * The name of what clamd found, or undefined for a clean content.
 * @throws Refusal `virus_scan_unavailable` when clamd cannot be reached, fails or answers something else: what could
 * not be checked is not let in.
 */
export async function scanContent(address: string, chunks: AsyncIterable<Buffer>): Promise<string | undefined> {
  const socket = address.startsWith('unix:') ? connect(address.slice('unix:'.length)) : connect(hostAndPort(address));
  socket.setTimeout(SCAN_MILLIS_MAX, () => socket.destroy(new Error('clamd took too long.')));
  const answered = readAnswer(socket);
  // Whoever sends is told by its own error; this one must not go unheard.
  answered.catch(() => undefined);
  try {
    await once(socket, 'connect');
    await send(socket, chunks);
    const answer = await answered;
    if (answer === 'stream: OK') return undefined;
    const [, signature] = /^stream: (.{1,256}) FOUND$/.exec(answer) ?? [];
    if (signature === undefined) throw new Error('clamd did not say what it found.');
    return signature;
  } catch {
    throw new Refusal('virus_scan_unavailable');
  } finally {
    socket.destroy();
  }
}

/** The command, then each chunk behind its length, then a length of nothing. Waits where clamd does. */
async function send(socket: Socket, chunks: AsyncIterable<Buffer>): Promise<void> {
  socket.write('zINSTREAM\0');
  for await (const chunk of chunks) {
    const framed = Buffer.allocUnsafe(chunk.length + 4);
    framed.writeUInt32BE(chunk.length, 0);
    chunk.copy(framed, 4);
    if (socket.destroyed) throw new Error('clamd closed the connection.');
    if (!socket.write(framed)) await Promise.race([once(socket, 'drain'), closed(socket)]);
  }
  socket.write(Buffer.alloc(4));
}

async function closed(socket: Socket): Promise<void> {
  await once(socket, 'close');
  throw new Error('clamd closed the connection.');
}

async function readAnswer(socket: Socket): Promise<string> {
  let answer = '';
  for await (const chunk of socket) {
    answer += String(chunk);
    if (answer.includes('\0')) break;
    if (answer.length > ANSWER_BYTES_MAX) throw new Error('clamd says too much.');
  }
  return answer.replace(/\0[\s\S]*$/, '').trim();
}

function hostAndPort(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replaceAll(/^\[|\]$/g, ''), port: Number(address.slice(at + 1)) };
}
