/** A receiver of deliveries on this machine: keeps what it is sent, and answers as it is told. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from './waiting.ts';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly id: string;
  readonly event: {
    readonly type: string;
    readonly conv: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

export class Receiver {
  readonly all: Received[] = [];
  /** How the next ones are answered. */
  answer: (response: ServerResponse, received: Received) => void = (response) => response.writeHead(204).end();
  readonly #server: Server;

  constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      request.on('end', () => {
        const received = { headers: request.headers, text, ...(JSON.parse(text) as Pick<Received, 'id' | 'event'>) };
        this.all.push(received);
        this.answer(response, received);
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/deliveries`;
  }

  /** The deliveries of a type, in the order of their coming, once there are so many. */
  async events(type: string, count: number): Promise<Received[]> {
    return await until(() => {
      const found = this.all.filter(({ event }) => event.type === type);
      return found.length >= count ? found : undefined;
    }, `${count} deliveries of ${type}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const server = createServer();
  const receiver = new Receiver(server);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return receiver;
}
