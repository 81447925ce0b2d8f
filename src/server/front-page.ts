/** The page at the coordinator's own address: what this is, and where people and administrators get in. */
import type { FastifyInstance } from 'fastify';
import { Refusal } from '#src/protocol/errors.ts';
import { readWebPage, takesPages } from '#src/http/web-page.ts';

/**
 * Serves one page for everybody, with or without an account. It runs no script and states nothing of this installation
 * that `/healthz` does not say. Its links are relative, so that they hold behind a proxy that gives the service a path.
 * Who asks for no page is answered as by any path that is not there.
 */
export function addFrontPage(app: FastifyInstance): void {
  const { html, policy } = readWebPage('front');
  app.get('/', { config: { anyVersion: true } }, async (request, reply) => {
    void reply.header('vary', 'Accept, Origin');
    if (!takesPages(request.headers.accept)) throw new Refusal('path_not_found');
    return await reply
      .headers({ 'content-security-policy': policy, 'x-robots-tag': 'noindex, nofollow, noarchive' })
      .type('text/html; charset=utf-8')
      .send(html);
  });
}
