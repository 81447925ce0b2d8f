/** A virus scanner for tests: it speaks clamd's INSTREAM. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { after } from 'node:test';

/** Starts one for the tests of a file. It names what contains `EICAR`; `mode` makes it fail. */
export async function startClamd(): Promise<{ readonly address: string; mode: 'works' | 'talks nonsense' }> {
  const state = { address: '', mode: 'works' as 'works' | 'talks nonsense' };
  const listener: Server = createServer((socket) => {
    let received = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (!received.subarray(-4).equals(Buffer.alloc(4))) return;
      const isStream = received.toString('latin1', 0, 10) === 'zINSTREAM\0';
      const isFound = received.includes('EICAR');
      const answer = isFound ? 'stream: Eicar-Test-Signature FOUND' : 'stream: OK';
      socket.end(`${isStream && state.mode === 'works' ? answer : 'ERROR'}\0`);
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  after(() => listener.close());
  const { port } = listener.address() as { port: number };
  state.address = `127.0.0.1:${port}`;
  return state;
}
