/** Answers HTTP-01 challenges (RFC 8555, 8.3) while an order is under way, and is not there otherwise. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { ChallengeAnswers } from './acme-client.ts';

const PATH = '/.well-known/acme-challenge/';
/** An authority looks from a handful of places at once. */
const CONNECTIONS_MAX = 64;
const REQUEST_MILLIS = 5_000;

export class ChallengeListener implements ChallengeAnswers {
  readonly #answers = new Map<string, string>();
  readonly #server: Server;

  private constructor() {
    // Not imported, as in `request.ts` of `outgoing`.
    const { createServer } = process.getBuiltinModule('node:http');
    this.#server = createServer(
      { requestTimeout: REQUEST_MILLIS, headersTimeout: REQUEST_MILLIS },
      (request, reply) => {
        const { method, url = '' } = request;
        const answer = url.startsWith(PATH) ? this.#answers.get(url.slice(PATH.length)) : undefined;
        const isRead = method === 'GET' || method === 'HEAD';
        reply.writeHead(isRead && answer !== undefined ? 200 : 404, {
          'content-type': 'application/octet-stream',
          connection: 'close',
        });
        reply.end(isRead ? answer : undefined);
      },
    );
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** @throws the platform's error where the port cannot be had. */
  static async open(host: string, port: number): Promise<ChallengeListener> {
    const listener = new ChallengeListener();
    listener.#server.listen({ host, port });
    await once(listener.#server, 'listening');
    return listener;
  }

  show(token: string, answer: string): void {
    this.#answers.set(token, answer);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
