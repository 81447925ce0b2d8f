/** How a listener of Fastify ends when the server stops. */
import type { FastifyInstance } from 'fastify';

/**
 * Lets requests finish, then cuts what is left: an export that streams for an hour, a connection that never said
 * anything. Node waits for both without an end.
 */
export async function closeListener(app: FastifyInstance, drainSeconds: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), drainSeconds * 1000);
  await app.close();
  clearTimeout(timer);
}
