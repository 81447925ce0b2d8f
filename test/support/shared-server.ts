/** One server for all tests of a file, with the people they are about. */
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { startServer, type Person, type ServerOptions, type TestServer } from './server.ts';

/** Starts a server and signs the people in; the server ends with the file's last test. Awaited before the first one. */
export async function shareServer<Name extends string>(
  names: readonly Name[],
  options: ServerOptions = {},
): Promise<{ server: TestServer } & Record<Name, Person>> {
  const server = await startServer(options);
  after(async () => {
    assert.equal(await server.stop(), 0, server.output.join('\n'));
  });
  return { ...(await server.people(...names)), server };
}
