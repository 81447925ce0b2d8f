/** The page behind an invitation's link: a form that exchanges it, so that the link works in a browser. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { SESSION_ROUTES } from '#src/protocol/routes.ts';

/**
 * Serves the page for every invitation alike, used or not: opening a link tells nothing and uses nothing up, since
 * previews and scanners open links too. The page takes the invitation from its own address.
 */
export function addEnrollmentPage(app: FastifyInstance): void {
  const html = readFileSync(new URL('./web/enroll.html', import.meta.url), 'utf8');
  const policy = policyOf(html);
  app.get(SESSION_ROUTES.exchangeInvitation.path, { config: { anyVersion: true } }, async (_request, reply) => {
    // `no-referrer` comes with every answer, so the invitation leaves the page in no other way than by its form.
    return await reply.header('content-security-policy', policy).type('text/html; charset=utf-8').send(html);
  });
}

/** Lets the page have its one style and run its one script, if any, known by their hashes, and call this server. */
export function policyOf(html: string): string {
  return [
    "default-src 'none'",
    ...(html.includes('<script>') ? [`script-src ${hashOf(html, 'script')}`, "connect-src 'self'"] : []),
    `style-src ${hashOf(html, 'style')}`,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function hashOf(html: string, element: 'script' | 'style'): string {
  const text = html.split(`<${element}>`)[1]?.split(`</${element}>`)[0];
  if (text === undefined) throw new Error(`The page has no <${element}>.`);
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
