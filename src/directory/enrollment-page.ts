/** The page behind an invitation's link: a form that exchanges it, so that the link works in a browser. */
import type { FastifyInstance } from 'fastify';
import { SESSION_ROUTES } from '#src/protocol/routes.ts';
import { readWebPage } from '#src/http/web-page.ts';

/**
 * Serves the page for every invitation alike, used or not: opening a link tells nothing and uses nothing up, since
 * previews and scanners open links too. The page takes the invitation from its own address.
 */
export function addEnrollmentPage(app: FastifyInstance): void {
  const { html, policy } = readWebPage('enroll');
  app.get(SESSION_ROUTES.exchangeInvitation.path, { config: { anyVersion: true } }, async (_request, reply) => {
    // `no-referrer` comes with every answer, so the invitation leaves the page in no other way than by its form.
    return await reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(html);
  });
}
