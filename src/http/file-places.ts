/**
 * Places for whole files on their way: so many at once, one for each person, and none for whoever does not move. What
 * one person begins and leaves lying keeps nobody else waiting.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '#src/protocol/errors.ts';

/** How often it is looked whether bytes moved. */
export const FILE_STALL_MILLIS = 10_000;
/** Bytes that must have moved since the last look, or the connection ends: a line of 50 kbit/s does. */
export const FILE_STALL_BYTES = 64 * 1024;

/** Whose place it is, and how many they may have. */
export interface PlaceHolder {
  readonly name: string;
  readonly most: number;
}

export class FilePlaces {
  readonly #most: number;
  /** Holder → places that they have. */
  readonly #held = new Map<string, number>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes a place until the request's connection is done with. It is lost, with the connection, when less than
   * FILE_STALL_BYTES of the body or of the answer moved within FILE_STALL_MILLIS and it was not this server that the
   * other waited for.
   * @throws Refusal `rate_limited` when a holder has as many as they may; `busy` when all are taken.
   */
  take(holders: readonly PlaceHolder[], request: FastifyRequest, reply: FastifyReply): void {
    if (holders.some(({ name, most }) => (this.#held.get(name) ?? 0) >= most)) {
      throw new Refusal('rate_limited', { retryAfter: 1 });
    }
    if (this.#taken >= this.#most) throw new Refusal('busy');
    this.#taken += 1;
    for (const { name } of holders) this.#held.set(name, (this.#held.get(name) ?? 0) + 1);
    const stopWatching = endWhenStalled(request, reply);
    reply.raw.once('close', () => {
      stopWatching();
      this.#taken -= 1;
      for (const { name } of holders) this.#release(name);
    });
  }

  #release(name: string): void {
    const left = (this.#held.get(name) ?? 1) - 1;
    if (left === 0) this.#held.delete(name);
    else this.#held.set(name, left);
  }
}

/** Ends a connection whose other end neither sends nor takes. Returns what stops looking. */
function endWhenStalled({ raw: request }: FastifyRequest, { raw: reply }: FastifyReply): () => void {
  const { socket } = request;
  const movedNow = () => socket.bytesRead + socket.bytesWritten - socket.writableLength;
  let before = movedNow();
  const timer = setInterval(() => {
    const moved = movedNow() - before;
    before += moved;
    // While this server works there is nothing for the other end to do.
    const isTheirTurn = !request.complete || socket.writableLength > 0;
    if (isTheirTurn && moved < FILE_STALL_BYTES) reply.destroy();
  }, FILE_STALL_MILLIS);
  return () => clearInterval(timer);
}
