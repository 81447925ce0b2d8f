/** Serves the plain page at an origin of its own, which the server under test has to allow. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

const PAGE = readFileSync(new URL('plain-page.html', import.meta.url));

export interface PlainSite {
  readonly origin: string;
  /** Bytes of the page with its script. */
  readonly gzippedBytes: number;
  stop(): void;
}

export async function servePlainPage(): Promise<PlainSite> {
  const server = createServer((_request, reply) => {
    reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    gzippedBytes: gzipSync(PAGE, { level: 9 }).length,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
