/** The pages behind the link of an invitation and of a reset: forms that use it, so that it works in a browser. */
import type { FastifyInstance } from 'fastify';
import { ACCOUNT_ROUTES } from '#src/protocol/account/account-routes.ts';
import { SESSION_ROUTES } from '#src/protocol/routes.ts';
import { readWebPage } from '#src/http/web-page.ts';

/**
 * Serves the page for every invitation alike, used or not: opening a link tells nothing and uses nothing up, since
 * previews and scanners open links too. The page takes the invitation from its own address.
 */
export function addEnrollmentPage(app: FastifyInstance): void {
  addPage(app, SESSION_ROUTES.exchangeInvitation.path, 'enroll');
}

/** As `addEnrollmentPage`, for links that set a password. */
export function addPasswordResetPage(app: FastifyInstance): void {
  addPage(app, ACCOUNT_ROUTES.usePasswordReset.path, 'password-reset');
}

function addPage(app: FastifyInstance, path: string, name: string): void {
  const { html, policy } = readWebPage(name);
  app.get(path, { config: { anyVersion: true } }, async (_request, reply) => {
    // `no-referrer` comes with every answer, so the invitation leaves the page in no other way than by its form.
    return await reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(html);
  });
}
