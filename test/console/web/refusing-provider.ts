/** An identity provider for the walk there and back, which lets nobody in. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider that sends everybody straight back, with a code that it takes from nobody. */
export async function startProvider() {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', issuer);
    if (pathname === '/authorize') {
      asked.push(searchParams);
      const back = new URL(searchParams.get('redirect_uri') as string);
      back.searchParams.set('code', 'a-code');
      back.searchParams.set('state', searchParams.get('state') as string);
      response.writeHead(303, { location: back.href }).end();
      return;
    }
    const body = pathname.startsWith('/.well-known/')
      ? {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
        }
      : { error: 'invalid_grant' };
    response
      .writeHead(pathname === '/token' ? 400 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    asked,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
